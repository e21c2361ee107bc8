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

// elsewhere tells Services outside the namespace that is served, which name our
// class, that they get no load balancer. It changes nothing of them.
type elsewhere struct {
	client client.Client
	events record.EventRecorder
	opts   Options
	// pace bounds the events, of which tenants decide how many there may be.
	pace *rate.Limiter
	told map[types.NamespacedName]types.UID
}

// setUpElsewhere adds it to mgr.
func setUpElsewhere(mgr ctrl.Manager, events record.EventRecorder, opts Options) error {
	e := &elsewhere{
		client: mgr.GetClient(), events: events, opts: opts,
		pace: rate.NewLimiter(rate.Every(time.Second), 20), told: map[types.NamespacedName]types.UID{},
	}
	others := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() != opts.Namespace })
	err := ctrl.NewControllerManagedBy(mgr).Named("cloud-elsewhere").
		For(&corev1.Service{}, builder.WithPredicates(others, serviceMatters())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}). // told is not guarded
		Complete(e)
	if err != nil {
		return fmt.Errorf("set up the words to Services elsewhere: %w", err)
	}
	return nil
}

// Reconcile tells a Service once.
func (e *elsewhere) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	service := &corev1.Service{}
	if err := e.client.Get(ctx, req.NamespacedName, service); err != nil {
		delete(e.told, req.NamespacedName)
		if err = client.IgnoreNotFound(err); err != nil {
			return reconcile.Result{}, fmt.Errorf("read Service %s: %w", req, err)
		}
		return reconcile.Result{}, nil
	}
	class := service.Spec.LoadBalancerClass
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || class == nil || *class != e.opts.Class {
		delete(e.told, req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if e.told[req.NamespacedName] == service.UID {
		return reconcile.Result{}, nil
	}
	if !e.pace.Allow() {
		return reconcile.Result{RequeueAfter: 10 * time.Second}, nil
	}
	e.told[req.NamespacedName] = service.UID
	e.events.Eventf(service, corev1.EventTypeWarning, string(api.ReasonNamespaceNotServed),
		"spec.loadBalancerClass: load balancers of class %q are for Services in namespace %s only; nothing is made for this one. "+
			"Publish it by a Route or an Ingress, or use another class", e.opts.Class, e.opts.Namespace)
	return reconcile.Result{}, nil
}
