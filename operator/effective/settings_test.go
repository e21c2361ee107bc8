package effective

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/build"
)

func TestReplicas(t *testing.T) {
	t.Parallel()
	controlPlane := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name  string
		nodes []corev1.Node
		edit  func(*operatorv1.IngressController)
		want  int32
	}{
		{name: "one node", nodes: []corev1.Node{build.Node("n1")}, want: 1},
		{name: "two nodes", nodes: []corev1.Node{build.Node("n1"), build.Node("n2")}, want: 2},
		{name: "no node yet", want: 2},
		{name: "one worker beside the control plane", nodes: []corev1.Node{build.Node("cp", controlPlane), build.Node("n1")}, want: 1},
		{name: "a cordon passes", nodes: []corev1.Node{build.Node("n1", cordon), build.Node("n2")}, want: 2},
		{
			name: "tolerated control plane", nodes: []corev1.Node{build.Node("cp", controlPlane), build.Node("n1")}, want: 2,
			edit: func(ic *operatorv1.IngressController) {
				ic.Spec.NodePlacement = &operatorv1.NodePlacement{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
			},
		},
		{
			name: "zero is a wish", nodes: []corev1.Node{build.Node("n1")}, want: 0,
			edit: func(ic *operatorv1.IngressController) { ic.Spec.Replicas = new(int32(0)) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := build.IngressController()
			if test.edit != nil {
				test.edit(ic)
			}
			if got := Of(ic, Cluster{Nodes: test.nodes}, Defaults{}).Replicas; got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestStrategy(t *testing.T) {
	t.Parallel()
	hostNetwork := operatorv1.EndpointPublishingStrategy{
		Type:        operatorv1.HostNetworkStrategyType,
		HostNetwork: &operatorv1.HostNetworkStrategy{Protocol: operatorv1.TCPProtocol, HTTPPort: 80, HTTPSPort: 443, StatsPort: 1936},
	}
	balanced := operatorv1.EndpointPublishingStrategy{
		Type: operatorv1.LoadBalancerServiceStrategyType,
		LoadBalancer: &operatorv1.LoadBalancerStrategy{
			Scope: operatorv1.ExternalLoadBalancer, DNSManagementPolicy: operatorv1.ManagedLoadBalancerDNS,
		},
	}
	moved := hostNetwork.DeepCopy()
	moved.HostNetwork.HTTPPort = 8080
	tests := []struct {
		name     string
		ic       *operatorv1.IngressController
		provider bool
		want     operatorv1.EndpointPublishingStrategy
	}{
		{name: "nothing assigns addresses", ic: build.IngressController(), want: hostNetwork},
		{name: "our provider is installed", ic: build.IngressController(), provider: true, want: balanced},
		{
			name: "the type in use stays", provider: true, want: hostNetwork,
			ic: build.IngressController(func(ic *operatorv1.IngressController) { ic.Status.EndpointPublishingStrategy = hostNetwork.DeepCopy() }),
		},
		{
			name: "the parameters follow the wish", want: *moved,
			ic: build.IngressController(build.Strategy(operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{HTTPPort: 8080},
			}), func(ic *operatorv1.IngressController) { ic.Status.EndpointPublishingStrategy = hostNetwork.DeepCopy() }),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Of(test.ic, Cluster{Provider: test.provider}, Defaults{}).Strategy
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("strategy (-want +got):\n%s", diff)
			}
		})
	}
}
