package operator

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/notice"
	"github.com/fairlead/fairlead/operator/rights"
	"github.com/fairlead/fairlead/operator/servicemonitor"
)

// workers is how many IngressControllers are looked at at the same time: one that
// waits for the API server does not keep the others waiting.
const workers = 4

// A write that is refused, such as by a quota, is tried again after these times:
// what refused it ends without an event.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 30 * time.Second
)

// retries returns when a pass that failed is tried again.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastPause, mostPause)
}

// Setup adds the IngressController reconciler to a manager, which creates the
// IngressController "default" whenever there is none. The registry gets the
// metrics.
func Setup(mgr ctrl.Manager, registry prometheus.Registerer, options Options) error {
	m, err := newMetrics(registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	options = options.withDefaults()
	notices, err := notice.New(mgr, "ingress-operator", options.Log)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		notices:  notices,
		metrics:  m,
		options:  options,
		provider: func() bool { return options.Defaults.CloudClass != "" || providerInstalled(mgr) },
		wake:     make(chan event.GenericEvent),
		monitors: servicemonitor.Keeper{Kinds: mgr.GetRESTMapper()},
	}
	add := func(run func(context.Context) error) error { return mgr.Add(manager.RunnableFunc(run)) }
	if r.canary, err = setupCanary(options, r.wakeDefault, add, canary.Options{Registerer: registry}); err != nil {
		return fmt.Errorf("set up the canary: %w", err)
	}
	if err := rights.Setup(mgr, r.options.Log); err != nil {
		return fmt.Errorf("add the keeper of the routers' rights: %w", err)
	}
	if err := r.setupReaders(mgr); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.startDefault)); err != nil {
		return fmt.Errorf("add the default IngressController: %w", err)
	}
	everyIC := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request { return r.every(ctx) })
	b := ctrl.NewControllerManagedBy(mgr).
		Named("ingresscontroller").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             retries(),
		}).
		For(&operatorv1.IngressController{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, statusChanged(), annotationsChanged()))).
		// A domain that one IngressController frees may be what another waits for.
		Watches(&operatorv1.IngressController{}, handler.EnqueueRequestsFromMapFunc(r.refused), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(defaultMayBeMissing)).
		Watches(&appsv1.Deployment{}, byLabel(api.LabelOwningIngressController)).
		Watches(&corev1.Service{}, byLabel(api.LabelOwningIngressController)).
		Watches(&policyv1.PodDisruptionBudget{}, byLabel(api.LabelOwningIngressController)).
		Watches(&networkingv1.IngressClass{}, byLabel(api.LabelOwningIngressController)).
		Watches(&iov1.DNSRecord{}, byLabel(api.LabelOwningIngressController)).
		Watches(&corev1.Pod{}, byLabel(api.LabelDeploymentIngressController)).
		Watches(&routev1.Route{}, handler.EnqueueRequestsFromMapFunc(r.byPassthrough), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.bySecret)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byConfigMap)).
		WatchesRawSource(source.Channel(r.wake, everyIC)).
		Watches(&corev1.Node{}, everyIC, builder.WithPredicates(nodeMatters()))
	if options.CanaryImage != "" {
		b = b.Watches(&appsv1.DaemonSet{}, byLabel(api.LabelOwningIngressController)).
			Watches(&routev1.Route{}, byLabel(api.LabelOwningIngressController), builder.WithPredicates(inCanaryNamespace()))
	}
	return b.Complete(r)
}

// setupReaders follows what a cluster says about itself, where it does.
func (r *Reconciler) setupReaders(mgr ctrl.Manager) error {
	for _, k := range r.clusterKinds() {
		follow := func(ctx context.Context) error { return r.followCluster(ctx, k, mgr.GetCache(), mgr.GetRESTMapper()) }
		if err := mgr.Add(manager.RunnableFunc(follow)); err != nil {
			return fmt.Errorf("add the reader of the cluster's %s: %w", k.kind, err)
		}
	}
	if !r.options.Defaults.DNS && !r.options.Defaults.DNSByService {
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(r.followClusterDNS)); err != nil {
		return fmt.Errorf("add the reader of the cluster's domain: %w", err)
	}
	return nil
}
