package deployment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
	"github.com/fairlead/fairlead/test/build"
	"github.com/fairlead/fairlead/test/build/defaults"
)

func TestChangedDeployment(t *testing.T) {
	t.Parallel()
	desired := Desired(defaults.Settings(operatorv1.PrivateStrategyType, 2))
	tests := []struct {
		name string
		edit func(*appsv1.Deployment)
		want bool
	}{
		{name: "as desired", edit: func(*appsv1.Deployment) {}},
		{name: "defaults of the API server", edit: func(d *appsv1.Deployment) {
			d.Spec.RevisionHistoryLimit = new(int32(10))
			d.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
			d.Spec.Template.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
		}},
		{name: "restarted by kubectl", edit: func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{pod.RestartedAt: "now"}
		}},
		{name: "probe timeouts of an administrator", edit: func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[0]
			c.LivenessProbe.TimeoutSeconds, c.ReadinessProbe.TimeoutSeconds, c.StartupProbe.TimeoutSeconds = 7, 8, 9
		}},
		{name: "probe period", edit: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].LivenessProbe.PeriodSeconds = 99
		}, want: true},
		{name: "image", edit: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" }, want: true},
		{name: "replicas", edit: func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) }, want: true},
		{name: "added container", edit: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "x"})
		}, want: true},
		{name: "added argument", edit: func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--x")
		}, want: true},
		{name: "privileged", edit: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.InitContainers[0].SecurityContext.Privileged = new(true)
		}, want: true},
		{name: "another user", edit: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(0))
		}, want: true},
		{name: "added sysctl", edit: func(d *appsv1.Deployment) {
			c := d.Spec.Template.Spec.SecurityContext
			c.Sysctls = append(c.Sysctls, corev1.Sysctl{Name: "net.ipv4.ip_forward", Value: "1"})
		}, want: true},
		{name: "no memory limit", edit: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Resources.Limits = nil }, want: true},
		{name: "added node selector", edit: func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector["x"] = "y" }, want: true},
		{name: "what an older operator desired", edit: func(d *appsv1.Deployment) { d.Annotations[pod.AnnotationFingerprint] = "old" }, want: true},
		{name: "label taken away", edit: func(d *appsv1.Deployment) { d.Labels = nil }, want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			live := desired.DeepCopy()
			test.edit(live)
			updated, changed := Changed(live, desired)
			if changed != test.want {
				t.Fatalf("changed is %t, want %t", changed, test.want)
			}
			if _, again := Changed(updated, desired); again {
				t.Error("the update leaves something to change")
			}
		})
	}
}

// TestLogContainer: the access log has a container of its own where the
// IngressController asks for that, which ends after HAProxy.
func TestLogContainer(t *testing.T) {
	t.Parallel()
	s := defaults.Settings(operatorv1.PrivateStrategyType, 2)
	if p := Desired(s).Spec.Template.Spec; len(p.InitContainers) != 2 || slices.Contains(p.Containers[0].Args, "--log-socket") {
		t.Errorf("without a log: %d sidecars, arguments %q", len(p.InitContainers), p.Containers[0].Args)
	}
	ic := build.IngressController(func(ic *operatorv1.IngressController) {
		ic.Spec.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
			Destination: operatorv1.LoggingDestination{Type: operatorv1.ContainerLoggingDestinationType},
		}}
	})
	p := Desired(effective.Of(ic, effective.Cluster{}, effective.Defaults{Domain: "apps.example.com", RouterImage: "router:1"})).Spec.Template.Spec
	if len(p.InitContainers) != 3 || p.InitContainers[0].Name != "logs" || !slices.Contains(p.Containers[0].Args, logSocket) {
		t.Errorf("sidecars %+v, arguments %q", p.InitContainers, p.Containers[0].Args)
	}
}

// TestRouterLog: the routers log as the operator's flags say; without them the
// arguments, and so the pods, stay as they are.
func TestRouterLog(t *testing.T) {
	t.Parallel()
	s := defaults.Settings(operatorv1.PrivateStrategyType, 1)
	before := Desired(s)
	s.LogArgs = []string{"--log-format=json"}
	after := Desired(s)
	if slices.Contains(before.Spec.Template.Spec.Containers[0].Args, "--log-format=json") ||
		!slices.Contains(after.Spec.Template.Spec.Containers[0].Args, "--log-format=json") {
		t.Errorf("before %q, after %q", before.Spec.Template.Spec.Containers[0].Args, after.Spec.Template.Spec.Containers[0].Args)
	}
}

// TestRollout holds the numbers that keep small clusters from deadlock; see rolloutStrategy.
func TestRollout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		kind               operatorv1.EndpointPublishingStrategyType
		replicas           int32
		unavailable, surge string
		required           bool
	}{
		{"load balancer, two", operatorv1.LoadBalancerServiceStrategyType, 2, "50%", "25%", true},
		{"load balancer, four", operatorv1.LoadBalancerServiceStrategyType, 4, "25%", "25%", true},
		{"host network: no surge, ports are taken", operatorv1.HostNetworkStrategyType, 2, "25%", "0", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := Desired(defaults.Settings(test.kind, test.replicas))
			r := d.Spec.Strategy.RollingUpdate
			if r.MaxUnavailable.String() != test.unavailable || r.MaxSurge.String() != test.surge {
				t.Errorf("got %s and %s", r.MaxUnavailable, r.MaxSurge)
			}
			affinity := d.Spec.Template.Spec.Affinity
			if (affinity != nil) != test.required {
				t.Fatalf("affinity: %+v", affinity)
			}
			if affinity == nil {
				return
			}
			terms := affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			if len(terms) != 1 || !cmp.Equal(terms[0].MatchLabelKeys, []string{appsv1.DefaultDeploymentUniqueLabelKey}) {
				t.Errorf("pods of different generations must be able to share a node: %+v", terms)
			}
		})
	}
}

// TestShutdownDelay: where a load balancer other than our speakers must notice
// that a router stops, it serves on for as long as such take.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy   operatorv1.EndpointPublishingStrategyType
		cloudClass string
		want       bool
	}{
		{operatorv1.LoadBalancerServiceStrategyType, "", false},
		{operatorv1.LoadBalancerServiceStrategyType, api.LoadBalancerClassAWS, true},
		{operatorv1.HostNetworkStrategyType, "", true},
		{operatorv1.NodePortServiceStrategyType, "", true},
		{operatorv1.PrivateStrategyType, "", true},
	} {
		s := defaults.Settings(c.strategy, 2)
		s.CloudClass = c.cloudClass
		args := strings.Join(Desired(s).Spec.Template.Spec.Containers[0].Args, " ")
		if got := strings.Contains(args, "--shutdown-delay 45s"); got != c.want {
			t.Errorf("%s %s: %q", c.strategy, c.cloudClass, args)
		}
	}
}

func TestHostNetworkPorts(t *testing.T) {
	t.Parallel()
	d := Desired(defaults.Settings(operatorv1.HostNetworkStrategyType, 1))
	p := d.Spec.Template.Spec
	if !p.HostNetwork || p.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("hostNetwork %t, DNS %s", p.HostNetwork, p.DNSPolicy)
	}
	for _, p := range p.Containers[0].Ports {
		if p.HostPort != p.ContainerPort {
			t.Errorf("port %s: host %d, container %d", p.Name, p.HostPort, p.ContainerPort)
		}
	}
}

// TestTokenStaysWithRouter: HAProxy, which meets the world, has no access to the API.
func TestTokenStaysWithRouter(t *testing.T) {
	t.Parallel()
	p := Desired(defaults.Settings(operatorv1.PrivateStrategyType, 1)).Spec.Template.Spec
	if *p.AutomountServiceAccountToken {
		t.Error("every container gets the token")
	}
	for _, c := range p.InitContainers {
		for _, m := range c.VolumeMounts {
			if m.MountPath == pod.ServiceAccountPath {
				t.Errorf("%s gets the token", c.Name)
			}
		}
	}
}
