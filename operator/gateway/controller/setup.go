// Package controller keeps the children and the status of Gateways, and the status of
// GatewayClasses, as package desired decides. Until the Gateway API is installed it looks
// for its CRDs and does nothing else.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/operator/effective"
)

// fieldManager is by which the operator applies status. The routers have another one.
const fieldManager = "fairlead-operator"

// arrivalPause is how often to look whether the CRDs are there, which a user who has just installed them
// waits for. defaultPoll is how often to look of which version they are, and for ListenerSets.
const (
	arrivalPause = 2 * time.Second
	defaultPoll  = 5 * time.Second
)

// workers is how many Gateways are worked on at a time: when a router pod ends, it has to
// leave the EndpointSlices of all.
const workers = 4

// A write that is refused is tried again after these times.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 30 * time.Second
)

// Options configure the controllers.
type Options struct {
	// Defaults are those of IngressControllers.
	Defaults effective.Defaults
	// Poll is how often to look of which version the CRDs are; the default is 5 seconds.
	Poll time.Duration
	// Now returns the time; the default is time.Now.
	Now func() time.Time
	// Log receives what the controllers do; the default is slog.Default.
	Log *slog.Logger
}

// reconciler is what the controllers of classes and of Gateways share.
type reconciler struct {
	client  client.Client
	live    client.Reader // without a cache
	options Options
	bundle  *bundle
	sets    sets
	silence silence
}

// Setup adds to a manager what starts the controllers when the CRDs are there. The
// manager's scheme has operator.AddToScheme, its cache operator.CacheOptions.
func Setup(mgr ctrl.Manager, o Options) error {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	r := &reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), options: o, bundle: &bundle{wake: make(chan event.GenericEvent)}}
	if err := mgr.Add(beginning(func(ctx context.Context) error { return r.begin(ctx, mgr) })); err != nil {
		return fmt.Errorf("add the watch for the Gateway API: %w", err)
	}
	return nil
}

// beginning is what every replica does, not only the leading one: the controllers of those
// that do not lead write nothing, but have read all objects when they come to lead.
type beginning func(context.Context) error

// Start implements manager.Runnable.
func (b beginning) Start(ctx context.Context) error { return b(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (beginning) NeedLeaderElection() bool { return false }

// begin starts the controllers once the CRDs are there, and then follows their version.
func (r *reconciler) begin(ctx context.Context, mgr ctrl.Manager) error {
	if !r.awaitKinds(ctx, mgr.GetRESTMapper()) {
		return nil
	}
	for _, setup := range []func(ctrl.Manager) error{r.setupClasses, r.setupGateways} {
		if err := setup(mgr); err != nil {
			return fmt.Errorf("start serving the Gateway API: %w", err)
		}
	}
	r.options.Log.Info("the Gateway API is installed, Gateways are served", "version", r.bundle.now().version)
	r.followBundle(ctx, mgr)
	return nil
}

func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastPause, mostPause)
}

// setupClasses adds the controller of GatewayClasses.
func (r *reconciler) setupClasses(mgr ctrl.Manager) error {
	classOf := func(_ context.Context, o client.Object) []reconcile.Request {
		if g, ok := o.(*gatewayv1.Gateway); ok {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: string(g.Spec.GatewayClassName)}}}
		}
		return nil
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("gatewayclass").
		WithOptions(controller.Options{RateLimiter: retries(), EnableWarmup: new(true)}).
		For(&gatewayv1.GatewayClass{}).
		Watches(&gatewayv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(classOf), builder.WithPredicates(usesAnotherClass())).
		Watches(&operatorv1.IngressController{}, handler.EnqueueRequestsFromMapFunc(r.everyClass), builder.WithPredicates(publishingChanged())).
		WatchesRawSource(source.Channel(r.bundle.wake, handler.EnqueueRequestsFromMapFunc(r.everyClass))).
		Complete(reconcile.Func(r.reconcileClass))
}

// setupGateways adds the controller of Gateways. Workers that change a table of slots at
// the same time are kept apart by its version: the API server refuses the later one.
func (r *reconciler) setupGateways(mgr ctrl.Manager) error {
	ofClass := func(ctx context.Context, o client.Object) []reconcile.Request { return r.gatewaysOf(ctx, o.GetName()) }
	b := ctrl.NewControllerManagedBy(mgr).
		Named("gateway").
		WithOptions(controller.Options{RateLimiter: retries(), MaxConcurrentReconciles: workers, EnableWarmup: new(true)}).
		For(&gatewayv1.Gateway{}).
		Watches(&gatewayv1.GatewayClass{}, handler.EnqueueRequestsFromMapFunc(ofClass)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.ownerOrSharing)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(ownerOf)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.byPod), builder.WithPredicates(endpointChanged())).
		Watches(&operatorv1.IngressController{}, handler.EnqueueRequestsFromMapFunc(r.byIngressController), builder.WithPredicates(publishingChanged())).
		Watches(&corev1.ConfigMap{}, slotsHandler()).
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(accessOwner)).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(accessOwner)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&gatewayv1.ReferenceGrant{}, handler.EnqueueRequestsFromMapFunc(r.byGrant))
	if r.sets.watched.Load() {
		b = b.WatchesRawSource(setsSource(mgr))
	}
	var err error
	r.sets.controller, err = b.Build(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		result, err := r.reconcileGateway(ctx, req)
		if outdated(err) {
			return reconcile.Result{RequeueAfter: leastPause}, nil
		}
		return result, err
	}))
	return err //nolint:wrapcheck // the caller says of what
}
