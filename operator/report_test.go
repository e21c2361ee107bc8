package operator

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/deployment"
	"github.com/fairlead/fairlead/operator/status"
	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/build/defaults"
)

// TestStatusIsStable: the same input twice is no write.
func TestStatusIsStable(t *testing.T) {
	t.Parallel()
	s := defaults.Settings(operatorv1.PrivateStrategyType, 2)
	d := deployment.Desired(s)
	d.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
	}}
	in := status.Input{IC: build.IngressController(), Settings: s, Deployment: d, Now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	in.IC.Status, _ = status.Of(in)
	in.Now = in.Now.Add(time.Hour)
	updated := in.IC.DeepCopy()
	updated.Status, _ = status.Of(in)
	if patch, changed, err := statusPatch(in, updated, false); changed || err != nil {
		t.Errorf("patch %s, %v", patch, err)
	}
	if _, changed, err := statusPatch(in, updated, true); !changed || err != nil {
		t.Errorf("other addresses are no write: %v", err)
	}
}
