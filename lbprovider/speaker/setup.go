// Package speaker joins the parts on a node: it reads Services, endpoints,
// nodes and configuration, asks package election about each address, and tells
// the announcer what to answer for. It writes events and ServiceL2Status objects.
//
// When the API server is away, it goes on with the last state; which speakers
// are reachable is known without it.
package speaker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/configstate"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/probe"
	"github.com/fairlead/fairlead/lbprovider/service"
	"github.com/fairlead/fairlead/lbprovider/servicecache"
)

// Announcer answers for addresses.
type Announcer interface {
	// Announce replaces the set of addresses.
	Announce(map[netip.Addr]l2.Claim)
	// Refresh announces all of them again.
	Refresh()
	// Last returns when each address was last announced unasked.
	Last(context.Context) map[netip.Addr]time.Time
}

// Peers knows the other speakers.
type Peers interface {
	Snapshot() *liveness.Snapshot
	// SetPeers says at which addresses other speakers should be.
	SetPeers([]string)
	// SetAnswering tells them which Services' pods here answer their probes.
	SetAnswering([]string)
}

// Options configure the speaker.
type Options struct {
	// NodeName is the node that the speaker is on.
	NodeName string
	// NodeAddress is where kube-proxy tells whether it delivers; empty: nobody is asked.
	NodeAddress string
	// PodName is the speaker's own pod, which its status objects end with; empty: none.
	PodName string
	// Namespace is where pools, advertisements and the speakers' pods live.
	Namespace string
	Classes   service.Classes
	// IgnoreExcludeLabel lets nodes announce that have the label
	// node.kubernetes.io/exclude-from-external-load-balancers.
	IgnoreExcludeLabel bool
	// AnnounceIsolated lets a speaker go on that reaches neither the API server
	// nor half of the other speakers. By default it falls silent.
	AnnounceIsolated bool
	// Speakers selects the speakers' pods.
	Speakers  labels.Selector
	Announcer Announcer
	Peers     Peers
	// Routers announce by BGP; nil: nobody does. Detector is BFD for them; nil:
	// profiles have no effect.
	Routers    Routers
	Detector   Detector
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// allRequest recomputes everything, announceRequest hands over what was decided,
// and sessionsRequest tells of BGP sessions only. No Service has an empty
// namespace.
var (
	announceRequest = reconcile.Request{NamespacedName: types.NamespacedName{Name: "announce"}}
	allRequest      = reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}
	sessionsRequest = reconcile.Request{NamespacedName: types.NamespacedName{Name: "sessions"}}
)

// Speaker decides for one node. Only Reconcile changes its state.
type Speaker struct {
	client client.Client
	events record.EventRecorder
	// reporter is told how far the configuration is valid.
	reporter *configstate.Reporter
	opts     Options
	log      *slog.Logger
	metrics  *gauges
	passes   *passes
	queue    atomic.Pointer[func(reconcile.Request)]
	reports  atomic.Pointer[func()]

	mu  sync.Mutex // guards what follows, for those who ask
	cfg *config.Config
	// nodes and members are what is known of them since the last full pass.
	nodes      []election.Node
	electorate election.Electorate
	members    map[string]liveness.Member
	sight      *sight
	// unmet are the nodes whose speakers work and cannot be reached.
	unmet       map[string]bool
	memberCount int
	// synced, cut and alone are how this speaker stands among the others.
	synced, cut bool
	alone       atomic.Bool
	// staying says that some addresses are to stay where they are.
	staying atomic.Bool

	facts    *servicecache.Cache
	services map[types.NamespacedName]*verdict
	// dead is when speakers that are gone were lost.
	dead      map[string]time.Time
	takeovers *takeovers
	// targets are the pods here that are to be asked, by Service.
	targets map[string]probe.Target
	// misread are annotations that cannot be read, so that each is told once.
	misread map[types.NamespacedName]string
	prober  *probe.Prober
	gate    *gate
	status  *statusWriter
	bgp     *bgpSide
	// decided is when every Service was decided about first, nil before.
	decided atomic.Pointer[time.Time]
}

// ManagerOptions returns the options of a manager for the speaker of a node. Of
// all pods, it caches the speakers' only.
func ManagerOptions(namespace, node string, speakers labels.Selector, metrics metricsserver.Options, pprofAddress string) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	// All of Kubernetes' kinds would take half a megabyte.
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, appsv1.AddToScheme, v1beta1.AddToScheme, v1beta2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return ctrl.Options{}, fmt.Errorf("register the kinds that the speaker reads: %w", err)
		}
	}
	kept := map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Namespaces: map[string]cache.Config{namespace: {}}, Label: speakers},
	}
	maps.Copy(kept, bgpCache(namespace, node))
	grace := 2 * time.Second
	return ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metrics,
		PprofBindAddress:        pprofAddress,
		GracefulShutdownTimeout: &grace,
		Cache: cache.Options{
			DefaultTransform: slim,
			ByObject:         kept,
		},
	}, nil
}

// Setup adds the speaker to mgr, which must not need leader election for it.
func Setup(mgr ctrl.Manager, opts Options) (*Speaker, error) {
	if err := v1beta1.AddToScheme(mgr.GetScheme()); err != nil {
		return nil, fmt.Errorf("register metallb.io types: %w", err)
	}
	gauges, err := newGauges(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register speaker metrics: %w", err)
	}
	s := &Speaker{
		client: mgr.GetClient(),
		// The newer recorder takes events for equal that differ in their text
		// only, and so would hide why nobody announces an address now.
		events: mgr.GetEventRecorderFor("fairlead-speaker"), //nolint:staticcheck // see above
		opts:   opts,
		log:    opts.Log.With("part", "speaker"), metrics: gauges,
		services: map[types.NamespacedName]*verdict{}, sight: newSight(), unmet: map[string]bool{}, takeovers: newTakeovers(),
		targets: map[string]probe.Target{}, misread: map[types.NamespacedName]string{},
	}
	if s.passes, err = newPasses(opts.Registerer); err != nil {
		return nil, fmt.Errorf("register speaker metrics: %w", err)
	}
	s.gate = newGate(opts.NodeAddress, s.Changed)
	s.prober = probe.New(func() {
		opts.Peers.SetAnswering(s.prober.Answering())
		s.Changed()
	})
	for _, c := range []prometheus.Collector{newAnnounced(s), newOwnerChanges(s)} {
		if err := opts.Registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register speaker metrics: %w", err)
		}
	}
	if err := s.setUpStatus(mgr); err != nil {
		return nil, err
	}
	if err := s.setUpBGP(mgr); err != nil {
		return nil, err
	}
	s.reporter = configstate.New(configstate.Options{
		Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: opts.Namespace, Node: opts.NodeName, Log: s.log,
	})
	if err := mgr.Add(s.reporter); err != nil {
		return nil, fmt.Errorf("set up the configuration state: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		s.prober.Run(ctx)
		return nil
	})); err != nil {
		return nil, fmt.Errorf("set up probes: %w", err)
	}
	if err := s.watch(mgr); err != nil {
		return nil, fmt.Errorf("set up speaker: %w", err)
	}
	return s, nil
}

// setUpStatus adds what writes status objects and knows those of others, which
// matter to a speaker that is alone, and where addresses are to stay.
func (s *Speaker) setUpStatus(mgr ctrl.Manager) error {
	s.status = newStatusWriter(mgr.GetClient(), s.opts, &s.alone)
	matters := func() bool { return s.alone.Load() || s.staying.Load() }
	live, err := servicecache.NewL2Statuses(servicecache.Options{
		REST: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Changed: func(name types.NamespacedName) {
			s.status.changed(name)
			if matters() {
				s.enqueue(reconcile.Request{NamespacedName: name})
			}
		},
		Replaced: func() {
			s.status.replaced()
			if matters() {
				s.Changed()
			}
		},
	}, s.opts.Namespace)
	if err != nil {
		return fmt.Errorf("watch status objects: %w", err)
	}
	return s.status.setup(mgr, live)
}

// watch has s called for what changes.
func (s *Speaker) watch(mgr ctrl.Manager) error {
	var err error
	s.facts, err = servicecache.New(servicecache.Options{
		REST: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Replaced: s.Changed,
		Changed: func(name types.NamespacedName) { s.enqueue(reconcile.Request{NamespacedName: name}) },
	})
	if err != nil {
		return fmt.Errorf("watch Services: %w", err)
	}
	toAll := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{allRequest}
	})
	specOrLabels := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	return s.bgp.watches(ctrl.NewControllerManagedBy(mgr).Named("speaker"), toAll, specOrLabels).
		WatchesRawSource(feed{s.facts}).
		WatchesRawSource(feed{s.status.live}).
		Watches(&corev1.Node{}, toAll, builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, toAll, builder.WithPredicates(podMoved())).
		Watches(&v1beta1.IPAddressPool{}, toAll, specOrLabels).
		Watches(&v1beta1.L2Advertisement{}, toAll, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			add := func(req reconcile.Request) { q.Add(req) }
			s.queue.Store(&add)
			add(allRequest)
			report := func() { q.Add(sessionsRequest) }
			s.reports.Store(&report)
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(s)
}

// Changed makes the speaker decide anew; it is for changes among the peers.
func (s *Speaker) Changed() {
	s.enqueue(allRequest)
}

func (s *Speaker) enqueue(req reconcile.Request) {
	if add := s.queue.Load(); add != nil {
		(*add)(req)
	}
}

// SessionsChanged makes the speaker tell how its BGP sessions are.
func (s *Speaker) SessionsChanged() {
	if add := s.reports.Load(); add != nil {
		(*add)()
	}
}

// settledAtLast is how long readiness waits for a speaker to take part in
// elections; usually that takes half as long.
const settledAtLast = 10 * time.Second

// waits says what a speaker waits for before it does its part, and is empty
// once it has decided about every Service and takes part in elections. A rollout
// that went on before would leave addresses to ever fewer speakers, and move
// them several times. One that stands back for long, because it was lost often,
// holds nothing up.
func (s *Speaker) waits() string {
	decided := s.decided.Load()
	switch {
	case decided == nil:
		return "not every service is decided about"
	case time.Since(*decided) < settledAtLast && s.opts.Peers.Snapshot().Members[s.opts.NodeName].Phase == liveness.Settling:
		return "stands back for a while, because it has only just come back"
	}
	return ""
}

// nodeChanged lets changes through that matter here, which heartbeats do not.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok1 || !ok2 || !labels.Equals(before.Labels, after.Labels) || Drained(before) != Drained(after) ||
			condition(before, corev1.NodeReady) != condition(after, corev1.NodeReady) ||
			condition(before, corev1.NodeNetworkUnavailable) != condition(after, corev1.NodeNetworkUnavailable)
	}}
}

// podMoved lets changes of a speaker pod's address and readiness through.
func podMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok1 || !ok2 || before.Status.HostIP != after.Status.HostIP || podReady(before) != podReady(after)
	}}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
