package check

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}}}
}

func installationRulings() map[string]ruling {
	return map[string]ruling{
		"FL001": {
			func(_ *testing.T, s *Snapshot) { s.MissingKinds = []Kind{{"route.openshift.io", "Route"}} }, Fail, "no kind Route",
			func(_ *testing.T, s *Snapshot) { s.MissingKinds = nil },
		},
		"FL002": {
			func(_ *testing.T, s *Snapshot) { s.OperatorDeployments = nil }, Fail, "there is no operator",
			func(_ *testing.T, s *Snapshot) {
				s.OperatorDeployments = append(s.OperatorDeployments, deployment("openshift-ingress-operator", "other", "x"))
			},
		},
		"FL003": {
			func(_ *testing.T, s *Snapshot) { s.OperatorDeployments[0].Status.ReadyReplicas = 0 }, Fail, "0 of 2",
			func(_ *testing.T, s *Snapshot) { s.OperatorDeployments[0].Status.ReadyReplicas = 3 },
		},
		"FL004": {
			func(_ *testing.T, s *Snapshot) {
				late := *s.OperatorLeases[0].Spec.RenewTime
				late.Time = now.Add(-2 * time.Minute)
				s.OperatorLeases[0].Spec.RenewTime = &late
			}, Fail, "no operator pod is the leader since 2026-11-22T11:58:00Z",
			func(_ *testing.T, s *Snapshot) { // FL003 has it
				s.OperatorLeases, s.OperatorDeployments[0].Status.ReadyReplicas = []coordinationv1.Lease{}, 0
			},
		},
		"FL005": {
			func(_ *testing.T, s *Snapshot) {
				s.OperatorPods[0].Status.ContainerStatuses[0] = waiting("ImagePullBackOff")
			}, Warn, "container main does not start: ImagePullBackOff: no such image",
			func(_ *testing.T, s *Snapshot) {
				s.OperatorPods[0].Status.ContainerStatuses[0] = waiting("ContainerCreating")
			},
		},
		"FL006": {
			func(_ *testing.T, s *Snapshot) {
				s.Deployments[0].Spec.Template.Spec.Containers[0].Image = "fairlead.dev/router:1.3.0"
			}, Warn, "deployment router-default 1.3.0, the operator 1.4.0",
			func(_ *testing.T, s *Snapshot) {
				s.Deployments[0].Spec.Template.Spec.Containers[0].Image = "fairlead.dev/router@sha256:0011"
			},
		},
		"FL007": {
			func(_ *testing.T, s *Snapshot) { s.Kubernetes = "v1.28.4+k3s1" }, Warn, "v1.28.4+k3s1",
			func(_ *testing.T, s *Snapshot) { s.Kubernetes = "v1.30.0-eks-1" },
		},
		"FL008": {
			func(_ *testing.T, s *Snapshot) { s.Here = now.Add(-3 * time.Minute) }, Warn, "differ by 3m0s",
			func(_ *testing.T, s *Snapshot) { s.Here = now.Add(20 * time.Second) },
		},
		"FL009": {
			func(_ *testing.T, s *Snapshot) { s.Policies = neededPolicies[1:] }, Warn, "does not exist",
			func(_ *testing.T, s *Snapshot) { s.Policies = append([]string{"other"}, neededPolicies...) },
		},
		"FL010": {
			func(_ *testing.T, s *Snapshot) {
				s.Nodes[1].Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."}
			}, Warn, "NodeStatusUnknown",
			func(_ *testing.T, s *Snapshot) {
				s.Nodes[1].Status.Conditions = append(s.Nodes[1].Status.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse})
			},
		},
	}
}

// TestTrouble: what keeps a pod from starting is the last line of what it wrote.
func TestTrouble(t *testing.T) {
	t.Parallel()
	p := pod("ns", "a", "n1")
	p.Status.ContainerStatuses[0] = waiting("CrashLoopBackOff")
	p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Message: "starting\nno such flag\n"}
	if got, want := trouble(&p), "container main does not start: CrashLoopBackOff; it ended with code 2: no such flag"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes are available"})
	if got, want := trouble(&p), "the pod cannot be scheduled: 0/2 nodes are available"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
