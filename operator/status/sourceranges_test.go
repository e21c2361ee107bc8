package status

import (
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/build/defaults"
)

// TestSourceRangesAnnotation: the annotation of the Service counts where the
// IngressController says nothing, goes when it does, and is told. What cannot be
// read opens nothing.
func TestSourceRangesAnnotation(t *testing.T) {
	t.Parallel()
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	for _, test := range []struct {
		name, annotation string
		before, field    []string
		want             []string
		stays            bool
		told             string
	}{
		{name: "nothing"},
		{name: "annotation", annotation: "198.18.0.0/16, 2001:db8::/32", want: []string{"198.18.0.0/16", "2001:db8::/32"}, stays: true, told: "limits the source addresses that may connect"},
		{name: "field wins", annotation: "198.18.0.0/16", field: []string{"203.0.113.0/24"}, want: []string{"203.0.113.0/24"}},
		{name: "annotation removed", before: []string{"198.18.0.0/16"}},
		{name: "mistake", annotation: "198.18.0.0/16;10.0.0.0/8", before: []string{"198.18.0.0/16"}, want: []string{"198.18.0.0/16"}, stays: true, told: "cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2)
			s.SourceRanges = test.field
			ic := build.IngressController()
			desired, _ := service.DesiredLoadBalancer(s, ic, nil)
			live := desired.DeepCopy()
			live.Spec.LoadBalancerSourceRanges = test.before
			if test.annotation != "" {
				live.Annotations[key] = test.annotation
			}
			desired, _ = service.DesiredLoadBalancer(s, ic, live)
			updated, _ := service.ChangedLoadBalancer(s, live, desired)
			if !slices.Equal(updated.Spec.LoadBalancerSourceRanges, test.want) {
				t.Errorf("ranges are %v, want %v", updated.Spec.LoadBalancerSourceRanges, test.want)
			}
			if _, there := updated.Annotations[key]; there != test.stays {
				t.Errorf("annotation is there: %t, want %t", there, test.stays)
			}
			in := well()
			in.Settings, in.LoadBalancer = s, updated
			told := evaluationCondition(in)
			if (told.status == operatorv1.ConditionTrue) != (test.told != "") || !strings.Contains(told.message, test.told) {
				t.Errorf("told %+v, want %q", told, test.told)
			}
		})
	}
}
