package operator

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
)

// Folders within the router pod.
const (
	haproxyPath        = "/usr/sbin/haproxy"
	routerPath         = "/usr/bin/router"
	workDir            = "/var/lib/haproxy"
	runDir             = "/var/run/haproxy"
	stateDir           = "/var/lib/fairlead"
	certificateDir     = "/etc/pki/tls/private"
	statsAuthDir       = "/etc/fairlead/stats-auth"
	clientCADir        = "/etc/pki/tls/client-ca"
	errorPagesDir      = "/etc/fairlead/error-pages"
	admittedDir        = "/etc/fairlead/admitted"
	serviceCADir       = "/var/run/configmaps/service-ca"
	logsDir            = "/var/run/fairlead-logs"
	logSocket          = logsDir + "/access.sock"
	serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
)

const (
	// minReadySeconds is how long a new router must be ready before the
	// rollout goes on: long enough to see one that dies of its first traffic.
	minReadySeconds = 5
	// terminationGracePeriodSeconds lets long connections, such as
	// WebSockets, end by themselves while the pod drains.
	terminationGracePeriodSeconds = 3600
)

// desiredDeployment returns the Deployment of the routers.
func desiredDeployment(s settings) *appsv1.Deployment {
	selector := podLabels(s.name)
	d := &appsv1.Deployment{
		ObjectMeta: childMeta(s.name, api.RouterName(s.name)),
		Spec: appsv1.DeploymentSpec{
			Replicas:                &s.replicas,
			Selector:                &metav1.LabelSelector{MatchLabels: selector},
			MinReadySeconds:         minReadySeconds,
			ProgressDeadlineSeconds: new(int32(600)),
			Strategy:                rolloutStrategy(s),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: withOwner(selector, s.name)},
				Spec:       podSpec(s),
			},
		},
	}
	// A wish that goes away, such as a toleration, leaves no trace in the
	// desired object that the live one could be compared with. The fingerprint does.
	d.Annotations = map[string]string{annotationFingerprint: fingerprint(d.Spec)}
	return d
}

// annotationFingerprint tells apart what was desired at different times.
const annotationFingerprint = "fairlead.dev/fingerprint"

// changedDeployment returns the live Deployment brought in line with the
// desired one, and whether that changes anything.
func changedDeployment(live, desired *appsv1.Deployment) (*appsv1.Deployment, bool) {
	updated := live.DeepCopy()
	desired = withProbeTimeouts(live, desired)
	metaChanged := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !metaChanged && derives(desired.Spec, live.Spec) && !added(live.Spec.Template.Spec, desired.Spec.Template.Spec) {
		return live, false
	}
	updated.Spec = *desired.Spec.DeepCopy()
	// The selector cannot change, and "kubectl rollout restart" leaves its
	// mark in the template.
	updated.Spec.Selector = live.Spec.Selector
	if at, ok := live.Spec.Template.Annotations[restartedAt]; ok {
		updated.Spec.Template.Annotations = map[string]string{restartedAt: at}
	}
	return updated, true
}

// withProbeTimeouts keeps how long an administrator lets the router's probes
// take, which a slow node may need. It is all of the pod that may be edited.
func withProbeTimeouts(live, desired *appsv1.Deployment) *appsv1.Deployment {
	kept := desired.DeepCopy()
	for i := range kept.Spec.Template.Spec.Containers {
		c := &kept.Spec.Template.Spec.Containers[i]
		for _, l := range live.Spec.Template.Spec.Containers {
			if l.Name != c.Name {
				continue
			}
			for _, pair := range [][2]*corev1.Probe{
				{c.LivenessProbe, l.LivenessProbe}, {c.ReadinessProbe, l.ReadinessProbe}, {c.StartupProbe, l.StartupProbe},
			} {
				if want, have := pair[0], pair[1]; want != nil && have != nil && have.TimeoutSeconds > 0 {
					want.TimeoutSeconds = have.TimeoutSeconds
				}
			}
		}
	}
	return kept
}

// added reports whether somebody added to a pod what derives does not see.
func added(live, desired corev1.PodSpec) bool {
	if len(live.Containers) != len(desired.Containers) || len(live.InitContainers) != len(desired.InitContainers) ||
		len(live.Volumes) != len(desired.Volumes) || len(live.Tolerations) != len(desired.Tolerations) ||
		!maps.Equal(live.NodeSelector, desired.NodeSelector) ||
		!equality.Semantic.DeepEqual(live.SecurityContext, desired.SecurityContext) {
		return true
	}
	for i, c := range slices.Concat(live.InitContainers, live.Containers) {
		d := slices.Concat(desired.InitContainers, desired.Containers)[i]
		if len(c.Args) != len(d.Args) || len(c.Command) != len(d.Command) || len(c.Env) != len(d.Env) || len(c.VolumeMounts) != len(d.VolumeMounts) ||
			!equality.Semantic.DeepEqual(c.SecurityContext, d.SecurityContext) || len(c.Resources.Limits) != len(d.Resources.Limits) {
			return true
		}
	}
	return false
}

const restartedAt = "kubectl.kubernetes.io/restartedAt"

// rolloutStrategy never blocks a rollout on a node that is down.
//
// Behind a Service, pods of one generation keep apart (required) while pods of
// different generations share nodes (preferred). On two nodes a surge pod thus
// always finds room. With one node down, maxUnavailable 50% lets the rollout
// go on with the remaining node; with 0 the old pod there would wait for ever
// for a second new pod that has no node.
//
// With host ports two generations cannot share a node, so there is no surge.
func rolloutStrategy(s settings) appsv1.DeploymentStrategy {
	unavailable, surge := intstr.FromString("50%"), intstr.FromString("25%")
	if s.replicas >= 4 {
		unavailable = intstr.FromString("25%")
	}
	if s.hostNetwork() {
		unavailable, surge = intstr.FromString("25%"), intstr.FromInt32(0)
	}
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable, MaxSurge: &surge},
	}
}

func podSpec(s settings) corev1.PodSpec {
	p := corev1.PodSpec{
		ServiceAccountName: api.RouterServiceAccount,
		// Only the router container gets the token; HAProxy needs none.
		AutomountServiceAccountToken:  new(false),
		PriorityClassName:             "system-cluster-critical",
		TerminationGracePeriodSeconds: new(int64(terminationGracePeriodSeconds)),
		SecurityContext:               podSecurity(s),
		DNSPolicy:                     corev1.DNSClusterFirst,
		HostNetwork:                   s.hostNetwork(),
		NodeSelector:                  s.nodeSelector,
		Tolerations:                   s.tolerations,
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

// haproxyContainer is a sidecar (an init container that keeps running), so
// that the death of HAProxy or of the router leaves the other one alone.
func haproxyContainer(s settings) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{
		Name:            "haproxy",
		Image:           s.image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{routerPath, "haproxy", "--haproxy", haproxyPath, "--work-dir", workDir, "--run-dir", runDir},
		RestartPolicy:   &always,
		Resources:       limited("100m", "256Mi", s.memory.HAProxy),
		SecurityContext: bindSecurity(s),
		VolumeMounts: []corev1.VolumeMount{
			// HAProxy meets clients: what it could write is what the next process starts from.
			{Name: "work", MountPath: workDir, ReadOnly: true},
			{Name: "sockets", MountPath: runDir},
			{Name: "default-certificate", MountPath: certificateDir, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// sidecars start in this order and end in the other one, so that the log is
// there for the last request.
func sidecars(s settings) []corev1.Container {
	haproxy := haproxyContainer(s)
	if !s.logs {
		return []corev1.Container{haproxy}
	}
	mount := corev1.VolumeMount{Name: "logs", MountPath: logsDir}
	haproxy.VolumeMounts = append(haproxy.VolumeMounts, mount)
	always := corev1.ContainerRestartPolicyAlways
	return []corev1.Container{{
		Name:                     "logs",
		Image:                    s.image,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		Command:                  []string{routerPath, "logs", "--socket", logSocket},
		RestartPolicy:            &always,
		Resources:                limited("10m", "16Mi", logsMemory),
		SecurityContext:          containerSecurity(),
		VolumeMounts:             []corev1.VolumeMount{mount},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}, haproxy}
}

func routerContainer(s settings) corev1.Container {
	return corev1.Container{
		Name:            "router",
		Image:           s.image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{routerPath},
		Args:            routerArgs(s),
		Ports:           containerPorts(s),
		LivenessProbe:   livenessProbe(s),
		ReadinessProbe:  probe(s, "/healthz/ready", 2, 3),
		StartupProbe:    probe(s, "/healthz/ready", 1, 120),
		Env:             []corev1.EnvVar{goMemory(s)},
		Resources:       limited("25m", "64Mi", s.memory.Router),
		SecurityContext: bindSecurity(s),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "work", MountPath: workDir},
			{Name: "sockets", MountPath: runDir},
			{Name: "state", MountPath: stateDir},
			{Name: "default-certificate", MountPath: certificateDir, ReadOnly: true},
			{Name: "stats-auth", MountPath: statsAuthDir, ReadOnly: true},
			{Name: "client-ca", MountPath: clientCADir, ReadOnly: true},
			{Name: "error-pages", MountPath: errorPagesDir, ReadOnly: true},
			{Name: "admitted", MountPath: admittedDir, ReadOnly: true},
			{Name: "service-ca", MountPath: serviceCADir, ReadOnly: true},
			{Name: "kube-api-access", MountPath: serviceAccountPath, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func containerPorts(s settings) []corev1.ContainerPort {
	list := []corev1.ContainerPort{
		{Name: "http", ContainerPort: s.ports.http, Protocol: corev1.ProtocolTCP},
		{Name: "https", ContainerPort: s.ports.https, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: s.ports.stats, Protocol: corev1.ProtocolTCP},
	}
	if !s.hostNetwork() {
		return append(list, corev1.ContainerPort{Name: "health", ContainerPort: s.probePort(), Protocol: corev1.ProtocolTCP})
	}
	for i := range list {
		list[i].HostPort = list[i].ContainerPort
	}
	return list
}

func probe(s settings, path string, periodSeconds, failures int32) *corev1.Probe {
	get := &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(s.probePort()), Scheme: corev1.URISchemeHTTP}
	if s.hostNetwork() {
		get.Host = "localhost"
	}
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: get},
		PeriodSeconds:    periodSeconds,
		FailureThreshold: failures,
		TimeoutSeconds:   2,
		SuccessThreshold: 1,
	}
}

// livenessProbe restarts a stuck router soon: without a grace period of its
// own it would get that of the pod, which is an hour.
func livenessProbe(s settings) *corev1.Probe {
	p := probe(s, "/healthz", 10, 3)
	p.TerminationGracePeriodSeconds = new(int64(10))
	return p
}

func volumes(s settings) []corev1.Volume {
	folder := func(volume string, medium corev1.StorageMedium, size int64) corev1.Volume {
		limit := mebibytes(size)
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: &limit}}}
	}
	secret := func(volume, name string) corev1.Volume {
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: new(int32(0o400))},
		}}
	}
	// Optional, so that a ConfigMap may come and go without a rollout.
	configMap := func(volume, name string) corev1.Volume {
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, DefaultMode: new(int32(0o400)), Optional: new(true),
		}}}
	}
	list := []corev1.Volume{
		// In memory: it holds private keys, and a start with 10,000 routes writes thousands of small files.
		folder("work", corev1.StorageMediumMemory, s.memory.Files),
		folder("sockets", corev1.StorageMediumMemory, socketsSize),
		// Apart from what HAProxy sees, because the router believes it. It holds keys, too.
		folder("state", corev1.StorageMediumMemory, s.memory.State),
		secret("default-certificate", api.CertificateSecretName(s.name)),
		secret("stats-auth", api.StatsSecretName(s.name)),
		configMap("client-ca", api.ClientCAConfigMapName(s.name)),
		configMap("error-pages", api.ErrorPagesConfigMapName(s.name)),
		configMap("admitted", api.AdmittedConfigMapName(s.name)),
		configMap("service-ca", api.ServiceCAConfigMap),
		kubeAPIAccess(),
	}
	if s.logs {
		list = append(list, folder("logs", corev1.StorageMediumDefault, logsSize))
	}
	return list
}

// kubeAPIAccess is what Kubernetes mounts by itself where
// automountServiceAccountToken is not false.
func kubeAPIAccess() corev1.Volume {
	return corev1.Volume{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o400)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path:     "namespace",
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		},
	}}
}

// affinity keeps pods of one generation on different nodes and puts a new pod
// where an old one is, so that a node that gets traffic keeps a router during
// a rollout and the announced address need not move. See rolloutStrategy.
func affinity(s settings) *corev1.Affinity {
	if s.hostNetwork() {
		return nil // Host ports keep pods apart.
	}
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: podLabels(s.name)},
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

func zoneSpread(s settings) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: podLabels(s.name)},
		MatchLabelKeys:    []string{appsv1.DefaultDeploymentUniqueLabelKey},
	}
}

// podLabels select the router pods of an IngressController.
func podLabels(ic string) map[string]string {
	return map[string]string{api.LabelDeploymentIngressController: ic}
}

// selectorString is the form of podLabels in status.selector.
func selectorString(ic string) string {
	return fmt.Sprintf("%s=%s", api.LabelDeploymentIngressController, ic)
}
