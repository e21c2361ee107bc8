package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/dnsrecord"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
	"github.com/fairlead/fairlead/operator/service"
)

// longest bounds how long each step of a deletion waits for what others must
// do, counted from the deletion: a cloud that does not answer must not keep an
// IngressController for ever. What is left is still cleaned up by its owner.
const (
	longestForNames        = 10 * time.Minute
	longestForLoadBalancer = 20 * time.Minute
	// lostConnections is how long pods may wait for connections to end to which
	// no load balancer leads any more.
	lostConnections = 60 * time.Second
)

// remove takes an IngressController down in this order, so that clients are
// served as long as something leads them here:
//
//  1. the DNSRecords, which stay until clients have forgotten the name;
//  2. a load balancer of a cloud, which ends its connections by itself;
//  3. the Deployment, whose pods finish their requests: an address that this
//     cluster delivers to still leads to them;
//  4. when no pod is left: the Services (and with them the address), the
//     budget, the Secrets and the IngressClass;
//  5. what the routers wrote into the status of Routes;
//  6. the finalizer.
func (r *Reconciler) remove(ctx context.Context, ic *operatorv1.IngressController) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(ic, api.FinalizerIngressController) {
		return reconcile.Result{}, nil
	}
	for _, step := range []func(context.Context, *operatorv1.IngressController) (string, time.Duration, error){
		r.removeNames, r.removeLoadBalancer, r.removeRouters,
	} {
		waits, again, err := step(ctx, ic)
		if err != nil {
			return reconcile.Result{}, err
		}
		if waits == "" {
			continue
		}
		if r.leaving.set(ic.Name, waits) {
			r.logger(ic.Name).Info("deletion waits", "for", waits)
			r.notices.Say(ic, corev1.EventTypeNormal, api.ReasonDeletionWaits, "waiting for "+waits)
		}
		return reconcile.Result{RequeueAfter: again}, nil
	}
	return reconcile.Result{}, r.removeRest(ctx, ic)
}

// removeNames says what it waits for, and for how long if nothing happens.
func (r *Reconciler) removeNames(ctx context.Context, ic *operatorv1.IngressController) (string, time.Duration, error) {
	gone, err := dnsrecord.Remove(ctx, r.writer(), ic.Name)
	if err != nil {
		return "", 0, err
	}
	if left := ic.DeletionTimestamp.Add(longestForNames).Sub(r.options.Now()); !gone && left > 0 {
		return "the DNSRecords to go, and clients to forget the name", left, nil
	}
	return "", 0, nil
}

// removeLoadBalancer deletes the Service that a cloud hook serves.
func (r *Reconciler) removeLoadBalancer(ctx context.Context, ic *operatorv1.IngressController) (string, time.Duration, error) {
	key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.RouterName(ic.Name)}
	balancer, err := apply.Get(ctx, r.client, key, &corev1.Service{})
	if err != nil || balancer == nil || !service.CloudServed(balancer) || balancer.Labels[api.LabelOwningIngressController] != ic.Name {
		return "", 0, err
	}
	if err := apply.DeleteOwned(ctx, r.writer(), ic.Name, &corev1.Service{ObjectMeta: child.Meta(ic.Name, key.Name)}); err != nil {
		return "", 0, err
	}
	if left := ic.DeletionTimestamp.Add(longestForLoadBalancer).Sub(r.options.Now()); left > 0 {
		return "the load balancer to go", left, nil
	}
	return "", 0, nil
}

// removeRouters deletes the Deployment. The end of a pod is an event, so there
// is no need to ask again.
func (r *Reconciler) removeRouters(ctx context.Context, ic *operatorv1.IngressController) (string, time.Duration, error) {
	if err := apply.DeleteOwned(ctx, r.writer(), ic.Name, &appsv1.Deployment{ObjectMeta: child.Meta(ic.Name, api.RouterName(ic.Name))}); err != nil {
		return "", 0, err
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(api.OperandNamespace), client.MatchingLabels(pod.Labels(ic.Name))); err != nil {
		return "", 0, fmt.Errorf("list router pods: %w", err)
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return "", 0, fmt.Errorf("list nodes: %w", err)
	}
	left := draining(pods.Items, nodes.Items)
	if left == 0 {
		return "", 0, nil
	}
	if s := ic.Status.EndpointPublishingStrategy; s != nil && effective.CloudClass(*s, r.options.Defaults) != "" {
		if err := r.shorten(ctx, pods.Items); err != nil {
			return "", 0, err
		}
	}
	return fmt.Sprintf("%d router pods to finish their requests", left), 0, nil
}

// shorten gives pods that end a minute, where they have longer.
func (r *Reconciler) shorten(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		p := &pods[i]
		grace := p.DeletionGracePeriodSeconds
		if p.DeletionTimestamp == nil || grace == nil || *grace <= int64(lostConnections.Seconds()) {
			continue
		}
		err := r.client.Delete(ctx, p, client.GracePeriodSeconds(int64(lostConnections.Seconds())))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("end pod %s sooner: %w", p.Name, err)
		}
	}
	return nil
}

// removeRest deletes what goes after the pods, and lets the IngressController go.
func (r *Reconciler) removeRest(ctx context.Context, ic *operatorv1.IngressController) error {
	if ic.Name == api.DefaultIngressController {
		if err := r.removeCanary(ctx, false); err != nil {
			return err
		}
	}
	for _, object := range remains(ic.Name) {
		if err := apply.DeleteOwned(ctx, r.writer(), ic.Name, object); err != nil {
			return err
		}
	}
	if err := r.clearRouteStatus(ctx, ic.Name); err != nil {
		return err
	}
	before := client.MergeFromWithOptions(ic.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.RemoveFinalizer(ic, api.FinalizerIngressController)
	if err := r.client.Patch(ctx, ic, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizer of IngressController %s: %w", ic.Name, err)
	}
	r.forget(ic.Name)
	r.logger(ic.Name).Info("removed")
	return nil
}

// forget drops what is remembered of an IngressController.
func (r *Reconciler) forget(ic string) {
	r.metrics.forget(ic)
	r.reported.forget(ic)
	r.leaving.forget(ic)
	r.domains.release(ic)
}

// draining counts the pods that may still serve. A pod on a node that is down
// stays for as long as the node does, and nothing is to be waited for there.
func draining(pods []corev1.Pod, nodes []corev1.Node) int {
	count := 0
	for _, p := range pods {
		down := slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == p.Spec.NodeName && nodeDown(n) })
		if !down {
			count++
		}
	}
	return count
}

func nodeDown(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// remains are the children that go after the pods.
func remains(ic string) []client.Object {
	meta := func(name string) metav1.ObjectMeta { return child.Meta(ic, name) }
	return []client.Object{
		&corev1.Service{ObjectMeta: meta(api.RouterName(ic))},
		&corev1.Service{ObjectMeta: meta(api.NodePortServiceName(ic))},
		&corev1.Service{ObjectMeta: meta(api.InternalServiceName(ic))},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta(api.RouterName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(gateway.SlotsName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.CertificateSecretName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.StatsSecretName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.SessionKeysSecretName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.AgentCertificatesSecretName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.ClientCAConfigMapName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.ErrorPagesConfigMapName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.AdmittedConfigMapName(ic))},
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: api.IngressClassName(ic)}},
	}
}

// clearRouteStatus removes the entries of a router from the status of all Routes.
func (r *Reconciler) clearRouteStatus(ctx context.Context, ic string) error {
	routes := &routev1.RouteList{}
	if err := r.live.List(ctx, routes); err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for i := range routes.Items {
		route := &routes.Items[i]
		left := withoutStatusOf(route.Status.Ingress, ic, func(e routev1.RouteIngress) string { return e.RouterName })
		if len(left) == len(route.Status.Ingress) {
			continue
		}
		patch := client.MergeFromWithOptions(route.DeepCopy(), client.MergeFromWithOptimisticLock{})
		route.Status.Ingress = left
		if err := r.client.Status().Patch(ctx, route, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("clear status of route %s/%s: %w", route.Namespace, route.Name, err)
		}
	}
	return nil
}

// withoutStatusOf returns the entries of a Route's status that are not of the router.
func withoutStatusOf[E any](entries []E, router string, name func(E) string) []E {
	return slices.DeleteFunc(slices.Clone(entries), func(e E) bool { return name(e) == router })
}
