package disruption

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/fairlead/fairlead/test/build/defaults"
)

func TestPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int32]string{0: "", 1: "", 2: "1", 3: "25%", 9: "25%"} {
		budget, wanted := Desired(defaults.Settings(operatorv1.PrivateStrategyType, replicas))
		if wanted != (want != "") {
			t.Errorf("%d replicas: wanted is %t", replicas, wanted)
		}
		if wanted && budget.Spec.MaxUnavailable.String() != want {
			t.Errorf("%d replicas: maxUnavailable %s, want %s", replicas, budget.Spec.MaxUnavailable, want)
		}
		if *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
			t.Error("unhealthy pods block the draining of nodes")
		}
	}
}
