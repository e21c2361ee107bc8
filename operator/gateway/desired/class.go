package desired

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
)

// Class is a GatewayClass with what is known of its parameters.
type Class struct {
	Object *gatewayv1.GatewayClass
	// IC is the IngressController that it means, nil if there is none.
	IC *operatorv1.IngressController
	// Bundle is the version of the CRDs, empty if they have none.
	Bundle string
	// Channel is that of the CRDs, empty if they have none.
	Channel string
}

// Refusal returns why the class is not accepted, and the reason of its condition; the
// reason of a class that is accepted is GatewayClassReasonAccepted.
func (c Class) Refusal() (gatewayv1.GatewayClassConditionReason, string) {
	if !gateway.BundleServed(c.Bundle) {
		return gatewayv1.GatewayClassReasonUnsupportedVersion, fmt.Sprintf(
			"the CRDs of the Gateway API have version %q; install one from v1.%d to v1.%d; Gateways that have an address keep it, new ones get none", c.Bundle, gateway.LeastBundleMinor, gateway.MostBundleMinor)
	}
	name, err := gateway.IngressController(c.Object)
	switch {
	case err != nil:
		return gatewayv1.GatewayClassReasonInvalidParameters, err.Error()
	case c.IC == nil || !c.IC.DeletionTimestamp.IsZero():
		return gatewayv1.GatewayClassReasonInvalidParameters, fmt.Sprintf("IngressController %s/%s does not exist, or is being deleted; create it, or name another one in spec.parametersRef", api.OperatorNamespace, name)
	case onHostNetwork(c.IC):
		return gatewayv1.GatewayClassReasonInvalidParameters, fmt.Sprintf(
			"IngressController %s publishes by HostNetwork, where routers have the ports of their node and no ports for Gateways; name one in spec.parametersRef that publishes by LoadBalancerService, NodePortService or Private", name)
	}
	return gatewayv1.GatewayClassReasonAccepted, ""
}

// Accepted reports whether the class is accepted.
func (c Class) Accepted() bool {
	reason, _ := c.Refusal()
	return reason == gatewayv1.GatewayClassReasonAccepted
}

func onHostNetwork(ic *operatorv1.IngressController) bool {
	s := ic.Status.EndpointPublishingStrategy
	return s != nil && s.Type == operatorv1.HostNetworkStrategyType
}

// Status returns the conditions and features of the class. The condition
// SupportedVersion is there only while it is False.
func (c Class) Status(now time.Time) gatewayv1.GatewayClassStatus {
	reason, message := c.Refusal()
	accepted := metav1.Condition{Type: string(gatewayv1.GatewayClassConditionStatusAccepted), Status: metav1.ConditionFalse, Reason: string(reason), Message: message}
	if reason == gatewayv1.GatewayClassReasonAccepted {
		accepted.Status, accepted.Message = metav1.ConditionTrue, fmt.Sprintf("the routers of IngressController %s serve its Gateways", c.IC.Name)
	}
	live, generation := c.Object.Status.Conditions, c.Object.Generation
	s := gatewayv1.GatewayClassStatus{
		Conditions:        []metav1.Condition{condition(live, accepted, generation, now)},
		SupportedFeatures: gateway.SupportedFeatures(c.Bundle, c.Channel),
	}
	if reason == gatewayv1.GatewayClassReasonUnsupportedVersion {
		s.Conditions = append(s.Conditions, condition(live, metav1.Condition{
			Type: string(gatewayv1.GatewayClassConditionStatusSupportedVersion), Status: metav1.ConditionFalse, Reason: string(reason), Message: message,
		}, generation, now))
	}
	return s
}

// SameClass reports whether a live status has all that was decided. A condition of ours
// that is not wanted any more is a difference, too.
func SameClass(live, decided gatewayv1.GatewayClassStatus) bool {
	unsupported := string(gatewayv1.GatewayClassConditionStatusSupportedVersion)
	return Same(live.Conditions, decided.Conditions) &&
		slices.Equal(live.SupportedFeatures, decided.SupportedFeatures) &&
		(meta.FindStatusCondition(live.Conditions, unsupported) != nil) == (meta.FindStatusCondition(decided.Conditions, unsupported) != nil)
}
