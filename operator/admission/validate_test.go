package admission

import (
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/status"
	"github.com/fairlead/fairlead/test/build"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	admittedOther := operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	admittedOther.Status.Domain = "apps.example.com"
	admittedOther.Status.Conditions = []operatorv1.OperatorCondition{{Type: status.ConditionAdmitted, Status: operatorv1.ConditionTrue}}
	refusedOther := *admittedOther.DeepCopy()
	refusedOther.Status.Conditions[0].Status = operatorv1.ConditionFalse
	tests := []struct {
		name   string
		ic     *operatorv1.IngressController
		domain string
		others []operatorv1.IngressController
		want   []string // parts of the texts, one per fault
	}{
		{name: "well", ic: build.IngressController(), domain: "apps.example.com"},
		{name: "no domain", ic: build.IngressController(), want: []string{"spec.domain: domain is required"}},
		{name: "domain taken", ic: build.IngressController(), domain: "apps.example.com", others: []operatorv1.IngressController{admittedOther}, want: []string{"conflicts with: b"}},
		{name: "domain of a refused one", ic: build.IngressController(), domain: "apps.example.com", others: []operatorv1.IngressController{refusedOther}},
		{
			name: "several faults at once", domain: "apps.example.com",
			ic: build.IngressController(build.Strategy(operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{HTTPPort: 443},
			}), func(ic *operatorv1.IngressController) {
				ic.Spec.TuningOptions.HeaderBufferBytes = 16384
				ic.Spec.TuningOptions.HeaderBufferMaxRewriteBytes = 16384
				ic.Spec.ClientTLS.AllowedSubjectPatterns = []string{"ok", "("}
				ic.Spec.NodePlacement = &operatorv1.NodePlacement{NodeSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}},
				}}
			}),
			want: []string{"spec.endpointPublishingStrategy.hostNetwork", "spec.nodePlacement", "spec.tuningOptions.headerBufferBytes", "spec.clientTLS.allowedSubjectPatterns[1]"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			faults := Validate(test.ic, effective.Of(test.ic, effective.Cluster{}, effective.Defaults{Domain: test.domain}), test.others)
			if len(faults) != len(test.want) {
				t.Fatalf("got %v, want %d faults", faults, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(faults[i].Text(), want) {
					t.Errorf("got %q, want %q in it", faults[i].Text(), want)
				}
			}
		})
	}
}
