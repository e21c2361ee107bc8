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

// TestMetricsPortNotPublished: metrics and statistics are open within the cluster
// only; a port that is there from before, or that was added, goes.
func TestMetricsPortNotPublished(t *testing.T) {
	t.Parallel()
	node := plainSettings(operatorv1.NodePortServiceStrategyType, 2)
	desired, _ := desiredNodePortService(node)
	balancer, _ := desiredLoadBalancerService(plainSettings(operatorv1.LoadBalancerServiceStrategyType, 2))
	for _, service := range []*corev1.Service{desired, balancer} {
		for _, p := range service.Spec.Ports {
			if p.Name != "http" && p.Name != "https" {
				t.Errorf("%s publishes %s", service.Name, p.Name)
			}
		}
	}
	live := desired.DeepCopy()
	live.Spec.Ports = append(live.Spec.Ports, desiredInternalService(node).Spec.Ports[2])
	if updated, changed := changedService(live, desired); !changed || len(updated.Spec.Ports) != 2 {
		t.Errorf("ports are %+v", updated.Spec.Ports)
	}
}

// TestProbePort: the kubelet asks on a port of its own where the pod has one.
func TestProbePort(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[operatorv1.EndpointPublishingStrategyType]int32{
		operatorv1.LoadBalancerServiceStrategyType: 1937, operatorv1.PrivateStrategyType: 1937,
		operatorv1.HostNetworkStrategyType: 1936,
	} {
		c := routerContainer(plainSettings(strategy, 2))
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if got := p.HTTPGet.Port.IntVal; got != want {
				t.Errorf("%s: probed on %d, want %d", strategy, got, want)
			}
		}
		if listens := slices.Contains(c.Args, "--health-port"); listens != (want == 1937) {
			t.Errorf("%s: %v", strategy, c.Args)
		}
	}
}
