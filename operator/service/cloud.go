package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
)

// AWSPrefix begins the annotations that load balancers of AWS read.
const AWSPrefix = "service.beta.kubernetes.io/aws-load-balancer-"

// forCloud makes the desired Service one for the cloud hook. What an
// administrator annotated himself wins.
func forCloud(desired, live *corev1.Service, ic *operatorv1.IngressController, s effective.Settings) {
	if s.CloudClass == "" {
		return
	}
	class := s.CloudClass
	desired.Spec.LoadBalancerClass = &class
	wanted := map[string]string{api.AnnotationDomain: s.Domain}
	if _, ok := ic.Annotations[api.AnnotationAutoDeleteLoadBalancer]; ok {
		wanted[api.AnnotationRecreateLoadBalancer] = "true"
	}
	if class == api.LoadBalancerClassAWS || s.Strategy.LoadBalancer.ProviderParameters != nil {
		maps.Copy(wanted, awsAnnotations(s.Strategy.LoadBalancer))
		if len(s.SecurityGroups) > 0 {
			wanted[annotationSecurityGroups] = strings.Join(s.SecurityGroups, ",")
		}
	} else if s.Strategy.LoadBalancer.Scope == operatorv1.InternalLoadBalancer {
		wanted[AWSPrefix+"internal"] = "true"
	}
	annotate(desired, live, wanted)
}

// awsAnnotations are what OpenShift writes for AWS, with two things more: TLS
// ends at the load balancer on the port https only, and is begun anew towards
// the router, should an administrator name a certificate.
func awsAnnotations(lb *operatorv1.LoadBalancerStrategy) map[string]string {
	a := map[string]string{
		"type": "nlb", "healthcheck-interval": "10", "healthcheck-timeout": "4", "healthcheck-healthy-threshold": "2", "healthcheck-unhealthy-threshold": "2",
		"ssl-ports": "https", "backend-protocol": "ssl",
	}
	if lb.Scope == operatorv1.InternalLoadBalancer {
		a["internal"] = "true"
	}
	var n operatorv1.AWSNetworkLoadBalancerParameters
	var c operatorv1.AWSClassicLoadBalancerParameters
	if p := lb.ProviderParameters; p != nil && p.AWS != nil {
		n, c = deref(p.AWS.NetworkLoadBalancerParameters), deref(p.AWS.ClassicLoadBalancerParameters)
	}
	proxy := strings.EqualFold(string(n.Protocol), string(operatorv1.ProxyProtocol))
	if len(n.EIPAllocations) > 0 {
		a["eip-allocations"] = Commas(n.EIPAllocations)
	}
	if t := c.ConnectionIdleTimeout.Duration; t > 0 {
		a["connection-idle-timeout"] = strconv.Itoa(int(t.Round(time.Second).Seconds()))
	}
	if s := cmp.Or(n.Subnets, c.Subnets); s != nil {
		a["subnets"] = strings.Trim(Commas(s.IDs)+","+Commas(s.Names), ",")
	}
	a["target-group-attributes"] = fmt.Sprintf("preserve_client_ip.enabled=%t,proxy_protocol_v2.enabled=%t", !proxy, proxy)
	full := make(map[string]string, len(a))
	for k, v := range a {
		full[AWSPrefix+k] = v
	}
	return full
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Commas joins the items of a list.
func Commas[T ~string](list []T) string {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		texts = append(texts, string(item))
	}
	return strings.Join(texts, ",")
}

// CloudServed reports whether a cloud hook serves the Service: by its class, or
// because it serves those without one.
func CloudServed(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	if class == nil {
		return slices.Contains(service.Finalizers, api.FinalizerCloudLoadBalancer)
	}
	return *class == api.LoadBalancerClassAWS || *class == api.LoadBalancerClassWebhook
}

// TLSEndsBefore reports whether the load balancer ends TLS on the port that
// passthrough Routes need.
func TLSEndsBefore(service *corev1.Service) bool {
	if service == nil || !CloudServed(service) {
		return false
	}
	if service.Annotations[AWSPrefix+"type"] == "alb" {
		return true
	}
	if service.Annotations[AWSPrefix+"ssl-cert"] == "" {
		return false
	}
	ports := strings.FieldsFunc(service.Annotations[AWSPrefix+"ssl-ports"], func(r rune) bool { return r == ',' || r == ' ' })
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p string) bool { return p == "*" || p == "https" || p == "443" })
}
