package operator

import (
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
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
		{name: "annotation", annotation: "198.18.0.0/16, 2001:db8::/32", want: []string{"198.18.0.0/16", "2001:db8::/32"}, stays: true, told: "limits who may connect"},
		{name: "field wins", annotation: "198.18.0.0/16", field: []string{"203.0.113.0/24"}, want: []string{"203.0.113.0/24"}},
		{name: "annotation removed", before: []string{"198.18.0.0/16"}},
		{name: "mistake", annotation: "198.18.0.0/16;10.0.0.0/8", before: []string{"198.18.0.0/16"}, want: []string{"198.18.0.0/16"}, stays: true, told: "cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := plainSettings(operatorv1.LoadBalancerServiceStrategyType, 2)
			s.sourceRanges = test.field
			desired, _ := desiredLoadBalancerService(s)
			live := desired.DeepCopy()
			live.Spec.LoadBalancerSourceRanges = test.before
			if test.annotation != "" {
				live.Annotations[key] = test.annotation
			}
			rangedService(desired, live)
			updated, _ := changedLoadBalancerService(live, desired)
			withoutRangesAnnotation(updated, s)
			if !slices.Equal(updated.Spec.LoadBalancerSourceRanges, test.want) {
				t.Errorf("ranges are %v, want %v", updated.Spec.LoadBalancerSourceRanges, test.want)
			}
			if _, there := updated.Annotations[key]; there != test.stays {
				t.Errorf("annotation is there: %t, want %t", there, test.stays)
			}
			in := well()
			in.s, in.loadBalancer = s, updated
			told := evaluationCondition(in)
			if (told.status == operatorv1.ConditionTrue) != (test.told != "") || !strings.Contains(told.message, test.told) {
				t.Errorf("told %+v, want %q", told, test.told)
			}
		})
	}
}

// TestMetricsPortStaysAway: a port that an administrator took from the nodes is
// not opened there again.
func TestMetricsPortStaysAway(t *testing.T) {
	t.Parallel()
	desired, _ := desiredNodePortService(plainSettings(operatorv1.NodePortServiceStrategyType, 2))
	live := desired.DeepCopy()
	if _, changed := changedNodePortService(live, desired); changed {
		t.Error("a Service as desired is changed")
	}
	live.Spec.Ports = live.Spec.Ports[:2]
	if updated, changed := changedNodePortService(live, desired); changed || len(updated.Spec.Ports) != 2 {
		t.Errorf("ports are %+v", updated.Spec.Ports)
	}
	live.Spec.Ports = live.Spec.Ports[:1]
	if updated, changed := changedNodePortService(live, desired); !changed || len(updated.Spec.Ports) != 2 {
		t.Errorf("without https, ports are %+v", updated.Spec.Ports)
	}
}
