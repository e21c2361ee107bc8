package settings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/traffic"
)

// Limits of spec.tuningOptions, those of the API.
const (
	minBuffer      = 16384
	maxBuffer      = 1 << 24
	minRewrite     = 4096
	maxThreads     = 64
	minConnections = 2000
	maxConnections = 2000000
	maxKeepAlive   = 15 * time.Minute
	// maxTime is HAProxy's longest.
	maxTime = 2147483647 * time.Millisecond
)

// tuning reads spec.tuningOptions.
func (r *reader) tuning() {
	const field = "spec.tuningOptions."
	o, s := &r.spec.TuningOptions, &r.out.Render
	t := &s.Timeouts
	for _, d := range []struct {
		name string
		from *metav1.Duration
		to   *time.Duration
		most time.Duration
	}{
		{"connectTimeout", o.ConnectTimeout, &t.Connect, maxTime},
		{"clientTimeout", o.ClientTimeout, &t.Client, maxTime},
		{"clientFinTimeout", o.ClientFinTimeout, &t.ClientFin, maxTime},
		{"serverTimeout", o.ServerTimeout, &t.Server, maxTime},
		{"serverFinTimeout", o.ServerFinTimeout, &t.ServerFin, maxTime},
		{"tunnelTimeout", o.TunnelTimeout, &t.Tunnel, maxTime},
		{"httpKeepAliveTimeout", o.HTTPKeepAliveTimeout, &t.KeepAlive, maxKeepAlive},
		{"tlsInspectDelay", o.TLSInspectDelay, &t.Inspect, maxTime},
		{"healthCheckInterval", o.HealthCheckInterval, &r.out.Ingest.CheckInterval, maxTime},
	} {
		r.duration(field+d.name, d.from, d.to, d.most)
	}
	if i := &r.out.Ingest.CheckInterval; *i != 0 && *i < time.Second {
		r.refuse(field+"healthCheckInterval", "must be at least 1s")
		*i = 0
	}
	r.number(field+"threadCount", o.ThreadCount, &s.Threads, 1, maxThreads)
	r.number(field+"headerBufferBytes", o.HeaderBufferBytes, &s.BufferBytes, minBuffer, maxBuffer)
	r.number(field+"headerBufferMaxRewriteBytes", o.HeaderBufferMaxRewriteBytes, &s.RewriteBytes, minRewrite, maxBuffer/2)
	r.headerBytes()
	r.connections(field + "maxConnections")
}

// headerBytes bounds what routes may add to a message's headers: what HAProxy
// keeps free for it, and what one of its map entries can hold (base64 in one
// command, which has the size of a buffer).
func (r *reader) headerBytes() {
	s := &r.out.Render
	free := cmp.Or(s.RewriteBytes, defaultRewrite)
	r.out.Ingest.HeaderBytes = min(free, cmp.Or(s.BufferBytes, defaultBuffer)/2)
}

// http2 reads the annotation of the IngressController, which wins even where it
// says no, else that of the whole cluster.
func http2(annotations map[string]string) bool {
	own, set := annotations[api.AnnotationHTTP2]
	if set {
		return own == "true"
	}
	return annotations[api.AnnotationClusterHTTP2] == "true"
}

// hardStop reads an annotation, because the API has no field for it. Where it
// cannot be used, that of the whole cluster holds.
func (r *reader) hardStop(annotations map[string]string) {
	wrong := ""
	for _, key := range []string{api.AnnotationHardStopAfter, api.AnnotationClusterHardStopAfter} {
		text := annotations[key]
		d, err := api.ParseTime(text)
		if err == nil && d > 0 {
			r.out.Render.HardStopAfter = min(d, maxTime)
			break
		}
		if text != "" && wrong == "" {
			wrong = key
		}
	}
	if wrong != "" {
		used := cmp.Or(r.out.Render.HardStopAfter, time.Hour)
		r.find("metadata.annotations["+wrong+"]", "must be a time such as 30m or 1h", used.String()+" is used")
	}
}

// series reads the budget of metrics.
func (r *reader) series(text string) {
	if text == "" {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < traffic.LeastSeries || n > traffic.MostSeries {
		message := fmt.Sprintf("must be a whole number from %d to %d", traffic.LeastSeries, traffic.MostSeries)
		r.find("metadata.annotations["+api.AnnotationMetricsSeries+"]", message, strconv.Itoa(traffic.Series)+" is used")
		return
	}
	r.out.Series = n
}

// gatewayPermissions reads whether Gateways may share the address of the router, and which may name it.
func (r *reader) gatewayPermissions(annotations map[string]string) {
	permits, problem := gateway.PermitsSharing(annotations)
	if problem != "" {
		r.find("metadata.annotations["+gateway.AnnotationSharedAddress+"]", problem, "Gateways may not share the address of the router")
	}
	r.out.Ingest.SharedAddress = permits
	if _, problem := gateway.PermittedNamespaces(annotations); problem != "" {
		r.find("metadata.annotations["+gateway.AnnotationGatewayNamespaces+"]", problem, "no Gateway may name the IngressController")
	}
}

// duration takes a time over. Zero and less mean the default, as they do on
// OpenShift.
func (r *reader) duration(field string, from *metav1.Duration, to *time.Duration, most time.Duration) {
	switch {
	case from == nil || from.Duration == 0:
	case from.Duration < 0:
		r.refuse(field, "must not be negative")
	case from.Duration > most:
		r.find(field, "is longer than "+most.String(), "that is used")
		*to = most
	default:
		*to = max(from.Duration, time.Millisecond)
	}
}

func (r *reader) number(field string, from int32, to *int, least, most int) {
	switch n := int(from); {
	case n == 0:
	case n < least || n > most:
		r.refuse(field, "must be a whole number from %d to %d", least, most)
	default:
		*to = n
	}
}

// connections reads the limit of connections. More than the file limit allows
// would keep HAProxy from starting.
func (r *reader) connections(field string) {
	s, n := &r.out.Render, int(r.spec.TuningOptions.MaxConnections)
	most := render.MostConnections(r.flags.Files)
	switch {
	case n == 0:
	case n == -1:
		s.MaxConn = -1
	case n < minConnections || n > maxConnections:
		r.refuse(field, "must be -1 or a whole number from %d to %d", minConnections, maxConnections)
	case n > most:
		r.find(field, "is more than the limit of open files of this node allows", "as many as possible are used")
		s.MaxConn = most
	default:
		s.MaxConn = n
	}
}

// nlbTunnel is just below the idle limit of an AWS network load balancer, which
// closes without a word.
const nlbTunnel = 349 * time.Second

// publishing reads whether clients come with a PROXY protocol header, and what
// the load balancer in front limits. The type of a strategy in use is that of
// the status.
func (r *reader) publishing(used *operatorv1.EndpointPublishingStrategy) {
	p := r.spec.EndpointPublishingStrategy
	if p == nil || used != nil && used.Type != p.Type {
		p = used
	}
	if p == nil {
		return
	}
	var protocol string
	switch {
	case p.Type == operatorv1.HostNetworkStrategyType && p.HostNetwork != nil:
		protocol = string(p.HostNetwork.Protocol)
	case p.Type == operatorv1.NodePortServiceStrategyType && p.NodePort != nil:
		protocol = string(p.NodePort.Protocol)
	case p.Type == operatorv1.PrivateStrategyType && p.Private != nil:
		protocol = string(p.Private.Protocol)
	case p.Type == operatorv1.LoadBalancerServiceStrategyType && p.LoadBalancer != nil && p.LoadBalancer.ProviderParameters != nil:
		aws := p.LoadBalancer.ProviderParameters.AWS
		if aws != nil && aws.Type == operatorv1.AWSNetworkLoadBalancer && r.out.Render.Timeouts.Tunnel == 0 {
			r.out.Render.Timeouts.Tunnel = nlbTunnel
		}
		if aws != nil && aws.NetworkLoadBalancerParameters != nil {
			protocol = string(aws.NetworkLoadBalancerParameters.Protocol)
		}
		if ibm := p.LoadBalancer.ProviderParameters.IBM; ibm != nil {
			protocol = string(ibm.Protocol)
		}
	}
	r.out.Render.ProxyProtocol = strings.EqualFold(protocol, string(operatorv1.ProxyProtocol))
}
