package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
)

// conditionCanary is there for "default" only.
const conditionCanary = "CanaryChecksSucceeding"

// canaryRetry is how soon objects that could not be written are tried again.
const canaryRetry = time.Minute

// canaryInput is what the condition of the canary depends on.
type canaryInput struct {
	// on says that there is one, and looked that its objects were looked at: a
	// pass that ends before leaves what was asked, and what is known.
	on, looked bool
	// trouble is why its objects could not be written.
	trouble error
	// ready is how many of its pods are; route may be nil.
	ready int32
	route *routev1.Route
	// nodePort and internal are the Services that it may be asked through.
	nodePort, internal *corev1.Service
	verdict            canary.Verdict
	target             *canary.Target
}

// hasCanary says whether an IngressController has the canary.
func (r *Reconciler) hasCanary(ic string) bool {
	return r.options.CanaryImage != "" && ic == api.DefaultIngressController
}

// ensureCanary writes the objects of the canary. What goes wrong is told by the
// canary's own condition: routers serve clients all the same.
func (r *Reconciler) ensureCanary(ctx context.Context, in *statusInput) error {
	if in.ic.Name != api.DefaultIngressController {
		return nil
	}
	if !r.hasCanary(in.ic.Name) {
		return r.removeCanary(ctx, true)
	}
	in.canary.looked = true
	in.canary.trouble = r.writeCanary(ctx, in)
	if outdated(in.canary.trouble) {
		return in.canary.trouble
	}
	return nil
}

func (r *Reconciler) writeCanary(ctx context.Context, in *statusInput) error {
	d, err := ensure(ctx, r, child[*appsv1.DaemonSet]{
		ic: in.ic.Name, empty: &appsv1.DaemonSet{}, desired: desiredCanaryDaemonSet(r.options.CanaryImage), changed: changedCanaryDaemonSet,
	})
	if err != nil {
		return err
	}
	in.canary.ready = d.Status.NumberReady
	if _, err := ensure(ctx, r, child[*corev1.Service]{
		ic: in.ic.Name, empty: &corev1.Service{}, desired: desiredCanaryService(), changed: changedService,
	}); err != nil {
		return err
	}
	live, err := getOrNil(ctx, r.client, client.ObjectKey{Namespace: api.CanaryNamespace, Name: canaryRoute}, &routev1.Route{})
	if err != nil {
		return err
	}
	if live != nil && live.Labels[api.LabelOwningIngressController] == in.ic.Name && live.Spec.Host != "" {
		// It would be admitted with a host that has nothing to do with the domain.
		if err := r.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Route %s, which has a host: %w", canaryRoute, err)
		}
		return nil // Its end is an event.
	}
	rotates := in.ic.Annotations[api.AnnotationRotateCanary] == "true"
	port := canaryPort(live, rotates, r.canary.Verdict().Rotate)
	in.canary.route, err = ensureFrom(ctx, r, child[*routev1.Route]{
		ic: in.ic.Name, empty: &routev1.Route{}, desired: desiredCanaryRoute(port), changed: changedCanaryRoute,
	}, live, live != nil)
	return err
}

// removeCanary deletes the objects of the canary. They are not watched where it is
// switched off, and there may be neither the namespace nor the right then.
func (r *Reconciler) removeCanary(ctx context.Context, off bool) error {
	if off && r.canaryGone.Load() {
		return nil
	}
	r.canary.Aim(nil)
	for _, object := range []client.Object{
		&routev1.Route{ObjectMeta: canaryMeta(canaryRoute)},
		&corev1.Service{ObjectMeta: canaryMeta(canaryName)},
		&appsv1.DaemonSet{ObjectMeta: canaryMeta(canaryName)},
	} {
		key := client.ObjectKeyFromObject(object)
		err := r.live.Get(ctx, key, object)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			continue
		case err == nil && object.GetLabels()[api.LabelOwningIngressController] == api.DefaultIngressController && object.GetDeletionTimestamp().IsZero():
			err = client.IgnoreNotFound(r.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		}
		if err != nil {
			return fmt.Errorf("remove the canary's %T %s: %w", object, key, err)
		}
	}
	r.canaryGone.Store(off)
	return nil
}

// aimCanary tells the prober where to ask, and takes what it knows.
func (r *Reconciler) aimCanary(in *statusInput) {
	if in.ic.Name != api.DefaultIngressController {
		return
	}
	if in.canary.looked {
		in.canary.target = canaryTarget(*in)
		r.canary.Aim(in.canary.target)
	}
	in.canary.on = r.hasCanary(in.ic.Name)
	in.canary.verdict = r.canary.Verdict()
}

// canaryTarget says what is to be asked and where; nil if there is nothing yet.
func canaryTarget(in statusInput) *canary.Target {
	host := canaryHost(in.canary.route)
	if host == "" || in.canary.ready == 0 {
		return nil
	}
	t := &canary.Target{Host: host, Backend: canary.Port1, Rotate: in.ic.Annotations[api.AnnotationRotateCanary] == "true"}
	if p := in.canary.route.Spec.Port; p != nil && p.TargetPort.String() == canary.PortName(canary.Port2) {
		t.Backend = canary.Port2
	}
	t.Addresses, t.Port = in.addresses, defaultHTTPSPort
	switch in.s.strategy.Type {
	case operatorv1.LoadBalancerServiceStrategyType:
	case operatorv1.HostNetworkStrategyType:
		t.Port = in.s.ports.https
	case operatorv1.NodePortServiceStrategyType:
		t.Port = 0
		if in.canary.nodePort != nil {
			for _, p := range in.canary.nodePort.Spec.Ports {
				if p.Name == "https" {
					t.Port = p.NodePort
				}
			}
		}
	case operatorv1.PrivateStrategyType:
		// Who uses these routers is within the cluster.
		t.Addresses = nil
		if in.canary.internal != nil && in.canary.internal.Spec.ClusterIP != corev1.ClusterIPNone {
			t.Addresses = slices.DeleteFunc([]string{in.canary.internal.Spec.ClusterIP}, func(a string) bool { return a == "" })
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
func canaryConditions(in statusInput) []condition {
	c := in.canary
	if !c.on {
		return nil
	}
	name := "Route " + api.CanaryNamespace + "/" + canaryRoute
	switch {
	case c.trouble != nil:
		return []condition{unknown(conditionCanary, api.ReasonCanaryNotInstalled, c.trouble.Error()+
			"; config/default has the namespace "+api.CanaryNamespace+", and --canary-image without a value switches the canary off")}
	case c.target != nil, !c.looked:
		return []condition{canaryVerdict(in)}
	case c.route == nil:
		return []condition{unknown(conditionCanary, api.ReasonCanaryRouteMissing, name+" does not exist")}
	case canaryHost(c.route) == "":
		return []condition{unknown(conditionCanary, api.ReasonCanaryRouteNotAdmitted, name+" is not admitted by the routers of this IngressController; its status may say why")}
	case c.ready == 0:
		return []condition{unknown(conditionCanary, api.ReasonCanaryPodsNotReady,
			"No pod of DaemonSet "+api.CanaryNamespace+"/"+canaryName+" is ready, so nothing could answer")}
	}
	return []condition{unknown(conditionCanary, api.ReasonCanaryNoAddress, "The routers have no address to be asked at")}
}

// canaryVerdict is the condition where the canary can be asked.
func canaryVerdict(in statusInput) condition {
	v, old := in.canary.verdict, findCondition(in.ic.Status.Conditions, conditionCanary)
	switch v.State {
	case canary.Succeeding:
		return isTrue(conditionCanary, api.ReasonCanarySucceeding, "Canary route checks for the default ingress controller are successful")
	case canary.Failing:
		asked := fmt.Sprintf("The last %d or more probes of https://%s/ had no right answer: %s. ",
			canary.FailuresToFail, cmp.Or(canaryHost(in.canary.route), canarySubdomain), v.Errors)
		if doubt := canaryDoubt(in); doubt != "" {
			return unknown(conditionCanary, api.ReasonCanaryInconclusive, asked+"That need not concern clients: "+doubt)
		}
		return isFalse(conditionCanary, api.ReasonCanaryFailing, asked+
			"Ask for it as a client does; look at the way to the address, at the log of the routers, and at the way from them to the pods in namespace "+api.CanaryNamespace)
	case canary.Pending:
	}
	if old != nil && old.Status != operatorv1.ConditionUnknown {
		return condition{conditionCanary, old.Status, api.Reason(old.Reason), old.Message} // The operator has just started.
	}
	return unknown(conditionCanary, api.ReasonCanaryPending, "The canary has not been asked often enough yet")
}

// canaryDoubt says why the prober may get no answer although clients do.
func canaryDoubt(in statusInput) string {
	s := in.s.strategy
	open := []string{"0.0.0.0/0", "::/0"}
	var ranges []string
	if in.loadBalancer != nil {
		ranges = in.loadBalancer.Spec.LoadBalancerSourceRanges
	}
	closed := slices.ContainsFunc(ranges, func(r string) bool { return !slices.Contains(open, r) })
	external := slices.ContainsFunc(in.nodes, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP })
	})
	onNodes := s.Type == operatorv1.HostNetworkStrategyType || s.Type == operatorv1.NodePortServiceStrategyType
	switch {
	case closed:
		return "the load balancer lets in " + strings.Join(ranges, ", ") + " only, which pods may not be in"
	case in.s.cloudClass != "" && !proxyProtocol(s):
		return "a load balancer that keeps the addresses of clients may not lead a node back to itself"
	case in.s.cloudClass == "" && proxyProtocol(s):
		return "the routers expect the PROXY protocol, which the probe does not speak"
	case onNodes && external:
		return "the external addresses of nodes may not be reachable from pods"
	}
	return ""
}

// proxyProtocol says whether routers expect the PROXY protocol of all clients.
func proxyProtocol(s operatorv1.EndpointPublishingStrategy) bool {
	var protocol string
	switch {
	case s.HostNetwork != nil:
		protocol = string(s.HostNetwork.Protocol)
	case s.NodePort != nil:
		protocol = string(s.NodePort.Protocol)
	case s.Private != nil:
		protocol = string(s.Private.Protocol)
	case s.LoadBalancer != nil && s.LoadBalancer.ProviderParameters != nil:
		p := s.LoadBalancer.ProviderParameters
		if p.AWS != nil && p.AWS.NetworkLoadBalancerParameters != nil {
			protocol = string(p.AWS.NetworkLoadBalancerParameters.Protocol)
		}
		if p.IBM != nil {
			protocol = string(p.IBM.Protocol)
		}
	}
	return strings.EqualFold(protocol, string(operatorv1.ProxyProtocol))
}

// announceCanary writes an event when the canary stops answering, and when it
// answers again.
func (r *Reconciler) announceCanary(in statusInput, status operatorv1.IngressControllerStatus) {
	old, now := findCondition(in.ic.Status.Conditions, conditionCanary), findCondition(status.Conditions, conditionCanary)
	wasFalse := old != nil && old.Status == operatorv1.ConditionFalse
	switch {
	case now == nil:
	case now.Status == operatorv1.ConditionFalse && (!wasFalse || old.Message != now.Message):
		r.notices.Say(in.ic, corev1.EventTypeWarning, api.ReasonCanaryFailing, now.Message)
	case now.Status == operatorv1.ConditionTrue && wasFalse:
		r.notices.Say(in.ic, corev1.EventTypeNormal, api.ReasonCanarySucceeding, now.Message)
	}
}

// setupCanary makes the prober; it asks while this operator leads.
func setupCanary(o Options, changed func(context.Context), add func(func(context.Context) error) error, m canary.Options) (*canary.Prober, error) {
	m.Interval, m.Dial, m.Log = o.CanaryInterval, o.CanaryDial, o.Log
	p, err := canary.New(m, changed)
	if err != nil || o.CanaryImage == "" {
		return p, err
	}
	return p, add(p.Run)
}
