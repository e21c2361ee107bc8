package desired

import (
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// Input is a Gateway with all that its Service, EndpointSlices and conditions depend on.
type Input struct {
	Gateway *gatewayv1.Gateway
	Class   Class
	// Parameters is the IngressController that spec.infrastructure.parametersRef names, nil if
	// there is none or it does not permit that (Permitted).
	Parameters *operatorv1.IngressController
	// Settings are those of the IngressController whose routers serve it.
	Settings effective.Spec
	// Joint has the verdicts on its listeners and its ListenerSets.
	Joint *gateway.Joint
	// Slots has the pod port of each port. Lacking are the ports of the Gateway's own listeners
	// for which there is none, SetsLack says that some of ListenerSets are without.
	Slots    map[gateway.Port]int32
	Lacking  []gateway.Port
	SetsLack bool
	// Moved has the former slot of each port that has moved from it, since MovedAt, and that is
	// still served.
	Moved   map[gateway.Port]int32
	MovedAt map[gateway.Port]time.Time
	// Service is the live one, nil if there is none. Front is that by which clients reach the
	// routers themselves (FrontName), known for a Gateway at their address.
	Service, Front *corev1.Service
	Pods           []corev1.Pod
	Nodes          []corev1.Node
	// Grants lists the ReferenceGrants of a namespace.
	Grants func(namespace string) []*gatewayv1.ReferenceGrant
	// Problem says why something could not be written, empty if it could.
	Problem string
	// Waited is how long the routers have been silent about this generation (Silent).
	Waited time.Duration
	Now    time.Time
}

// Refusal returns the reason and the message of the condition Accepted, and whether it
// is True. A Gateway is refused as a whole for its class, its parameters, its addresses,
// and if none of its listeners is valid.
func (in Input) Refusal() (gatewayv1.GatewayConditionReason, string, bool) {
	if reason, message := in.Class.Refusal(); reason != gatewayv1.GatewayClassReasonAccepted {
		why := gatewayv1.GatewayReasonPending
		if reason == gatewayv1.GatewayClassReasonInvalidParameters {
			why = gatewayv1.GatewayReasonInvalidParameters
		}
		return why, fmt.Sprintf("GatewayClass %s is not accepted: %s", in.Gateway.Spec.GatewayClassName, message), false
	}
	if message := in.unusableParameters(); message != "" {
		return gatewayv1.GatewayReasonInvalidParameters, message, false
	}
	if message := unsupportedAddress(in.Gateway); message != "" {
		return gatewayv1.GatewayReasonUnsupportedAddress, message, false
	}
	if reason, message := in.misplaced(); message != "" {
		return reason, message, false
	}
	verdicts := gateway.Judge(in.Gateway)
	bad := slices.DeleteFunc(slices.Clone(verdicts), gateway.ListenerVerdict.Accepted)
	if len(bad) == 0 {
		return gatewayv1.GatewayReasonAccepted, in.ignored(), true
	}
	return gatewayv1.GatewayReasonListenersNotValid, listed(bad), len(bad) < len(verdicts)
}

// Serves reports whether slots and Service follow the spec. A Gateway that is refused as
// a whole keeps what it has: a mistake in a field does not end its service. One whose
// listeners are all invalid has nothing to serve.
func (in Input) Serves() bool {
	reason, _, accepted := in.Refusal()
	return (accepted || reason == gatewayv1.GatewayReasonListenersNotValid) && in.Settings.Strategy.Type != ""
}

// mostListed is how many listeners a message names.
const mostListed = 5

func listed(bad []gateway.ListenerVerdict) string {
	var texts []string
	for _, v := range bad[:min(len(bad), mostListed)] {
		texts = append(texts, fmt.Sprintf("listener %s is not served: %s", v.Name, v.Message))
	}
	if more := len(bad) - mostListed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Conditions returns the conditions that the operator writes.
func (in Input) Conditions() []metav1.Condition {
	reason, message, accepted := in.Refusal()
	status := func(ok bool) metav1.ConditionStatus {
		if ok {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	why, text := in.programmed()
	live, generation := in.Gateway.Status.Conditions, in.Gateway.Generation
	all := []metav1.Condition{
		condition(live, metav1.Condition{Type: string(gatewayv1.GatewayConditionAccepted), Status: status(accepted), Reason: string(reason), Message: message}, generation, in.Now),
		in.orBefore(condition(live, metav1.Condition{
			Type: string(gatewayv1.GatewayConditionProgrammed), Status: status(why == gatewayv1.GatewayReasonProgrammed), Reason: string(why), Message: text,
		}, generation, in.Now)),
	}
	if field := gateway.Insecure(in.Gateway); field != "" && !gateway.SharesAddress(in.Gateway) {
		all = append(all, condition(live, metav1.Condition{
			Type: string(gatewayv1.GatewayConditionInsecureFrontendValidationMode), Status: metav1.ConditionTrue, Reason: string(gatewayv1.GatewayReasonConfigurationChanged),
			Message: field + ": clients are let in whatever certificate they show, or without one; pods have to look at what the headers say",
		}, generation, in.Now))
	}
	return all
}

// programmed returns the reason and the message of the condition Programmed. Its reason
// is GatewayReasonProgrammed only if it is True.
func (in Input) programmed() (gatewayv1.GatewayConditionReason, string) {
	switch _, _, accepted := in.Refusal(); {
	case !accepted:
		return gatewayv1.GatewayReasonInvalid, "the Gateway is not accepted"
	case in.Problem != "":
		return gatewayv1.GatewayReasonPending, in.Problem
	case in.Settings.Strategy.Type == "":
		return gatewayv1.GatewayReasonPending, fmt.Sprintf("IngressController %s is not admitted yet", in.Settings.Name)
	case len(in.Lacking) > 0:
		return gatewayv1.GatewayReasonNoResources, in.noSlots()
	case in.unusable() != "":
		return gatewayv1.GatewayReasonAddressNotUsable, in.unusable()
	case len(in.missing()) > 0:
		return gatewayv1.GatewayReasonAddressNotUsable, fmt.Sprintf("no pool gives the Gateway %s%s", strings.Join(in.missing(), ", "), in.allocator())
	case len(in.Addresses()) == 0:
		return gatewayv1.GatewayReasonAddressNotAssigned, in.noAddress() + in.allocator()
	case !slices.ContainsFunc(in.Pods, pod.Ready):
		return gatewayv1.GatewayReasonPending, fmt.Sprintf("no router of IngressController %s is ready", in.Settings.Name)
	}
	if reason, message := in.unserved(); message != "" {
		return reason, message
	}
	if in.Settings.Strategy.Type == operatorv1.NodePortServiceStrategyType && in.entry() != nil {
		return gatewayv1.GatewayReasonProgrammed, in.nodePorts()
	}
	return gatewayv1.GatewayReasonProgrammed, ""
}

func (in Input) noSlots() string {
	var ports []string
	for _, p := range in.Lacking[:min(len(in.Lacking), mostListed)] {
		ports = append(ports, p.String())
	}
	if more := len(in.Lacking) - mostListed; more > 0 {
		ports = append(ports, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("the routers of IngressController %s have no port left for %s: all are taken, or the Gateways of this namespace have the quarter that one namespace may have; these ports are not served; delete Gateways, or use another GatewayClass",
		in.Settings.Name, strings.Join(ports, ", "))
}

// allocator says what the allocator of addresses says about the Service.
func (in Input) allocator() string {
	s := in.entry()
	if s == nil {
		return ""
	}
	c := meta.FindStatusCondition(s.Status.Conditions, api.ConditionAllocated)
	if c == nil || c.Status == metav1.ConditionTrue || c.Message == "" {
		return ""
	}
	return ": " + c.Message
}
