package kube

import (
	"maps"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Namespaces are watched because their annotations say which policy is for their Routes,
// and their labels decide what selectors select. Routes and namespaces come by watches of
// their own: a Route of a new namespace may come first. It waits, as it would be served
// without that policy.

// Namespace implements door.Source.
func (w *Watcher) Namespace(name string) *policy.Namespace {
	return w.namespaces.get(model.Object{Kind: kindNamespace, Name: name})
}

// namespacesRead is called after each full list of namespaces.
func (w *Watcher) namespacesRead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := w.wanted != w.selection.Load()
	if waited {
		w.activate(w.wanted)
	}
	w.firstNamespaces.Do(func() {
		if !waited {
			w.dirty.MarkAll()
		}
		close(w.namespacesMarked)
	})
}

// needLabels notes that a policy selects namespaces by their labels.
func (w *Watcher) needLabels(o *policy.Object) {
	if o != nil && o.ByLabels() {
		w.byLabels.Store(true)
	}
}

// namespaceEvent marks the routes of a namespace that comes or goes, starts or stops
// matching, names another policy, or has other labels, if policies may select by them.
// The first list is not looked at, as all routes are marked after it.
func (w *Watcher) namespaceEvent(key model.Object, before, after *policy.Namespace) {
	if !w.namespaces.isSynced() {
		return
	}
	if gone := before == nil || after == nil; gone || !maps.Equal(before.Labels, after.Labels) {
		w.namespaceOfGateways(key, gone)
	} else if !before.SamePolicy(after) {
		w.dirty.Mark(key) // routes of Gateways depend on it
	}
	if before != nil && after != nil && before.SamePolicy(after) {
		s := w.selection.Load()
		turned := s != nil && s.namespaces != nil && s.selectsNamespace(before) != s.selectsNamespace(after)
		if !turned && (!w.byLabels.Load() || maps.Equal(before.Labels, after.Labels)) {
			return
		}
	}
	w.routes.each(func(route model.Object, _ *routev1.Route) bool {
		if route.Namespace == key.Name {
			w.dirty.Mark(route)
		}
		return true
	})
}
