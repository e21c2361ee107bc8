// Package effective decides what an IngressController asks for, with every default
// applied. The children follow from these settings. Pure.
package effective

import (
	"cmp"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	router "github.com/fairlead/fairlead/router/settings"
)

// Ref names the IngressController in findings.
func Ref(ic *operatorv1.IngressController) api.ObjectRef {
	return api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: ic.Namespace, Name: ic.Name}
}

// Ports of the routers where spec.endpointPublishingStrategy.hostNetwork says
// nothing else.
const (
	DefaultHTTPPort  = 80
	DefaultHTTPSPort = 443
	DefaultStatsPort = 1936
	// healthPort is for probes alone, where the pod has a network of its own.
	healthPort = 1937
)

// defaultDNSTTL is that of OpenShift.
const defaultDNSTTL = 30 * time.Second

// ports are those that the router listens on.
type ports struct{ HTTP, HTTPS, Stats int32 }

// Spec is what an IngressController asks for, with every default applied.
type Spec struct {
	Name  string
	Image string
	// HAProxy is the version of HAProxy in the image; HAProxies are all that
	// there are images of.
	HAProxy   string
	HAProxies []string
	Domain    string
	Strategy  operatorv1.EndpointPublishingStrategy
	// CloudClass is the load-balancer class of the cloud hook that serves the
	// Service; empty for none.
	CloudClass string
	// Dialect writes and reads the annotations of that Service.
	Dialect hook.Dialect
	// SecurityGroups are those of the load balancer, which are not in the Go type
	// of the strategy.
	SecurityGroups []string
	Ports          ports
	// SourceRanges are the CIDRs that the load balancer lets through; empty means all.
	SourceRanges []string
	Replicas     int32
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	// NotOurName says why the operator does not publish the name, whatever the
	// IngressController wants; empty if it may.
	NotOurName string
	// NameByService asks external-dns for the name by annotations of the Service.
	NameByService bool
	// RecordTTL is how long resolvers may keep the name, in seconds.
	RecordTTL int64
	// LogArgs are the flags of the routers about their own log.
	LogArgs []string
	// Logs is true if a container of its own prints the access log.
	Logs bool
	// Agent is true if the policy agent runs beside HAProxy.
	Agent bool
	// Firewall is true if the firewall runs beside HAProxy.
	Firewall bool
	// Memory bounds the containers.
	Memory router.Memory
	// SharedAddress permits that Gateways share the address of the routers.
	SharedAddress bool
	// HAProxyCPU and RouterCPU are how much processor time the two containers reserve.
	HAProxyCPU, RouterCPU resource.Quantity
}

// ProbePort is where the kubelet asks. On the network of a node it is that of
// metrics and statistics, because no field of the API has another one for it:
// there the kubelet asks by loopback, which has no limits.
func (s Spec) ProbePort() int32 {
	if s.HostNetwork() {
		return s.Ports.Stats
	}
	return healthPort
}

// HostNetwork reports whether router pods use the network of their node.
func (s Spec) HostNetwork() bool {
	return s.Strategy.Type == operatorv1.HostNetworkStrategyType
}

// Cluster is what the defaults depend on.
type Cluster struct {
	Nodes []corev1.Node
	// Provider is true if something in the cluster that we know of assigns
	// load-balancer addresses: our own provider's API is installed.
	Provider bool
	// DNS is what dns.config.openshift.io/cluster says; nil if there is none.
	DNS *configv1.DNSSpec
	// HAProxy is the version of HAProxy that the whole cluster asks for; may be empty.
	HAProxy string
}

// Of applies the defaults to an IngressController.
func Of(ic *operatorv1.IngressController, c Cluster, o Defaults) Spec {
	s := Spec{
		Name:         ic.Name,
		HAProxies:    haproxies(o),
		Domain:       domainOf(ic, o.Domain),
		Strategy:     strategyOf(ic, c.Provider),
		NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
	}
	if p := ic.Spec.NodePlacement; p != nil {
		if p.NodeSelector != nil {
			s.NodeSelector = maps.Clone(p.NodeSelector.MatchLabels)
		}
		s.Tolerations = slices.Clone(p.Tolerations)
	}
	s.HAProxy, s.Image = haproxyOf(ic, c.HAProxy, o)
	s.CloudClass, s.Dialect = CloudClass(s.Strategy, o), o.dialect()
	s.Ports = portsOf(s.Strategy)
	if l := ic.Spec.Logging; l != nil && l.Access != nil {
		s.Logs = l.Access.Destination.Type == operatorv1.ContainerLoggingDestinationType
	}
	s.LogArgs, s.Agent, s.Firewall = o.RouterLog, router.Policies(&ic.Spec), router.Firewall(&ic.Spec)
	s.Memory = router.MemoryOf(&ic.Spec, cmp.Or(o.Routes, router.DefaultRoutes))
	// The routers say what is wrong with these.
	s.HAProxyCPU, s.RouterCPU = router.HAProxyCPUOf(ic.Annotations), router.RouterCPUOf(ic.Annotations)
	s.SharedAddress, _ = gateway.PermitsSharing(ic.Annotations)
	s.SourceRanges = sourceRangesOf(ic)
	s.Replicas = replicasOf(ic, eligibleNodes(c.Nodes, s.NodeSelector, s.Tolerations))
	s.NotOurName = notOurName(s.Domain, o, c.DNS)
	s = withoutName(s)
	s.RecordTTL = int64(cmp.Or(o.DNSTTL, defaultDNSTTL) / time.Second)
	s.NameByService = o.DNSByService && s.Strategy.LoadBalancer != nil && s.Strategy.LoadBalancer.DNSManagementPolicy == operatorv1.ManagedLoadBalancerDNS
	return s
}

// domainOf returns the domain: the one that is in use, else the wish, else the default.
func domainOf(ic *operatorv1.IngressController, fallback string) string {
	switch {
	case ic.Status.Domain != "":
		return ic.Status.Domain
	case ic.Spec.Domain != "":
		return ic.Spec.Domain
	}
	return fallback
}
