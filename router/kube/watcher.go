package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/router/changes"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Options say what a Watcher watches.
type Options struct {
	// Config leads to the API server. Its rate limit is not used.
	Config *rest.Config
	// RouterName is the name of the router's IngressController.
	RouterName string
	// ControllerNamespace holds the IngressController; empty means that there
	// is none and the router runs with its defaults.
	ControllerNamespace string
	// Namespace holds the ConfigMap with the slots of Gateways; empty means that none has
	// one.
	Namespace string
	// Admitted returns the spec that the operator admitted last, or nil if that
	// is not known. It holds if the router starts beside one that is refused.
	Admitted func() *operatorv1.IngressControllerSpec
	// Accepted receives each spec that this router has begun to use; may be nil.
	Accepted func(*operatorv1.IngressControllerSpec)
	// Log defaults to slog's default logger.
	Log *slog.Logger
}

// Watcher keeps the newest state of all objects that routes are made of. It
// implements door.Source. All methods may be called from any goroutine.
type Watcher struct {
	name, namespace string
	// ownNamespace is that of the router itself, or empty.
	ownNamespace string
	log          *slog.Logger
	clients      *clients
	dirty        *changes.Set

	routes      *store[*routev1.Route]
	services    *store[*backend.Service]
	slices      *store[*backend.Slice]
	controllers *store[*operatorv1.IngressController]
	secrets     *namedSet[corev1.Secret]
	configMaps  *namedSet[policy.ConfigMap]
	policies    *policySets
	nodes       *store[*node]
	gateways    *gatewaySets

	infrastructure *infrastructure

	// selection is nil until the IngressController, or its absence, is known.
	selection atomic.Pointer[selection]
	selected  chan struct{}
	once      sync.Once
	readAhead sync.Once
	// controller is the one last seen, with the spec that holds. It stays if the
	// object is deleted.
	controller atomic.Pointer[operatorv1.IngressController]
	admitted   admitted
	// routeSeen receives each route event, those without effect included.
	routeSeen atomic.Pointer[func(model.Object)]
	// policyEvent receives each event of a policy.
	policyEvent atomic.Pointer[func(model.Object)]
	// gatewayStatus receives each event of an object of the Gateway API.
	gatewayStatus atomic.Pointer[func(model.Object)]
	// controllerSeen receives each event of the IngressController.
	controllerSeen atomic.Pointer[func()]

	// namespaces are what is known of them. Routes of others wait: it is not known which
	// policy is for them.
	namespaces      *store[*policy.Namespace]
	firstNamespaces sync.Once
	// namespacesMarked is closed once all has been marked because of their first list: who
	// takes changes after WaitForSync need not do everything twice.
	namespacesMarked chan struct{}
	// byLabels is true once a policy has selected namespaces by their labels.
	byLabels atomic.Bool

	mu      sync.Mutex
	running bool
	// wanted is the newest selection; it becomes the active one as soon as
	// the namespaces are known.
	wanted *selection
}

var _ door.Source = (*Watcher)(nil)

// New returns a Watcher that does nothing until Run is called.
func New(o Options) (*Watcher, error) {
	if o.RouterName == "" {
		return nil, errors.New("make watcher: no router name given")
	}
	c, err := newClients(o.Config)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	w := &Watcher{
		name: o.RouterName, namespace: o.ControllerNamespace, ownNamespace: o.Namespace, log: o.Log,
		clients: c, dirty: changes.New(), selected: make(chan struct{}), namespacesMarked: make(chan struct{}), admitted: admitted{stored: o.Admitted, keep: o.Accepted},
	}
	w.infrastructure = newInfrastructure(o.Config.Host, o.RouterName)
	w.nodes = newStore(kindNode, part(readNode), func(key model.Object, _, after *node) {
		if after == nil {
			after = &node{}
		}
		w.infrastructure.set(key, after.addresses)
	})
	w.routes = newStore(route.Kind, whole(stripRoute), w.routeEvent)
	w.services = newStore(door.KindService, w.infrastructure.services(part(backend.NewService)), func(key model.Object, before, after *backend.Service) {
		if after == nil {
			w.infrastructure.set(key, nil)
		}
		if serviceChanged(before, after) {
			w.dirty.Mark(key)
		}
	})
	w.slices = newStore(kindSlice, w.infrastructure.slices(part(backend.NewSlice)), func(key model.Object, before, after *backend.Slice) {
		if after == nil {
			w.infrastructure.set(key, nil)
		}
		if before != nil && sliceChanged(before, after) {
			w.dirty.Mark(serviceOf(key, before))
		}
		if after != nil && sliceChanged(before, after) {
			w.dirty.Mark(serviceOf(key, after))
		}
	})
	w.slices.index = serviceOf
	w.namespaces = newStore(kindNamespace, part(readNamespace), w.namespaceEvent)
	w.namespaces.replaced = w.namespacesRead
	w.policies = newPolicySets(w.needLabels, w.dirty.Mark, w.policySeen)
	w.gateways = newGatewaySets(w)
	w.controllers = newStore(kindController, whole(stripController), w.controllerEvent)
	w.controllers.replaced = w.controllerAbsent
	w.secrets = newNamedSet(w, named[corev1.Secret]{
		kind: door.KindSecret, resource: "secrets", object: func() runtime.Object { return &corev1.Secret{} },
		keep: whole(stripSecret), changed: secretChanged,
	})
	w.configMaps = newNamedSet(w, named[policy.ConfigMap]{
		kind: door.KindConfigMap, resource: "configmaps", object: func() runtime.Object { return &corev1.ConfigMap{} },
		keep: part(policy.NewConfigMap), changed: configMapChanged,
	})
	return w, nil
}

// Run watches until ctx ends, and returns nil then. It retries for ever while
// the API server does not answer. It must be called once.
func (w *Watcher) Run(ctx context.Context) error {
	var feeds sync.WaitGroup
	start := func(f *feed) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		f.log = w.log
		feeds.Go(func() { f.run(ctx) })
		return cancel
	}
	w.mu.Lock()
	if w.running {
		w.mu.Unlock()
		return errors.New("run watcher: it runs already")
	}
	w.running = true
	w.mu.Unlock()

	routes := clientFeed(w.clients.route, "routes", "", "", &routev1.Route{})
	routes.store, routes.plain, routes.list = w.routes, true, w.routes.list(readRoutes(w.clients.route))
	routes.watch = watchRoutes(w.clients.route)
	services := clientFeed(w.clients.core, "services", "", "", &corev1.Service{})
	services.store, services.plain = w.services, true
	services.list = w.services.list(readList[corev1.Service](w.clients.core, "services"))
	slices := clientFeed(w.clients.discovery, "endpointslices", "", "", &discoveryv1.EndpointSlice{})
	slices.store, slices.plain = w.slices, true
	slices.list = w.slices.list(readList[discoveryv1.EndpointSlice](w.clients.discovery, "endpointslices"))
	nodes := clientFeed(w.clients.core, "nodes", "", "", &corev1.Node{})
	nodes.store = w.nodes
	namespaces := namespaceFeed(w.clients.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")), w.namespaces)
	for _, f := range append(w.policies.feeds(w), namespaces, routes, services, slices, nodes) {
		start(f)
	}
	for _, f := range w.gateways.feeds(w) {
		start(f)
	}
	w.startController(start)
	begin := func(run func(context.Context)) { feeds.Go(func() { run(ctx) }) }
	w.secrets.open(start, begin)
	w.configMaps.open(start, begin)
	begin(w.gateways.kinds.run)

	<-ctx.Done()
	w.secrets.close()
	w.configMaps.close()
	feeds.Wait()
	return nil
}

// readAheadLimit bounds how long the first state waits for Secrets.
const readAheadLimit = 15 * time.Second

// WaitForSync waits until the IngressController is known and all routes, policies,
// services, endpoints and namespaces have been read. It returns false if ctx ends before.
//
// It also reads the Secrets that routes name, so that a router that starts does
// not take them for missing. From then on Need says what is watched.
func (w *Watcher) WaitForSync(ctx context.Context) bool {
	for _, synced := range []<-chan struct{}{w.selected, w.routes.synced, w.services.synced, w.slices.synced, w.namespacesMarked, w.policies.namespaced.synced, w.policies.clustered.synced, w.gateways.classes.synced, w.gateways.objects.synced, w.gateways.sets.synced, w.gateways.routes[gateway.KindHTTPRoute].synced, w.gateways.routes[gateway.KindGRPCRoute].synced, w.gateways.routes[gateway.KindTLSRoute].synced, w.gateways.routes[gateway.KindTCPRoute].synced, w.gateways.routes[gateway.KindUDPRoute].synced, w.gateways.grants.synced, w.gateways.slots.synced} {
		select {
		case <-synced:
		case <-ctx.Done():
			return false
		}
	}
	w.readAhead.Do(func() {
		w.secrets.add(w.namedSecrets())
		limited, cancel := context.WithTimeout(ctx, readAheadLimit)
		defer cancel()
		if !w.secrets.wait(limited) && ctx.Err() == nil {
			w.log.Error("some secrets that routes name could not be read in time", "limit", readAheadLimit)
		}
	})
	return ctx.Err() == nil
}

// namedSecrets are the Secrets that the selected routes, and Gateways, name now.
func (w *Watcher) namedSecrets() model.Objects {
	keys := model.Objects{}
	for _, key := range w.All() {
		for _, secret := range w.gatewaySecrets(key) {
			keys[secret] = struct{}{}
		}
		r := w.Route(key)
		if r == nil || r.Spec.TLS == nil || r.Spec.TLS.ExternalCertificate == nil {
			continue
		}
		keys[model.Object{Kind: door.KindSecret, Namespace: key.Namespace, Name: r.Spec.TLS.ExternalCertificate.Name}] = struct{}{}
	}
	return keys
}

// Wake returns the channel that receives a value when Take has something new.
// Several changes may cause one value.
func (w *Watcher) Wake() <-chan struct{} { return w.dirty.Wake() }

// Take returns what changed since the last call. The first call asks for all.
// What is read after the call is at least as new as the changes.
func (w *Watcher) Take() door.Changes { return w.dirty.Take() }

// Need names the Secrets and ConfigMaps to watch, or to read in turns where a namespace
// has many; others are forgotten. It returns at once; Secret and ConfigMap report a
// pending NamedError until the API server answered.
func (w *Watcher) Need(keys model.Objects) {
	of := map[model.Kind]model.Objects{door.KindSecret: {}, door.KindConfigMap: {}}
	for key := range keys {
		if of[key.Kind] != nil {
			of[key.Kind][key] = struct{}{}
		}
	}
	w.secrets.need(of[door.KindSecret])
	w.configMaps.need(of[door.KindConfigMap])
}

// WaitForNeeded waits until it is known for each needed object whether it can be read. It
// returns false if ctx ends before.
func (w *Watcher) WaitForNeeded(ctx context.Context) bool {
	return w.secrets.wait(ctx) && w.configMaps.wait(ctx)
}

// IngressController returns the router's own IngressController, or nil if
// there was never one. Its spec is the last one that was not refused. The last
// one stays if the object is deleted: a router that is about to be removed must
// not start to serve the routes of others.
func (w *Watcher) IngressController() *operatorv1.IngressController { return w.controller.Load() }

func (w *Watcher) routeEvent(key model.Object, before, after *routev1.Route) {
	if routeChanged(before, after) {
		w.dirty.Mark(key)
	}
	if seen := w.routeSeen.Load(); seen != nil {
		(*seen)(key)
	}
}

func (w *Watcher) startController(start func(*feed) context.CancelFunc) {
	if w.namespace == "" {
		w.controllerAbsent()
		return
	}
	f := clientFeed(w.clients.operator, "ingresscontrollers", w.namespace, w.name, &operatorv1.IngressController{})
	f.store = w.controllers
	f.absent = w.controllerAbsent
	start(f)
}

// controllerAbsent is called after each full list, and if there is no such
// resource. A controller that was seen before stays in force.
func (w *Watcher) controllerAbsent() {
	if w.controller.Load() != nil || w.selection.Load() != nil {
		return
	}
	w.log.Info("no ingress controller found, running with defaults",
		"ingresscontroller", fmt.Sprintf("%s/%s", w.namespace, w.name))
	w.want(&selection{router: w.name})
}

func (w *Watcher) controllerEvent(key model.Object, _, after *operatorv1.IngressController) {
	if seen := w.controllerSeen.Load(); seen != nil {
		(*seen)()
	}
	if after == nil {
		w.log.Info("ingress controller deleted, keeping its settings", "ingresscontroller", key.String())
		return
	}
	after = w.admitted.inForce(after)
	last := w.controller.Swap(after)
	if !controllerChanged(last, after) {
		return
	}
	wanted, err := newSelection(w.name, after)
	if err != nil && w.selection.Load() == nil {
		w.log.Error("ingress controller has an invalid selector, serving no route", "err", err)
		wanted = &selection{router: w.name, invalid: true}
	} else if err != nil {
		w.log.Error("ingress controller has an invalid selector, keeping the last one", "err", err)
	}
	// A new selection marks everything; the other settings need it as well.
	if wanted == nil || !w.want(wanted) {
		w.dirty.MarkAll()
	}
}

// want makes s the active selection, after reading the namespaces if they
// matter. It reports whether s is active on return.
func (w *Watcher) want(s *selection) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted, s.known = s, w.namespaces
	if s.namespaces != nil && !s.known.isSynced() {
		return false
	}
	w.activate(s)
	return true
}

// activate puts s in force. The caller holds mu.
func (w *Watcher) activate(s *selection) {
	w.selection.Store(s)
	w.dirty.MarkAll()
	w.once.Do(func() { close(w.selected) })
}
