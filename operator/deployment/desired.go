// Package deployment decides what the Deployment of an IngressController's routers
// looks like: pod, containers, volumes, rollout. Pure.
package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

const (
	// minReadySeconds is how long a new router must be ready before the
	// rollout goes on: long enough to see one that dies of its first traffic.
	minReadySeconds = 5
	// terminationGracePeriodSeconds lets long connections, such as
	// WebSockets, end by themselves while the pod drains.
	terminationGracePeriodSeconds = 3600
)

// Desired returns the Deployment of the routers.
func Desired(s effective.Spec) *appsv1.Deployment {
	selector := pod.Labels(s.Name)
	d := &appsv1.Deployment{
		ObjectMeta: child.Meta(s.Name, api.RouterName(s.Name)),
		Spec: appsv1.DeploymentSpec{
			Replicas:                &s.Replicas,
			Selector:                &metav1.LabelSelector{MatchLabels: selector},
			MinReadySeconds:         minReadySeconds,
			ProgressDeadlineSeconds: new(int32(600)),
			Strategy:                rolloutStrategy(s),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: child.WithOwner(selector, s.Name)},
				Spec:       podSpec(s),
			},
		},
	}
	// A wish that goes away, such as a toleration, leaves no trace in the
	// desired object that the live one could be compared with. The fingerprint does.
	d.Annotations = map[string]string{pod.AnnotationFingerprint: child.Fingerprint(d.Spec)}
	return d
}

// rolloutStrategy never blocks a rollout on a node that is down.
//
// Behind a Service, pods of one generation keep apart (required) while pods of
// different generations share nodes (preferred). On two nodes a surge pod thus
// always finds room. With one node down, status.maxUnavailable 50% lets the rollout
// go on with the remaining node; with 0 the old pod there would wait for ever
// for a second new pod that has no node.
//
// With host ports two generations cannot share a node, so there is no surge.
func rolloutStrategy(s effective.Spec) appsv1.DeploymentStrategy {
	unavailable, surge := intstr.FromString("50%"), intstr.FromString("25%")
	if s.Replicas >= 4 {
		unavailable = intstr.FromString("25%")
	}
	if s.HostNetwork() {
		unavailable, surge = intstr.FromString("25%"), intstr.FromInt32(0)
	}
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable, MaxSurge: &surge},
	}
}

func podSpec(s effective.Spec) corev1.PodSpec {
	p := corev1.PodSpec{
		ServiceAccountName: api.RouterServiceAccount,
		// Only the router container gets the token; HAProxy needs none.
		AutomountServiceAccountToken:  new(false),
		PriorityClassName:             "system-cluster-critical",
		TerminationGracePeriodSeconds: new(int64(terminationGracePeriodSeconds)),
		SecurityContext:               pod.Security(s),
		DNSPolicy:                     corev1.DNSClusterFirst,
		HostNetwork:                   s.HostNetwork(),
		NodeSelector:                  s.NodeSelector,
		Tolerations:                   s.Tolerations,
		Affinity:                      affinity(s),
		TopologySpreadConstraints:     []corev1.TopologySpreadConstraint{zoneSpread(s)},
		InitContainers:                sidecars(s),
		Containers:                    []corev1.Container{routerContainer(s)},
		Volumes:                       volumes(s),
	}
	if p.HostNetwork {
		p.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	return p
}

// affinity keeps pods of one generation on different nodes and puts a new pod
// where an old one is, so that a node that gets traffic keeps a router during
// a rollout and the announced address need not move. See rolloutStrategy.
func affinity(s effective.Spec) *corev1.Affinity {
	if s.HostNetwork() {
		return nil // Host ports keep pods apart.
	}
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels(s.Name)},
		TopologyKey:   corev1.LabelHostname,
	}
	sameGeneration, otherGeneration := term, term
	sameGeneration.MatchLabelKeys = []string{appsv1.DefaultDeploymentUniqueLabelKey}
	otherGeneration.MismatchLabelKeys = []string{appsv1.DefaultDeploymentUniqueLabelKey}
	return &corev1.Affinity{
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{sameGeneration},
		},
		PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 100, PodAffinityTerm: otherGeneration},
			},
		},
	}
}

func zoneSpread(s effective.Spec) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: pod.Labels(s.Name)},
		MatchLabelKeys:    []string{appsv1.DefaultDeploymentUniqueLabelKey},
	}
}
