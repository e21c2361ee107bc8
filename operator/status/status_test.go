package status

import (
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/deployment"
	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/build/defaults"
)

// testTime is when the tests take place.
var testTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func deploymentWith(available, updated, replicas int32) *appsv1.Deployment {
	d := deployment.Desired(defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2))
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
func well() Input {
	return Input{
		IC: build.IngressController(), Settings: defaults.Settings(operatorv1.LoadBalancerServiceStrategyType, 2),
		Deployment: deploymentWith(2, 2, 2), LoadBalancer: loadBalancer("198.18.0.200"),
		Addresses: []string{"198.18.0.200"}, Now: testTime,
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
		edit func(*Input)
		// want has "Type=Status", or "Type=Status: part of the message".
		want []string
	}{
		{
			name: "well", edit: func(*Input) {},
			want: []string{"Admitted=True", "Available=True", "Progressing=False", "Degraded=False", "LoadBalancerReady=True: 198.18.0.200"},
		},
		{
			name: "refused",
			edit: func(in *Input) {
				in.Faults = []api.Finding{{Field: "spec.domain", Message: "conflicts with: b"}}
			},
			want: []string{"Admitted=False: spec.domain: conflicts with: b", "Degraded=True: conflicts with: b"},
		},
		{
			name: "no pod starts",
			edit: func(in *Input) { in.Deployment, in.Pods = deploymentWith(0, 2, 2), []corev1.Pod{waiting} },
			want: []string{"DeploymentAvailable=False: container router waits: ImagePullBackOff: no such image", "Available=False: ImagePullBackOff", "Degraded=False"},
		},
		{
			name: "Pod Security refuses the network of the node",
			edit: func(in *Input) {
				in.Deployment = deploymentWith(0, 0, 0)
				in.Deployment.Status.Conditions[0].Status = corev1.ConditionTrue // as Kubernetes says if all may be away
				in.Deployment.Spec.Template.Spec.HostNetwork = true
				in.Deployment.Status.Conditions = append(in.Deployment.Status.Conditions, appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "a" is forbidden: violates PodSecurity "restricted:latest"`,
				})
			},
			want: []string{"DeploymentAvailable=False: violates PodSecurity", "DeploymentAvailable=False: label it pod-security.kubernetes.io/enforce=privileged"},
		},
		{
			name: "all may be away, and are",
			edit: func(in *Input) {
				one, all := int32(1), intstr.FromInt32(1)
				in.Deployment = deploymentWith(0, 1, 1)
				in.Deployment.Spec.Replicas, in.Deployment.Spec.Strategy.RollingUpdate.MaxUnavailable = &one, &all
				in.Deployment.Status.Conditions[0].Status = corev1.ConditionTrue
			},
			want: []string{"DeploymentAvailable=False: No pod", "DeploymentReplicasMinAvailable=False: 0/1", "Available=False"},
		},
		{
			name: "one pod has no node",
			edit: func(in *Input) { in.Deployment, in.Pods = deploymentWith(1, 2, 2), []corev1.Pod{pending} },
			want: []string{"Available=True", "DeploymentReplicasMinAvailable=True", "DeploymentReplicasAllAvailable=False: 1/2 of replicas are available: a pod cannot be scheduled: 0/1 nodes"},
		},
		{
			name: "rollout", edit: func(in *Input) { in.Deployment = deploymentWith(2, 1, 3) },
			want: []string{"DeploymentRollingOut=True: 1 of 2 pods are updated", "Progressing=True"},
		},
		{
			name: "no address yet", edit: func(in *Input) { in.LoadBalancer, in.Addresses = loadBalancer(""), nil },
			want: []string{"LoadBalancerReady=False: IPAddressPool", "Available=False"},
		},
		{
			name: "no address, and somebody says why",
			edit: func(in *Input) {
				in.LoadBalancer, in.Addresses = loadBalancer(""), nil
				in.Events = []corev1.Event{
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "1"}, Reason: "Old", LastTimestamp: metav1.NewTime(testTime)},
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "1"}, Reason: "AllocationFailed", Message: "the pool is full", LastTimestamp: metav1.NewTime(testTime.Add(time.Minute))},
					{Type: "Warning", InvolvedObject: corev1.ObjectReference{UID: "2"}, Reason: "Other", LastTimestamp: metav1.NewTime(testTime.Add(time.Hour))},
				}
			},
			want: []string{"LoadBalancerReady=False: AllocationFailed: the pool is full"},
		},
		{
			name: "no load balancer wanted",
			edit: func(in *Input) {
				in.Settings, in.LoadBalancer = defaults.Settings(operatorv1.PrivateStrategyType, 2), nil
			},
			want: []string{"LoadBalancerManaged=False", "Available=True"},
		},
		{
			name: "a conflicting object",
			edit: func(in *Input) {
				conflict := &apply.ConflictError{Kind: "Service", Namespace: "openshift-ingress", Name: "router-a"}
				in.Problems = []Problem{{api.ReasonConflictingObject, conflict.Error()}}
			},
			want: []string{"ObjectsReconciled=False: a conflicting Service router-a", "Degraded=True: conflicting Service"},
		},
		{
			name: "routers have a setting that they cannot use",
			edit: func(in *Input) {
				in.IC.Status.Conditions = []operatorv1.OperatorCondition{{
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
			status, _ := Of(in)
			for _, want := range test.want {
				state, message, _ := strings.Cut(want, ": ")
				kind, value, _ := strings.Cut(state, "=")
				c := Find(status.Conditions, kind)
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
	in.LoadBalancer, in.Addresses = loadBalancer(""), nil
	first, again := Of(in)
	if c := Find(first.Conditions, "Degraded"); c.Status != operatorv1.ConditionFalse || again != 90*time.Second {
		t.Errorf("at once: %s, again after %s", c.Status, again)
	}
	in.IC.Status = first
	in.Now = testTime.Add(89 * time.Second)
	second, again := Of(in)
	if c := Find(second.Conditions, "Degraded"); c.Status != operatorv1.ConditionFalse || again != time.Second {
		t.Errorf("after 89 s: %s, again after %s", c.Status, again)
	}
	in.Now = testTime.Add(90 * time.Second)
	third, _ := Of(in)
	if c := Find(third.Conditions, "Degraded"); c.Status != operatorv1.ConditionTrue {
		t.Errorf("after 90 s: %s", c.Status)
	}
	if at := Find(third.Conditions, "LoadBalancerReady").LastTransitionTime; !at.Time.Equal(testTime) {
		t.Errorf("the transition time moved to %s", at)
	}
}

// TestRefusedKeepsDomainOpen: a refused IngressController can still get another domain.
func TestRefusedKeepsDomainOpen(t *testing.T) {
	t.Parallel()
	in := well()
	in.Faults = []api.Finding{{Field: "spec.domain", Message: "conflicts"}}
	if status, _ := Of(in); status.Domain != "" || status.EndpointPublishingStrategy != nil {
		t.Errorf("frozen although refused: %q, %v", status.Domain, status.EndpointPublishingStrategy)
	}
}
