package speaker

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/configstate"
	"github.com/fairlead/fairlead/lbprovider/servicecache"
)

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
			DefaultTransform: dropUnread,
			ByObject:         kept,
		},
	}, nil
}

// bgpCache is what the cache of a speaker holds for BGP: of all Secrets only
// those in the provider's namespace, and of what speakers write about sessions
// only what this one wrote: the others' is as many times as much as there are
// nodes.
func bgpCache(namespace, node string) map[client.Object]cache.ByObject {
	here := map[string]cache.Config{namespace: {}}
	mine := labels.SelectorFromSet(labels.Set{v1beta1.LabelNode: node})
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}:           {Namespaces: here},
		&v1beta1.BGPSessionState{}: {Namespaces: here, Label: mine},
	}
}

// Setup adds the speaker to mgr, which must not need leader election for it.
func Setup(mgr ctrl.Manager, opts Options) (*Speaker, error) {
	if err := v1beta1.AddToScheme(mgr.GetScheme()); err != nil {
		return nil, fmt.Errorf("register metallb.io types: %w", err)
	}
	s := &Speaker{
		opts: opts, log: opts.Log.With("part", "speaker"),
		// The newer recorder takes events for equal that differ in their text
		// only, and so would hide why no node announces an address now.
		events: mgr.GetEventRecorderFor("fairlead-speaker"), //nolint:staticcheck // see above
	}
	services, err := s.setUpInputs(mgr)
	if err != nil {
		return nil, err
	}
	announcer, err := s.newLayer2(mgr)
	if err != nil {
		return nil, err
	}
	s.conflict = announcer.reportConflict
	// By ARP and NDP it is reported that no node announces an address only if BGP
	// does not either, so BGP comes first.
	if opts.Routers != nil {
		routed, err := s.newBGP(mgr)
		if err != nil {
			return nil, err
		}
		s.protocols = append(s.protocols, routed)
	}
	s.protocols = append(s.protocols, announcer)
	if err := registerAnnounced(opts.Registerer, opts.NodeName, s.protocols, announcer.takeovers); err != nil {
		return nil, err
	}
	if err := s.addRunnables(mgr); err != nil {
		return nil, err
	}
	if err := s.watch(mgr, services, announcer.status.live); err != nil {
		return nil, fmt.Errorf("set up speaker: %w", err)
	}
	return s, nil
}

// setUpInputs makes what the Speaker reads from.
func (s *Speaker) setUpInputs(mgr ctrl.Manager) (*servicecache.Cache, error) {
	metrics, err := newGauges(s.opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register speaker metrics: %w", err)
	}
	if s.counters, err = newReconcileCounters(s.opts.Registerer); err != nil {
		return nil, fmt.Errorf("register speaker metrics: %w", err)
	}
	services, err := servicecache.New(servicecache.Options{
		REST: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Replaced: s.Changed,
		Changed: func(name types.NamespacedName) { s.requests.add(decideService(name)) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Services: %w", err)
	}
	s.services = services
	s.config = &configReader{client: mgr.GetClient(), opts: s.opts, log: s.log, metrics: metrics, reporter: configstate.New(configstate.Options{
		Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: s.opts.Namespace, Node: s.opts.NodeName, Log: s.log,
	})}
	s.clusters = newClusterReader(mgr.GetClient(), s.opts, s.log, metrics)
	s.backends = newBackendReader(services, s.opts.Peers, s.events, s.Changed)
	return services, nil
}

// newLayer2 makes the protocol by ARP and NDP. The status objects of other nodes
// matter to it if it is alone, or where addresses are to stay.
func (s *Speaker) newLayer2(mgr ctrl.Manager) (*layer2, error) {
	l := &layer2{
		node: s.opts.NodeName, announcer: s.opts.Announcer, services: s.services, backends: s.backends, events: s.events,
		takeovers: newTakeovers(), gate: newDeliveryGate(s.opts.NodeAddress, s.Changed), verdicts: map[types.NamespacedName]*layer2Verdict{},
	}
	l.status = newLayer2StatusWriter(mgr.GetClient(), s.opts, &l.alone)
	matters := func() bool { return l.alone.Load() || l.keeping.Load() }
	live, err := servicecache.NewL2Statuses(servicecache.Options{
		REST: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Changed: func(name types.NamespacedName) {
			l.status.changed(name)
			if matters() {
				s.requests.add(decideService(name))
			}
		},
		Replaced: func() {
			l.status.replaced()
			if matters() {
				s.Changed()
			}
		},
	}, s.opts.Namespace)
	if err != nil {
		return nil, fmt.Errorf("watch status objects: %w", err)
	}
	return l, l.status.setup(mgr, live)
}

// newBGP makes the protocol that announces by BGP.
func (s *Speaker) newBGP(mgr ctrl.Manager) (*bgpProtocol, error) {
	b := &bgpProtocol{
		client: mgr.GetClient(), node: s.opts.NodeName, namespace: s.opts.Namespace, routers: s.opts.Routers, backends: s.backends, events: s.events, log: s.log,
		bfd:    newBFDWatcher(s.opts.Detector, s.opts.Routers, s.SessionsChanged, s.log),
		status: newBGPStatusWriter(mgr.GetClient(), s.opts),
		gate:   newDeliveryGate(s.opts.NodeAddress, s.Changed), verdicts: map[types.NamespacedName]bgpVerdict{},
		refused: map[string]int{}, up: map[string]bool{}, failures: map[string]int{},
	}
	return b, b.status.setup(mgr)
}

// addRunnables adds what runs beside Reconcile.
func (s *Speaker) addRunnables(mgr ctrl.Manager) error {
	if err := mgr.Add(s.config.reporter); err != nil {
		return fmt.Errorf("set up the configuration state: %w", err)
	}
	for _, run := range []func(context.Context){
		s.backends.prober.Run,
		func(ctx context.Context) {
			<-ctx.Done()
			for _, p := range s.protocols {
				p.Close(context.WithoutCancel(ctx))
			}
		},
	} {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			run(ctx)
			return nil
		})); err != nil {
			return fmt.Errorf("set up probes and protocols: %w", err)
		}
	}
	return nil
}

// watch has s called for what changes.
func (s *Speaker) watch(mgr ctrl.Manager, services *servicecache.Cache, statuses *servicecache.Statuses) error {
	toAll := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []request {
		return []request{refreshAll{}}
	})
	specOrLabels := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	b := builder.TypedControllerManagedBy[request](mgr).Named("speaker").
		WithLogConstructor(func(req *request) logr.Logger {
			log := mgr.GetLogger().WithValues("controller", "speaker")
			if req != nil {
				log = log.WithValues("request", (*req).String())
			}
			return log
		}).
		WatchesRawSource(runSource[request]{services}).
		WatchesRawSource(runSource[request]{statuses}).
		Watches(&corev1.Node{}, toAll, builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, toAll, builder.WithPredicates(podMoved())).
		Watches(&v1beta1.IPAddressPool{}, toAll, specOrLabels).
		Watches(&v1beta1.L2Advertisement{}, toAll, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(&s.requests).
		WithOptions(controller.TypedOptions[request]{MaxConcurrentReconciles: 1})
	if s.opts.Routers != nil {
		b = b.Watches(&v1beta1.BGPAdvertisement{}, toAll, specOrLabels).
			Watches(&v1beta2.BGPPeer{}, toAll, specOrLabels).
			Watches(&v1beta1.BFDProfile{}, toAll, specOrLabels).
			Watches(&v1beta1.Community{}, toAll, specOrLabels).
			Watches(&corev1.Secret{}, toAll)
	}
	return b.Complete(s)
}
