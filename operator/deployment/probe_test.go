package deployment

import (
	"slices"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/build/defaults"
)

// TestProbePort: the kubelet asks on a port of its own where the pod has one.
func TestProbePort(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[operatorv1.EndpointPublishingStrategyType]int32{
		operatorv1.LoadBalancerServiceStrategyType: 1937, operatorv1.PrivateStrategyType: 1937,
		operatorv1.HostNetworkStrategyType: 1936,
	} {
		c := routerContainer(defaults.Settings(strategy, 2))
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
