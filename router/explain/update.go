package explain

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// A snapshot of a cluster that is watched is not made again after each change: what has changed is
// taken into it, by the same pipeline that a router has, which decides again what depends on it.
// The result equals that of a new snapshot (TestUpdate).

// ObjectChange is one object as it was when a snapshot read it, and as it is now; nil for not there.
type ObjectChange struct{ Before, Now metav1.Object }

// object is the one that there is, or was.
func (c ObjectChange) object() metav1.Object {
	if c.Now != nil {
		return c.Now
	}
	return c.Before
}

// later is what is to be taken into a snapshot.
type later struct {
	mu      sync.Mutex
	changes []ObjectChange
	now     time.Time
	// broken says that the snapshot is not what it says, because an update has failed.
	broken bool
}

// Later notes changes that Settle is to take in, and may be called while the snapshot answers. Now
// is the time at which what ends, such as a certificate, is to be judged from then on; zero is for the
// former one.
func (s *Snapshot) Later(changes []ObjectChange, now time.Time) {
	s.later.mu.Lock()
	defer s.later.mu.Unlock()
	s.later.changes = append(s.later.changes, changes...)
	if !now.IsZero() {
		s.later.now = now
	}
}

// Settle takes in the changes that Later has noted, which no question may be asked meanwhile. It
// returns what may have changed, nil for nothing. After an error, which it returns if no
// decision can be made, it has everything decided again the next time.
func (s *Snapshot) Settle() (*Touched, error) {
	s.later.mu.Lock()
	changes, now, broken := s.later.changes, s.later.now, s.later.broken
	s.later.changes, s.later.now = nil, time.Time{}
	s.later.mu.Unlock()
	if len(changes) == 0 && now.IsZero() && !broken {
		return nil, nil
	}
	t := newTouched()
	again := broken || s.needsAll(changes)
	for _, c := range changes {
		s.objects.change(c)
	}
	var err error
	if !again {
		err = sound(func() error { s.update(changes, now, t); return nil })
	}
	if again || err != nil {
		opts := s.asked
		opts.Now = s.options.Now
		if !now.IsZero() {
			opts.Now = now
		}
		t.all = true
		err = sound(func() error { return s.decideAll(opts) })
		if err == nil {
			t.Decided = len(s.pipeline.Objects())
		}
	}
	s.later.mu.Lock()
	defer s.later.mu.Unlock()
	s.later.broken = err != nil
	return t, err
}

// sound turns a panic into an error.
func sound(do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("this is a fault of explain, please report it: %v", fault)
		}
	}()
	return do()
}

// change takes in what became of an object.
func (o *Objects) change(c ObjectChange) {
	if c.Before != nil {
		o.remove(c.Before)
	}
	if c.Now != nil {
		o.Add(c.Now)
	}
}

// remove takes an object out.
func (o *Objects) remove(object metav1.Object) {
	key, ref := keyOf(object), refOf(object)
	delete(o.order, ref)
	delete(o.Files, ref)
	if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
		service := serviceOfSlice(slice)
		o.Slices[service] = slices.DeleteFunc(o.Slices[service], func(s *discoveryv1.EndpointSlice) bool { return s.Name == slice.Name })
		if len(o.Slices[service]) == 0 {
			delete(o.Slices, service)
		}
		return
	}
	switch ref.Kind {
	case "Route":
		delete(o.Routes, key)
	case "Ingress":
		delete(o.Ingresses, key)
	case "Service":
		delete(o.Services, key)
	case "Secret":
		delete(o.Secrets, key)
	case "ConfigMap":
		delete(o.ConfigMaps, key)
	case "IngressController":
		delete(o.Controllers, key.Name)
	case "IngressClass":
		delete(o.Classes, key.Name)
	case "Namespace":
		delete(o.Namespaces, key.Name)
	default:
		delete(o.Policies, key)
		delete(o.converted, key)
		delete(o.Gateways, key)
	}
}

func serviceOfSlice(slice *discoveryv1.EndpointSlice) model.Object {
	return model.Object{Kind: door.KindService, Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// needsAll reports whether changes may change any decision: those of kinds of which there are few,
// and that seldom change. It is asked before they are taken in.
func (s *Snapshot) needsAll(changes []ObjectChange) bool {
	if s.pipeline == nil || s.objects.Offline || s.objects.seen != nil || s.ofGateways != nil && s.ofGateways.joined {
		return true
	}
	byLabels := slices.ContainsFunc(s.source.policies[""].All(), (*policy.Object).ByLabels)
	unknown := len(s.source.unknownNamespaces()) > 0
	return slices.ContainsFunc(changes, func(c ObjectChange) bool { return s.changesAll(c, byLabels, unknown) })
}

// changesAll reports whether one change may do so. ByLabels says that policies select namespaces by labels,
// and unknown that some of these are not known.
func (s *Snapshot) changesAll(c ObjectChange, byLabels, unknown bool) bool {
	o := c.object()
	bySelector := byLabels || !s.source.byNamespace.Empty()
	switch kind := refOf(o).Kind; kind {
	case "Ingress", "Service", "EndpointSlice", string(policy.KindRoutePolicy):
		return false
	case "Namespace": // of which a note may say that it is not known
		return unknown || comesOrGoes(c) && bySelector && s.source.hasRoutes(o.GetName())
	case string(policy.KindClusterRoutePolicy):
		return unknown || byLabels != s.byLabelsWith(c)
	case "Route":
		return unknown || bySelector && s.objects.Namespaces[o.GetNamespace()] == nil // a note says so
	default:
		return !OfGatewayAPI(kind) || sharesAddress(c.Before) || sharesAddress(c.Now)
	}
}

// byLabelsWith reports whether a ClusterRoutePolicy would be one of those that select by labels.
func (s *Snapshot) byLabelsWith(c ObjectChange) bool {
	if c.Now != nil {
		o := NewObjects()
		o.Add(c.Now)
		for _, p := range o.Policies {
			if p.ByLabels() {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.source.policies[""].All(), func(p *policy.Object) bool { return p.Key != keyOf(c.object()) && p.ByLabels() })
}

func sharesAddress(o metav1.Object) bool {
	g, ok := o.(*gatewayv1.Gateway)
	return ok && gatewayapi.SharesAddress(g)
}

// update decides again what depends on changes that the objects have already, and on the time if that is
// not zero.
func (s *Snapshot) update(changes []ObjectChange, now time.Time, t *Touched) {
	ch := s.reread(changes, t)
	var ofGateways model.Objects
	if !now.IsZero() {
		var ended model.Objects
		ended, ofGateways = s.passTime(now, t)
		maps.Copy(ch.Objects, ended)
	}
	scope, touched := s.pipeline.Update(ch)
	s.pipeline.Want().UpdateTables(s.tables, scope)
	for name := range scope.Backends {
		delete(s.byBackend, name)
	}
	for key := range ch.Objects {
		if s.pipeline.Named(key.Kind) {
			touched[key] = struct{}{}
		}
	}
	t.Decided = len(touched)
	addBackends(s.byBackend, s.pipeline, touched)
	s.owners = nil
	s.reports.changed(policiesOf(ch.Objects))
	for key := range touched {
		s.indexAgain(key, t.hosts)
	}
	of := s.updateGateways(changes, ch, ofGateways, t)
	s.markRows(touched, of, t)
	if !now.IsZero() {
		s.markCertificates()
	}
	s.updateIngresses(changes)
}

func policiesOf(all model.Objects) model.Objects {
	of := model.Objects{}
	for key := range all {
		if policy.IsKind(key.Kind) {
			of[key] = struct{}{}
		}
	}
	return of
}

// reread takes changes into the source, and returns them as the pipeline has them.
func (s *Snapshot) reread(changes []ObjectChange, t *Touched) door.Changes {
	ch := door.Changes{Objects: model.Objects{}}
	policies, grants := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		o := c.object()
		key := keyOf(o)
		t.note(c)
		switch v := o.(type) {
		case *routev1.Route:
			s.source.change(key)
			ch.Objects[key] = struct{}{}
		case *discoveryv1.EndpointSlice:
			ch.Objects[serviceOfSlice(v)] = struct{}{}
			if before, ok := c.Before.(*discoveryv1.EndpointSlice); ok {
				ch.Objects[serviceOfSlice(before)] = struct{}{}
			}
		case *corev1.Namespace:
			if turnsNamespace(c) {
				ch.Objects[key] = struct{}{} // routes of Gateways depend on it
			}
			maps.Copy(ch.Objects, s.turnRoutes(c, v.Name))
		case *gatewayv1.ReferenceGrant:
			grants[key.Namespace] = true
			ch.Objects[door.GrantsOf(key.Namespace)] = struct{}{}
		default:
			switch {
			case policy.IsKind(key.Kind):
				policies[key.Namespace] = true
				was, is := s.source.policies[key.Namespace].Get(key.Name), s.objects.Policies[key]
				if was == nil || is == nil || was.UID != is.UID || was.Generation != is.Generation {
					ch.Objects[key] = struct{}{}
				}
			case key.Kind == door.KindService:
				ch.Objects[key] = struct{}{}
			}
		}
	}
	s.source.readPoliciesOf(policies)
	if len(grants) > 0 {
		s.source.grants = byNamespace[*gatewayv1.ReferenceGrant](s.objects.Gateways)
	}
	return ch
}

// change reads a Route again.
func (s *source) change(key model.Object) {
	for _, of := range []map[model.Object]string{s.unselected, s.ingress, s.unreadable} {
		delete(of, key)
	}
	delete(s.selected, key)
	r := s.Routes[key]
	if r == nil {
		delete(s.routes, key)
		s.ordered = nil
		return
	}
	s.add(key, r)
	s.selectRoute(key, s.routes[key])
}

// readPoliciesOf sorts the policies of some namespaces again.
func (s *source) readPoliciesOf(namespaces map[string]bool) {
	if len(namespaces) == 0 {
		return
	}
	of := map[string][]*policy.Object{}
	for key, o := range s.Objects.Policies {
		if namespaces[key.Namespace] {
			of[key.Namespace] = append(of[key.Namespace], o)
		}
	}
	for namespace := range namespaces {
		if delete(s.policies, namespace); len(of[namespace]) > 0 {
			s.policies[namespace] = policy.NewSet(of[namespace])
		}
	}
}

// updateIngresses says again what is to be said of Ingresses: of those in namespaces with a change of
// something that they depend on.
func (s *Snapshot) updateIngresses(changes []ObjectChange) {
	namespaces := map[string]bool{}
	for _, c := range changes {
		for _, o := range []metav1.Object{c.Before, c.Now} {
			if o == nil {
				continue
			}
			switch r, isRoute := o.(*routev1.Route); {
			case refOf(o).Kind == "Ingress", refOf(o).Kind == "Service", isRoute && ingress.Owner(r) != "":
				namespaces[o.GetNamespace()] = true
			}
		}
	}
	if len(namespaces) == 0 {
		return
	}
	around := s.surroundings(func(namespace string) bool { return namespaces[namespace] })
	maps.DeleteFunc(s.ofIngresses, func(namespace string, _ said) bool { return namespaces[namespace] && around[namespace] == nil })
	for namespace, of := range around {
		_ = s.convertNamespace(namespace, of) // only Ingresses of manifests become Routes here
	}
}
