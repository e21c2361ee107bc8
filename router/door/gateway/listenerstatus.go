package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

const effectListener = "the listener is not served"

// status says what stands in the status of the Gateway or ListenerSet about a listener.
func (l *listener) status(r resolution) (model.ListenerStatus, []api.Finding) {
	kinds, _ := l.kinds()
	out := model.ListenerStatus{Name: string(l.spec.Name), Scope: l.scope, Kinds: kinds}
	var findings []api.Finding
	add := func(kind gatewayv1.ListenerConditionType, is bool, reason gatewayv1.ListenerConditionReason, message string) {
		out.Conditions = append(out.Conditions, model.StatusCondition{Type: string(kind), True: is, Reason: string(reason), Message: message})
	}
	accepted, why := l.accepted(r)
	good := accepted == gatewayv1.ListenerReasonAccepted
	if !good {
		findings = append(findings, api.Finding{Reason: api.ReasonListenerNotServed, Severity: api.SeverityError, Message: string(accepted) + ": " + why, Effect: effectListener})
	}
	add(gatewayv1.ListenerConditionAccepted, good, accepted, why)

	conflict := l.verdict.Conflict != gatewayv1.ListenerReasonNoConflicts
	if add(gatewayv1.ListenerConditionConflicted, conflict, l.verdict.Conflict, ""); conflict {
		out.Conditions[len(out.Conditions)-1].Message = l.verdict.Message
	}

	resolved, wrong := l.resolve(r.reason, r.message)
	refs := resolved == gatewayv1.ListenerReasonResolvedRefs
	add(gatewayv1.ListenerConditionResolvedRefs, refs, resolved, wrong)
	if !refs {
		findings = append(findings, l.unresolved(resolved, wrong, r.lacking))
	}

	switch {
	case conflict && l.owner.Kind == KindListenerSet: // as the conformance tests want it
		add(gatewayv1.ListenerConditionProgrammed, false, l.verdict.Conflict, "the listener is not valid")
	case !good:
		add(gatewayv1.ListenerConditionProgrammed, false, gatewayv1.ListenerReasonInvalid, "the listener is not valid")
	case r.lacking:
		add(gatewayv1.ListenerConditionProgrammed, false, gatewayv1.ListenerReasonInvalid, "there is no certificate that can be shown: "+wrong)
	case r.agentless:
		add(gatewayv1.ListenerConditionProgrammed, false, gatewayv1.ListenerReasonInvalid, needsAgent)
	case r.unbound:
		add(gatewayv1.ListenerConditionProgrammed, false, gatewayv1.ListenerReasonPending, "HAProxy refuses the ports for Gateways: the condition SettingsApplied of the IngressController says why")
	case !r.ready:
		add(gatewayv1.ListenerConditionProgrammed, false, gatewayv1.ListenerReasonPending, "the port has not been given a slot yet")
	default:
		add(gatewayv1.ListenerConditionProgrammed, true, gatewayv1.ListenerReasonProgrammed, "")
	}
	return out, findings
}

// accepted returns the reason of the condition Accepted, and the message.
func (l *listener) accepted(r resolution) (gatewayv1.ListenerConditionReason, string) {
	if r.exhausted {
		return gatewayv1.ListenerReasonPortUnavailable, "the routers have no port left for it, or the Gateways and ListenerSets of the namespace have all that one namespace may have; delete listeners at ports of their own, or use another GatewayClass"
	}
	return l.verdict.Reason, l.verdict.Message
}

func (l *listener) unresolved(reason gatewayv1.ListenerConditionReason, wrong string, lacking bool) api.Finding {
	f := api.Finding{Reason: api.ReasonListenerNotServed, Severity: api.SeverityError, Message: string(reason) + ": " + wrong, Effect: effectListener}
	if !lacking && l.served() {
		f.Severity, f.Effect = api.SeverityWarning, "the listener is served with the certificates that can be used"
	}
	switch reason {
	case gatewayv1.ListenerReasonInvalidRouteKinds:
		f.Reason, f.Severity, f.Message, f.Effect = api.ReasonInvalidRouteKinds, api.SeverityWarning, wrong, "routes of these kinds do not attach"
	case gatewayv1.ListenerReasonRefNotPermitted:
		f.Reason, f.Message = api.ReasonRefNotPermitted, wrong
	default:
	}
	return f
}
