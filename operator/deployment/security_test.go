package deployment

import (
	"slices"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/test/build"
)

// TestPodSecurity: no container has a capability, unless it listens on a port
// below 1024 of its node, and none can gain one otherwise.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	high := &operatorv1.HostNetworkStrategy{HTTPPort: 8080, HTTPSPort: 8443, StatsPort: 19360}
	for _, test := range []struct {
		name     string
		strategy operatorv1.EndpointPublishingStrategy
		binds    bool
	}{
		{"pod network", operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType}, false},
		{"host network", operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType}, true},
		{"host network, high ports", operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType, HostNetwork: high}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := build.IngressController(build.Strategy(test.strategy), func(ic *operatorv1.IngressController) {
				ic.Spec.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
					Destination: operatorv1.LoggingDestination{Type: operatorv1.ContainerLoggingDestinationType},
				}}
				ic.Spec.UnsupportedConfigOverrides.Raw = []byte(`{"firewall":"Enabled"}`)
			})
			s := effective.Of(ic, effective.Cluster{}, effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1"})
			pod := Desired(s).Spec.Template.Spec
			if c := pod.SecurityContext; !*c.RunAsNonRoot || *c.RunAsUser == 0 || c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("pod: %+v", c)
			}
			if got := len(pod.SecurityContext.Sysctls) > 0; got == s.HostNetwork() {
				t.Errorf("sysctls of the pod: %v; they are the node's with HostNetwork", pod.SecurityContext.Sysctls)
			}
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				binds := test.binds && !slices.Contains([]string{"logs", "agent", "firewall"}, c.Name)
				security := c.SecurityContext
				if *security.AllowPrivilegeEscalation != binds || len(security.Capabilities.Add) > 0 != binds ||
					!*security.ReadOnlyRootFilesystem || !slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("container %s: %+v", c.Name, security)
				}
				if got := writable(c); c.Name == "haproxy" && !slices.Equal(got, []string{"sockets", "logs"}) {
					t.Errorf("HAProxy can write to the volumes %v", got)
				}
				if own := c.SecurityContext.RunAsUser; (own != nil) != (c.Name == "agent" || c.Name == "firewall") {
					t.Errorf("container %s has a user of its own: %v", c.Name, own)
				}
				if got := writable(c); c.Name == "agent" && !slices.Equal(got, []string{"agent", "agent-state"}) {
					t.Errorf("the agent can write to the volumes %v", got)
				}
				if got := writable(c); c.Name == "firewall" && !slices.Equal(got, []string{"firewall"}) {
					t.Errorf("the firewall can write to the volumes %v", got)
				}
				for _, m := range c.VolumeMounts {
					if m.Name == "agent-state" && c.Name != "agent" || m.Name == "kube-api-access" && c.Name != "router" {
						t.Errorf("container %s sees the volume %s", c.Name, m.Name)
					}
				}
				if c.Resources.Limits.Memory().IsZero() {
					t.Errorf("container %s has no memory limit", c.Name)
				}
			}
		})
	}
}

// writable are the volumes that a container can write to.
func writable(c corev1.Container) []string {
	var names []string
	for _, m := range c.VolumeMounts {
		if !m.ReadOnly {
			names = append(names, m.Name)
		}
	}
	return names
}
