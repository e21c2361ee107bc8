package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// setWork compares the newest version of a ListenerSet with an opinion. Nothing is said about
// one that is not of this router, but what a router has said about it before its Gateway went
// is withdrawn.
func (s *StatusWriter) setWork(key model.Object, known bool, status *model.RouteStatus, attached attachments, now metav1.Time) (gatewayWork, error) {
	stored := s.watcher.gateways.sets.get(key)
	if stored == nil {
		return gatewayWork{}, nil
	}
	w := gatewayWork{key: key, object: stored, kind: types.ApplyPatchType}
	var err error
	if !known {
		if len(stored.Status.Listeners) == 0 && !saysMore(stored.Status.Conditions) || s.watcher.gatewayOf(key) != nil {
			return gatewayWork{}, nil
		}
		w.patch, err = statusPatch(key, stored.UID, map[string]any{})
		return w, err
	}
	if status.UID != string(stored.UID) || status.Generation != stored.Generation {
		return gatewayWork{}, nil
	}
	current := make([]gatewayv1.ListenerStatus, 0, len(stored.Status.Listeners))
	for _, l := range stored.Status.Listeners {
		current = append(current, gatewayv1.ListenerStatus(l))
	}
	listeners, differs := withListeners(current, status, attached.routes, now)
	wanted := s.underGateway(stored, status.Conditions)
	conditions, changed := withConditions(ourConditions(stored.Status.Conditions, wanted), wanted, status.Generation, now)
	if !differs && !changed {
		return w, nil
	}
	content := map[string]any{"conditions": conditions}
	if len(listeners) > 0 {
		content["listeners"] = listeners
	}
	w.patch, err = statusPatch(key, stored.UID, content)
	return w, err
}

// reasonParentNotProgrammed is that of ListenerSets that are programmed, of a Gateway that is not.
const reasonParentNotProgrammed = "ParentNotProgrammed"

// underGateway returns the conditions of a ListenerSet as its Gateway leaves them: without an
// address of the Gateway no client gets to the listeners, wherever HAProxy listens.
func (s *StatusWriter) underGateway(set *gatewayv1.ListenerSet, conditions []model.StatusCondition) []model.StatusCondition {
	parent, _ := gateway.SetGateway(set)
	g := s.watcher.gateways.objects.get(parent)
	if g == nil {
		return conditions
	}
	why := gateway.Unprogrammed(g)
	if why == "" {
		return conditions
	}
	return withoutProgrammed(conditions, reasonParentNotProgrammed, fmt.Sprintf("Gateway %s is not programmed (%s): see its conditions", parent, why))
}

// saysMore reports whether conditions are others than those with which the API server makes
// an object.
func saysMore(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		if c.Status != metav1.ConditionUnknown {
			return true
		}
	}
	return false
}

// setsSeen looks again at the statuses of the ListenerSets of a Gateway: nothing else of them has
// changed.
func (w *Watcher) setsSeen(of model.Object) {
	for _, s := range w.gateways.sets.group(gateway.SetsOf(of)) {
		w.gatewaySeen(keyOf(gateway.KindListenerSet, s))
	}
}
