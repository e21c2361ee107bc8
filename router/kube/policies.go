package kube

import (
	"context"
	"encoding/json"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	watchapi "k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policySets keep the RoutePolicies and ClusterRoutePolicies of the cluster.
type policySets struct {
	namespaced, clustered *store[*policy.Object]

	mu sync.Mutex
	// sets are those that were asked for since the last change, by namespace.
	sets map[string]*policy.Set
	// absent tells the kinds that the API server does not have, once each.
	absent map[model.Kind]bool
}

// newPolicySets makes the stores. Fresh is called with each new version, then changed with
// what differs for requests, and seen with each event.
func newPolicySets(fresh func(*policy.Object), changed, seen func(model.Object)) *policySets {
	s := &policySets{sets: map[string]*policy.Set{}, absent: map[model.Kind]bool{}}
	event := func(key model.Object, before, after *policy.Object) {
		s.mu.Lock()
		delete(s.sets, key.Namespace)
		s.mu.Unlock()
		fresh(after)
		if policyChanged(before, after) {
			changed(key)
		}
		seen(key)
	}
	s.namespaced = newStore(policy.KindRoutePolicy, part(policy.ReadRoutePolicy), event)
	s.clustered = newStore(policy.KindClusterRoutePolicy, part(policy.ReadClusterRoutePolicy), event)
	for _, st := range []*store[*policy.Object]{s.namespaced, s.clustered} {
		st.index = func(key model.Object, _ *policy.Object) model.Object {
			return model.Object{Kind: key.Kind, Namespace: key.Namespace}
		}
	}
	return s
}

// policyChanged compares the generation, which the API server raises with each change
// of the spec.
func policyChanged(a, b *policy.Object) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.UID != b.UID || a.Generation != b.Generation
}

// of returns the store of a namespace, or of the cluster if that is empty.
func (s *policySets) of(namespace string) *store[*policy.Object] {
	if namespace == "" {
		return s.clustered
	}
	return s.namespaced
}

// get returns a policy, or nil.
func (s *policySets) get(key model.Object) *policy.Object { return s.of(key.Namespace).get(key) }

// set returns the policies of a namespace, or of the cluster.
func (s *policySets) set(namespace string) *policy.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	if set, known := s.sets[namespace]; known {
		return set
	}
	st := s.of(namespace)
	group := st.group(model.Object{Kind: st.kind, Namespace: namespace})
	if len(group) == 0 {
		return nil // not worth to be remembered for each namespace
	}
	set := policy.NewSet(group)
	s.sets[namespace] = set
	return set
}

// feeds returns what keeps the stores up to date.
func (s *policySets) feeds(w *Watcher) []*feed {
	namespaced := clientFeed(w.clients.fairlead, "routepolicies", "", "", &v1alpha1.RoutePolicy{})
	clustered := clientFeed(w.clients.fairlead, "clusterroutepolicies", "", "", &v1alpha1.ClusterRoutePolicy{})
	namespaced.store, clustered.store = s.namespaced, s.clustered
	for _, f := range []*feed{namespaced, clustered} {
		list, watch := f.list, f.watch
		f.plain = true
		f.list = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := list(ctx, o)
			return l, w.orAbsent(ctx, f.name, err)
		}
		f.watch = func(ctx context.Context, o metav1.ListOptions) (watchapi.Interface, error) {
			answer, err := watch(ctx, o)
			return answer, w.orAbsent(ctx, f.name, err)
		}
	}
	namespaced.absent = func() { s.gone(w, s.namespaced) }
	clustered.absent = func() { s.gone(w, s.clustered) }
	return []*feed{namespaced, clustered}
}

// orAbsent returns the error of a request for a kind of policies. Where the kind is not
// installed, the API server refuses it for want of a right, if that is not there either.
func (w *Watcher) orAbsent(ctx context.Context, resource string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	text, asked := w.clients.fairlead.Get().AbsPath("/apis", v1alpha1.Group, v1alpha1.Version).Do(ctx).Raw()
	var offered struct {
		Resources []struct{ Name string }
	}
	switch {
	case apierrors.IsNotFound(asked):
	case asked != nil || json.Unmarshal(text, &offered) != nil:
		return err
	}
	for _, r := range offered.Resources {
		if r.Name == resource {
			return err
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: resource}, "")
}

// gone takes in that the API server does not have the kind, as with the manifests of
// an older version. Policies that were there before go by events of their own, so
// one that merely does not answer for a while opens nothing.
func (s *policySets) gone(w *Watcher, st *store[*policy.Object]) {
	s.mu.Lock()
	told := s.absent[st.kind]
	s.absent[st.kind] = true
	s.mu.Unlock()
	if !told {
		w.log.Info("the API server does not have this kind of policies; they are read as soon as it has", "kind", st.kind)
	}
	if !st.isSynced() {
		_ = st.Replace(nil, "") // of nothing nothing can be wrong
	}
}

// Policies implements door.Source.
func (w *Watcher) Policies(namespace string) *policy.Set { return w.policies.set(namespace) }

// AllPolicies implements door.Source.
func (w *Watcher) AllPolicies() []model.Object {
	var keys []model.Object
	for _, st := range []*store[*policy.Object]{w.policies.namespaced, w.policies.clustered} {
		st.each(func(key model.Object, _ *policy.Object) bool {
			keys = append(keys, key)
			return true
		})
	}
	return keys
}

// policySeen tells the status writer of each event of a policy.
func (w *Watcher) policySeen(key model.Object) {
	if seen := w.policyEvent.Load(); seen != nil {
		(*seen)(key)
	}
}

// forOthers reports whether a policy is for Routes that this router does not serve.
func (w *Watcher) forOthers(o *policy.Object) (found bool) {
	s := w.selection.Load()
	w.routes.each(func(key model.Object, r *routev1.Route) bool {
		if (o.Key.Namespace == "" || key.Namespace == o.Key.Namespace) && s.excludes(r) {
			place := route.Place(r, door.Settings{RouterName: w.name})
			place.Namespace = w.Namespace(key.Namespace)
			_, found = o.RankFor(place)
		}
		return !found
	})
	return found
}
