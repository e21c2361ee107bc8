// Package door is the border between the kinds of objects that users write and the
// router: each front door turns objects of one kind into claims. It is pure.
package door

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Version is one version of an object of a door's kind, as the API server reported
// it. It is never changed.
type Version = metav1.Object

// Door turns the objects of one kind into claims. Doors are pure and do not know
// each other.
type Door interface {
	// Kind is the kind of object that comes in here.
	Kind() model.Kind
	// Ref names an object of the kind in findings.
	Ref(model.Object) api.ObjectRef
	// Ingest reads one version. Several goroutines may call it at a time.
	Ingest(Version, Source, Settings, Past) *Result
	// Continues reports whether two versions ask for the same host, so that the
	// former one may be served while the newest one cannot be.
	Continues(former, newest Version) bool
	// Place returns what policies find a version by.
	Place(Version, Settings) *policy.Place
	// Covers reports whether a former version forbids all that the newest one
	// forbids, as far as that can be read, with the policies of now.
	Covers(former, newest Version, src Source, s Settings) bool
	// Guarded reports whether a version has, or tries to have, anything that keeps
	// clients out. Then its path is better closed than left to others.
	Guarded(Version, Source, Settings) bool
	// Content returns what of a version decides what is served, as encoding/json
	// writes it.
	Content(Version) any
	// Decode reads a version that encoding/json wrote.
	Decode([]byte) (Version, error)
}

// Place returns what policies find a version of an object by, its namespace included.
func Place(d Door, v Version, src Source, s Settings) *policy.Place {
	p := d.Place(v, s)
	p.Namespace = src.Namespace(v.GetNamespace())
	return p
}

// Result is what ingesting one version of an object gives.
type Result struct {
	Object model.Object
	UID    string
	// Claims are none if the object is refused; then the first of Findings with
	// severity Error says why. No two have the same Rule.
	Claims []*model.Claim
	// SharedLimits is how many limits of scope Shared the object asks for, whatever it gets,
	// and SharedLimitsBound how many its namespace may have by the word of administrators; 0
	// is as many as settings say.
	SharedLimits, SharedLimitsBound int
	// Fetches are the pages to ask Services for.
	Fetches []model.PageFetch
	// Listeners are where HAProxy listens for the object, which is a Gateway. Claims of other
	// objects are made in their scopes.
	Listeners []model.Listener
	// Barrier has the hosts and paths of a refused object, closed, as far as they
	// are known.
	Barrier []*model.Claim
	// Host is the effective host, as far as it could be determined.
	Host           string
	WildcardPolicy string
	Findings       []api.Finding
	// Pending results wait for a Secret that is being fetched; it is too
	// early to tell the user.
	Pending bool
	// Measure is how the object's requests are counted, nil for nearly all.
	Measure *model.Measure
	// Until is when the result may be another one though nothing changed, or zero.
	Until time.Time
	// Depends are the Services, Secrets and policies that the result depends on.
	Depends []model.Object
	// Effective is what policies say about the object, or nil if none is for it.
	Effective *policy.Effective
	// OfGateway is nil for objects of other APIs, of which there may be very many.
	*OfGateway
	// Patterned says that the object has a pattern that no claim shows where it is refused.
	Patterned bool
	// Patterns is how many objects of the namespace may have patterns by the word of
	// administrators, or 0 for as many as the router lets each namespace have.
	Patterns int
}

// OfGateway is what only objects of the Gateway API have.
type OfGateway struct {
	// Wants is how many claims the object asks for, whatever it gets, if it may make many.
	// A namespace has a bound of them (Past.Crowded).
	Wants int
	// Effectives are what policies say about each claim, by its Rule, where claims of an object
	// may have different ones; then Effective is all of it. Claims that no policy is for are missing.
	Effectives map[string]*policy.Effective
	// Generation is the object's, and the others what its status says: Parents of routes,
	// ListenerStatus of Gateways and ListenerSets, Conditions of Gateways, ListenerSets and
	// BackendTLSPolicies.
	Generation     int64
	Parents        []model.ParentStatus
	ListenerStatus []model.ListenerStatus
	Conditions     []model.StatusCondition
	// AttachedTo is the Gateway that has accepted a ListenerSet.
	AttachedTo model.Object
	// TLSPolicies are the BackendTLSPolicies for Services that a route names.
	TLSPolicies []model.Object
}

// Past is what the pipeline remembers of an object.
type Past struct {
	// Claims are those made last, or none. Their certificates go on serving where
	// the Secret that the object names has come to hold nonsense.
	Claims []*model.Claim
	// Listeners are those made last, whose certificates go on serving in the same way.
	Listeners []model.Listener
	// Material remembers what TLS texts hold, or is nil.
	Material *certificate.Material
	// Stretch is how many times longer than it asks for the pause between the
	// object's health checks is; zero means one.
	Stretch int
	// Now is the time, or zero where there is no knowing.
	Now time.Time
	// Unpatterned says that too many older routes choose or replace paths, or let clients in, by
	// patterns.
	Unpatterned bool
	// Crowded says that older objects make all the claims that a namespace may have.
	Crowded bool
	// Unpaged says that the pages of older routes use up what a namespace may have.
	Unpaged bool
	// Uncounted says that older objects have all the limits of scope Shared that a namespace
	// may have.
	Uncounted bool
	// Fetched returns what was answered to a PageFetch of that key, nil if nothing is known
	// yet. It is nil where no Service is asked.
	Fetched func(key model.Object) *policy.ServicePages
	// Unfetched says that older routes ask Services for all the pages that a namespace may.
	Unfetched bool
}

// Source gives the objects as the API server last reported them. Callers must
// not change what they get. A missing object is nil. Several goroutines may ask
// at a time.
type Source interface {
	// All lists the objects of all doors that this router's selectors match.
	All() []model.Object
	// Object returns one of them.
	Object(model.Object) Version
	Service(model.Object) *backend.Service
	// Slices returns the EndpointSlices of a Service, in any order.
	Slices(service model.Object) []*backend.Slice
	// Secret returns a Secret that an object names, or why it cannot be read.
	Secret(model.Object) (*corev1.Secret, error)
	// ConfigMap returns the pages of a ConfigMap that an object names, or why it cannot
	// be read. It may be nil if the ConfigMap does not exist.
	ConfigMap(model.Object) (*policy.ConfigMap, error)
	// Policies returns the RoutePolicies of a namespace; of the empty one the
	// ClusterRoutePolicies. It may be nil if there are none.
	Policies(namespace string) *policy.Set
	// Namespace returns what is known of a namespace, or nil: then no policy is for all of
	// its objects, and those that select namespaces by labels are for it.
	Namespace(name string) *policy.Namespace
	// AllPolicies lists the policies of all namespaces and of the cluster.
	AllPolicies() []model.Object
}

// Gateways are what a Source has beside, where it has objects of the Gateway API.
type Gateways interface {
	Grants
	// Slots returns the ports of the router's pod by the ports of a Gateway.
	Slots(*gatewayv1.Gateway) map[gateway.Port]int32
	// TLSPolicies returns the BackendTLSPolicies of a namespace, in any order.
	TLSPolicies(namespace string) []*gatewayv1.BackendTLSPolicy
	// Joint returns the verdicts on the listeners of a Gateway and of all ListenerSets that
	// name it.
	Joint(*gatewayv1.Gateway) *gateway.Joint
}

// MovedSlots are what a Source of Gateways has beside, where ports move from one slot to another.
type MovedSlots interface {
	// MovedSlots returns the ports of the router's pod that ports of a Gateway have moved from,
	// and that are still served.
	MovedSlots(*gatewayv1.Gateway) map[gateway.Port]int32
}

// FullSlots are what a Source of Gateways has beside, where slots can be used up.
type FullSlots interface {
	// SlotsFull reports whether no slot of a block is left for the namespace of a Gateway or
	// ListenerSet.
	SlotsFull(block gateway.Block, namespace string) bool
}

// The kinds of objects that front doors depend on. EndpointSlices go by the Service
// that they belong to.
const (
	KindService            = policy.KindService
	KindSecret  model.Kind = "Secret"
	// KindConfigMap is that of pages.
	KindConfigMap model.Kind = "ConfigMap"
	KindNamespace            = policy.KindNamespace
	// KindPageFetch is that of pages to ask Services for; no object of a cluster has it.
	KindPageFetch model.Kind = "PageFetch"
	// KindGateway objects make no claims, and others depend on their listeners.
	KindGateway model.Kind = "Gateway"
	// KindListenerSet objects make no claims either.
	KindListenerSet model.Kind = "ListenerSet"
	// KindSetsOf objects have the namespace and the name of a Gateway, and are all
	// ListenerSets that name it.
	KindSetsOf model.Kind = "ListenerSetsOf"
	// KindGrants objects have no name: they are all ReferenceGrants of their namespace.
	KindGrants model.Kind = "ReferenceGrant"
	// KindTLSPolicies objects have no name: they are all BackendTLSPolicies of their
	// namespace.
	KindTLSPolicies model.Kind = "BackendTLSPolicies"
	// KindSlots has one object, without namespace and name: the slots of all Gateways.
	KindSlots model.Kind = "GatewaySlots"
)

// Changes are the objects that may differ from what was last ingested.
type Changes struct {
	// Objects are of any kind: those of front doors and those that these depend on.
	Objects model.Objects
	// Endpoints are objects of front doors of which only what their Services lead to
	// may differ.
	Endpoints model.Objects
	// All asks for everything to be ingested again, as after new settings.
	All bool
}

// Empty reports whether nothing changed.
func (c Changes) Empty() bool { return !c.All && len(c.Objects) == 0 && len(c.Endpoints) == 0 }
