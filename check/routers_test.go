package check

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// says gives the IngressController a condition.
func says(kind string, status operatorv1.ConditionStatus, reason, message string) scene {
	return func(_ *testing.T, s *Snapshot) { set(&s.Controllers[0], kind, status, reason, message) }
}

// leaves is an IngressController that is being deleted, which FL213 is about.
func leaves(then scene) scene {
	return func(t *testing.T, s *Snapshot) {
		then(t, s)
		s.Controllers[0].DeletionTimestamp = new(ago(time.Minute))
	}
}

func replicas(want, ready int32) scene {
	return func(_ *testing.T, s *Snapshot) {
		s.Deployments[0].Spec.Replicas, s.Deployments[0].Status.ReadyReplicas = &want, ready
	}
}

func terminated(count int32, d time.Duration, reason string) scene {
	return func(_ *testing.T, s *Snapshot) {
		c := &s.Pods[0].Status.ContainerStatuses[0]
		c.RestartCount, c.LastTerminationState.Terminated = count, &corev1.ContainerStateTerminated{Reason: reason, FinishedAt: ago(d)}
	}
}

func routerRulings() map[string]ruling {
	no, yes := operatorv1.ConditionFalse, operatorv1.ConditionTrue
	return map[string]ruling{
		"FL201": {
			func(_ *testing.T, s *Snapshot) { s.Controllers = nil }, Fail, "no IngressController",
			func(_ *testing.T, s *Snapshot) { s.Controllers[0].Name = "internal" },
		},
		"FL202": {says("Admitted", no, "Invalid", "spec.domain: empty"), Fail, "spec.domain: empty", says("Admitted", yes, "Valid", "")},
		"FL203": {
			func(_ *testing.T, s *Snapshot) { s.Deployments = nil }, Fail, "has no Deployment",
			func(_ *testing.T, s *Snapshot) {
				s.Deployments, s.Controllers[0].CreationTimestamp = nil, ago(10*time.Second)
			},
		},
		"FL204": {replicas(2, 0), Fail, "0 of 2 routers are ready", replicas(2, 1)},
		"FL205": {
			func(t *testing.T, s *Snapshot) {
				replicas(2, 1)(t, s)
				s.Pods[0].Status.Conditions[0].Status = corev1.ConditionFalse
				s.Events = []corev1.Event{{
					Type: corev1.EventTypeWarning, InvolvedObject: corev1.ObjectReference{Name: s.Pods[0].Name}, Reason: "Unhealthy", Message: "Readiness probe failed",
				}}
			}, Warn, "1 of 2 routers are ready: Unhealthy: Readiness probe failed",
			replicas(2, 0),
		},
		"FL206": {
			func(_ *testing.T, s *Snapshot) {
				s.Pods[0].Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("CrashLoopBackOff")}
			}, Warn, "CrashLoopBackOff",
			func(_ *testing.T, s *Snapshot) { // it ends anyway
				s.Pods[0].Status.ContainerStatuses[0], s.Pods[0].DeletionTimestamp = waiting("CrashLoopBackOff"), new(ago(0))
			},
		},
		"FL207": {says(api.ConditionSettingsApplied, no, "FilesNotWritten", "no space"), Warn, "no space", says(api.ConditionSettingsApplied, yes, "", "")},
		"FL208": {
			func(_ *testing.T, s *Snapshot) {
				s.Deployments[0].Status.Conditions[1].Status = corev1.ConditionFalse
				s.Deployments[0].Status.Conditions[1].Message = "has timed out progressing"
			}, Warn, "timed out",
			replicas(3, 2),
		},
		"FL209": {says("Available", no, "IngressControllerUnavailable", "no router"), Fail, "no router", leaves(says("Available", no, "x", "y"))},
		"FL210": {says("Degraded", yes, "DegradedConditions", "one of them"), Warn, "one of them", says("Degraded", operatorv1.ConditionUnknown, "", "")},
		"FL211": {says("ObjectsReconciled", no, "ConflictingObject", "Service router-default"), Warn, "Service router-default", says("ObjectsReconciled", yes, "", "")},
		"FL212": {
			func(_ *testing.T, s *Snapshot) {
				s.Controllers[0].Generation = 4
				s.Controllers[0].ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(ago(10 * time.Minute))}, {Subresource: "status", Time: new(ago(0))}}
			}, Warn, "2026-11-22T11:50:00Z",
			func(_ *testing.T, s *Snapshot) {
				s.Controllers[0].Generation = 4
				s.Controllers[0].ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(ago(5 * time.Second))}}
			},
		},
		"FL213": {
			func(_ *testing.T, s *Snapshot) { s.Controllers[0].DeletionTimestamp = new(ago(2 * time.Hour)) }, Warn, "is being deleted since 2026-11-22T10:00:00Z",
			func(_ *testing.T, s *Snapshot) { s.Controllers[0].DeletionTimestamp = new(ago(30 * time.Minute)) },
		},
		"FL214": {terminated(4, time.Minute, "Error"), Warn, "has restarted 4 times", terminated(4, 3*time.Hour, "Error")},
		"FL215": {
			func(_ *testing.T, s *Snapshot) { s.Pods[1].Spec.NodeName = "n1" }, Warn, "all 2 ready routers are on node n1",
			func(_ *testing.T, s *Snapshot) { s.Pods[1].Spec.NodeName, s.Nodes = "n1", s.Nodes[:1] },
		},
		"FL216": {
			func(_ *testing.T, s *Snapshot) { s.Leases = nil }, Warn, "router-default-status",
			func(_ *testing.T, s *Snapshot) { s.Leases, s.Deployments[0].CreationTimestamp = nil, ago(time.Minute) },
		},
	}
}

func routeRulings() map[string]ruling {
	condition := func(status corev1.ConditionStatus, reason, message string) scene {
		return func(_ *testing.T, s *Snapshot) {
			c := said(&s.Routes[0])
			c.Status, c.Reason, c.Message = status, reason, message
		}
	}
	const kept = "spec.tls.certificate: not PEM text; the last good version keeps serving"
	return map[string]ruling{
		"FL221": {
			condition("False", "HostAlreadyClaimed", "route a already exposes it"), Warn, "route web/shop: HostAlreadyClaimed: route a already exposes it",
			condition("False", "ExtendedValidationFailed", kept),
		},
		"FL222": {condition("False", "ExtendedValidationFailed", kept), Warn, kept, condition("False", "HostAlreadyClaimed", "x")},
		"FL223": {condition("True", "PolicyClosed", "paths answer 503"), Warn, "paths answer 503", condition("True", "", "")},
		"FL224": {
			func(_ *testing.T, s *Snapshot) { s.Routes[0].Status.Ingress = nil }, Warn, "no router has taken it",
			func(_ *testing.T, s *Snapshot) {
				s.Routes[0].Status.Ingress, s.Routes[0].CreationTimestamp = nil, ago(time.Minute)
			},
		},
		"FL225": {
			func(_ *testing.T, s *Snapshot) { s.Routes[0].Status.Ingress[0].RouterName = "gone" }, Warn, "router gone serves it",
			func(t *testing.T, s *Snapshot) {
				condition("False", "HostAlreadyClaimed", "x")(t, s)
				s.Routes[0].Status.Ingress[0].RouterName = "gone"
			},
		},
	}
}
