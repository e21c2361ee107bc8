package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/build/defaults"
)

func TestChangedService(t *testing.T) {
	t.Parallel()
	s := defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2)
	s.SourceRanges = []string{"198.18.0.0/15"}
	desired, wanted := DesiredLoadBalancer(s, build.IngressController(), nil)
	if !wanted {
		t.Fatal("no Service of type LoadBalancer")
	}
	live := desired.DeepCopy()
	live.Spec.ClusterIP = "10.0.0.1"
	live.Spec.HealthCheckNodePort = 32000
	live.Spec.AllocateLoadBalancerNodePorts = new(true)
	live.Spec.SessionAffinity = corev1.ServiceAffinityNone
	live.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	live.Annotations["example.com/theirs"] = "x"
	for i := range live.Spec.Ports {
		live.Spec.Ports[i].NodePort = int32(30000 + i)
	}
	if _, changed := Changed(live, desired); changed {
		t.Error("what the API server allocated counts as a change")
	}
	edited := live.DeepCopy()
	edited.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	edited.Spec.LoadBalancerSourceRanges = nil
	edited.Spec.Selector["x"] = "y"
	edited.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	edited.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(5))}}
	edited.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	edited.Spec.Ports[0].Port = 81
	updated, changed := Changed(edited, desired)
	if !changed {
		t.Fatal("edits are not repaired")
	}
	if diff := cmp.Diff(live, updated); diff != "" {
		t.Errorf("repaired Service (-want +got):\n%s", diff)
	}
}

func TestServicesByStrategy(t *testing.T) {
	t.Parallel()
	for kind, want := range map[operatorv1.EndpointPublishingStrategyType][2]bool{
		operatorv1.LoadBalancerServiceStrategyType: {true, false},
		operatorv1.NodePortServiceStrategyType:     {false, true},
		operatorv1.HostNetworkStrategyType:         {false, false},
		operatorv1.PrivateStrategyType:             {false, false},
	} {
		s := defaults.Settings(kind, 2)
		_, loadBalancer := DesiredLoadBalancer(s, build.IngressController(), nil)
		_, nodePort := DesiredNodePort(s)
		if got := [2]bool{loadBalancer, nodePort}; got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

// TestMetricsPortNotPublished: metrics and statistics are open within the cluster
// only; a port that is there from before, or that was added, goes.
func TestMetricsPortNotPublished(t *testing.T) {
	t.Parallel()
	node := defaults.Settings(operatorv1.NodePortServiceStrategyType, 2)
	desired, _ := DesiredNodePort(node)
	balancer, _ := DesiredLoadBalancer(defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2), build.IngressController(), nil)
	for _, service := range []*corev1.Service{desired, balancer} {
		for _, p := range service.Spec.Ports {
			if p.Name != "http" && p.Name != "https" {
				t.Errorf("%s publishes %s", service.Name, p.Name)
			}
		}
	}
	live := desired.DeepCopy()
	live.Spec.Ports = append(live.Spec.Ports, DesiredInternal(node).Spec.Ports[2])
	if updated, changed := Changed(live, desired); !changed || len(updated.Spec.Ports) != 2 {
		t.Errorf("ports are %+v", updated.Spec.Ports)
	}
}
