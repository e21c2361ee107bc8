package kube

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const kindClass model.Kind = "GatewayClass"

// gatewaySets keep the objects of the Gateway API: of all classes and Gateways, because
// one that is not the router's may become so.
type gatewaySets struct {
	classes *store[*gatewayv1.GatewayClass]
	objects *store[*gatewayv1.Gateway]
	sets    *store[*gatewayv1.ListenerSet]
	// routes are those of all kinds, each in a store of its own.
	routes map[model.Kind]*store[*gatewayRoute]
	grants *store[*gatewayv1.ReferenceGrant]
	tls    *store[*tlsPolicy]
	slots  *store[*slotTable]

	absent sync.Once
	kinds  *arrivals
	// some is true once a Gateway has had a slot.
	some   atomic.Bool
	joints joints
	// sizes are those of the blocks, the largest since this process started: fewer ports would be one
	// more reload.
	sizes sizes
}

// sizes are how many ports the blocks have, by the block's name.
type sizes struct {
	mu sync.Mutex
	of map[string]int32
}

// grow takes what a table needs, and reports whether that is more than before.
func (s *sizes) grow(t gatewayapi.Table) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range gatewayapi.Blocks() {
		if size := t.Size(b); size > max(s.of[b.Name], b.Count) && b != gatewayapi.UDP { // its ports are opened one by one
			s.of[b.Name], more = size, true
		}
	}
	return more
}

// gatewayRoute is a route of any kind with the entries of its status as the API server has
// them: those of others are never read, and stay as they are.
type gatewayRoute struct {
	routeVersion

	refs    []gatewayv1.ParentReference
	parents jsontext.Value
}

// routeVersion is a version of a route as its door reads it.
type routeVersion interface {
	metav1.Object
	runtime.Object
}

// slotTable says which ports of the router's pod Gateways have.
type slotTable struct{ table gatewayapi.Table }

func readSlots(m *corev1.ConfigMap) *slotTable {
	table, _ := gatewayapi.ReadTable(m.Data) // the operator says what is wrong with it
	return &slotTable{table}
}

func newGatewaySets(w *Watcher) *gatewaySets {
	g := &gatewaySets{sizes: sizes{of: map[string]int32{}}, joints: joints{versions: map[model.Object]uint64{}, of: map[model.Object]joint{}, marked: map[model.Object]marked{}}}
	g.kinds = newArrivals(w.clients.gateway, "/apis/"+gatewayv1.GroupVersion.String())
	g.classes = newStore(kindClass, whole(func(*gatewayv1.GatewayClass) {}), w.classEvent)
	g.objects = newStore(gateway.KindGateway, whole(func(*gatewayv1.Gateway) {}), w.gatewayEvent)
	g.sets = newStore(gateway.KindListenerSet, whole(func(*gatewayv1.ListenerSet) {}), w.setEvent)
	g.sets.index = func(_ model.Object, s *gatewayv1.ListenerSet) model.Object {
		parent, _ := gateway.SetGateway(s)
		return gateway.SetsOf(parent)
	}
	g.routes = map[model.Kind]*store[*gatewayRoute]{}
	for _, kind := range gateway.RouteKinds() {
		g.routes[kind] = newStore(kind, whole(func(*gatewayRoute) {}), w.gatewayRouteEvent)
	}
	g.grants = newStore(door.KindGrants, whole(func(*gatewayv1.ReferenceGrant) {}), func(key model.Object, before, after *gatewayv1.ReferenceGrant) {
		if before == nil || after == nil || !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
			w.dirty.Mark(model.Object{Kind: door.KindGrants, Namespace: key.Namespace})
		}
	})
	g.tls = newTLSPolicies(w)
	g.grants.index = func(key model.Object, _ *gatewayv1.ReferenceGrant) model.Object {
		return model.Object{Kind: door.KindGrants, Namespace: key.Namespace}
	}
	g.slots = newStore(door.KindSlots, part(readSlots), func(_ model.Object, before, after *slotTable) {
		w.dirty.Mark(model.Object{Kind: door.KindSlots})
		w.slotsOfNamed(before, after)
		if after == nil {
			return
		}
		if first, more := len(after.table) > 0 && !g.some.Swap(true), g.sizes.grow(after.table); first || more {
			w.dirty.MarkAll() // the settings are others now
		}
	})
	return g
}

// serves reports whether a Gateway is of a class that means this router, or names it and may do so. One that
// has slots of this router is served until the operator frees them: so the Gateway stays where it
// is if its reference cannot be followed.
func (w *Watcher) serves(g *gatewayv1.Gateway) bool {
	if g == nil {
		return false
	}
	n, of := w.Namespace(g.Namespace), w.routerOf(g)
	if n == nil || of == "" {
		return false
	}
	if !gatewayapi.HasParameters(g) {
		return of == w.name
	}
	named, _ := gatewayapi.Parameters(g)
	return named == w.name && (of == w.name || w.selection.Load().permits(n)) || len(w.Slots(g)) > 0
}

// routerOf returns the name of the router that a Gateway's class means, empty if the class is not
// Fairlead's.
func (w *Watcher) routerOf(g *gatewayv1.Gateway) string {
	class := w.gateways.classes.get(model.Object{Kind: kindClass, Name: string(g.Spec.GatewayClassName)})
	if class == nil || class.Spec.ControllerName != gatewayapi.ControllerName {
		return ""
	}
	name, err := gatewayapi.IngressController(class)
	if err != nil {
		return ""
	}
	return name
}

// attached reports whether a route names a Gateway that this router serves, or a ListenerSet
// of one.
func (w *Watcher) attached(r *gatewayRoute) bool {
	if r == nil || w.Namespace(r.GetNamespace()) == nil {
		return false
	}
	for i := range r.refs {
		if w.servesParent(&r.refs[i], r.GetNamespace()) {
			return true
		}
	}
	return false
}

// gatewayObject returns an object of the Gateway API, or nil if it is not the router's.
func (w *Watcher) gatewayObject(key model.Object) door.Version {
	switch key.Kind {
	case gateway.KindGateway:
		if g := w.gateways.objects.get(key); w.serves(g) {
			return g
		}
		return nil
	case gateway.KindListenerSet:
		if s := w.gateways.sets.get(key); w.servesSet(s) {
			return s
		}
		return nil
	}
	if key.Kind == gateway.KindBackendTLSPolicy {
		if p := w.gateways.tls.get(key); w.servesTLSPolicy(p) {
			return p.BackendTLSPolicy
		}
		return nil
	}
	if r := w.gateways.route(key); w.attached(r) {
		return r.routeVersion
	}
	return nil
}

// route returns the route with a key, or nil.
func (g *gatewaySets) route(key model.Object) *gatewayRoute {
	if of := g.routes[key.Kind]; of != nil {
		return of.get(key)
	}
	return nil
}

// eachRoute calls f for each route.
func (g *gatewaySets) eachRoute(f func(model.Object, *gatewayRoute)) {
	for _, of := range g.routes {
		of.each(func(key model.Object, r *gatewayRoute) bool {
			f(key, r)
			return true
		})
	}
}

// allGateways lists the objects of the Gateway API that are the router's.
func (w *Watcher) allGateways() (keys []model.Object) {
	w.gateways.objects.each(func(key model.Object, g *gatewayv1.Gateway) bool {
		if w.serves(g) {
			keys = append(keys, key)
		}
		return true
	})
	w.gateways.sets.each(func(key model.Object, s *gatewayv1.ListenerSet) bool {
		if w.servesSet(s) {
			keys = append(keys, key)
		}
		return true
	})
	w.gateways.eachRoute(func(key model.Object, r *gatewayRoute) {
		if w.attached(r) {
			keys = append(keys, key)
		}
	})
	w.gateways.tls.each(func(key model.Object, p *tlsPolicy) bool {
		if w.servesTLSPolicy(p) {
			keys = append(keys, key)
		}
		return true
	})
	return keys
}

// Grants implements door.Gateways.
func (w *Watcher) Grants(namespace string) []*gatewayv1.ReferenceGrant {
	return w.gateways.grants.group(model.Object{Kind: door.KindGrants, Namespace: namespace})
}

// HasGateways reports whether a Gateway has, or had since this process started, a slot of
// the router's pod. Then HAProxy must listen on the ports for Gateways.
func (w *Watcher) HasGateways() bool { return w.gateways.some.Load() }

// SlotCount returns how many ports of a block HAProxy must have.
func (w *Watcher) SlotCount(b gatewayapi.Block) int32 {
	s := &w.gateways.sizes
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.of[b.Name], b.Count)
}

// Slots implements door.Gateways.
func (w *Watcher) Slots(g *gatewayv1.Gateway) (slots map[gatewayapi.Port]int32) {
	w.gateways.slots.each(func(_ model.Object, s *slotTable) bool {
		slots = s.table.Slots(g)
		return false
	})
	return slots
}

// SlotsFull implements door.FullSlots.
func (w *Watcher) SlotsFull(block gatewayapi.Block, namespace string) (full bool) {
	w.gateways.slots.each(func(_ model.Object, s *slotTable) bool {
		full = s.table.Full(block, namespace)
		return false
	})
	return full
}

// MovedSlots implements door.MovedSlots.
func (w *Watcher) MovedSlots(g *gatewayv1.Gateway) (slots map[gatewayapi.Port]int32) {
	w.gateways.slots.each(func(_ model.Object, s *slotTable) bool {
		slots = s.table.Moved(g)
		return false
	})
	return slots
}

// slotsOfNamed marks the Gateways that name an IngressController and have slots in one of two tables:
// those that got their first ones, or lost their last, are the router's now, or not any more.
func (w *Watcher) slotsOfNamed(before, after *slotTable) {
	has := func(t *slotTable, g *gatewayv1.Gateway) bool { return t != nil && len(t.table.Slots(g)) > 0 }
	w.markGateways(func(_ model.Object, g *gatewayv1.Gateway) bool {
		return gatewayapi.HasParameters(g) && has(before, g) != has(after, g)
	})
}

// classEvent marks the Gateways of a class, and the routes that name these.
func (w *Watcher) classEvent(key model.Object, before, after *gatewayv1.GatewayClass) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return
	}
	w.markGateways(func(_ model.Object, g *gatewayv1.Gateway) bool { return string(g.Spec.GatewayClassName) == key.Name })
}

// markGateways marks Gateways that are of some kind, once all have been looked at: routes are
// looked at for each, and who looks at routes asks for Gateways.
func (w *Watcher) markGateways(are func(model.Object, *gatewayv1.Gateway) bool) {
	var of []model.Object
	w.gateways.objects.each(func(key model.Object, g *gatewayv1.Gateway) bool {
		if are(key, g) {
			of = append(of, key)
		}
		return true
	})
	for _, g := range of {
		w.markGateway(g)
	}
}

func (w *Watcher) gatewayEvent(key model.Object, before, after *gatewayv1.Gateway) {
	switch {
	case before == nil || after == nil || before.UID != after.UID || before.Spec.GatewayClassName != after.Spec.GatewayClassName ||
		!equality.Semantic.DeepEqual(before.Spec.Infrastructure, after.Spec.Infrastructure):
		w.markGateway(key)
	case before.Generation != after.Generation || !maps.Equal(before.Annotations, after.Annotations):
		w.dirty.Mark(key)
	case gateway.Refused(before) != gateway.Refused(after):
		w.dirty.Mark(gateway.SetsOf(key))
	}
	if before != nil && after != nil && gateway.Unprogrammed(before) != gateway.Unprogrammed(after) {
		w.setsSeen(key)
	}
	if after == nil {
		w.gateways.joints.forget(key)
	}
	w.gatewaySeen(key)
}

func (w *Watcher) gatewayRouteEvent(key model.Object, before, after *gatewayRoute) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || metaChanged(before, after) {
		w.dirty.Mark(key)
	}
	w.gatewaySeen(key)
}

// gatewaySeen tells the status writer of each event of an object of the Gateway API.
func (w *Watcher) gatewaySeen(key model.Object) {
	if seen := w.gatewayStatus.Load(); seen != nil {
		(*seen)(key)
	}
}

// namespaceOfGateways marks what a namespace means to objects of the Gateway API.
func (w *Watcher) namespaceOfGateways(key model.Object, appears bool) {
	w.dirty.Mark(key)
	w.namespaceOfSets(key.Name)
	w.markGateways(func(g model.Object, o *gatewayv1.Gateway) bool {
		return g.Namespace == key.Name && (appears || gatewayapi.HasParameters(o))
	})
	if !appears {
		return
	}
	w.gateways.eachRoute(func(r model.Object, _ *gatewayRoute) {
		if r.Namespace == key.Name {
			w.dirty.Mark(r)
		}
	})
	w.gateways.tls.each(func(p model.Object, _ *tlsPolicy) bool {
		if p.Namespace == key.Name {
			w.dirty.Mark(p)
		}
		return true
	})
}
