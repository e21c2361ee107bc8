package cases

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

type keySet = map[model.Key]struct{}

// memory is a cluster without an API server: engine.Cluster and
// engine.StatusSink over objects in memory.
type memory struct {
	mu       sync.Mutex
	routes   map[model.Key]*routev1.Route
	services map[model.Key]*corev1.Service
	slices   map[model.Key]*discoveryv1.EndpointSlice
	secrets  map[model.Key]*corev1.Secret
	version  int
	changes  door.Changes
	settings door.Settings
	wake     chan struct{}

	statuses  map[model.Key]model.RouteStatus
	published chan struct{} // closed and renewed at each publication
}

func newMemory() *memory {
	return &memory{
		routes: map[model.Key]*routev1.Route{}, services: map[model.Key]*corev1.Service{},
		slices: map[model.Key]*discoveryv1.EndpointSlice{}, secrets: map[model.Key]*corev1.Secret{},
		wake: make(chan struct{}, 1), statuses: map[model.Key]model.RouteStatus{},
		published: make(chan struct{}), settings: door.Settings{RouterName: "cases"},
	}
}

// change is a set of objects to write and to delete at once.
type change struct {
	put      []metav1.Object
	del      []ref
	settings *door.Settings
}

type ref struct {
	kind string
	key  model.Key
}

func keyOf(o metav1.Object) model.Key {
	return model.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func serviceOf(s *discoveryv1.EndpointSlice) model.Key {
	return model.Key{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
}

// apply makes a change visible in one piece, as one batch of watch events.
func (m *memory) apply(c change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range c.del {
		m.delete(r)
	}
	for _, o := range c.put {
		m.put(o)
	}
	if c.settings != nil && *c.settings != m.settings {
		m.settings = *c.settings
		m.changes.All = true
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func mark(set *keySet, k model.Key) {
	if *set == nil {
		*set = keySet{}
	}
	(*set)[k] = struct{}{}
}

func (m *memory) put(o metav1.Object) {
	m.version++
	o.SetResourceVersion(strconv.Itoa(m.version))
	k := keyOf(o)
	switch o := o.(type) {
	case *routev1.Route:
		if old := m.routes[k]; old != nil && o.UID == "" {
			o.UID, o.CreationTimestamp = old.UID, old.CreationTimestamp
		}
		if o.UID == "" {
			o.UID = types.UID(fmt.Sprintf("uid-%06d", m.version))
		}
		m.routes[k] = o
		mark(&m.changes.Routes, k)
	case *corev1.Service:
		m.services[k] = o
		mark(&m.changes.Services, k)
	case *discoveryv1.EndpointSlice:
		m.slices[k] = o
		mark(&m.changes.Services, serviceOf(o))
	case *corev1.Secret:
		m.secrets[k] = o
		mark(&m.changes.Secrets, k)
	}
}

func (m *memory) delete(r ref) {
	switch r.kind {
	case "Route":
		delete(m.routes, r.key)
		mark(&m.changes.Routes, r.key)
	case "Service":
		delete(m.services, r.key)
		mark(&m.changes.Services, r.key)
	case "EndpointSlice":
		if s := m.slices[r.key]; s != nil {
			mark(&m.changes.Services, serviceOf(s))
		}
		delete(m.slices, r.key)
	case "Secret":
		delete(m.secrets, r.key)
		mark(&m.changes.Secrets, r.key)
	}
}

// everything lists all objects, to delete them.
func (m *memory) everything() []ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []ref
	for k := range m.routes {
		all = append(all, ref{"Route", k})
	}
	for k := range m.slices {
		all = append(all, ref{"EndpointSlice", k})
	}
	for k := range m.services {
		all = append(all, ref{"Service", k})
	}
	for k := range m.secrets {
		all = append(all, ref{"Secret", k})
	}
	return all
}

// Routes implements door.Source.
func (m *memory) Routes() []model.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []model.Key
	for k := range m.routes {
		keys = append(keys, k)
	}
	return keys
}

// Route implements door.Source.
func (m *memory) Route(k model.Key) *routev1.Route {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.routes[k]
}

// Service implements door.Source.
func (m *memory) Service(k model.Key) *backend.Service {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.services[k]; s != nil {
		return backend.NewService(s)
	}
	return nil
}

// Slices implements door.Source.
func (m *memory) Slices(service model.Key) []*backend.Slice {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*backend.Slice
	for _, s := range m.slices {
		if serviceOf(s) == service {
			found = append(found, backend.NewSlice(s))
		}
	}
	return found
}

// Secret implements door.Source.
func (m *memory) Secret(k model.Key) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.secrets[k], nil
}

// Wake implements engine.Cluster.
func (m *memory) Wake() <-chan struct{} { return m.wake }

// Take implements engine.Cluster.
func (m *memory) Take() door.Changes {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := m.changes
	m.changes = door.Changes{}
	return ch
}

// NeedSecrets implements engine.Cluster.
func (m *memory) NeedSecrets(map[model.Key]struct{}) {}

// WaitForSecrets implements engine.Cluster.
func (m *memory) WaitForSecrets(context.Context) bool { return true }

// Settings are the router-wide settings.
func (m *memory) Settings() door.Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings
}

// Publish implements engine.StatusSink.
func (m *memory) Publish(statuses []model.RouteStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range statuses {
		m.statuses[st.Key] = st
	}
	close(m.published)
	m.published = make(chan struct{})
}

// Forget implements engine.StatusSink.
func (m *memory) Forget(keys []model.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		delete(m.statuses, k)
	}
}

// snapshot returns the statuses published so far, and what to wait on for more.
func (m *memory) snapshot() (map[model.Key]model.RouteStatus, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.statuses), m.published
}
