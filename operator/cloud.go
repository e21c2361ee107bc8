package operator

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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

const awsPrefix = "service.beta.kubernetes.io/aws-load-balancer-"

// cloudClass returns the load-balancer class that an IngressController's
// Service gets, or "" if no cloud hook serves it: providerParameters name
// another platform, or the operator runs without a hook.
func cloudClass(strategy operatorv1.EndpointPublishingStrategy, class string) string {
	lb := strategy.LoadBalancer
	if strategy.Type != operatorv1.LoadBalancerServiceStrategyType || lb == nil {
		return ""
	}
	if p := lb.ProviderParameters; p != nil && p.Type != operatorv1.AWSLoadBalancerProvider && class == api.LoadBalancerClassAWS {
		return ""
	}
	return class
}

// cloudService makes the desired Service one for the cloud hook. What an
// administrator annotated himself wins.
func cloudService(desired, live *corev1.Service, ic *operatorv1.IngressController, s settings) {
	if s.cloudClass == "" {
		return
	}
	class := s.cloudClass
	desired.Spec.LoadBalancerClass = &class
	wanted := map[string]string{api.AnnotationDomain: s.domain}
	if _, ok := ic.Annotations[api.AnnotationAutoDeleteLoadBalancer]; ok {
		wanted[api.AnnotationRecreateLoadBalancer] = "true"
	}
	if class == api.LoadBalancerClassAWS || s.strategy.LoadBalancer.ProviderParameters != nil {
		maps.Copy(wanted, awsAnnotations(s.strategy.LoadBalancer))
		if len(s.securityGroups) > 0 {
			wanted[annotationSecurityGroups] = strings.Join(s.securityGroups, ",")
		}
	} else if s.strategy.LoadBalancer.Scope == operatorv1.InternalLoadBalancer {
		wanted[awsPrefix+"internal"] = "true"
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
		a["eip-allocations"] = commas(n.EIPAllocations)
	}
	if t := c.ConnectionIdleTimeout.Duration; t > 0 {
		a["connection-idle-timeout"] = strconv.Itoa(int(t.Round(time.Second).Seconds()))
	}
	if s := cmp.Or(n.Subnets, c.Subnets); s != nil {
		a["subnets"] = strings.Trim(commas(s.IDs)+","+commas(s.Names), ",")
	}
	a["target-group-attributes"] = fmt.Sprintf("preserve_client_ip.enabled=%t,proxy_protocol_v2.enabled=%t", !proxy, proxy)
	full := make(map[string]string, len(a))
	for k, v := range a {
		full[awsPrefix+k] = v
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

func commas[T ~string](list []T) string {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		texts = append(texts, string(item))
	}
	return strings.Join(texts, ",")
}

// changedLoadBalancerService is changedService, which also takes away what the
// operator annotated once and does not want any more.
func changedLoadBalancerService(live, desired *corev1.Service) (*corev1.Service, bool) {
	updated, changed := changedService(live, desired)
	former := withoutFormer(updated, live, desired)
	return updated, changed || former
}

// cloudServed reports whether a cloud hook serves the Service: by its class, or
// because it serves those without one.
func cloudServed(service *corev1.Service) bool {
	class := service.Spec.LoadBalancerClass
	if class == nil {
		return slices.Contains(service.Finalizers, api.FinalizerCloudLoadBalancer)
	}
	return *class == api.LoadBalancerClassAWS || *class == api.LoadBalancerClassWebhook
}

// cloudReady is the condition LoadBalancerReady as the cloud controller tells
// it in the Service's status.
func cloudReady(in statusInput) (condition, bool) {
	c := meta.FindStatusCondition(in.loadBalancer.Status.Conditions, api.ConditionCloudReady)
	if !cloudServed(in.loadBalancer) || c == nil {
		return condition{}, false
	}
	message := c.Message
	if len(in.addresses) > 0 {
		message = "The LoadBalancer service has the address " + strings.Join(in.addresses, ", ") + ": " + message
	}
	return choose(conditionLoadBalancerReady, c.Status == metav1.ConditionTrue, api.Reason(c.Reason), api.Reason(c.Reason), message), true
}

// loadBalancerProgressing says whether a change of the load balancer is under
// way, or asked for and not possible.
func loadBalancerProgressing(in statusInput) condition {
	service := in.loadBalancer
	class := service.Spec.LoadBalancerClass
	if in.s.cloudClass != "" && (class == nil && !cloudServed(service) || class != nil && *class != in.s.cloudClass) {
		return isTrue(conditionLoadBalancerProgress, "OperandsProgressing", fmt.Sprintf(
			"The service was made for another load balancer, and its class cannot be changed: whoever serves it now goes on. To move it to %s run: kubectl -n %s delete service %s",
			in.s.cloudClass, service.Namespace, service.Name))
	}
	c := meta.FindStatusCondition(service.Status.Conditions, api.ConditionCloudProgressing)
	if !cloudServed(service) || c == nil || c.Status != metav1.ConditionTrue {
		return isFalse(conditionLoadBalancerProgress, "LoadBalancerNotProgressing", "")
	}
	return isTrue(conditionLoadBalancerProgress, api.Reason(c.Reason), c.Message)
}
