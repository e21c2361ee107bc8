package pipeline

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// showsCertificates reports whether a result is that of a Gateway or ListenerSet that HAProxy
// can refuse for a certificate.
func showsCertificates(res *door.Result) bool {
	return slices.ContainsFunc(res.Listeners, func(l model.Listener) bool { return len(l.Certificates) > 0 })
}

// withdrawListeners takes out the listeners that show certificates, of which HAProxy has
// refused one, and says so of each.
func withdrawListeners(res *door.Result, message string) {
	if res.OfGateway == nil {
		return
	}
	var scopes []model.ScopeID
	res.Listeners = slices.DeleteFunc(res.Listeners, func(l model.Listener) bool {
		if len(l.Certificates) > 0 {
			scopes = append(scopes, l.Scope)
		}
		return len(l.Certificates) > 0
	})
	for i := range res.ListenerStatus {
		st := &res.ListenerStatus[i]
		if !slices.Contains(scopes, st.Scope) {
			continue
		}
		st.Conditions = slices.DeleteFunc(st.Conditions, isProgrammed)
		st.Conditions = append(st.Conditions, notProgrammed(message))
	}
	if res.Object.Kind == door.KindListenerSet && len(res.Listeners) == 0 && len(res.Conditions) > 0 {
		res.Conditions = slices.DeleteFunc(slices.Clone(res.Conditions), isProgrammed)
		res.Conditions = append(res.Conditions, notProgrammed(message))
	}
}

func isProgrammed(c model.StatusCondition) bool {
	return c.Type == string(gatewayv1.ListenerConditionProgrammed)
}

// notProgrammed is a condition of a listener, or of a ListenerSet without another one.
func notProgrammed(message string) model.StatusCondition {
	return model.StatusCondition{Type: string(gatewayv1.ListenerConditionProgrammed), Reason: string(gatewayv1.ListenerReasonInvalid), Message: message}
}
