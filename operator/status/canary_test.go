package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/test/build/defaults"
)

// admittedCanary is the canary's Route as the routers of an IngressController
// have admitted it.
func admittedCanary(router string) *routev1.Route {
	r := canary.DesiredRoute(canary.Port1)
	r.Status.Ingress = []routev1.RouteIngress{{
		RouterName: router, Host: "canary.apps.example.com",
		Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue}},
	}}
	return r
}

// asked is an IngressController whose canary can be asked.
func asked(t operatorv1.EndpointPublishingStrategyType, v canary.Verdict) Input {
	in := well()
	in.Settings = defaults.Settings(t, 2)
	in.Canary = Canary{On: true, Looked: true, Ready: 2, Route: admittedCanary("default"), Verdict: v}
	in.Canary.Internal = &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	in.Canary.NodePort = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", NodePort: 30080}, {Name: "https", NodePort: 30443}}}}
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
		got := CanaryTarget(in)
		if got == nil || len(got.Addresses) != 1 || got.Addresses[0] != tt.address || got.Port != tt.port || got.Host != "canary.apps.example.com" {
			t.Errorf("%s: %+v", tt.strategy, got)
		}
		in.Addresses, in.Canary.Internal = nil, nil
		if got := CanaryTarget(in); got != nil {
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
		in   Input
		edit func(*Input)
		want string
	}{
		"well":     {in: asked(lb, canary.Verdict{State: canary.Succeeding}), want: "True CanaryChecksSucceeding"},
		"broken":   {in: asked(lb, failing), want: "False CanaryChecksRepetitiveFailures The last 5 or more probes of https://canary.apps.example.com/ had no right answer: at 198.18.0.200:443: dial: connection refused (since then). Ask for it"},
		"private":  {in: asked(private, failing), want: "False CanaryChecksRepetitiveFailures"},
		"at first": {in: asked(lb, canary.Verdict{}), want: "Unknown CanaryChecksPending"},
		"a new operator": {in: asked(lb, canary.Verdict{}), edit: func(in *Input) {
			in.IC.Status.Conditions = []operatorv1.OperatorCondition{{Type: ConditionCanary, Status: operatorv1.ConditionFalse, Reason: "CanaryChecksRepetitiveFailures", Message: "as it was"}}
		}, want: "False CanaryChecksRepetitiveFailures as it was"},
		"a pass that did not get there": {in: asked(lb, canary.Verdict{State: canary.Succeeding}), edit: func(in *Input) {
			in.Canary.Looked, in.Canary.Route = false, nil
		}, want: "True CanaryChecksSucceeding"},
		"no namespace": {in: asked(lb, failing), edit: func(in *Input) {
			in.Canary.Trouble = errors.New(`create DaemonSet: namespaces "openshift-ingress-canary" not found`)
		}, want: `Unknown CanaryNotInstalled create DaemonSet: namespaces "openshift-ingress-canary" not found; config/default has`},
		"no Route":     {in: asked(lb, failing), edit: func(in *Input) { in.Canary.Route = nil }, want: "Unknown CanaryRouteDoesNotExist"},
		"not admitted": {in: asked(lb, failing), edit: func(in *Input) { in.Canary.Route = admittedCanary("other") }, want: "Unknown CanaryRouteNotAdmitted"},
		"no pods":      {in: asked(lb, failing), edit: func(in *Input) { in.Canary.Ready = 0 }, want: "Unknown CanaryPodsNotReady"},
		"no address":   {in: asked(lb, failing), edit: func(in *Input) { in.Addresses = nil }, want: "Unknown CanaryNoAddress"},
		"source ranges": {in: asked(lb, failing), edit: func(in *Input) {
			in.LoadBalancer.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		}, want: "Unknown CanaryChecksInconclusive"},
		"open source ranges": {in: asked(lb, failing), edit: func(in *Input) {
			in.LoadBalancer.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"}
		}, want: "False CanaryChecksRepetitiveFailures"},
		"PROXY protocol": {in: asked(private, failing), edit: func(in *Input) {
			in.Settings.Strategy.Private.Protocol = operatorv1.ProxyProtocol
		}, want: "Unknown CanaryChecksInconclusive"},
		"external addresses": {in: asked(operatorv1.HostNetworkStrategyType, failing), edit: func(in *Input) {
			in.Nodes = []corev1.Node{{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}}}}}
		}, want: "Unknown CanaryChecksInconclusive"},
		"switched off": {in: asked(lb, failing), edit: func(in *Input) { in.Canary.On = false }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.edit != nil {
				tt.edit(&tt.in)
			}
			tt.in.Canary.Target = CanaryTarget(tt.in)
			var got string
			status, _ := Of(tt.in)
			if c := Find(status.Conditions, ConditionCanary); c != nil {
				got = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
			}
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if d := Find(status.Conditions, operatorv1.OperatorStatusTypeDegraded); strings.Contains(d.Message, ConditionCanary) && !strings.Contains(got, "as it was") {
				t.Errorf("degraded at once: %s", d.Message)
			}
			tt.in.IC.Status, tt.in.Now = status, tt.in.Now.Add(61*time.Second)
			later, _ := Of(tt.in)
			d := Find(later.Conditions, operatorv1.OperatorStatusTypeDegraded)
			if degraded, want := strings.Contains(d.Message, ConditionCanary), strings.HasPrefix(tt.want, "False"); degraded != want {
				t.Errorf("after a minute Degraded is %s (%s)", d.Status, d.Message)
			}
		})
	}
}
