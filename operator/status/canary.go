package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/effective"
)

// ConditionCanary is there for "default" only.
const ConditionCanary = "CanaryChecksSucceeding"

// canaryRetry is how soon objects that could not be written are tried again.
const canaryRetry = time.Minute

// Canary is what the condition of the canary depends on.
type Canary struct {
	// On says that there is one, and looked that its objects were looked at: a
	// pass that ends before leaves what was asked, and what is known.
	On, Looked bool
	// Trouble is why its objects could not be written.
	Trouble error
	// Ready is how many of its pods are; route may be nil.
	Ready int32
	Route *routev1.Route
	// NodePort and internal are the Services that it may be asked through.
	NodePort, Internal *corev1.Service
	Verdict            canary.Verdict
	Target             *canary.Target
}

// CanaryTarget says what is to be asked and where; nil if there is nothing yet.
func CanaryTarget(in Input) *canary.Target {
	host := canaryHost(in.Canary.Route)
	if host == "" || in.Canary.Ready == 0 {
		return nil
	}
	t := &canary.Target{Host: host, Backend: canary.Port1, Rotate: in.IC.Annotations[api.AnnotationRotateCanary] == "true"}
	if p := in.Canary.Route.Spec.Port; p != nil && p.TargetPort.String() == canary.PortName(canary.Port2) {
		t.Backend = canary.Port2
	}
	t.Addresses, t.Port = in.Addresses, effective.DefaultHTTPSPort
	switch in.Settings.Strategy.Type {
	case operatorv1.LoadBalancerServiceStrategyType:
	case operatorv1.HostNetworkStrategyType:
		t.Port = in.Settings.Ports.HTTPS
	case operatorv1.NodePortServiceStrategyType:
		t.Port = 0
		if in.Canary.NodePort != nil {
			for _, p := range in.Canary.NodePort.Spec.Ports {
				if p.Name == "https" {
					t.Port = p.NodePort
				}
			}
		}
	case operatorv1.PrivateStrategyType:
		// Who uses these routers is within the cluster.
		t.Addresses = nil
		if in.Canary.Internal != nil && in.Canary.Internal.Spec.ClusterIP != corev1.ClusterIPNone {
			t.Addresses = slices.DeleteFunc([]string{in.Canary.Internal.Spec.ClusterIP}, func(a string) bool { return a == "" })
		}
	}
	if len(t.Addresses) == 0 || t.Port == 0 {
		return nil
	}
	return t
}

// canaryHost is the host that the routers of "default" serve the Route with.
func canaryHost(route *routev1.Route) string {
	if route == nil {
		return ""
	}
	for _, i := range route.Status.Ingress {
		if i.RouterName == api.DefaultIngressController && slices.ContainsFunc(i.Conditions, func(c routev1.RouteIngressCondition) bool {
			return c.Type == routev1.RouteAdmitted && c.Status == corev1.ConditionTrue
		}) {
			return i.Host
		}
	}
	return ""
}

// canaryConditions are none where there is no canary.
func canaryConditions(in Input) []condition {
	c := in.Canary
	if !c.On {
		return nil
	}
	name := "Route " + api.CanaryNamespace + "/" + canary.RouteName
	switch {
	case c.Trouble != nil:
		return []condition{unknown(ConditionCanary, api.ReasonCanaryNotInstalled, c.Trouble.Error()+
			"; config/default has the namespace "+api.CanaryNamespace+", and --canary-image without a value switches the canary off")}
	case c.Target != nil, !c.Looked:
		return []condition{canaryVerdict(in)}
	case c.Route == nil:
		return []condition{unknown(ConditionCanary, api.ReasonCanaryRouteMissing, name+" does not exist")}
	case canaryHost(c.Route) == "":
		return []condition{unknown(ConditionCanary, api.ReasonCanaryRouteNotAdmitted, name+" is not admitted by the routers of this IngressController; its status may say why")}
	case c.Ready == 0:
		return []condition{unknown(ConditionCanary, api.ReasonCanaryPodsNotReady,
			"No pod of DaemonSet "+api.CanaryNamespace+"/"+canary.Name+" is ready, so nothing could answer")}
	}
	return []condition{unknown(ConditionCanary, api.ReasonCanaryNoAddress, "The routers have no address to be asked at")}
}

// canaryVerdict is the condition where the canary can be asked.
func canaryVerdict(in Input) condition {
	v, old := in.Canary.Verdict, Find(in.IC.Status.Conditions, ConditionCanary)
	switch v.State {
	case canary.Succeeding:
		return isTrue(ConditionCanary, api.ReasonCanarySucceeding, "Canary route checks for the default ingress controller are successful")
	case canary.Failing:
		asked := fmt.Sprintf("The last %d or more probes of https://%s/ had no right answer: %s. ",
			canary.FailuresToFail, cmp.Or(canaryHost(in.Canary.Route), canary.Subdomain), v.Errors)
		if doubt := canaryDoubt(in); doubt != "" {
			return unknown(ConditionCanary, api.ReasonCanaryInconclusive, asked+"That need not concern clients: "+doubt)
		}
		return isFalse(ConditionCanary, api.ReasonCanaryFailing, asked+
			"Ask for it as a client does; look at the way to the address, at the log of the routers, and at the way from them to the pods in namespace "+api.CanaryNamespace)
	case canary.Pending:
	}
	if old != nil && old.Status != operatorv1.ConditionUnknown {
		return condition{ConditionCanary, old.Status, api.Reason(old.Reason), old.Message} // The operator has just started.
	}
	return unknown(ConditionCanary, api.ReasonCanaryPending, "The canary has not been asked often enough yet")
}

// canaryDoubt says why the prober may get no answer although clients do.
func canaryDoubt(in Input) string {
	s := in.Settings.Strategy
	open := []string{"0.0.0.0/0", "::/0"}
	var ranges []string
	if in.LoadBalancer != nil {
		ranges = in.LoadBalancer.Spec.LoadBalancerSourceRanges
	}
	closed := slices.ContainsFunc(ranges, func(r string) bool { return !slices.Contains(open, r) })
	external := slices.ContainsFunc(in.Nodes, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP })
	})
	onNodes := s.Type == operatorv1.HostNetworkStrategyType || s.Type == operatorv1.NodePortServiceStrategyType
	switch {
	case closed:
		return "the load balancer lets in " + strings.Join(ranges, ", ") + " only, which pods may not be in"
	case in.Settings.CloudClass != "" && !effective.ProxyProtocol(s):
		return "a load balancer that keeps the addresses of clients may not lead a node back to itself"
	case in.Settings.CloudClass == "" && effective.ProxyProtocol(s):
		return "the routers expect the PROXY protocol, which the probe does not speak"
	case onNodes && external:
		return "the external addresses of nodes may not be reachable from pods"
	}
	return ""
}
