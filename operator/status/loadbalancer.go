package status

import (
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/service"
)

// cloudReady is the condition LoadBalancerReady as the cloud controller writes
// it in the Service's status.
func cloudReady(in Input) (condition, bool) {
	c := meta.FindStatusCondition(in.LoadBalancer.Status.Conditions, api.ConditionCloudReady)
	if !service.CloudServed(in.LoadBalancer) || c == nil {
		return condition{}, false
	}
	message := c.Message
	if len(in.Addresses) > 0 {
		message = "The LoadBalancer service has the address " + strings.Join(in.Addresses, ", ") + ": " + message
	}
	return choose(conditionLoadBalancerReady, c.Status == metav1.ConditionTrue, api.Reason(c.Reason), api.Reason(c.Reason), message), true
}

// loadBalancerProgressing says whether a change of the load balancer is under
// way, or asked for and not possible.
func loadBalancerProgressing(in Input) condition {
	balancer := in.LoadBalancer
	class := balancer.Spec.LoadBalancerClass
	if in.Settings.CloudClass != "" && (class == nil && !service.CloudServed(balancer) || class != nil && *class != in.Settings.CloudClass) {
		return isTrue(conditionLoadBalancerProgress, "OperandsProgressing", fmt.Sprintf(
			"The service was made for another load balancer, and its class cannot be changed: the provider that serves it now keeps serving it. To move it to %s run: kubectl -n %s delete service %s",
			in.Settings.CloudClass, balancer.Namespace, balancer.Name))
	}
	c := meta.FindStatusCondition(balancer.Status.Conditions, api.ConditionCloudProgressing)
	if !service.CloudServed(balancer) || c == nil || c.Status != metav1.ConditionTrue {
		return isFalse(conditionLoadBalancerProgress, "LoadBalancerNotProgressing", "")
	}
	return isTrue(conditionLoadBalancerProgress, api.Reason(c.Reason), c.Message)
}

// loadBalancerConditions say whether there is an address, and if not, why.
func loadBalancerConditions(in Input) []condition {
	if in.Settings.Strategy.Type != operatorv1.LoadBalancerServiceStrategyType {
		message := "the publishing strategy " + string(in.Settings.Strategy.Type) + " has no load balancer"
		return []condition{
			isFalse(conditionLoadBalancerManaged, "EndpointPublishingStrategyExcludesManagedLoadBalancer", message),
			isFalse(conditionLoadBalancerProgress, "LoadBalancerNotProgressing", ""),
		}
	}
	managed := isTrue(conditionLoadBalancerManaged, "WantedByEndpointPublishingStrategy",
		"The endpoint publishing strategy supports a managed load balancer")
	if in.LoadBalancer == nil {
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

func loadBalancerReady(in Input) condition {
	if c, known := cloudReady(in); known {
		return c
	}
	if len(in.Addresses) > 0 {
		return isTrue(conditionLoadBalancerReady, api.ReasonLoadBalancerProvisioned,
			"The LoadBalancer service has the address "+strings.Join(in.Addresses, ", "))
	}
	if cause := newestWarning(in.Events, in.LoadBalancer); cause != nil {
		return isFalse(conditionLoadBalancerReady, api.ReasonSyncLoadBalancerFailed,
			"The LoadBalancer service has no address: "+cause.Reason+": "+cause.Message)
	}
	return isFalse(conditionLoadBalancerReady, api.ReasonLoadBalancerPending,
		"The LoadBalancer service has no address yet. If nothing assigns addresses in this cluster, create an IPAddressPool and an L2Advertisement in namespace "+api.ProviderNamespace)
}

// newestWarning returns the last Warning event about a Service.
func newestWarning(events []corev1.Event, balancer *corev1.Service) *corev1.Event {
	var newest *corev1.Event
	for i, e := range events {
		if e.Type != corev1.EventTypeWarning || e.InvolvedObject.UID != balancer.UID {
			continue
		}
		if newest == nil || eventTime(newest).Before(eventTime(&e)) {
			newest = &events[i]
		}
	}
	return newest
}

// eventTime returns when an event last happened; which field has that depends
// on the API that wrote it.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
