package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/test/cases/portal"
)

// memory is a cluster without an API server: engine.Cluster and
// engine.StatusSink over objects in memory.
type memory struct {
	mu         sync.Mutex
	routes     map[model.Object]*routev1.Route
	portals    map[model.Object]*portal.Portal
	services   map[model.Object]*corev1.Service
	slices     map[model.Object]*discoveryv1.EndpointSlice
	secrets    map[model.Object]*corev1.Secret
	configMaps map[model.Object]*policy.ConfigMap
	policies   map[model.Object]*policy.Object
	namespaces map[string]*corev1.Namespace
	// gateways has the objects of the Gateway API, slots which port of the router their
	// ports have.
	gateways map[model.Object]metav1.Object
	slots    map[int32]int32
	udpSlots map[int32]int32
	// moved are the ports that ports of the Gateway had before.
	moved    map[int32]int32
	version  int
	changes  door.Changes
	settings door.Settings
	wake     chan struct{}
	// forbidden is why no Secret may be read, or nil.
	forbidden error

	statuses  map[model.Object]model.RouteStatus
	reports   map[model.Object]policy.Report
	published chan struct{} // closed and renewed at each publication
}

func newMemory() *memory {
	return &memory{
		routes: map[model.Object]*routev1.Route{}, portals: map[model.Object]*portal.Portal{}, services: map[model.Object]*corev1.Service{},
		slices: map[model.Object]*discoveryv1.EndpointSlice{}, secrets: map[model.Object]*corev1.Secret{}, configMaps: map[model.Object]*policy.ConfigMap{}, policies: map[model.Object]*policy.Object{}, namespaces: map[string]*corev1.Namespace{}, gateways: map[model.Object]metav1.Object{},
		wake: make(chan struct{}, 1), statuses: map[model.Object]model.RouteStatus{}, reports: map[model.Object]policy.Report{},
		published: make(chan struct{}), settings: door.Settings{RouterName: "cases", Agent: true},
	}
}

// change is a set of objects to write and to delete at once.
type change struct {
	put      []metav1.Object
	del      []model.Object
	settings *door.Settings
}

const kindSlice model.Kind = "EndpointSlice"

func objectOf(kind model.Kind, o metav1.Object) model.Object {
	return model.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func serviceOf(s *discoveryv1.EndpointSlice) model.Object {
	return model.Object{Kind: door.KindService, Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
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

func (m *memory) mark(o model.Object) {
	if m.changes.Objects == nil {
		m.changes.Objects = model.Objects{}
	}
	m.changes.Objects[o] = struct{}{}
}

func (m *memory) put(o metav1.Object) {
	m.version++
	o.SetResourceVersion(strconv.Itoa(m.version))
	switch o := o.(type) {
	case *routev1.Route:
		k := objectOf(route.Kind, o)
		m.name(&o.ObjectMeta, m.object(k))
		m.routes[k] = o
		m.mark(k)
	case *portal.Portal:
		k := objectOf(portal.Kind, o)
		m.name(&o.ObjectMeta, m.object(k))
		m.portals[k] = o
		m.mark(k)
	case *gatewayv1.Gateway:
		m.putGateway(objectOf(gateway.KindGateway, o), &o.ObjectMeta, o)
	case *gatewayv1.ListenerSet:
		m.putGateway(objectOf(gateway.KindListenerSet, o), &o.ObjectMeta, o)
		m.markSets(o)
	case *gatewayv1.HTTPRoute:
		m.putGateway(objectOf(gateway.KindHTTPRoute, o), &o.ObjectMeta, o)
	case *gatewayv1.GRPCRoute:
		m.putGateway(objectOf(gateway.KindGRPCRoute, o), &o.ObjectMeta, o)
	case *gatewayv1.TLSRoute:
		m.putGateway(objectOf(gateway.KindTLSRoute, o), &o.ObjectMeta, o)
	case *gatewayv1.UDPRoute:
		m.putGateway(objectOf(gateway.KindUDPRoute, o), &o.ObjectMeta, o)
	case *gatewayv1.TCPRoute:
		m.putGateway(objectOf(gateway.KindTCPRoute, o), &o.ObjectMeta, o)
	case *gatewayv1.BackendTLSPolicy:
		m.putGateway(objectOf(gateway.KindBackendTLSPolicy, o), &o.ObjectMeta, o)
		m.mark(gateway.TLSPoliciesOf(o.Namespace))
	case *gatewayv1.ReferenceGrant:
		m.gateways[objectOf(door.KindGrants, o)] = o
		m.mark(model.Object{Kind: door.KindGrants, Namespace: o.Namespace})
	case *corev1.Service:
		k := objectOf(door.KindService, o)
		m.services[k] = o
		m.mark(k)
	case *discoveryv1.EndpointSlice:
		m.slices[objectOf(kindSlice, o)] = o
		m.mark(serviceOf(o))
	case *corev1.Secret:
		k := objectOf(door.KindSecret, o)
		m.secrets[k] = o
		m.mark(k)
	case *corev1.ConfigMap:
		k := objectOf(door.KindConfigMap, o)
		m.configMaps[k] = policy.NewConfigMap(o)
		m.mark(k)
	case *corev1.Namespace:
		m.namespaces[o.Name] = o
		m.mark(model.Object{Kind: door.KindNamespace, Name: o.Name})
		for k := range m.routes {
			if k.Namespace == o.Name {
				m.mark(k)
			}
		}
	case *v1alpha1.RoutePolicy:
		m.putPolicy(objectOf(policy.KindRoutePolicy, o), &o.ObjectMeta, func() *policy.Object { return policy.ReadRoutePolicy(o) })
	case *v1alpha1.ClusterRoutePolicy:
		m.putPolicy(objectOf(policy.KindClusterRoutePolicy, o), &o.ObjectMeta, func() *policy.Object { return policy.ReadClusterRoutePolicy(o) })
	}
}

func (m *memory) putPolicy(k model.Object, meta *metav1.ObjectMeta, read func() *policy.Object) {
	if old := m.policies[k]; old != nil && meta.UID == "" {
		meta.UID, meta.CreationTimestamp = types.UID(old.UID), metav1.NewTime(old.Created)
	}
	m.name(meta, nil)
	m.policies[k] = read()
	m.mark(k)
}

// name gives an object the identity that it had before, or a new one.
func (m *memory) name(o *metav1.ObjectMeta, old door.Version) {
	if old != nil && o.UID == "" {
		o.UID, o.CreationTimestamp = old.GetUID(), old.GetCreationTimestamp()
	}
	if o.UID == "" {
		o.UID = types.UID(fmt.Sprintf("uid-%06d", m.version))
	}
}

func (m *memory) delete(o model.Object) {
	switch o.Kind {
	case portal.Kind:
		delete(m.portals, o)
	case route.Kind:
		delete(m.routes, o)
	case door.KindService:
		delete(m.services, o)
	case kindSlice:
		if s := m.slices[o]; s != nil {
			m.mark(serviceOf(s))
		}
		delete(m.slices, o)
		return
	case door.KindSecret:
		delete(m.secrets, o)
	case door.KindConfigMap:
		delete(m.configMaps, o)
	case policy.KindRoutePolicy, policy.KindClusterRoutePolicy:
		delete(m.policies, o)
	case gateway.KindGateway, gateway.KindHTTPRoute, gateway.KindGRPCRoute, gateway.KindTLSRoute, gateway.KindTCPRoute, gateway.KindUDPRoute:
		delete(m.gateways, o)
	case gateway.KindListenerSet:
		if s, ok := m.gateways[o].(*gatewayv1.ListenerSet); ok {
			m.markSets(s)
		}
		delete(m.gateways, o)
	case gateway.KindBackendTLSPolicy:
		delete(m.gateways, o)
		m.mark(gateway.TLSPoliciesOf(o.Namespace))
	case door.KindGrants:
		delete(m.gateways, o)
		o.Name = ""
	}
	m.mark(o)
}

// everything lists all objects, to delete them.
func (m *memory) everything() []model.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(m.routes)), slices.Collect(maps.Keys(m.slices)), slices.Collect(maps.Keys(m.services)), slices.Collect(maps.Keys(m.secrets)), slices.Collect(maps.Keys(m.configMaps)), slices.Collect(maps.Keys(m.policies)))
}

// All implements door.Source.
func (m *memory) All() []model.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.AppendSeq(slices.Collect(maps.Keys(m.routes)), maps.Keys(m.portals))
	for k := range m.gateways {
		if k.Kind != door.KindGrants {
			keys = append(keys, k)
		}
	}
	return keys
}

// Object implements door.Source.
func (m *memory) Object(k model.Object) door.Version {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.object(k)
}

func (m *memory) object(k model.Object) door.Version {
	if r := m.routes[k]; r != nil {
		return r
	}
	if p := m.portals[k]; p != nil {
		return p
	}
	if o := m.gateways[k]; o != nil {
		return o
	}
	return nil
}

// Service implements door.Source.
func (m *memory) Service(k model.Object) *backend.Service {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.services[k]; s != nil {
		return backend.NewService(s)
	}
	return nil
}

// Slices implements door.Source.
func (m *memory) Slices(service model.Object) []*backend.Slice {
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
func (m *memory) ConfigMap(k model.Object) (*policy.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.configMaps[k], nil
}

func (m *memory) Secret(k model.Object) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forbidden != nil {
		return nil, m.forbidden
	}
	return m.secrets[k], nil
}

// Policies implements door.Source.
func (m *memory) Policies(namespace string) *policy.Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*policy.Object
	for k, o := range m.policies {
		if k.Namespace == namespace {
			all = append(all, o)
		}
	}
	return policy.NewSet(all)
}

// Namespace implements door.Source.
func (m *memory) Namespace(name string) *policy.Namespace {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.namespaces[name]; n != nil {
		return policy.NewNamespace(n.Labels, n.Annotations)
	}
	return nil
}

// AllPolicies implements door.Source.
func (m *memory) AllPolicies() []model.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.policies))
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

// Need implements engine.Cluster.
func (m *memory) Need(model.Objects) {}

// WaitForNeeded implements engine.Cluster.
func (m *memory) WaitForNeeded(context.Context) bool { return true }

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
		m.statuses[st.Object] = st
	}
	close(m.published)
	m.published = make(chan struct{})
}

// Forget implements engine.StatusSink.
func (m *memory) Forget(keys []model.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		delete(m.statuses, k)
	}
}

// PublishPolicies implements engine.StatusSink.
func (m *memory) PublishPolicies(reports []policy.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range reports {
		m.reports[r.Key] = r
	}
	close(m.published)
	m.published = make(chan struct{})
}

// snapshot returns the statuses published so far, and what to wait on for more.
func (m *memory) snapshot() (map[model.Object]model.RouteStatus, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.statuses), m.published
}
