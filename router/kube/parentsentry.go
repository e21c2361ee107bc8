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
// its own, and whether that is a difference.
func withParents(current jsontext.Value, s *model.RouteStatus, others func(*gatewayv1.ParentReference) bool, now metav1.Time) ([]json.RawMessage, bool, error) {
	wanted, err := references(s.Parents)
	if err != nil {
		return nil, false, err
	}
	e := entries[gatewayv1.RouteParentStatus]{
		fields: func(e *gatewayv1.RouteParentStatus) (*gatewayv1.ParentReference, *gatewayv1.GatewayController, *[]metav1.Condition) {
			return &e.ParentRef, &e.ControllerName, &e.Conditions
		},
		wanted: wanted, conditions: func(at int) []model.StatusCondition { return s.Parents[at].Conditions },
		generation: s.Generation, most: maxParents, others: others, now: now,
	}
	return e.merge(current)
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

// entries are those of a status that lists what controllers say of an object, each for one
// other object.
type entries[E any] struct {
	fields func(*E) (of *gatewayv1.ParentReference, by *gatewayv1.GatewayController, conditions *[]metav1.Condition)
	// wanted are the objects for which the router says something, and conditions what.
	wanted     []gatewayv1.ParentReference
	conditions func(at int) []model.StatusCondition
	generation int64
	// most is what the CustomResourceDefinition allows.
	most int
	// others reports whether another router of Fairlead writes the entry for an object.
	others func(*gatewayv1.ParentReference) bool
	now    metav1.Time
}

// merge returns the entries with what the router says in place of its own, and whether that
// is a difference. Entries of other controllers keep their place and every byte, and so do
// those of Fairlead's other routers. Entries for what is not wanted any more leave.
func (w *entries[E]) merge(current jsontext.Value) (out []json.RawMessage, differs bool, err error) {
	var texts []json.RawMessage
	if len(current) > 0 {
		if err := json.Unmarshal(current, &texts); err != nil {
			return nil, false, err //nolint:wrapcheck // the caller says of what
		}
	}
	said := make([]bool, len(w.wanted))
	for _, text := range texts {
		var e E
		of, by, conditions := w.fields(&e)
		if json.Unmarshal(text, &e) != nil || *by != gatewayapi.ControllerName {
			out = append(out, text)
			continue
		}
		at := slices.IndexFunc(w.wanted, func(r gatewayv1.ParentReference) bool { return reflect.DeepEqual(r, *of) })
		if at < 0 && w.others(of) {
			out = append(out, text)
			continue
		}
		if at < 0 || said[at] {
			differs = true
			continue
		}
		said[at] = true
		merged, changed := withConditions(*conditions, w.conditions(at), w.generation, w.now)
		if changed {
			differs, *conditions = true, merged
			if text, err = json.Marshal(e); err != nil {
				return nil, false, err //nolint:wrapcheck // the caller says of what
			}
		}
		out = append(out, text)
	}
	more, err := w.fresh(said, w.most-len(out))
	return append(out, more...), differs || len(more) > 0, err
}

// fresh returns the entries for objects that have none yet, each once.
func (w *entries[E]) fresh(said []bool, most int) (out []json.RawMessage, err error) {
	for i := range w.wanted {
		if said[i] || len(out) >= most || slices.ContainsFunc(w.wanted[:i], func(r gatewayv1.ParentReference) bool { return reflect.DeepEqual(r, w.wanted[i]) }) {
			continue
		}
		var e E
		of, by, conditions := w.fields(&e)
		*of, *by = w.wanted[i], gatewayapi.ControllerName
		*conditions, _ = withConditions(nil, w.conditions(i), w.generation, w.now)
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says of what
		}
		out = append(out, text)
	}
	return out, nil
}

// ownConditions are those that the router alone writes: what it does not say leaves.
var ownConditions = []string{
	string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs), string(gatewayv1.RouteConditionPartiallyInvalid),
	string(gatewayv1.ListenerConditionOverlappingTLSConfig),
}

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

// listedParents are the entries of a route's status, unread.
type listedParents struct {
	Parents jsontext.Value `json:"parents"`
}
