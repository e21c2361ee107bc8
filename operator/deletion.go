package operator

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
)

// remove takes an IngressController down in this order:
//
//  1. the DNSRecords, and with them the name;
//  2. the Deployment, so that its pods drain while the address still leads to them;
//  3. when no pod is left: the Services (and with them the address), the
//     budget, the Secrets and the IngressClass;
//  4. what the routers wrote into the status of Routes;
//  5. the finalizer.
func (r *Reconciler) remove(ctx context.Context, ic *operatorv1.IngressController) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(ic, api.FinalizerIngressController) {
		return reconcile.Result{}, nil
	}
	if gone, err := r.removeDNSRecords(ctx, ic.Name); err != nil || !gone {
		return reconcile.Result{}, err
	}
	if err := r.deleteOwned(ctx, ic.Name, &appsv1.Deployment{ObjectMeta: childMeta(ic.Name, api.RouterName(ic.Name))}); err != nil {
		return reconcile.Result{}, err
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(api.OperandNamespace), client.MatchingLabels(podLabels(ic.Name))); err != nil {
		return reconcile.Result{}, fmt.Errorf("list router pods: %w", err)
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return reconcile.Result{}, fmt.Errorf("list nodes: %w", err)
	}
	if left := draining(pods.Items, nodes.Items); left > 0 {
		// The end of a pod is an event, so there is no need to ask again.
		r.logger(ic.Name).Info("deletion waits for router pods to drain", "pods", left)
		return reconcile.Result{}, nil
	}
	for _, object := range remains(ic.Name) {
		if err := r.deleteOwned(ctx, ic.Name, object); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.clearRouteStatus(ctx, ic.Name); err != nil {
		return reconcile.Result{}, err
	}
	controllerutil.RemoveFinalizer(ic, api.FinalizerIngressController)
	if err := r.client.Update(ctx, ic); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("remove finalizer of IngressController %s: %w", ic.Name, err)
	}
	r.metrics.forget(ic.Name)
	delete(r.reported, ic.Name)
	r.logger(ic.Name).Info("removed")
	return reconcile.Result{}, nil
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
	meta := func(name string) metav1.ObjectMeta { return childMeta(ic, name) }
	return []client.Object{
		&corev1.Service{ObjectMeta: meta(api.RouterName(ic))},
		&corev1.Service{ObjectMeta: meta(api.NodePortServiceName(ic))},
		&corev1.Service{ObjectMeta: meta(api.InternalServiceName(ic))},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta(api.RouterName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.CertificateSecretName(ic))},
		&corev1.Secret{ObjectMeta: meta(api.StatsSecretName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.ClientCAConfigMapName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.ErrorPagesConfigMapName(ic))},
		&corev1.ConfigMap{ObjectMeta: meta(api.AdmittedConfigMapName(ic))},
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: api.IngressClassName(ic)}},
	}
}

// deleteOwned deletes an object if it exists and belongs to the IngressController.
func (r *Reconciler) deleteOwned(ctx context.Context, ic string, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	err := r.client.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %T %s: %w", object, key, err)
	case object.GetLabels()[api.LabelOwningIngressController] != ic, !object.GetDeletionTimestamp().IsZero():
		return nil
	}
	err = r.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", object, key, err)
	}
	return nil
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
