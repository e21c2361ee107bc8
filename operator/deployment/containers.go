package deployment

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// haproxyContainer is a sidecar (an init container that keeps running), so
// that the death of HAProxy or of the router leaves the other one alone.
func haproxyContainer(s effective.Spec) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{
		Name:            "haproxy",
		Image:           s.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{routerPath, "haproxy", "--haproxy", haproxyPath, "--work-dir", workDir, "--run-dir", runDir},
		RestartPolicy:   &always,
		Resources:       pod.Limited(s.HAProxyCPU.String(), "256Mi", s.Memory.HAProxy),
		SecurityContext: pod.BindSecurity(s),
		VolumeMounts: []corev1.VolumeMount{
			// HAProxy meets clients: what it could write is what the next process starts from.
			{Name: "work", MountPath: workDir, ReadOnly: true},
			{Name: "sockets", MountPath: runDir},
			{Name: "default-certificate", MountPath: certificateDir, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// sidecars start in this order and end in the other one, so that log and agent are
// there for the last request.
func sidecars(s effective.Spec) []corev1.Container {
	haproxy := haproxyContainer(s)
	var before []corev1.Container
	if s.Logs {
		mount := corev1.VolumeMount{Name: "logs", MountPath: logsDir}
		haproxy.VolumeMounts = append(haproxy.VolumeMounts, mount)
		before = append(before, sidecar("logs", s, pod.Limited("10m", "16Mi", logsMemory), []string{"logs", "--socket", logSocket}, mount))
	}
	if s.Agent {
		haproxy.VolumeMounts = append(haproxy.VolumeMounts, agentSockets())
		agent := sidecar("agent", s, pod.Limited("10m", "64Mi", agentMemory),
			[]string{"agent", "--socket-dir", agentDir, "--snapshot", agentStateDir + "/snapshot"},
			corev1.VolumeMount{Name: "agent", MountPath: agentDir}, corev1.VolumeMount{Name: "agent-state", MountPath: agentStateDir})
		agent.SecurityContext.RunAsUser = new(pod.AgentUser)
		before = append(before, agent)
	}
	if s.Firewall {
		haproxy.VolumeMounts = append(haproxy.VolumeMounts, firewallSockets())
		firewall := sidecar("firewall", s, pod.Limited("10m", "96Mi", firewallMemory), []string{"--socket-dir", firewallDir}, corev1.VolumeMount{Name: "firewall", MountPath: firewallDir})
		firewall.Command[0] = firewallPath
		firewall.SecurityContext.RunAsUser = new(pod.FirewallUser)
		before = append(before, firewall)
	}
	return append(before, haproxy)
}

// firewallSockets are where HAProxy and the router reach the firewall.
func firewallSockets() corev1.VolumeMount {
	return corev1.VolumeMount{Name: "firewall", MountPath: firewallDir, ReadOnly: true}
}

// agentSockets are where HAProxy and the router reach the policy agent: they connect,
// and cannot put others in their place.
func agentSockets() corev1.VolumeMount {
	return corev1.VolumeMount{Name: "agent", MountPath: agentDir, ReadOnly: true}
}

// sidecar is a container of the router's image without any privilege.
func sidecar(name string, s effective.Spec, resources corev1.ResourceRequirements, command []string, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    s.Image,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		Command:                  append([]string{routerPath}, command...),
		RestartPolicy:            new(corev1.ContainerRestartPolicyAlways),
		Resources:                resources,
		SecurityContext:          pod.ContainerSecurity(),
		VolumeMounts:             mounts,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// readyPath stays right while the pod is about to stop and serves still: kube-proxy sends packets to such a pod as long as its
// node has no other. Kubernetes calls it unready by itself then; other programs ask /healthz/ready.
const readyPath = "/healthz/ready/has-synced"

func routerContainer(s effective.Spec) corev1.Container {
	c := corev1.Container{
		Name:            "router",
		Image:           s.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{routerPath},
		Args:            routerArgs(s),
		Ports:           containerPorts(s),
		LivenessProbe:   livenessProbe(s),
		ReadinessProbe:  probe(s, readyPath, 2, 3),
		StartupProbe:    probe(s, "/healthz/ready", 1, 120),
		Env:             []corev1.EnvVar{goMemory(s)},
		Resources:       pod.Limited(s.RouterCPU.String(), "64Mi", s.Memory.Router),
		SecurityContext: pod.BindSecurity(s),
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
			{Name: "kube-api-access", MountPath: pod.ServiceAccountPath, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if s.Agent {
		c.VolumeMounts = append(c.VolumeMounts, agentSockets(), corev1.VolumeMount{Name: "session-keys", MountPath: sessionKeysDir, ReadOnly: true},
			corev1.VolumeMount{Name: "agent-certificates", MountPath: agentCertificatesDir, ReadOnly: true})
	}
	if s.Firewall {
		c.VolumeMounts = append(c.VolumeMounts, firewallSockets())
	}
	return c
}

func containerPorts(s effective.Spec) []corev1.ContainerPort {
	list := []corev1.ContainerPort{
		{Name: "http", ContainerPort: s.Ports.HTTP, Protocol: corev1.ProtocolTCP},
		{Name: "https", ContainerPort: s.Ports.HTTPS, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: s.Ports.Stats, Protocol: corev1.ProtocolTCP},
	}
	if !s.HostNetwork() {
		return append(list, corev1.ContainerPort{Name: "health", ContainerPort: s.ProbePort(), Protocol: corev1.ProtocolTCP})
	}
	for i := range list {
		list[i].HostPort = list[i].ContainerPort
	}
	return list
}

func probe(s effective.Spec, path string, periodSeconds, failures int32) *corev1.Probe {
	get := &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(s.ProbePort()), Scheme: corev1.URISchemeHTTP}
	if s.HostNetwork() {
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
func livenessProbe(s effective.Spec) *corev1.Probe {
	p := probe(s, "/healthz", 10, 3)
	p.TerminationGracePeriodSeconds = new(int64(10))
	return p
}
