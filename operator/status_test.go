package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
)

func deploymentWith(available, updated, replicas int32) *appsv1.Deployment {
	d := desiredDeployment(plainSettings(operatorv1.LoadBalancerServiceStrategyType, 2))
	d.Status = appsv1.DeploymentStatus{AvailableReplicas: available, UpdatedReplicas: updated, Replicas: replicas}
	status := corev1.ConditionFalse
	if available > 0 {
		status = corev1.ConditionTrue
	}
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: status, Message: "not enough pods"}}
	return d
}

func loadBalancer(ip string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	if ip != "" {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	}
	return s
}

// well is an IngressController in good health.
func well() statusInput {
	return statusInput{
		ic: ingressController(), s: plainSettings(operatorv1.LoadBalancerServiceStrategyType, 2),
		deployment: deploymentWith(2, 2, 2), loadBalancer: loadBalancer("198.18.0.200"),
		addresses: []string{"198.18.0.200"}, now: testTime,
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	waiting := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "router", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
	}}}}
	pending := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available",
	}}}}
	tests := []struct {
		name string
		edit func(*statusInput)
		// want has "Type=Status", or "Type=Status: part of the message".
		want []string
	}{
		{
			name: "well", edit: func(*statusInput) {},
			want: []string{"Admitted=True", "Available=True", "Progressing=False", "Degraded=False", "LoadBalancerReady=True: 198.18.0.200"},
		},
		{
			name: "refused",
			edit: func(in *statusInput) {
				in.faults = []api.Finding{{Field: "spec.domain", Message: "conflicts with: b"}}
			},
			want: []string{"Admitted=False: spec.domain: conflicts with: b", "Degraded=True: conflicts with: b"},
		},
		{
			name: "no pod starts",
			edit: func(in *statusInput) { in.deployment, in.pods = deploymentWith(0, 2, 2), []corev1.Pod{waiting} },
			want: []string{"DeploymentAvailable=False: container router waits: ImagePullBackOff: no such image", "Available=False: ImagePullBackOff", "Degraded=False"},
		},
		{
			name: "Pod Security refuses the network of the node",
			edit: func(in *statusInput) {
				in.deployment = deploymentWith(0, 0, 0)
				in.deployment.Status.Conditions[0].Status = corev1.ConditionTrue // as Kubernetes says if all may be away
				in.deployment.Spec.Template.Spec.HostNetwork = true
				in.deployment.Status.Conditions = append(in.deployment.Status.Conditions, appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "a" is forbidden: violates PodSecurity "restricted:latest"`,
				})
			},
			want: []string{"DeploymentAvailable=False: violates PodSecurity", "DeploymentAvailable=False: label it pod-security.kubernetes.io/enforce=privileged"},
		},
		{
			name: "all may be away, and are",
			edit: func(in *statusInput) {
				one, all := int32(1), intstr.FromInt32(1)
				in.deployment = deploymentWith(0, 1, 1)
				in.deployment.Spec.Replicas, in.deployment.Spec.Strategy.RollingUpdate.MaxUnavailable = &one, &all
				in.deployment.Status.Conditions[0].Status = corev1.ConditionTrue
			},
			want: []string{"DeploymentAvailable=False: No pod", "DeploymentReplicasMinAvailable=False: 0/1", "Available=False"},
		},
		{
			name: "one pod has no node",
			edit: func(in *statusInput) { in.deployment, in.pods = deploymentWith(1, 2, 2), []corev1.Pod{pending} },
			want: []string{"Available=True", "DeploymentReplicasMinAvailable=True", "DeploymentReplicasAllAvailable=False: 1/2 of replicas are available: a pod cannot be scheduled: 0/1 nodes"},
		},
		{
			name: "rollout", edit: func(in *statusInput) { in.deployment = deploymentWith(2, 1, 3) },
			want: []string{"DeploymentRollingOut=True: 1 of 2 pods are updated", "Progressing=True"},
		},
		{
			name: "no address yet", edit: func(in *statusInput) { in.loadBalancer, in.addresses = loadBalancer(""), nil },
			want: []string{"LoadBalancerReady=False: IPAddressPool", "Available=False"},
		},
		{
			name: "no address, and somebody says why",
			edit: func(in *statusInput) {
				in.loadBalancer, in.addresses = loadBalancer(""), nil
				in.events = []corev1.Event{
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "1"}, Reason: "Old", LastTimestamp: metav1.NewTime(testTime)},
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "1"}, Reason: "AllocationFailed", Message: "the pool is full", LastTimestamp: metav1.NewTime(testTime.Add(time.Minute))},
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "2"}, Reason: "Other", LastTimestamp: metav1.NewTime(testTime.Add(time.Hour))},
				}
			},
			want: []string{"LoadBalancerReady=False: AllocationFailed: the pool is full"},
		},
		{
			name: "no load balancer wanted",
			edit: func(in *statusInput) { in.s, in.loadBalancer = plainSettings(operatorv1.PrivateStrategyType, 2), nil },
			want: []string{"LoadBalancerManaged=False", "Available=True"},
		},
		{
			name: "a conflicting object",
			edit: func(in *statusInput) {
				conflict := &conflictError{kind: "Service", namespace: "openshift-ingress", name: "router-a"}
				in.problems = []problem{{api.ReasonConflictingObject, conflict.Error()}}
			},
			want: []string{"ObjectsReconciled=False: a conflicting Service router-a", "Degraded=True: conflicting Service"},
		},
		{
			name: "routers have a setting that they cannot use",
			edit: func(in *statusInput) {
				in.ic.Status.Conditions = []operatorv1.OperatorCondition{{
					Type: api.ConditionSettingsApplied, Status: operatorv1.ConditionFalse, Reason: "InvalidField",
					Message: "spec.clientTLS.clientCA: no certificate", LastTransitionTime: metav1.NewTime(testTime.Add(-time.Minute)),
				}}
			},
			want: []string{"SettingsApplied=False: no certificate", "Degraded=True: no certificate", "Available=True"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := well()
			test.edit(&in)
			status, _ := statusOf(in)
			for _, want := range test.want {
				state, message, _ := strings.Cut(want, ": ")
				kind, value, _ := strings.Cut(state, "=")
				c := findCondition(status.Conditions, kind)
				if c == nil || string(c.Status) != value || !strings.Contains(c.Message, message) {
					t.Errorf("want %s, got %+v", want, c)
				}
			}
		})
	}
}

// TestDegradedWaits: what heals by itself soon is no alarm.
func TestDegradedWaits(t *testing.T) {
	t.Parallel()
	in := well()
	in.loadBalancer, in.addresses = loadBalancer(""), nil
	first, again := statusOf(in)
	if c := findCondition(first.Conditions, "Degraded"); c.Status != operatorv1.ConditionFalse || again != 90*time.Second {
		t.Errorf("at once: %s, again after %s", c.Status, again)
	}
	in.ic.Status = first
	in.now = testTime.Add(89 * time.Second)
	second, again := statusOf(in)
	if c := findCondition(second.Conditions, "Degraded"); c.Status != operatorv1.ConditionFalse || again != time.Second {
		t.Errorf("after 89 s: %s, again after %s", c.Status, again)
	}
	in.now = testTime.Add(90 * time.Second)
	third, _ := statusOf(in)
	if c := findCondition(third.Conditions, "Degraded"); c.Status != operatorv1.ConditionTrue {
		t.Errorf("after 90 s: %s", c.Status)
	}
	if at := findCondition(third.Conditions, "LoadBalancerReady").LastTransitionTime; !at.Time.Equal(testTime) {
		t.Errorf("the transition time moved to %s", at)
	}
}

// TestStatusIsStable: the same input twice is no write.
func TestStatusIsStable(t *testing.T) {
	t.Parallel()
	in := well()
	in.ic.Status, _ = statusOf(in)
	in.now = in.now.Add(time.Hour)
	updated := in.ic.DeepCopy()
	updated.Status, _ = statusOf(in)
	if patch, changed, err := statusPatch(in, updated, false); changed || err != nil {
		t.Errorf("patch %s, %v", patch, err)
	}
}

// TestRefusedKeepsDomainOpen: a refused IngressController can still get another domain.
func TestRefusedKeepsDomainOpen(t *testing.T) {
	t.Parallel()
	in := well()
	in.faults = []api.Finding{{Field: "spec.domain", Message: "conflicts"}}
	if status, _ := statusOf(in); status.Domain != "" || status.EndpointPublishingStrategy != nil {
		t.Errorf("frozen although refused: %q, %v", status.Domain, status.EndpointPublishingStrategy)
	}
}

func TestPublishedAddresses(t *testing.T) {
	t.Parallel()
	address := func(n corev1.Node, kind corev1.NodeAddressType, value string) corev1.Node {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: kind, Address: value})
		return n
	}
	nodes := []corev1.Node{
		address(node("n2"), corev1.NodeInternalIP, "10.0.0.12"),
		address(node("n1"), corev1.NodeInternalIP, "10.0.0.9"),
		address(address(node("n3"), corev1.NodeInternalIP, "10.0.0.13"), corev1.NodeExternalIP, "2001:db8::3"),
	}
	pod := func(node string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			Spec:   corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	pods := []corev1.Pod{pod("n2", "True"), pod("n1", "True"), pod("n3", "True"), pod("n4", "False")}
	service := loadBalancer("198.18.0.201")
	service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress,
		corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "198.18.0.21"}, corev1.LoadBalancerIngress{IP: "198.18.0.21"})
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
		if diff := cmp.Diff(test.want, publishedAddresses(test.kind, service, nodes, pods)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.kind, diff)
		}
	}
}
