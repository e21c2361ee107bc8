package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/build"
)

func TestDraining(t *testing.T) {
	t.Parallel()
	pod := func(node string) corev1.Pod { return corev1.Pod{Spec: corev1.PodSpec{NodeName: node}} }
	down := build.Node("down")
	down.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if got := draining([]corev1.Pod{pod("up"), pod("down"), pod("")}, []corev1.Node{build.Node("up"), down}); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}
