package desired

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The routers say of each listener whether all of them have it live (router/kube). A Gateway is
// programmed once they have said so about its newest generation.

// Patience is how long the operator waits for the routers before it says that a Gateway which
// was programmed is not: they say what they have within a second, or that some lack it.
const Patience = 3 * time.Second

// listenerProgrammed returns what the routers say of a listener of this generation, or nil.
func (in Input) listenerProgrammed(name gatewayv1.SectionName) *metav1.Condition {
	for _, l := range in.Gateway.Status.Listeners {
		c := meta.FindStatusCondition(l.Conditions, string(gatewayv1.ListenerConditionProgrammed))
		if l.Name == name && c != nil && c.ObservedGeneration == in.Gateway.Generation {
			return c
		}
	}
	return nil
}

// Silent reports whether the routers have yet to say something about this generation.
func (in Input) Silent() bool { return in.silence() != "" }

// silence says of which listener they have yet to.
func (in Input) silence() string {
	for _, l := range in.Gateway.Spec.Listeners {
		if in.listenerProgrammed(l.Name) == nil {
			return fmt.Sprintf("the routers have not said yet that they serve listener %s", l.Name)
		}
	}
	return ""
}

// unserved says why not all routers serve what can be served of this generation. Listeners that
// are not valid are left out, unless all are.
func (in Input) unserved() (gatewayv1.GatewayConditionReason, string) {
	if silence := in.silence(); silence != "" {
		return gatewayv1.GatewayReasonPending, silence
	}
	served, first := 0, ""
	for _, l := range in.Gateway.Spec.Listeners {
		c := in.listenerProgrammed(l.Name)
		switch {
		case c.Status == metav1.ConditionTrue:
			served++
		case c.Reason != string(gatewayv1.ListenerReasonInvalid):
			return gatewayv1.GatewayReasonPending, fmt.Sprintf("listener %s: %s", l.Name, c.Message)
		case first == "":
			first = fmt.Sprintf("%s: %s", l.Name, c.Message)
		}
	}
	if served == 0 {
		return gatewayv1.GatewayReasonInvalid, "the routers serve no listener; " + first
	}
	return gatewayv1.GatewayReasonProgrammed, ""
}

// orBefore returns what the condition Programmed said before, of the generation before, while
// the routers may still say that this one is programmed, too.
func (in Input) orBefore(now metav1.Condition) metav1.Condition {
	before := meta.FindStatusCondition(in.Gateway.Status.Conditions, now.Type)
	if now.Message == in.silence() && now.Status == metav1.ConditionFalse && before != nil && before.Status == metav1.ConditionTrue && in.Waited < Patience {
		return *before
	}
	return now
}
