package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/fairlead/fairlead/api"
)

func plainSettings(t operatorv1.EndpointPublishingStrategyType, replicas int32) settings {
	ic := ingressController(withStrategy(operatorv1.EndpointPublishingStrategy{Type: t}), func(ic *operatorv1.IngressController) {
		ic.Spec.Replicas = &replicas
	})
	return settingsOf(ic, cluster{}, Options{Domain: "apps.example.com", RouterImage: "router:1"})
}

func TestChangedDeployment(t *testing.T) {
	t.Parallel()
	desired := desiredDeployment(plainSettings(operatorv1.PrivateStrategyType, 2))
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
			d.Spec.Template.Annotations = map[string]string{restartedAt: "now"}
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
		{name: "what an older operator desired", edit: func(d *appsv1.Deployment) { d.Annotations[annotationFingerprint] = "old" }, want: true},
		{name: "label taken away", edit: func(d *appsv1.Deployment) { d.Labels = nil }, want: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			live := desired.DeepCopy()
			test.edit(live)
			updated, changed := changedDeployment(live, desired)
			if changed != test.want {
				t.Fatalf("changed is %t, want %t", changed, test.want)
			}
			if _, again := changedDeployment(updated, desired); again {
				t.Error("the update leaves something to change")
			}
		})
	}
}

// TestLogContainer: the access log has a container of its own where the
// IngressController asks for that, which ends after HAProxy.
func TestLogContainer(t *testing.T) {
	t.Parallel()
	s := plainSettings(operatorv1.PrivateStrategyType, 2)
	if p := desiredDeployment(s).Spec.Template.Spec; len(p.InitContainers) != 1 || slices.Contains(p.Containers[0].Args, "--log-socket") {
		t.Errorf("without a log: %d sidecars, arguments %q", len(p.InitContainers), p.Containers[0].Args)
	}
	ic := ingressController(func(ic *operatorv1.IngressController) {
		ic.Spec.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
			Destination: operatorv1.LoggingDestination{Type: operatorv1.ContainerLoggingDestinationType},
		}}
	})
	p := desiredDeployment(settingsOf(ic, cluster{}, Options{Domain: "apps.example.com", RouterImage: "router:1"})).Spec.Template.Spec
	if len(p.InitContainers) != 2 || p.InitContainers[0].Name != "logs" || !slices.Contains(p.Containers[0].Args, logSocket) {
		t.Errorf("sidecars %+v, arguments %q", p.InitContainers, p.Containers[0].Args)
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
			d := desiredDeployment(plainSettings(test.kind, test.replicas))
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
		s := plainSettings(c.strategy, 2)
		s.cloudClass = c.cloudClass
		args := strings.Join(desiredDeployment(s).Spec.Template.Spec.Containers[0].Args, " ")
		if got := strings.Contains(args, "--shutdown-delay 45s"); got != c.want {
			t.Errorf("%s %s: %q", c.strategy, c.cloudClass, args)
		}
	}
}

func TestHostNetworkPorts(t *testing.T) {
	t.Parallel()
	d := desiredDeployment(plainSettings(operatorv1.HostNetworkStrategyType, 1))
	pod := d.Spec.Template.Spec
	if !pod.HostNetwork || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("hostNetwork %t, DNS %s", pod.HostNetwork, pod.DNSPolicy)
	}
	for _, p := range pod.Containers[0].Ports {
		if p.HostPort != p.ContainerPort {
			t.Errorf("port %s: host %d, container %d", p.Name, p.HostPort, p.ContainerPort)
		}
	}
}

// TestTokenStaysWithRouter: HAProxy, which meets the world, has no access to the API.
func TestTokenStaysWithRouter(t *testing.T) {
	t.Parallel()
	pod := desiredDeployment(plainSettings(operatorv1.PrivateStrategyType, 1)).Spec.Template.Spec
	if *pod.AutomountServiceAccountToken {
		t.Error("every container gets the token")
	}
	for _, m := range pod.InitContainers[0].VolumeMounts {
		if m.MountPath == serviceAccountPath {
			t.Error("HAProxy gets the token")
		}
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int32]string{0: "", 1: "", 2: "1", 3: "25%", 9: "25%"} {
		budget, wanted := desiredPodDisruptionBudget(plainSettings(operatorv1.PrivateStrategyType, replicas))
		if wanted != (want != "") {
			t.Errorf("%d replicas: wanted is %t", replicas, wanted)
		}
		if wanted && budget.Spec.MaxUnavailable.String() != want {
			t.Errorf("%d replicas: maxUnavailable %s, want %s", replicas, budget.Spec.MaxUnavailable, want)
		}
		if *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
			t.Error("unhealthy pods block the draining of nodes")
		}
	}
}

func TestChangedService(t *testing.T) {
	t.Parallel()
	s := plainSettings(operatorv1.LoadBalancerServiceStrategyType, 2)
	s.sourceRanges = []string{"198.18.0.0/15"}
	desired, wanted := desiredLoadBalancerService(s)
	if !wanted {
		t.Fatal("no Service of type LoadBalancer")
	}
	live := desired.DeepCopy()
	live.Spec.ClusterIP = "10.0.0.1"
	live.Spec.HealthCheckNodePort = 32000
	live.Spec.AllocateLoadBalancerNodePorts = new(true)
	live.Spec.SessionAffinity = corev1.ServiceAffinityNone
	live.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	live.Annotations["example.com/theirs"] = "x"
	for i := range live.Spec.Ports {
		live.Spec.Ports[i].NodePort = int32(30000 + i)
	}
	if _, changed := changedService(live, desired); changed {
		t.Error("what the API server allocated counts as a change")
	}
	edited := live.DeepCopy()
	edited.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	edited.Spec.LoadBalancerSourceRanges = nil
	edited.Spec.Selector["x"] = "y"
	edited.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	edited.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(5))}}
	edited.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	edited.Spec.Ports[0].Port = 81
	updated, changed := changedService(edited, desired)
	if !changed {
		t.Fatal("edits are not repaired")
	}
	if diff := cmp.Diff(live, updated); diff != "" {
		t.Errorf("repaired Service (-want +got):\n%s", diff)
	}
}

func TestServicesByStrategy(t *testing.T) {
	t.Parallel()
	for kind, want := range map[operatorv1.EndpointPublishingStrategyType][2]bool{
		operatorv1.LoadBalancerServiceStrategyType: {true, false},
		operatorv1.NodePortServiceStrategyType:     {false, true},
		operatorv1.HostNetworkStrategyType:         {false, false},
		operatorv1.PrivateStrategyType:             {false, false},
	} {
		s := plainSettings(kind, 2)
		_, loadBalancer := desiredLoadBalancerService(s)
		_, nodePort := desiredNodePortService(s)
		if got := [2]bool{loadBalancer, nodePort}; got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

func TestStatsSecretKeepsItsPassword(t *testing.T) {
	t.Parallel()
	live := desiredStatsSecret("a")
	if _, changed := changedStatsSecret(live, desiredStatsSecret("a")); changed {
		t.Error("the password changes every time")
	}
	delete(live.Data, keyStatsPassword)
	if updated, changed := changedStatsSecret(live, desiredStatsSecret("a")); !changed || len(updated.Data[keyStatsPassword]) == 0 {
		t.Error("a missing password is not replaced")
	}
}

func TestDraining(t *testing.T) {
	t.Parallel()
	pod := func(node string) corev1.Pod { return corev1.Pod{Spec: corev1.PodSpec{NodeName: node}} }
	down := node("down")
	down.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if got := draining([]corev1.Pod{pod("up"), pod("down"), pod("")}, []corev1.Node{node("up"), down}); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}
