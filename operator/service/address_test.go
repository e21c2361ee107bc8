package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/build"
)

func TestPublishedAddresses(t *testing.T) {
	t.Parallel()
	address := func(n corev1.Node, kind corev1.NodeAddressType, value string) corev1.Node {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: kind, Address: value})
		return n
	}
	nodes := []corev1.Node{
		address(build.Node("n2"), corev1.NodeInternalIP, "10.0.0.12"),
		address(build.Node("n1"), corev1.NodeInternalIP, "10.0.0.9"),
		address(address(build.Node("n3"), corev1.NodeInternalIP, "10.0.0.13"), corev1.NodeExternalIP, "2001:db8::3"),
	}
	pod := func(node string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			Spec:   corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	pods := []corev1.Pod{pod("n2", "True"), pod("n1", "True"), pod("n3", "True"), pod("n4", "False")}
	service := &corev1.Service{}
	service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress,
		corev1.LoadBalancerIngress{IP: "198.18.0.201"}, corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "198.18.0.21"}, corev1.LoadBalancerIngress{IP: "198.18.0.21"})
	tests := []struct {
		kind operatorv1.EndpointPublishingStrategyType
		want []string
	}{
		{operatorv1.LoadBalancerServiceStrategyType, []string{"198.18.0.21", "198.18.0.201", "lb.example.com"}},
		{operatorv1.HostNetworkStrategyType, []string{"10.0.0.9", "10.0.0.12", "2001:db8::3"}},
		{operatorv1.NodePortServiceStrategyType, []string{"10.0.0.9", "10.0.0.12", "2001:db8::3"}},
		{operatorv1.PrivateStrategyType, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Published(test.kind, service, nodes, pods)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.kind, diff)
		}
	}
}
