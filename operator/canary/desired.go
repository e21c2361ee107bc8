package canary

import (
	"maps"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// Names of the canary's objects, as on OpenShift.
const (
	Name      = "ingress-canary"
	RouteName = "canary"
	// Subdomain is completed by the domain of "default".
	Subdomain = "canary-openshift-ingress-canary"
	// memory bounds the server; it uses a fraction.
	memory = 128 << 20
	// checks is how often routers check the pods of the canary, in place of
	// each five seconds: there is one on each node.
	checks = "60s"
)

func meta(name string) metav1.ObjectMeta {
	m := child.Meta(api.DefaultIngressController, name)
	m.Namespace = api.CanaryNamespace
	return m
}

func podLabels() map[string]string {
	return map[string]string{"ingresscanary.operator.openshift.io/daemonset-ingresscanary": "canary_controller"}
}

// DesiredDaemonSet returns the server on each node, within the Pod Security
// level "restricted". It has no token and no Secret.
func DesiredDaemonSet(image string) *appsv1.DaemonSet {
	labels, unavailable := podLabels(), intstr.FromString("10%")
	security := pod.Security(effective.Spec{})
	security.Sysctls = nil
	container := corev1.Container{
		Name:            "serve-healthcheck-canary",
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/usr/bin/operator", "canary"},
		Ports: []corev1.ContainerPort{
			{Name: PortName(Port1), ContainerPort: Port1, Protocol: corev1.ProtocolTCP},
			{Name: PortName(Port2), ContainerPort: Port2, Protocol: corev1.ProtocolTCP},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(Port1)}},
			PeriodSeconds: 10, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: 3,
		},
		Resources:                pod.Limited("10m", "20Mi", memory),
		SecurityContext:          pod.ContainerSecurity(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	d := &appsv1.DaemonSet{
		ObjectMeta: meta(Name),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &unavailable},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken:  new(false),
					EnableServiceLinks:            new(false),
					TerminationGracePeriodSeconds: new(int64(5)),
					SecurityContext:               security,
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                   []corev1.Toleration{{Key: "node-role.kubernetes.io/infra", Operator: corev1.TolerationOpExists}},
					Containers:                    []corev1.Container{container},
				},
			},
		},
	}
	d.Annotations = map[string]string{pod.AnnotationFingerprint: child.Fingerprint(d.Spec)}
	return d
}

// changedDaemonSet returns the live DaemonSet brought in line with the
// desired one, and whether that changes anything.
func changedDaemonSet(live, desired *appsv1.DaemonSet) (*appsv1.DaemonSet, bool) {
	updated := live.DeepCopy()
	if !child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta) && child.Derives(desired.Spec, live.Spec) &&
		!pod.Added(live.Spec.Template.Spec, desired.Spec.Template.Spec) {
		return live, false
	}
	updated.Spec = *desired.Spec.DeepCopy()
	updated.Spec.Selector = live.Spec.Selector // cannot change
	if at, ok := live.Spec.Template.Annotations[pod.RestartedAt]; ok {
		updated.Spec.Template.Annotations = map[string]string{pod.RestartedAt: at}
	}
	return updated, true
}

func desiredService() *corev1.Service {
	port := func(number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: PortName(number), Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(number)}
	}
	return &corev1.Service{
		ObjectMeta: meta(Name),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: podLabels(),
			Ports: []corev1.ServicePort{port(Port1), port(Port2)},
		},
	}
}

// DesiredRoute returns the Route. TLS is passed through, so that routers
// that ask clients for certificates let the prober through.
func DesiredRoute(port int32) *routev1.Route {
	r := &routev1.Route{
		ObjectMeta: meta(RouteName),
		Spec: routev1.RouteSpec{
			Subdomain:      Subdomain,
			To:             routev1.RouteTargetReference{Kind: "Service", Name: Name, Weight: new(int32(100))},
			Port:           &routev1.RoutePort{TargetPort: intstr.FromString(PortName(port))},
			WildcardPolicy: routev1.WildcardPolicyNone,
			TLS: &routev1.TLSConfig{
				Termination:                   routev1.TLSTerminationPassthrough,
				InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyRedirect,
			},
		},
	}
	r.Annotations = map[string]string{
		api.AnnotationBalance:       "roundrobin",
		api.AnnotationCheckInterval: checks,
	}
	return r
}

// changedRoute returns the live Route brought in line with the desired one,
// and whether that changes anything. One with a host is made new instead, because
// a host can be removed only with a special right.
func changedRoute(live, desired *routev1.Route) (*routev1.Route, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if equality.Semantic.DeepEqual(live.Spec, desired.Spec) {
		return updated, changed
	}
	updated.Spec = *desired.Spec.DeepCopy()
	return updated, true
}

// port is the port that the Route leads to: the one it has, or the other one
// if that has been well for long enough, and the first one where it does not turn.
func port(live *routev1.Route, rotates, turn bool) int32 {
	if !rotates || live == nil || live.Spec.Port == nil {
		return Port1
	}
	second := live.Spec.Port.TargetPort.String() == PortName(Port2)
	if second != turn {
		return Port2
	}
	return Port1
}
