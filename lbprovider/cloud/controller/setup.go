// Package controller gives Services a load balancer of a cloud, by a
// hook.LoadBalancerHook. It reads Services, nodes and endpoints, asks the hook,
// and writes the Service's finalizer, status and events; the hook talks to the
// cloud and knows nothing of Kubernetes.
//
// It serves the Services of one namespace whose spec.loadBalancerClass is its
// own. What belongs to another controller is left alone, and said so.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options configure the controller.
type Options struct {
	// Hook makes the load balancers. Required.
	Hook hook.LoadBalancerHook
	// Cluster is the name of the cluster in the cloud. Required.
	Cluster string
	// Class is the load-balancer class that is ours. Required.
	Class string
	// Default reports whether a Service without a class is ours; nil means that
	// none is. One of another class never is.
	Default func(*corev1.Service) bool
	// Finalizers are to stand on a Service besides our own. That of another
	// controller among them does not make it that controller's.
	Finalizers []string
	// RivalLease is the name of the Lease that the leader of that other controller
	// holds, in whatever namespace. While it does, no load balancers are made.
	// Empty means that it is not looked for.
	RivalLease string
	// NamePending reports whether the name in DNS that leads to a Service is yet
	// to follow its status; nil means that it is not known.
	NamePending func(context.Context, *corev1.Service) (bool, error)
	// Namespace is whose Services are served; empty means api.OperandNamespace.
	Namespace string
	// Resync is how often a load balancer is looked at although nothing
	// changed; the default is 10 minutes, and a tenth more or less.
	Resync time.Duration
	// Quiet is how long targets must not have changed before the change is
	// passed on, and Patience how long that may delay it; the defaults are 1
	// and 5 seconds.
	Quiet, Patience time.Duration
	// Sweep is how often load balancers without a Service are looked for; the
	// default is 30 minutes. They are deleted only with DeleteOrphans.
	Sweep         time.Duration
	DeleteOrphans bool
	// Registerer takes the metrics; nil means controller-runtime's registry.
	Registerer prometheus.Registerer
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log is where messages go; nil means slog.Default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Resync, 10 * time.Minute}, {&o.Quiet, time.Second}, {&o.Patience, 5 * time.Second}, {&o.Sweep, 30 * time.Minute}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Namespace == "" {
		o.Namespace = api.OperandNamespace
	}
	if o.Registerer == nil {
		o.Registerer = metrics.Registry
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// workers is how many Services are worked on at once.
const workers = 3

type reconciler struct {
	client   client.Client
	events   record.EventRecorder
	opts     Options
	log      *slog.Logger
	metrics  *gauges
	debounce *debounce
	other    *otherController

	mu    sync.Mutex // guards known
	known map[types.NamespacedName]*memory
}

// Setup adds the controller to mgr. It works on the elected leader only.
func Setup(mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	gauges, err := newGauges(opts.Registerer)
	if err != nil {
		return fmt.Errorf("register cloud metrics: %w", err)
	}
	r := &reconciler{
		client: mgr.GetClient(),
		// The newer recorder takes events for equal that differ in their text only.
		events: mgr.GetEventRecorderFor("fairlead-cloud"), //nolint:staticcheck // see above
		opts:   opts, log: opts.Log.With("part", "cloud"), metrics: gauges,
		debounce: newDebounce(opts.Quiet, opts.Patience), known: map[types.NamespacedName]*memory{},
		other: &otherController{reader: mgr.GetAPIReader(), lease: opts.RivalLease, now: opts.Now},
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == opts.Namespace })
	err = ctrl.NewControllerManagedBy(mgr).Named("cloud").
		For(&corev1.Service{}, builder.WithPredicates(ours, serviceMatters())).
		Watches(&corev1.Node{}, r.nodeEvents(), builder.WithPredicates(nodeMatters())).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.serviceOfSlice), builder.WithPredicates(ours)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the cloud controller: %w", err)
	}
	if err := setUpOtherNamespaces(mgr, r.events, opts); err != nil {
		return err
	}
	if err := mgr.Add(&sweeper{reconciler: r, seen: map[string]time.Time{}}); err != nil {
		return fmt.Errorf("set up the sweep of orphans: %w", err)
	}
	return nil
}

// serviceMatters drops what we write ourselves: the status.
func serviceMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := e.ObjectOld, e.ObjectNew
		return old.GetGeneration() != now.GetGeneration() || !maps.Equal(old.GetAnnotations(), now.GetAnnotations()) ||
			!slices.Equal(old.GetFinalizers(), now.GetFinalizers()) || old.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
			serviceSpecChanged(old, now)
	}}
}

// serviceSpecChanged: Services have no generation before Kubernetes 1.34, so
// their specs are compared.
func serviceSpecChanged(old, now client.Object) bool {
	a, ok := old.(*corev1.Service)
	b, ok2 := now.(*corev1.Service)
	return ok && ok2 && !equalJSON(a.Spec, b.Spec)
}

// nodeMatters drops heartbeats.
func nodeMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Node)
		now, ok2 := e.ObjectNew.(*corev1.Node)
		if !ok || !ok2 {
			return true
		}
		wasDown, _ := notReady(old)
		isDown, _ := notReady(now)
		return wasDown != isDown || excluded(old) != excluded(now) || old.Spec.ProviderID != now.Spec.ProviderID ||
			!maps.Equal(old.Labels, now.Labels) || !slices.Equal(old.Status.Addresses, now.Status.Addresses)
	}}
}

// queue takes the Services that are to be looked at.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// nodeEvents wakes all Services that are served. Nodes come and go in swarms,
// which are gathered; one that must not be a target any more leaves at once.
func (r *reconciler) nodeEvents() handler.EventHandler {
	wake := func(q queue, note func(types.NamespacedName, time.Time)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for key := range r.known {
			note(key, r.opts.Now())
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { wake(q, r.debounce.note) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { wake(q, r.debounce.note) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if leaves(e.ObjectOld, e.ObjectNew) {
				wake(q, r.debounce.urgent)
				return
			}
			wake(q, r.debounce.note)
		},
	}
}

// leaves reports whether a node has just been excluded, by a label, a taint or
// its deletion.
func leaves(before, after client.Object) bool {
	old, ok := before.(*corev1.Node)
	now, ok2 := after.(*corev1.Node)
	return ok && ok2 && !excluded(old) && excluded(now)
}

func (r *reconciler) serviceOfSlice(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[discoveryv1.LabelServiceName]
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" || r.known[key] == nil {
		return nil
	}
	r.debounce.note(key, r.opts.Now())
	return []reconcile.Request{{NamespacedName: key}}
}

// ours reports whether a Service asks for a load balancer of ours.
func (r *reconciler) ours(s *corev1.Service) bool {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || !s.DeletionTimestamp.IsZero() {
		return false
	}
	if class := s.Spec.LoadBalancerClass; class != nil {
		return *class == r.opts.Class
	}
	return r.opts.Default != nil && r.opts.Default(s)
}

// finalizers are those that a Service of ours has.
func (r *reconciler) finalizers() []string {
	return append([]string{api.FinalizerCloudLoadBalancer}, r.opts.Finalizers...)
}

// foreign returns the finalizer of another controller that serves a Service.
func (r *reconciler) foreign(s *corev1.Service) string {
	for _, f := range s.Finalizers {
		if slices.Contains(r.opts.Finalizers, f) {
			continue
		}
		if f == "service.k8s.aws/resources" || f == "service.kubernetes.io/load-balancer-cleanup" || strings.HasPrefix(f, "service.k8s.aws/") {
			return f
		}
	}
	return ""
}
