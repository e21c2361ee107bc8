package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/effective"
)

// user runs every process in a router's pod. It is the user of the image, and
// the group that may read the Secrets that the pod mounts.
const user = 65532

// AgentUser runs the policy agent, in the same group: so no process of another
// container can look into its memory, or stop it.
const AgentUser int64 = 65533

// FirewallUser runs the firewall, in the same group, for the same reason.
const FirewallUser int64 = 65534

// firstUnprivilegedPort is the kernel's default.
const firstUnprivilegedPort = 1024

// Security keeps a router's pod within the Pod Security level "restricted",
// but for HostNetwork, which only "privileged" allows.
//
// In a network namespace of its own any user may bind any port, by a sysctl that
// "restricted" calls safe: so no process needs a capability. On the network of
// the node that sysctl is the node's; see BindSecurity.
func Security(s effective.Spec) *corev1.PodSecurityContext {
	c := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		RunAsUser:      new(int64(user)),
		RunAsGroup:     new(int64(user)),
		FSGroup:        new(int64(user)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !s.HostNetwork() {
		c.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	}
	return c
}

// ContainerSecurity is that of a container without any privilege.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// BindSecurity is that of a container that listens. On the network of a node, a
// port below 1024 takes the capability NET_BIND_SERVICE. Kubernetes gives it to
// a user other than root only by the program's file, and the kernel honours that
// only where escalation is allowed. All other capabilities stay dropped.
func BindSecurity(s effective.Spec) *corev1.SecurityContext {
	c := ContainerSecurity()
	privileged := func(port int32) bool { return port < firstUnprivilegedPort }
	if s.HostNetwork() && slices.ContainsFunc([]int32{s.Ports.HTTP, s.Ports.HTTPS, s.Ports.Stats}, privileged) {
		c.AllowPrivilegeEscalation = new(true)
		c.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
	}
	return c
}
