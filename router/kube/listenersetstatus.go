package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

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
	conditions, changed := withConditions(ourConditions(stored.Status.Conditions, status.Conditions), status.Conditions, status.Generation, now)
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
