package operator

import (
	"errors"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/operator/canary"
)

// admittedCanary is the canary's Route as the routers of an IngressController
// have admitted it.
func admittedCanary(router string) *routev1.Route {
	r := desiredCanaryRoute(canary.Port1)
	r.Status.Ingress = []routev1.RouteIngress{{
		RouterName: router, Host: "canary.apps.example.com",
		Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue}},
	}}
	return r
}

// asked is an IngressController whose canary can be asked.
func asked(t operatorv1.EndpointPublishingStrategyType, v canary.Verdict) statusInput {
	in := well()
	in.s = plainSettings(t, 2)
	in.canary = canaryInput{on: true, looked: true, ready: 2, route: admittedCanary("default"), verdict: v}
	in.canary.internal = &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	in.canary.nodePort = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", NodePort: 30080}, {Name: "https", NodePort: 30443}}}}
	return in
}

// TestCanaryTarget: what is asked is where clients are.
func TestCanaryTarget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		strategy operatorv1.EndpointPublishingStrategyType
		address  string
		port     int32
	}{
		{operatorv1.LoadBalancerServiceStrategyType, "198.18.0.200", 443},
		{operatorv1.HostNetworkStrategyType, "198.18.0.200", 443},
		{operatorv1.NodePortServiceStrategyType, "198.18.0.200", 30443},
		{operatorv1.PrivateStrategyType, "10.0.0.1", 443},
	} {
		in := asked(tt.strategy, canary.Verdict{})
		got := canaryTarget(in)
		if got == nil || len(got.Addresses) != 1 || got.Addresses[0] != tt.address || got.Port != tt.port || got.Host != "canary.apps.example.com" {
			t.Errorf("%s: %+v", tt.strategy, got)
		}
		in.addresses, in.canary.internal = nil, nil
		if got := canaryTarget(in); got != nil {
			t.Errorf("%s without an address: %+v", tt.strategy, got)
		}
	}
}

// TestCanaryCondition: the condition is False only where routers do not answer,
// and Degraded follows after a minute; what cannot be asked is Unknown, and
// degrades nothing.
func TestCanaryCondition(t *testing.T) {
	t.Parallel()
	failing := canary.Verdict{State: canary.Failing, Errors: "at 198.18.0.200:443: dial: connection refused (since then)"}
	lb, private := operatorv1.LoadBalancerServiceStrategyType, operatorv1.PrivateStrategyType
	tests := map[string]struct {
		in   statusInput
		edit func(*statusInput)
		want string
	}{
		"well":     {in: asked(lb, canary.Verdict{State: canary.Succeeding}), want: "True CanaryChecksSucceeding"},
		"broken":   {in: asked(lb, failing), want: "False CanaryChecksRepetitiveFailures The last 5 or more probes of https://canary.apps.example.com/ had no right answer: at 198.18.0.200:443: dial: connection refused (since then). Ask for it"},
		"private":  {in: asked(private, failing), want: "False CanaryChecksRepetitiveFailures"},
		"at first": {in: asked(lb, canary.Verdict{}), want: "Unknown CanaryChecksPending"},
		"a new operator": {in: asked(lb, canary.Verdict{}), edit: func(in *statusInput) {
			in.ic.Status.Conditions = []operatorv1.OperatorCondition{{Type: conditionCanary, Status: operatorv1.ConditionFalse, Reason: "CanaryChecksRepetitiveFailures", Message: "as it was"}}
		}, want: "False CanaryChecksRepetitiveFailures as it was"},
		"a pass that did not get there": {in: asked(lb, canary.Verdict{State: canary.Succeeding}), edit: func(in *statusInput) {
			in.canary.looked, in.canary.route = false, nil
		}, want: "True CanaryChecksSucceeding"},
		"no namespace": {in: asked(lb, failing), edit: func(in *statusInput) {
			in.canary.trouble = errors.New(`create DaemonSet: namespaces "openshift-ingress-canary" not found`)
		}, want: `Unknown CanaryNotInstalled create DaemonSet: namespaces "openshift-ingress-canary" not found; config/default has`},
		"no Route":     {in: asked(lb, failing), edit: func(in *statusInput) { in.canary.route = nil }, want: "Unknown CanaryRouteDoesNotExist"},
		"not admitted": {in: asked(lb, failing), edit: func(in *statusInput) { in.canary.route = admittedCanary("other") }, want: "Unknown CanaryRouteNotAdmitted"},
		"no pods":      {in: asked(lb, failing), edit: func(in *statusInput) { in.canary.ready = 0 }, want: "Unknown CanaryPodsNotReady"},
		"no address":   {in: asked(lb, failing), edit: func(in *statusInput) { in.addresses = nil }, want: "Unknown CanaryNoAddress"},
		"source ranges": {in: asked(lb, failing), edit: func(in *statusInput) {
			in.loadBalancer.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		}, want: "Unknown CanaryChecksInconclusive"},
		"open source ranges": {in: asked(lb, failing), edit: func(in *statusInput) {
			in.loadBalancer.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"}
		}, want: "False CanaryChecksRepetitiveFailures"},
		"PROXY protocol": {in: asked(private, failing), edit: func(in *statusInput) {
			in.s.strategy.Private.Protocol = operatorv1.ProxyProtocol
		}, want: "Unknown CanaryChecksInconclusive"},
		"external addresses": {in: asked(operatorv1.HostNetworkStrategyType, failing), edit: func(in *statusInput) {
			in.nodes = []corev1.Node{{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}}}}}
		}, want: "Unknown CanaryChecksInconclusive"},
		"switched off": {in: asked(lb, failing), edit: func(in *statusInput) { in.canary.on = false }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.edit != nil {
				tt.edit(&tt.in)
			}
			tt.in.canary.target = canaryTarget(tt.in)
			var got string
			status, _ := statusOf(tt.in)
			if c := findCondition(status.Conditions, conditionCanary); c != nil {
				got = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
			}
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if d := findCondition(status.Conditions, operatorv1.OperatorStatusTypeDegraded); strings.Contains(d.Message, conditionCanary) && !strings.Contains(got, "as it was") {
				t.Errorf("degraded at once: %s", d.Message)
			}
			tt.in.ic.Status, tt.in.now = status, tt.in.now.Add(61*time.Second)
			later, _ := statusOf(tt.in)
			d := findCondition(later.Conditions, operatorv1.OperatorStatusTypeDegraded)
			if degraded, want := strings.Contains(d.Message, conditionCanary), strings.HasPrefix(tt.want, "False"); degraded != want {
				t.Errorf("after a minute Degraded is %s (%s)", d.Status, d.Message)
			}
		})
	}
}

// TestCanaryObjects: what others change is put right, and what the API server
// adds is none of it.
func TestCanaryObjects(t *testing.T) {
	t.Parallel()
	desired := desiredCanaryDaemonSet("operator:1")
	live := desired.DeepCopy()
	live.Spec.RevisionHistoryLimit = new(int32(10))
	live.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	if _, changed := changedCanaryDaemonSet(live, desired); changed {
		t.Error("defaults of the API server count as a change")
	}
	for name, edit := range map[string]func(*appsv1.DaemonSet){
		"image":      func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = "evil" },
		"privileged": func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].SecurityContext.Privileged = new(true) },
		"volume": func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes, corev1.Volume{Name: "x"})
		},
	} {
		live := desired.DeepCopy()
		edit(live)
		if updated, changed := changedCanaryDaemonSet(live, desired); !changed || updated.Spec.Template.Spec.Containers[0].Image != "operator:1" {
			t.Errorf("%s: %v", name, changed)
		}
	}
	for name, edit := range map[string]func(*routev1.Route){
		"port":       func(r *routev1.Route) { r.Spec.Port.TargetPort = intstr.FromString("8888-tcp") },
		"annotation": func(r *routev1.Route) { r.Annotations["haproxy.router.openshift.io/balance"] = "leastconn" },
		"subdomain":  func(r *routev1.Route) { r.Spec.Subdomain = "other" },
		"TLS":        func(r *routev1.Route) { r.Spec.TLS.Termination = routev1.TLSTerminationEdge },
		"backends":   func(r *routev1.Route) { r.Spec.AlternateBackends = []routev1.RouteTargetReference{{Name: "other"}} },
	} {
		live := desiredCanaryRoute(canary.Port1)
		edit(live)
		if _, changed := changedCanaryRoute(live, desiredCanaryRoute(canary.Port1)); !changed {
			t.Errorf("Route: %s stays", name)
		}
	}
	if p := desired.Spec.Template.Spec; *p.AutomountServiceAccountToken || p.Containers[0].Resources.Limits.Memory().IsZero() {
		t.Error("the canary's pods have a token, or no limit of memory")
	}
	on := desiredCanaryRoute
	for _, tt := range []struct {
		live          *routev1.Route
		rotates, turn bool
		want          int32
	}{
		{nil, true, true, canary.Port1},
		{on(canary.Port1), true, false, canary.Port1},
		{on(canary.Port1), true, true, canary.Port2},
		{on(canary.Port2), true, false, canary.Port2},
		{on(canary.Port2), true, true, canary.Port1},
		{on(canary.Port2), false, false, canary.Port1},
	} {
		if got := canaryPort(tt.live, tt.rotates, tt.turn); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
