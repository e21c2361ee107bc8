package kube

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// maxParents is what the CustomResourceDefinition allows.
const maxParents = 32

// withParents returns the entries of a route's status with what a router says in place of
// its own, and whether that is a difference. Entries of other controllers keep their place
// and text, and so do those of Fairlead's other routers, for which others is true. Entries
// for a parentRef that is gone leave.
func withParents(current jsontext.Value, s *model.RouteStatus, others func(*gatewayv1.ParentReference) bool, now metav1.Time) (out []json.RawMessage, differs bool, err error) {
	var entries []json.RawMessage
	if len(current) > 0 {
		if err := json.Unmarshal(current, &entries); err != nil {
			return nil, false, err //nolint:wrapcheck // the caller says of what
		}
	}
	wanted, err := references(s.Parents)
	if err != nil {
		return nil, false, err
	}
	said := make([]bool, len(wanted))
	for _, text := range entries {
		var e gatewayv1.RouteParentStatus
		if json.Unmarshal(text, &e) != nil || e.ControllerName != gatewayapi.ControllerName {
			out = append(out, text)
			continue
		}
		at := slices.IndexFunc(wanted, func(r gatewayv1.ParentReference) bool { return reflect.DeepEqual(r, e.ParentRef) })
		if at < 0 && others(&e.ParentRef) {
			out = append(out, text)
			continue
		}
		if at < 0 || said[at] {
			differs = true
			continue
		}
		said[at] = true
		conditions, changed := withConditions(e.Conditions, s.Parents[at].Conditions, s.Generation, now)
		if !changed {
			out = append(out, text)
			continue
		}
		differs, e.Conditions = true, conditions
		if text, err = json.Marshal(e); err != nil {
			return nil, false, err //nolint:wrapcheck // the caller says of what
		}
		out = append(out, text)
	}
	more, err := newEntries(wanted, said, s, now, maxParents-len(out))
	return append(out, more...), differs || len(more) > 0, err
}

// references reads the parentRefs that a router says something about.
func references(parents []model.ParentStatus) ([]gatewayv1.ParentReference, error) {
	out := make([]gatewayv1.ParentReference, len(parents))
	for i := range parents {
		if err := json.Unmarshal([]byte(parents[i].Ref), &out[i]); err != nil {
			return nil, err //nolint:wrapcheck // the caller says of what
		}
	}
	return out, nil
}

// newEntries returns those of the parentRefs that no entry is for yet, each once.
func newEntries(wanted []gatewayv1.ParentReference, said []bool, s *model.RouteStatus, now metav1.Time, most int) (out []json.RawMessage, err error) {
	for i := range wanted {
		if said[i] || len(out) >= most || slices.ContainsFunc(wanted[:i], func(r gatewayv1.ParentReference) bool { return reflect.DeepEqual(r, wanted[i]) }) {
			continue
		}
		e := gatewayv1.RouteParentStatus{ParentRef: wanted[i], ControllerName: gatewayapi.ControllerName}
		e.Conditions, _ = withConditions(nil, s.Parents[i].Conditions, s.Generation, now)
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says of what
		}
		out = append(out, text)
	}
	return out, nil
}

// ownConditions are those that the router alone writes: what it does not say leaves.
var ownConditions = []string{string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs), string(gatewayv1.RouteConditionPartiallyInvalid)}

// withConditions returns conditions with what a router says in place of its own, and
// whether that is a difference. The time of a condition moves only if its status does.
func withConditions(current []metav1.Condition, wanted []model.StatusCondition, generation int64, now metav1.Time) (out []metav1.Condition, differs bool) {
	for _, c := range current {
		said := slices.ContainsFunc(wanted, func(w model.StatusCondition) bool { return w.Type == c.Type })
		switch {
		case said:
		case slices.Contains(ownConditions, c.Type):
			differs = true
		default:
			out = append(out, c)
		}
	}
	for _, w := range wanted {
		c := metav1.Condition{Type: w.Type, Status: metav1.ConditionFalse, Reason: w.Reason, Message: shorten(w.Message), ObservedGeneration: generation, LastTransitionTime: now}
		if w.True {
			c.Status = metav1.ConditionTrue
		}
		at := slices.IndexFunc(current, func(o metav1.Condition) bool { return o.Type == w.Type })
		if at >= 0 && current[at].Status == c.Status {
			c.LastTransitionTime = current[at].LastTransitionTime
		}
		differs = differs || at < 0 || !sameCondition(current[at], c)
		out = append(out, c)
	}
	return out, differs
}
