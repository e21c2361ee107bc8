package operator

import (
	"context"
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/configmap"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/operator/status"
)

// byConfigMap wakes the IngressControllers that own or name a ConfigMap.
func (r *Reconciler) byConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetNamespace() != api.ConfigNamespace {
		// The slots of Gateways are no child of ours, and change often.
		if _, slots := gateway.SlotsOwner(o.GetName()); slots {
			return nil
		}
		if ic := o.GetLabels()[api.LabelOwningIngressController]; ic != "" {
			return []reconcile.Request{request(ic)}
		}
		return nil
	}
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "err", err)
		return nil
	}
	var found []reconcile.Request
	for i := range list.Items {
		for _, c := range configmap.Copies(&list.Items[i]) {
			if c.Source == o.GetName() {
				found = append(found, request(list.Items[i].Name))
			}
		}
	}
	return found
}

// byPassthrough wakes the IngressControllers behind whose load balancer a
// passthrough Route cannot work. One that is of another termination now, or
// gone, wakes them by its old state; other Routes wake none.
func (r *Reconciler) byPassthrough(ctx context.Context, o client.Object) []reconcile.Request {
	route, ok := o.(*routev1.Route)
	if !ok || route.Spec.TLS == nil || route.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
		return nil
	}
	var found []reconcile.Request
	for _, i := range route.Status.Ingress {
		balancer := &corev1.Service{}
		key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.RouterName(i.RouterName)}
		if err := r.client.Get(ctx, key, balancer); err != nil {
			continue // no load balancer, or none yet: then its Service wakes it
		}
		if service.CloudFront(balancer, r.options.Defaults.Dialect).EndsTLS {
			found = append(found, request(i.RouterName))
		}
	}
	return found
}

// annotationsChanged passes the annotations of an IngressController that the operator
// itself reads.
func annotationsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
		return slices.ContainsFunc([]string{api.AnnotationRotateCanary, api.AnnotationHAProxyCPU, api.AnnotationRouterCPU},
			func(name string) bool { return before[name] != now[name] })
	}, CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false }}
}

// inCanaryNamespace drops the Routes of others, whatever label they have.
func inCanaryNamespace() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == api.CanaryNamespace })
}

// wakeDefault looks at all IngressControllers, of which "default" is one.
func (r *Reconciler) wakeDefault(ctx context.Context) { r.wakeAll(ctx) }

// byLabel wakes the IngressController that a label names. An object of ours
// whose label was taken away wakes it too, by its old state.
func byLabel(label string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if ic := o.GetLabels()[label]; ic != "" {
			return []reconcile.Request{request(ic)}
		}
		return nil
	})
}

func request(ic string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: api.OperatorNamespace, Name: ic}}
}

// bySecret wakes the IngressControllers that own or name a Secret.
func (r *Reconciler) bySecret(ctx context.Context, o client.Object) []reconcile.Request {
	switch {
	case o.GetNamespace() == api.OperatorNamespace && o.GetName() == api.RouterCASecret:
		return r.every(ctx)
	case o.GetNamespace() != api.OperandNamespace:
		return nil
	case o.GetLabels()[api.LabelOwningIngressController] != "":
		return []reconcile.Request{request(o.GetLabels()[api.LabelOwningIngressController])}
	}
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "err", err)
		return nil
	}
	var found []reconcile.Request
	for _, ic := range list.Items {
		if ref := ic.Spec.DefaultCertificate; ref != nil && ref.Name == o.GetName() {
			found = append(found, request(ic.Name))
		}
	}
	return found
}

// every returns all IngressControllers.
func (r *Reconciler) every(ctx context.Context) []reconcile.Request {
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "err", err)
		return nil
	}
	all := make([]reconcile.Request, 0, len(list.Items))
	for _, ic := range list.Items {
		all = append(all, request(ic.Name))
	}
	return all
}

// refused returns the IngressControllers that are not admitted, but for the one
// that changed.
func (r *Reconciler) refused(ctx context.Context, changed client.Object) []reconcile.Request {
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "err", err)
		return nil
	}
	var found []reconcile.Request
	for _, ic := range list.Items {
		if ic.Name != changed.GetName() && !status.Admitted(ic.Status.Conditions) {
			found = append(found, request(ic.Name))
		}
	}
	return found
}

// statusChanged passes what others write into the status: what routers say about
// their settings is part of Degraded, and the rest is reverted. The
// operator's own writes cost one pass that finds nothing to do.
func statusChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*operatorv1.IngressController)
		now, ok2 := e.ObjectNew.(*operatorv1.IngressController)
		return !ok || !ok2 || !equality.Semantic.DeepEqual(old.Status, now.Status)
	}}
}

// nodeMatters drops the heartbeats of nodes.
func nodeMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Node)
		now, ok2 := e.ObjectNew.(*corev1.Node)
		if !ok || !ok2 {
			return true
		}
		return !maps.Equal(old.Labels, now.Labels) ||
			!slices.Equal(old.Status.Addresses, now.Status.Addresses) ||
			!slices.EqualFunc(old.Spec.Taints, now.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	}}
}

// providerInstalled reports whether Fairlead's (or MetalLB's) API is there.
func providerInstalled(mgr ctrl.Manager) bool {
	_, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: "metallb.io", Kind: "IPAddressPool"})
	return err == nil
}
