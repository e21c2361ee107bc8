package operator

import (
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// loadBalancerConditions say whether there is an address, and if not, why.
func loadBalancerConditions(in statusInput) []condition {
	if in.s.strategy.Type != operatorv1.LoadBalancerServiceStrategyType {
		message := "the publishing strategy " + string(in.s.strategy.Type) + " has no load balancer"
		return []condition{
			isFalse(conditionLoadBalancerManaged, "EndpointPublishingStrategyExcludesManagedLoadBalancer", message),
			isFalse(conditionLoadBalancerProgress, "LoadBalancerNotProgressing", ""),
		}
	}
	managed := isTrue(conditionLoadBalancerManaged, "WantedByEndpointPublishingStrategy",
		"The endpoint publishing strategy supports a managed load balancer")
	if in.loadBalancer == nil {
		message := "The LoadBalancer service resource is missing"
		return []condition{
			managed,
			isFalse(conditionLoadBalancerReady, api.ReasonLoadBalancerServiceNotFound, message),
			isTrue(conditionLoadBalancerProgress, "NoService", message),
		}
	}
	return []condition{
		managed,
		loadBalancerReady(in),
		loadBalancerProgressing(in),
	}
}

func loadBalancerReady(in statusInput) condition {
	if c, told := cloudReady(in); told {
		return c
	}
	if len(in.addresses) > 0 {
		return isTrue(conditionLoadBalancerReady, api.ReasonLoadBalancerProvisioned,
			"The LoadBalancer service has the address "+strings.Join(in.addresses, ", "))
	}
	if cause := newestWarning(in.events, in.loadBalancer); cause != nil {
		return isFalse(conditionLoadBalancerReady, api.ReasonSyncLoadBalancerFailed,
			"The LoadBalancer service has no address: "+cause.Reason+": "+cause.Message)
	}
	return isFalse(conditionLoadBalancerReady, api.ReasonLoadBalancerPending,
		"The LoadBalancer service has no address yet. If nothing assigns addresses in this cluster, create an IPAddressPool and an L2Advertisement in namespace "+api.ProviderNamespace)
}

// newestWarning returns the last Warning event about a Service.
func newestWarning(events []corev1.Event, service *corev1.Service) *corev1.Event {
	var newest *corev1.Event
	for i, e := range events {
		if e.Type != corev1.EventTypeWarning || e.InvolvedObject.UID != service.UID {
			continue
		}
		if newest == nil || eventTime(newest).Before(eventTime(&e)) {
			newest = &events[i]
		}
	}
	return newest
}
