package controller

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
)

// otherNamespaces writes an event to Services outside the namespace that is
// served if they name our class: they get no load balancer. It does not change
// them.
type otherNamespaces struct {
	client client.Client
	events record.EventRecorder
	opts   Options
	// pace limits the events, whose number tenants decide.
	pace     *rate.Limiter
	reported map[types.NamespacedName]types.UID
}

// setUpOtherNamespaces adds the reconciler to mgr.
func setUpOtherNamespaces(mgr ctrl.Manager, events record.EventRecorder, opts Options) error {
	e := &otherNamespaces{
		client: mgr.GetClient(), events: events, opts: opts,
		pace: rate.NewLimiter(rate.Every(time.Second), 20), reported: map[types.NamespacedName]types.UID{},
	}
	others := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() != opts.Namespace })
	err := ctrl.NewControllerManagedBy(mgr).Named("cloud-elsewhere").
		For(&corev1.Service{}, builder.WithPredicates(others, serviceMatters())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}). // reported is not guarded
		Complete(e)
	if err != nil {
		return fmt.Errorf("set up the events of Services in other namespaces: %w", err)
	}
	return nil
}

// Reconcile writes the event once.
func (e *otherNamespaces) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	service := &corev1.Service{}
	if err := e.client.Get(ctx, req.NamespacedName, service); err != nil {
		delete(e.reported, req.NamespacedName)
		if err = client.IgnoreNotFound(err); err != nil {
			return reconcile.Result{}, fmt.Errorf("read Service %s: %w", req, err)
		}
		return reconcile.Result{}, nil
	}
	class := service.Spec.LoadBalancerClass
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || class == nil || *class != e.opts.Class {
		delete(e.reported, req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if e.reported[req.NamespacedName] == service.UID {
		return reconcile.Result{}, nil
	}
	if !e.pace.Allow() {
		return reconcile.Result{RequeueAfter: 10 * time.Second}, nil
	}
	e.reported[req.NamespacedName] = service.UID
	e.events.Eventf(service, corev1.EventTypeWarning, string(api.ReasonNamespaceNotServed),
		"spec.loadBalancerClass: load balancers of class %q are for Services in namespace %s only; nothing is made for this one. "+
			"Publish it by a Route or an Ingress, or use another class", e.opts.Class, e.opts.Namespace)
	return reconcile.Result{}, nil
}
