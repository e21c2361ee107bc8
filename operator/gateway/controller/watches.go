package controller

import (
	"context"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/gateway/desired"
	"github.com/fairlead/fairlead/operator/pod"
)

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

// ownerOf wakes the Gateway that an object was made for.
func ownerOf(_ context.Context, o client.Object) []reconcile.Request {
	if owner, ok := desired.Owner(o); ok {
		return []reconcile.Request{request(o.GetNamespace(), owner.Name)}
	}
	return nil
}

// everyClass returns all GatewayClasses that are ours.
func (r *reconciler) everyClass(ctx context.Context, _ client.Object) []reconcile.Request {
	var found []reconcile.Request
	for _, c := range r.classes(ctx) {
		found = append(found, request("", c.Name))
	}
	return found
}

func (r *reconciler) classes(ctx context.Context) []gatewayv1.GatewayClass {
	list := &gatewayv1.GatewayClassList{}
	if err := r.client.List(ctx, list); err != nil {
		r.options.Log.Error("cannot list GatewayClasses", "err", err)
		return nil
	}
	var ours []gatewayv1.GatewayClass
	for i := range list.Items {
		if list.Items[i].Spec.ControllerName == gateway.ControllerName {
			ours = append(ours, list.Items[i])
		}
	}
	return ours
}

// gatewaysOf returns the Gateways of a class.
func (r *reconciler) gatewaysOf(ctx context.Context, class string) []reconcile.Request {
	return r.gateways(ctx, func(g *gatewayv1.Gateway) bool { return string(g.Spec.GatewayClassName) == class })
}

// gateways returns those of the Gateways that are meant, of a namespace or of all.
func (r *reconciler) gateways(ctx context.Context, meant func(*gatewayv1.Gateway) bool, in ...client.ListOption) []reconcile.Request {
	list := &gatewayv1.GatewayList{}
	if err := r.client.List(ctx, list, append(in, client.UnsafeDisableDeepCopy)...); err != nil {
		r.options.Log.Error("cannot list Gateways", "err", err)
		return nil
	}
	var found []reconcile.Request
	for i := range list.Items {
		if g := &list.Items[i]; meant(g) {
			found = append(found, request(g.Namespace, g.Name))
		}
	}
	return found
}

// byPod wakes the Gateways that a router pod serves.
func (r *reconciler) byPod(ctx context.Context, o client.Object) []reconcile.Request {
	return r.servedBy(ctx, o.GetLabels()[api.LabelDeploymentIngressController])
}

// byIngressController wakes the Gateways that its routers serve.
func (r *reconciler) byIngressController(ctx context.Context, o client.Object) []reconcile.Request {
	return r.servedBy(ctx, o.GetName())
}

// ownerOrSharing wakes the Gateway that a Service was made for, and those that are at the address
// of a Service of routers.
func (r *reconciler) ownerOrSharing(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetNamespace() != api.OperandNamespace {
		return ownerOf(ctx, o)
	}
	return append(ownerOf(ctx, o), r.sharing(ctx, o.GetLabels()[api.LabelOwningIngressController])...)
}

// sharing returns the Gateways at the address of an IngressController's routers.
func (r *reconciler) sharing(ctx context.Context, ic string) []reconcile.Request {
	return slices.DeleteFunc(r.servedBy(ctx, ic), func(req reconcile.Request) bool {
		g, err := apply.Get(ctx, r.client, req.NamespacedName, &gatewayv1.Gateway{})
		return err == nil && (g == nil || !gateway.SharesAddress(g))
	})
}

// servedBy returns the Gateways of all classes that mean an IngressController, those that name it, and those
// that have its slots although they mean none any more.
func (r *reconciler) servedBy(ctx context.Context, ic string) []reconcile.Request {
	if ic == "" {
		return nil
	}
	of := map[gatewayv1.ObjectName]bool{}
	for _, c := range r.classes(ctx) {
		if name, err := gateway.IngressController(&c); err == nil && name == ic {
			of[gatewayv1.ObjectName(c.Name)] = true
		}
	}
	found := r.gateways(ctx, func(g *gatewayv1.Gateway) bool {
		named, _ := gateway.Parameters(g)
		return named == ic || of[g.Spec.GatewayClassName]
	})
	config := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, slotsKey(ic), config); err != nil {
		return found // Events of the table come by themselves.
	}
	for _, s := range holders(config) {
		found = append(found, request(s.Namespace, s.Name))
	}
	return found
}

// holders are the Gateways that a table of slots names.
func holders(o client.Object) []gateway.Slot { return desired.Affected(nil, tableOf(o)) }

func tableOf(o client.Object) gateway.Table {
	config, ok := o.(*corev1.ConfigMap)
	if _, slots := gateway.SlotsOwner(o.GetName()); !ok || !slots || config.Namespace != api.OperandNamespace {
		return nil
	}
	table, _ := gateway.ReadTable(config.Data)
	return table
}

// slotsHandler wakes the Gateways whose entries in a table of slots changed: those that
// another program took a slot from, and at the start those that do not exist any more.
func slotsHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, before, after gateway.Table) {
		for _, s := range desired.Affected(before, after) {
			q.Add(request(s.Namespace, s.Name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, nil, tableOf(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			wake(q, tableOf(e.ObjectOld), tableOf(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, tableOf(e.Object), nil) },
	}
}

// usesAnotherClass passes what may change which classes are in use.
func usesAnotherClass() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*gatewayv1.Gateway)
		now, ok2 := e.ObjectNew.(*gatewayv1.Gateway)
		return !ok || !ok2 || old.Spec.GatewayClassName != now.Spec.GatewayClassName
	}}
}

// publishingChanged drops changes of an IngressController that no Gateway depends on.
func publishingChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*operatorv1.IngressController)
		now, ok2 := e.ObjectNew.(*operatorv1.IngressController)
		return !ok || !ok2 || old.Generation != now.Generation ||
			old.Annotations[gateway.AnnotationSharedAddress] != now.Annotations[gateway.AnnotationSharedAddress] ||
			old.Annotations[gateway.AnnotationGatewayNamespaces] != now.Annotations[gateway.AnnotationGatewayNamespaces] ||
			!equality.Semantic.DeepEqual(old.Status.EndpointPublishingStrategy, now.Status.EndpointPublishingStrategy)
	}}
}

// endpointChanged drops changes of a pod that are in no EndpointSlice.
func endpointChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Pod)
		now, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || pod.Ready(*old) != pod.Ready(*now) || pod.Answers(*old) != pod.Answers(*now) || old.Status.Phase != now.Status.Phase ||
			old.Spec.NodeName != now.Spec.NodeName || !equality.Semantic.DeepEqual(old.Status.PodIPs, now.Status.PodIPs)
	}}
}
