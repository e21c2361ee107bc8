// Package controller gives addresses to Services of type LoadBalancer. It feeds
// the objects of the cluster to the pure packages config and allocator, and
// writes what they decide: the Service's status, the status of pools, and
// events. It announces nothing; that is the speaker's part.
//
// One worker does everything, because the allocator is one state. Its memory is
// made of the Services' own status on start, so nothing else is stored and a
// restart renumbers no Service.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/allocator"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/configstate"
	"github.com/fairlead/fairlead/lbprovider/othermetallb"
	"github.com/fairlead/fairlead/lbprovider/service"
)

const (
	// pendingRetry is how often Services without an address are tried again
	// although nothing that is known to matter has changed.
	pendingRetry = 5 * time.Minute
	// statusDelay lets many changes make one write of the pools' status.
	statusDelay = 200 * time.Millisecond
	// usageDelay is the same for who uses which address, which is larger.
	usageDelay = 2 * time.Second
	// conflictDelay is how soon a write is repeated that met another one.
	conflictDelay = 50 * time.Millisecond
)

// Options configure the controller. The zero value is what most clusters want.
type Options struct {
	// Namespace is where pools and advertisements live; empty means
	// api.ProviderNamespace.
	Namespace string
	// Classes are the load-balancer classes that are ours; nil means
	// service.DefaultClasses.
	Classes *service.Classes
	// MemberlistSecret is the name of the Secret with the speakers' key, which
	// the controller makes if it is missing; empty means "memberlist".
	MemberlistSecret string
	// Registerer takes the metrics; nil means controller-runtime's registry.
	Registerer prometheus.Registerer
	// Log is where messages go; nil means slog.Default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = api.ProviderNamespace
	}
	if o.Classes == nil {
		classes := service.DefaultClasses()
		o.Classes = &classes
	}
	if o.MemberlistSecret == "" {
		o.MemberlistSecret = "memberlist"
	}
	if o.Registerer == nil {
		o.Registerer = metrics.Registry
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// reconciler is the one worker. Only Reconcile touches its mutable state.
type reconciler struct {
	client client.Client
	// reader reads without a cache.
	reader  client.Reader
	events  record.EventRecorder
	opts    Options
	log     *slog.Logger
	metrics *gauges

	// otherMetalLB is another provider that runs; while there is one, nothing is
	// given or written.
	otherMetalLB atomic.Pointer[string]
	// lookupFailed is why it cannot be seen whether there is one.
	lookupFailed atomic.Pointer[string]
	started      bool
	cfg          *config.Config
	// reporter gets how far cfg is valid; findings are those of cfg, by
	// object.
	reporter *configstate.Reporter
	findings map[api.ObjectRef][]api.Finding
	alloc    *allocator.Allocator
	// pending are Services of ours that have no address, or lack one of the
	// second family.
	pending map[types.NamespacedName]bool
	// reportedForeign are Services that were left alone with an event.
	reportedForeign map[types.NamespacedName]bool
	// unsentNotes are notes whose write has failed so far.
	unsentNotes map[types.NamespacedName][]allocator.Note
	// staleVersions is what the cache may still show.
	staleVersions staleVersions
	// enqueueAfter wakes the worker with a request after a delay.
	enqueueAfter func(request, time.Duration)
}

// Setup adds the address controller, and the keeper of the speakers' key, to
// mgr. It registers the metallb.io types with the manager's scheme. Both run
// only on the elected leader.
func Setup(mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, v1beta2.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(mgr.GetScheme()); err != nil {
			return fmt.Errorf("register types: %w", err)
		}
	}
	gauges, err := newGauges(opts.Registerer)
	if err != nil {
		return fmt.Errorf("register address metrics: %w", err)
	}
	r := &reconciler{
		client: mgr.GetClient(), reader: mgr.GetAPIReader(),
		// The newer recorder takes events for equal that differ in their text
		// only, and so would hide why an allocation fails now.
		events: mgr.GetEventRecorderFor("fairlead-addresses"), //nolint:staticcheck // see above
		opts:   opts, log: opts.Log.With("part", "addresses"), metrics: gauges,
		alloc: allocator.New(), cfg: nil,
		pending: map[types.NamespacedName]bool{}, reportedForeign: map[types.NamespacedName]bool{},
		unsentNotes: map[types.NamespacedName][]allocator.Note{}, staleVersions: staleVersions{},
		enqueueAfter: func(request, time.Duration) {},
	}
	r.reporter = configstate.New(configstate.Options{Reader: r.reader, Writer: r.client, Namespace: opts.Namespace, Log: r.log})
	if err := mgr.Add(r.reporter); err != nil {
		return fmt.Errorf("set up the controller's configuration state: %w", err)
	}
	if err := r.watch(mgr); err != nil {
		return fmt.Errorf("set up address controller: %w", err)
	}
	if err := mgr.AddReadyzCheck("addresses", r.ready); err != nil {
		return fmt.Errorf("set up readiness of the address controller: %w", err)
	}
	keeper := &secretCreator{reader: mgr.GetAPIReader(), writer: mgr.GetClient(), namespace: opts.Namespace, name: opts.MemberlistSecret, log: r.log}
	if err := mgr.Add(keeper); err != nil {
		return fmt.Errorf("set up keeper of secret %s/%s: %w", opts.Namespace, opts.MemberlistSecret, err)
	}
	return nil
}

// watch says what wakes the worker.
func (r *reconciler) watch(mgr ctrl.Manager) error {
	to := func(req request) handler.TypedEventHandler[client.Object, request] {
		return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []request { return []request{req} })
	}
	toAll := to(convergeAll{})
	written := builder.WithPredicates(predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	b := builder.TypedControllerManagedBy[request](mgr).Named("addresses").
		WithLogConstructor(func(req *request) logr.Logger {
			log := mgr.GetLogger().WithValues("controller", "addresses")
			if req != nil {
				log = log.WithValues("request", (*req).String())
			}
			return log
		}).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []request {
			return []request{convergeService(client.ObjectKeyFromObject(o))}
		})).
		Watches(&corev1.Namespace{}, toAll, builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&corev1.Node{}, toAll, builder.WithPredicates(nodeChanged()))
	for _, k := range kinds() {
		b = b.Watches(k.object, toAll, written).Watches(k.object, r.toStatus())
	}
	return b.
		Watches(&v1beta1.ConfigurationState{}, to(updateStatus{})).
		WatchesRawSource(source.TypedFunc[request](func(_ context.Context, q workqueue.TypedRateLimitingInterface[request]) error {
			r.enqueueAfter = q.AddAfter
			q.Add(convergeAll{}) // also without any pool the state must be made known
			q.AddAfter(findOther{}, othermetallb.Interval)
			return nil
		})).
		WithOptions(controller.TypedOptions[request]{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// toStatus has the statuses looked at after one of them has changed, most often
// by this controller: then nothing differs. What another program wrote is replaced.
func (r *reconciler) toStatus() handler.TypedEventHandler[client.Object, request] {
	return handler.TypedFuncs[client.Object, request]{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[request]) {
		if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
			q.AddAfter(updateStatus{}, statusDelay)
		}
	}}
}

// nodeChanged lets changes through that matter to the configuration, which
// heartbeats do not.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok1 || !ok2 || !maps.Equal(before.Labels, after.Labels) ||
			!slices.Equal(before.Status.Addresses, after.Status.Addresses) || !slices.Equal(before.Spec.PodCIDRs, after.Spec.PodCIDRs)
	}}
}
