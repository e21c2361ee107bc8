package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/model"
)

// TestOverlapGoes: OverlappingTLSConfig leaves the status of a listener once it is not true, and
// what others say of the listener makes no difference.
func TestOverlapGoes(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	stands := []gatewayv1.ListenerStatus{{Name: "a", Conditions: []metav1.Condition{
		{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: 1},
		{Type: "OverlappingTLSConfig", Status: metav1.ConditionTrue, Reason: "OverlappingHostnames", ObservedGeneration: 1},
		{Type: "example.com/Other", Status: metav1.ConditionTrue, Reason: "Other"},
	}}}
	wanted := &model.RouteStatus{Generation: 1, Listeners: []model.ListenerStatus{{Name: "a", Conditions: []model.StatusCondition{{Type: "Accepted", True: true, Reason: "Accepted"}}}}}
	out, differs := withListeners(stands, wanted, nil, now)
	if !differs || len(out[0].Conditions) != 1 {
		t.Errorf("differs %v, conditions %v", differs, out[0].Conditions)
	}
	if out, differs = withListeners(out, wanted, nil, now); differs {
		t.Errorf("differs again: %v", out)
	}
}
