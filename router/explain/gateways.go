package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// gatewayKind returns the kind of an object of the Gateway API, or "".
func gatewayKind(o metav1.Object) string {
	switch o.(type) {
	case *gatewayv1.GatewayClass:
		return "GatewayClass"
	case *gatewayv1.Gateway:
		return string(gateway.KindGateway)
	case *gatewayv1.ListenerSet:
		return string(gateway.KindListenerSet)
	case *gatewayv1.HTTPRoute:
		return string(gateway.KindHTTPRoute)
	case *gatewayv1.GRPCRoute:
		return string(gateway.KindGRPCRoute)
	case *gatewayv1.TLSRoute:
		return string(gateway.KindTLSRoute)
	case *gatewayv1.TCPRoute:
		return string(gateway.KindTCPRoute)
	case *gatewayv1.UDPRoute:
		return string(gateway.KindUDPRoute)
	case *gatewayv1.ReferenceGrant:
		return "ReferenceGrant"
	case *gatewayv1.BackendTLSPolicy:
		return string(gateway.KindBackendTLSPolicy)
	}
	return ""
}

// OfGatewayAPI reports whether a kind is one of the Gateway API.
func OfGatewayAPI(kind string) bool {
	return slices.Contains([]string{"GatewayClass", "Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "ReferenceGrant", "BackendTLSPolicy"}, kind)
}

// gateways is what the router serves of the Gateway API. Claims come in by the listeners of
// Gateways alone, where those of Routes never meet them: so a pipeline of their own decides
// about them, from the same Services and Secrets. Where Gateways share the router's address, it
// decides about Routes, too.
type gateways struct {
	*source
	served   map[model.Object]metav1.Object
	joints   map[model.Object]*gatewayapi.Joint
	slots    map[model.Object]map[gatewayapi.Port]int32
	table    gatewayapi.Table
	pipeline *pipeline.Pipeline
	tables   *match.Tables
	// byBackend finds the claim of a backend's name, byScope the listener of a scope.
	byBackend map[string]*model.Claim
	byScope   map[model.ScopeID]model.Listener
	// doors are the Gateways that serve a host, each with its oldest claim.
	// atRouter are the oldest claims of hosts that Gateways have at the address of the router.
	doors    map[string]map[model.Object]*model.Claim
	atRouter map[string]*model.Claim
	// oldest are the oldest claims of the hosts of each scope, made when they are first asked for.
	oldest map[model.ScopeID]map[string]*model.Claim
	// reports are what the router says about policies for these objects.
	reports *reports
	// tlsPolicies are those of each namespace.
	tlsPolicies map[string][]*gatewayv1.BackendTLSPolicy
	// joined says that a Gateway shares the router's address.
	joined bool
	// assumed are the labels of namespaces that manifests do not have.
	assumed map[string]string
}

var (
	_ door.Source   = (*gateways)(nil)
	_ door.Gateways = (*gateways)(nil)
)

// gateways returns what is decided about the Gateway API; nil if there is nothing of it.
func (s *Snapshot) gateways() *gateways {
	if !s.gatewaysRead {
		s.ofGateways, s.gatewaysRead = s.readGateways(), true
	}
	return s.ofGateways
}

// readGateways decides about the objects of the Gateway API; nil if there are none.
func (s *Snapshot) readGateways() *gateways {
	if len(s.objects.Gateways) == 0 {
		return nil
	}
	g := &gateways{
		source: s.source, served: map[model.Object]metav1.Object{}, joints: map[model.Object]*gatewayapi.Joint{},
		slots: map[model.Object]map[gatewayapi.Port]int32{}, table: gatewayapi.Table{}, byBackend: map[string]*model.Claim{}, byScope: map[model.ScopeID]model.Listener{}, assumed: map[string]string{},
		tlsPolicies: byNamespace[*gatewayv1.BackendTLSPolicy](s.source.Gateways),
	}
	for key, o := range s.objects.Gateways {
		if s.servesGatewayObject(o) {
			g.served[key] = s.asStored(o)
			of, is := o.(*gatewayv1.Gateway)
			g.joined = g.joined || is && s.settings.SharedAddress && gatewayapi.SharesAddress(of)
		}
	}
	g.assume()
	g.assign()
	cert := s.defaultCert
	if cert == nil {
		cert = &model.Certificate{ID: unknownCertificate}
	}
	g.pipeline = pipeline.New(doors.All(), g, s.settings, cert)
	g.pipeline.Forget()
	g.pipeline.SetTime(s.options.Now)
	g.pipeline.Update(door.Changes{All: true})
	g.tables, g.reports = g.pipeline.Want().Tables(), newReports(g.pipeline)
	g.indexClaims(g.pipeline.Objects())
	g.indexDoors()
	return g
}

// indexClaims notes whose backends and listeners those of objects are.
func (g *gateways) indexClaims(of model.Objects) {
	addBackends(g.byBackend, g.pipeline, of)
	for key := range of {
		for _, l := range g.pipeline.Listeners(key) {
			g.byScope[l.Scope] = l
		}
	}
}

// asStored returns an object of a manifest as the API server would store it now.
func (s *Snapshot) asStored(o metav1.Object) metav1.Object {
	if o.GetUID() != "" {
		return o
	}
	copied, ok := o.(runtime.Object).DeepCopyObject().(metav1.Object)
	if !ok {
		return o
	}
	copied.SetUID(types.UID(string(keyOf(o).Kind) + "/" + keyOf(o).String()))
	if created := copied.GetCreationTimestamp(); created.IsZero() {
		copied.SetCreationTimestamp(metav1.NewTime(s.options.Now))
	}
	return copied
}

// parentsOf returns the parentRefs of a route.
func parentsOf(o metav1.Object) []gatewayv1.ParentReference {
	switch v := o.(type) {
	case *gatewayv1.HTTPRoute:
		return v.Spec.ParentRefs
	case *gatewayv1.GRPCRoute:
		return v.Spec.ParentRefs
	case *gatewayv1.TLSRoute:
		return v.Spec.ParentRefs
	case *gatewayv1.TCPRoute:
		return v.Spec.ParentRefs
	case *gatewayv1.UDPRoute:
		return v.Spec.ParentRefs
	}
	return nil
}

// assign judges the listeners of each Gateway with those of its ListenerSets, and gives
// their ports slots. Which ones does not matter here: the operator's are as many, for each namespace, too.
func (g *gateways) assign() {
	next := map[gatewayapi.Block]int32{}
	for _, key := range slices.SortedFunc(maps.Keys(g.served), compareKeys) {
		of, ok := g.served[key].(*gatewayv1.Gateway)
		if !ok {
			continue
		}
		joint := gatewayapi.Join(of, g.setsOf(key), g.labelsOf)
		slots, blocks := map[gatewayapi.Port]int32{}, map[gatewayapi.Port]gatewayapi.Block{}
		tenants := map[gatewayapi.Port]string{}
		want := func(all []gatewayapi.ListenerVerdict, tenant string) {
			for _, v := range all {
				if port := v.Block.Port(v.Port); v.Accepted() && !v.Shared {
					blocks[port], tenants[port] = v.Block.Wider(blocks[port]), cmp.Or(tenants[port], tenant)
				}
			}
		}
		want(joint.Own, key.Namespace)
		for _, set := range joint.Sets {
			want(set.Listeners, set.Set.Namespace)
		}
		for _, port := range slices.SortedFunc(maps.Keys(blocks), gatewayapi.ComparePorts) {
			if block := blocks[port]; !g.table.Full(block, tenants[port]) {
				slots[port] = block.First + next[block]
				g.table[slots[port]] = gatewayapi.Slot{Namespace: key.Namespace, Name: key.Name, For: tenants[port]}
				next[block]++
			}
		}
		g.joints[key], g.slots[key] = joint, slots
	}
}

// SlotsFull implements door.FullSlots.
func (g *gateways) SlotsFull(block gatewayapi.Block, namespace string) bool {
	return g.table.Full(block, namespace)
}

// setsOf returns the ListenerSets that name a Gateway.
func (g *gateways) setsOf(key model.Object) (sets []*gatewayv1.ListenerSet) {
	for _, o := range g.served {
		if set, ok := o.(*gatewayv1.ListenerSet); ok {
			if parent, ok := gateway.SetGateway(set); ok && parent == key {
				sets = append(sets, set)
			}
		}
	}
	return sets
}

// Namespace implements door.Source. Manifests seldom have namespaces: one that is not known is
// taken as one that Gateways select by their labels.
func (g *gateways) Namespace(name string) *policy.Namespace {
	if n := g.source.Namespace(name); n != nil {
		return n
	}
	if labels, known := g.labelsOf(name); known {
		return policy.NewNamespace(labels, nil)
	}
	return nil
}

func (g *gateways) labelsOf(namespace string) (map[string]string, bool) {
	switch n := g.Namespaces[namespace]; {
	case n != nil:
		return n.Labels, true
	case g.Offline && !g.Complete:
		return g.assumed, true
	}
	return nil, false
}

// assume collects the labels by which Gateways select namespaces.
func (g *gateways) assume() {
	take := func(s *metav1.LabelSelector) {
		if s != nil {
			maps.Copy(g.assumed, s.MatchLabels)
		}
	}
	for _, o := range g.served {
		of, ok := o.(*gatewayv1.Gateway)
		if !ok {
			continue
		}
		if a := of.Spec.AllowedListeners; a != nil && a.Namespaces != nil {
			take(a.Namespaces.Selector)
		}
		for i := range of.Spec.Listeners {
			if a := of.Spec.Listeners[i].AllowedRoutes; a != nil && a.Namespaces != nil {
				take(a.Namespaces.Selector)
			}
		}
	}
}

// All implements door.Source.
func (g *gateways) All() []model.Object {
	all := slices.Collect(maps.Keys(g.served))
	if g.joined {
		all = append(all, g.source.All()...)
	}
	return all
}

// Object implements door.Source.
func (g *gateways) Object(key model.Object) door.Version {
	if o := g.served[key]; o != nil {
		return o
	}
	if g.joined {
		return g.source.Object(key)
	}
	return nil
}

// TLSPolicies implements door.Gateways.
func (g *gateways) TLSPolicies(namespace string) []*gatewayv1.BackendTLSPolicy {
	return g.tlsPolicies[namespace]
}

func byNamespace[T metav1.Object](all map[model.Object]metav1.Object) map[string][]T {
	found := map[string][]T{}
	for key, o := range all {
		if v, ok := o.(T); ok {
			found[key.Namespace] = append(found[key.Namespace], v)
		}
	}
	return found
}

// Slots implements door.Gateways.
func (g *gateways) Slots(of *gatewayv1.Gateway) map[gatewayapi.Port]int32 { return g.slots[keyOf(of)] }

// Joint implements door.Gateways.
func (g *gateways) Joint(of *gatewayv1.Gateway) *gatewayapi.Joint { return g.joints[keyOf(of)] }

// gatewayFindings are what is wrong with an object of the Gateway API: the router's findings,
// and the conditions of parents that do not accept a route.
func (s *Snapshot) gatewayFindings(g *gateways, key model.Object) (out []Finding) {
	st := g.pipeline.Status(key)
	for _, f := range st.Findings {
		out = append(out, s.finding(f))
	}
	for i, p := range st.Parents {
		for _, c := range p.Conditions {
			if c.Type != string(gatewayv1.RouteConditionAccepted) || c.True {
				continue
			}
			f := api.Finding{
				Object: refOf(g.served[key]), Field: fmt.Sprintf("spec.parentRefs[%d]", i), Reason: api.Reason(c.Reason),
				Severity: api.SeverityError, Message: cmp.Or(c.Message, "the parent does not accept the route"), Effect: "no request comes in by it",
			}
			if !slices.ContainsFunc(st.Findings, func(o api.Finding) bool { return o.Reason == f.Reason && o.Field == f.Field }) {
				out = append(out, s.finding(f))
			}
		}
	}
	return append(out, s.gatewayTwoDoors(g, key)...)
}
