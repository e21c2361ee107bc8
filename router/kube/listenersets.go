package kube

import (
	"maps"
	"sync"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// joints remember how the listeners of Gateways were judged together with those of their
// ListenerSets, so that each of a thousand ListenerSets does not judge all of them.
type joints struct {
	mu sync.Mutex
	// versions count how often a ListenerSet of each Gateway has changed, labels how often those
	// of a namespace have.
	versions map[model.Object]uint64
	labels   uint64
	of       map[model.Object]joint
	// comparing is held while verdicts are compared with those in marked, one Gateway at a time.
	comparing sync.Mutex
	marked    map[model.Object]marked
	// sought are the parents whose routes are to be marked, not before a time.
	sought     model.Objects
	soughtNext time.Time
}

type joint struct {
	gateway         *gatewayv1.Gateway
	version, labels uint64
	*gatewayapi.Joint
}

// marked says by which verdicts ListenerSets of a Gateway were last marked. Their next
// comparison is not before a time, and due once it is waited for.
type marked struct {
	by   *gatewayapi.Joint
	next time.Time
	due  bool
}

// judgeRest is how many times as long as comparing the verdicts on all ListenerSets of a
// Gateway is the pause until the next time, and so with looking at all routes for those that
// name a parent. A Gateway with 2,500 takes some milliseconds; there may be any number, most of
// which are too many to be served.
const judgeRest = 20

// forget drops what is known of a Gateway that is gone.
func (j *joints) forget(g model.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.of, g)
	delete(j.marked, g)
	delete(j.versions, g)
}

// changed forgets how a Gateway was judged.
func (j *joints) changed(g model.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.versions[g]++
}

// relabeled forgets all that was judged.
func (j *joints) relabeled() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.labels++
}

// Joint implements door.Gateways.
func (w *Watcher) Joint(g *gatewayv1.Gateway) *gatewayapi.Joint {
	key := model.Object{Kind: gateway.KindGateway, Namespace: g.Namespace, Name: g.Name}
	j := &w.gateways.joints
	j.mu.Lock()
	version, labels, known := j.versions[key], j.labels, j.of[key]
	j.mu.Unlock()
	if known.Joint != nil && known.version == version && known.labels == labels && known.gateway == g {
		return known.Joint
	}
	now := known.Again(g, w.gateways.sets.group(gateway.SetsOf(key)), w.labels)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.of[key] = joint{g, version, labels, now} // of an older version if there is a newer one by now
	return now
}

// labels returns those of a namespace.
func (w *Watcher) labels(namespace string) (map[string]string, bool) {
	n := w.Namespace(namespace)
	if n == nil {
		return nil, false
	}
	return n.Labels, true
}

// servesSet reports whether a ListenerSet names a Gateway that this router serves.
func (w *Watcher) servesSet(s *gatewayv1.ListenerSet) bool {
	if s == nil || w.Namespace(s.Namespace) == nil {
		return false
	}
	key, ok := gateway.SetGateway(s)
	return ok && w.serves(w.gateways.objects.get(key))
}

// servesParent reports whether a parentRef of a route in a namespace names a Gateway that this
// router serves, or a ListenerSet of one.
func (w *Watcher) servesParent(r *gatewayv1.ParentReference, namespace string) bool {
	key, ok := gateway.Parent(r, namespace)
	switch {
	case !ok:
		return false
	case key.Kind == gateway.KindListenerSet:
		return w.servesSet(w.gateways.sets.get(key))
	}
	return w.serves(w.gateways.objects.get(key))
}

// setEvent marks a ListenerSet, and those of the Gateways that it named and names, if it may
// attach to them: one of them may get what another one had. Who may not makes no work with
// the others. Routes that name it may have been strangers.
func (w *Watcher) setEvent(key model.Object, before, after *gatewayv1.ListenerSet) {
	if before == nil || after == nil || before.UID != after.UID || before.Generation != after.Generation {
		for _, s := range []*gatewayv1.ListenerSet{before, after} {
			if s == nil {
				continue
			}
			parent, ok := gateway.SetGateway(s)
			g := w.gateways.objects.get(parent)
			if !ok || g == nil {
				continue
			}
			w.gateways.joints.changed(parent)
			if w.serves(g) && gatewayapi.AllowsSets(g, s.Namespace, w.labels) {
				w.setsChanged(parent)
			}
		}
		w.dirty.Mark(key)
		if w.servesSet(before) != w.servesSet(after) {
			w.markRoutesOf(model.Objects{key: {}}) // others depend on it
		}
	} else if !maps.Equal(before.Annotations, after.Annotations) {
		w.dirty.Mark(key)
	}
	w.gatewaySeen(key)
}

// setsChanged marks, soon, a Gateway and its ListenerSets as far as another verdict is true now.
func (w *Watcher) setsChanged(parent model.Object) {
	if !w.gateways.sets.isSynced() {
		w.dirty.Mark(gateway.SetsOf(parent)) // with all that is listed first
		return
	}
	j := &w.gateways.joints
	j.mu.Lock()
	m := j.marked[parent]
	waits := m.due
	m.due = true
	j.marked[parent] = m
	j.mu.Unlock()
	soon(waits, m.next, func() { w.markSets(parent) })
}

// soon calls a function, not before a time, unless a call waits for that already.
func soon(waits bool, next time.Time, call func()) {
	switch wait := time.Until(next); {
	case waits:
	case wait > 0:
		time.AfterFunc(wait, call)
	default:
		call()
	}
}

// markSets compares the verdicts of now with those by which ListenerSets were last marked.
func (w *Watcher) markSets(parent model.Object) {
	j := &w.gateways.joints
	j.comparing.Lock()
	defer j.comparing.Unlock()
	j.mu.Lock()
	m, known := j.marked[parent]
	before := m.by
	m.due = false // what changes from here on is for the next time
	if known {
		j.marked[parent] = m
	}
	j.mu.Unlock()
	g := w.gateways.objects.get(parent)
	if !known || g == nil {
		return
	}
	began := time.Now()
	verdicts := w.Joint(g)
	var changed []*gatewayv1.ListenerSet
	if before != nil {
		changed = verdicts.Changed(before)
	}
	now := time.Now()
	j.mu.Lock()
	m = j.marked[parent]
	m.by, m.next = verdicts, now.Add(judgeRest*now.Sub(began))
	j.marked[parent] = m
	j.mu.Unlock()
	if before == nil {
		w.dirty.Mark(gateway.SetsOf(parent))
		return
	}
	if verdicts.OwnChanged(before) {
		w.dirty.Mark(parent)
	}
	for _, s := range changed {
		w.dirty.Mark(keyOf(gateway.KindListenerSet, s))
	}
}

// markGateway marks a Gateway, its ListenerSets, and the routes that name any of them: these
// may have been strangers.
func (w *Watcher) markGateway(g model.Object) {
	named := model.Objects{g: {}}
	w.dirty.Mark(g)
	for _, s := range w.gateways.sets.group(gateway.SetsOf(g)) {
		key := keyOf(gateway.KindListenerSet, s)
		named[key] = struct{}{}
		w.dirty.Mark(key)
	}
	w.markRoutesOf(named)
}

// markRoutesOf marks, soon, the routes that name one of the given Gateways and ListenerSets.
// Looking at all routes for each of many parents that come one after the other would take
// longer than anything else.
func (w *Watcher) markRoutesOf(parents model.Objects) {
	j := &w.gateways.joints
	j.mu.Lock()
	waits := j.sought != nil
	if !waits {
		j.sought = model.Objects{}
	}
	maps.Copy(j.sought, parents)
	next := j.soughtNext
	j.mu.Unlock()
	soon(waits, next, w.markSought)
}

func (w *Watcher) markSought() {
	j := &w.gateways.joints
	j.mu.Lock()
	parents := j.sought
	j.sought = nil
	j.mu.Unlock()
	began := time.Now()
	w.gateways.eachRoute(func(key model.Object, r *gatewayRoute) {
		for i := range r.refs {
			if named, ok := gateway.Parent(&r.refs[i], r.GetNamespace()); ok {
				if _, is := parents[named]; is {
					w.dirty.Mark(key)
				}
			}
		}
	})
	now := time.Now()
	j.mu.Lock()
	j.soughtNext = now.Add(judgeRest * now.Sub(began))
	j.mu.Unlock()
}

// namespaceOfSets marks the ListenerSets of the Gateways that those of a namespace name: labels
// may decide which are allowed.
func (w *Watcher) namespaceOfSets(namespace string) {
	w.gateways.joints.relabeled()
	w.gateways.sets.each(func(key model.Object, s *gatewayv1.ListenerSet) bool {
		if parent, ok := gateway.SetGateway(s); ok && key.Namespace == namespace {
			w.dirty.Mark(gateway.SetsOf(parent))
			w.dirty.Mark(key)
		}
		return true
	})
}

// gatewaySecrets are those that a Gateway or ListenerSet names, and that routers may read.
func (w *Watcher) gatewaySecrets(key model.Object) []model.Object {
	switch o := w.Object(key).(type) {
	case *gatewayv1.Gateway:
		return gateway.Secrets(o, w.Grants)
	case *gatewayv1.ListenerSet:
		if g := w.gatewayOf(key); g != nil {
			if v := w.Joint(g).Set(o.Namespace, o.Name); v != nil {
				return gateway.SetSecrets(v, w.Grants)
			}
		}
	}
	return nil
}

// gatewayOf returns a Gateway, or the one that a ListenerSet names; nil if there is none.
func (w *Watcher) gatewayOf(key model.Object) *gatewayv1.Gateway {
	if key.Kind == gateway.KindListenerSet {
		s := w.gateways.sets.get(key)
		if s == nil {
			return nil
		}
		key, _ = gateway.SetGateway(s)
	}
	return w.gateways.objects.get(key)
}
