package pipeline_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// gatewayTenants is a cluster with objects of the Gateway API of several namespaces.
type gatewayTenants struct {
	tenant

	objects map[model.Object]door.Version
	grants  map[string][]*gatewayv1.ReferenceGrant
}

func newGatewayTenants() *gatewayTenants {
	return &gatewayTenants{objects: map[model.Object]door.Version{}, grants: map[string][]*gatewayv1.ReferenceGrant{}}
}

// tenantDocument is an object as a fuzz input has it. Names and namespaces, which the API
// server checks, are made of its place and of other.
type tenantDocument struct {
	Kind        string
	Name        string
	Other       bool
	Annotations map[string]string
	Spec        json.RawMessage
}

// read puts objects in, each of a JSON text, and returns their keys. Only names of known
// objects matter; others are left out.
func (g *gatewayTenants) read(text []byte, namespace string, created time.Time) (keys []model.Object) {
	const mostObjects = 8
	d := json.NewDecoder(bytes.NewReader(text))
	for range mostObjects {
		var doc tenantDocument
		if d.Decode(&doc) != nil {
			return keys
		}
		if !slices.Contains([]string{"x", "y", "z"}, doc.Name) {
			continue
		}
		in := namespace
		if doc.Other {
			in += "-other"
		}
		meta := metav1.ObjectMeta{Namespace: in, Name: doc.Name, UID: types.UID(doc.Kind + "/" + in + "/" + doc.Name), Generation: 1, CreationTimestamp: metav1.NewTime(created), Annotations: doc.Annotations}
		if key, ok := g.put(&doc, meta); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// put takes in an object of a known kind whose spec can be read.
func (g *gatewayTenants) put(doc *tenantDocument, meta metav1.ObjectMeta) (key model.Object, ok bool) {
	key = model.Object{Kind: model.Kind(doc.Kind), Namespace: meta.Namespace, Name: meta.Name}
	var object door.Version
	var spec any
	switch key.Kind {
	case gateway.KindGateway:
		o := &gatewayv1.Gateway{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindListenerSet:
		o := &gatewayv1.ListenerSet{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindHTTPRoute:
		o := &gatewayv1.HTTPRoute{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindGRPCRoute:
		o := &gatewayv1.GRPCRoute{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindTLSRoute:
		o := &gatewayv1.TLSRoute{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindTCPRoute:
		o := &gatewayv1.TCPRoute{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case gateway.KindBackendTLSPolicy:
		o := &gatewayv1.BackendTLSPolicy{ObjectMeta: meta}
		object, spec = o, &o.Spec
	case door.KindGrants:
		grant := &gatewayv1.ReferenceGrant{ObjectMeta: meta}
		if json.Unmarshal(doc.Spec, &grant.Spec) == nil {
			g.grants[meta.Namespace] = append(g.grants[meta.Namespace], grant)
		}
		return key, false
	default:
		return key, false
	}
	if json.Unmarshal(doc.Spec, spec) != nil || !namesListeners(object) {
		return key, false
	}
	g.objects[key] = object
	return key, true
}

// namesListeners reports whether each listener has a name of its own, which the API server
// sees to.
func namesListeners(o door.Version) bool {
	var names []gatewayv1.SectionName
	switch o := o.(type) {
	case *gatewayv1.Gateway:
		for i := range o.Spec.Listeners {
			names = append(names, o.Spec.Listeners[i].Name)
		}
	case *gatewayv1.ListenerSet:
		for i := range o.Spec.Listeners {
			names = append(names, o.Spec.Listeners[i].Name)
		}
	}
	slices.Sort(names)
	return !slices.Contains(names, "") && len(slices.Compact(slices.Clone(names))) == len(names)
}

// remove deletes the objects of namespaces whose names begin so.
func (g *gatewayTenants) remove(prefix string) {
	for key := range g.objects {
		if strings.HasPrefix(key.Namespace, prefix) {
			delete(g.objects, key)
		}
	}
	for namespace := range g.grants {
		if strings.HasPrefix(namespace, prefix) {
			delete(g.grants, namespace)
		}
	}
}

// gateways returns the Gateways in a fixed order.
func (g *gatewayTenants) gateways() (all []*gatewayv1.Gateway) {
	for _, o := range g.objects {
		if gw, ok := o.(*gatewayv1.Gateway); ok {
			all = append(all, gw)
		}
	}
	slices.SortFunc(all, func(a, b *gatewayv1.Gateway) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return all
}

func (g *gatewayTenants) setsOf(of *gatewayv1.Gateway) (all []*gatewayv1.ListenerSet) {
	for _, o := range g.objects {
		if s, ok := o.(*gatewayv1.ListenerSet); ok {
			if parent, ok := gateway.SetGateway(s); ok && parent.Namespace == of.Namespace && parent.Name == of.Name {
				all = append(all, s)
			}
		}
	}
	return all
}

func (g *gatewayTenants) All() (keys []model.Object) {
	for key := range g.objects {
		if g.Object(key) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Object returns an object, but no ListenerSet or route that names no Gateway: sources do not
// give these.
func (g *gatewayTenants) Object(key model.Object) door.Version {
	o := g.objects[key]
	switch o := o.(type) {
	case nil:
		return nil
	case *gatewayv1.ListenerSet:
		parent, ok := gateway.SetGateway(o)
		if _, there := g.objects[parent]; !ok || !there {
			return nil
		}
	case *gatewayv1.HTTPRoute, *gatewayv1.GRPCRoute, *gatewayv1.TLSRoute, *gatewayv1.TCPRoute:
		if len(g.parents(key)) == 0 {
			return nil
		}
	}
	return o
}

// refsOf returns the parentRefs of a route.
func refsOf(o door.Version) []gatewayv1.ParentReference {
	switch r := o.(type) {
	case *gatewayv1.HTTPRoute:
		return r.Spec.ParentRefs
	case *gatewayv1.GRPCRoute:
		return r.Spec.ParentRefs
	case *gatewayv1.TLSRoute:
		return r.Spec.ParentRefs
	case *gatewayv1.TCPRoute:
		return r.Spec.ParentRefs
	}
	return nil
}

// parents returns what the parentRefs of a route name of the router's, one for each.
func (g *gatewayTenants) parents(key model.Object) (all []model.Object) {
	refs := refsOf(g.objects[key])
	for i := range refs {
		if p, ok := gateway.Parent(&refs[i], key.Namespace); ok && g.Object(p) != nil {
			all = append(all, p)
		}
	}
	return all
}

func (g *gatewayTenants) Joint(of *gatewayv1.Gateway) *gatewayapi.Joint {
	return gatewayapi.Join(of, g.setsOf(of), func(string) (map[string]string, bool) { return nil, true })
}

func (g *gatewayTenants) Grants(namespace string) []*gatewayv1.ReferenceGrant {
	return g.grants[namespace]
}

func (g *gatewayTenants) TLSPolicies(namespace string) (all []*gatewayv1.BackendTLSPolicy) {
	for _, o := range g.objects {
		if p, ok := o.(*gatewayv1.BackendTLSPolicy); ok && p.Namespace == namespace {
			all = append(all, p)
		}
	}
	return all
}

// Where a source does not implement this, the doors take it as one without Gateways.
var (
	_ door.Gateways = (*gatewayTenants)(nil)
	_ door.Gateways = gateways{}
)

// Slots gives the ports of all Gateways slots in order, as long as there are some.
func (g *gatewayTenants) Slots(of *gatewayv1.Gateway) map[gatewayapi.Port]int32 {
	next := map[string]int32{}
	for _, gw := range g.gateways() {
		slots, asked := map[gatewayapi.Port]int32{}, slices.Clone(gw.Spec.Listeners)
		sets := g.setsOf(gw)
		slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		for _, s := range sets {
			asked = append(asked, gatewayapi.SetEntries(s)...)
		}
		for _, l := range asked {
			block, known := gatewayapi.BlockFor(l.Protocol)
			port := block.Port(l.Port)
			if !known || slots[port] != 0 || next[block.Name] == block.Count {
				continue
			}
			slots[port] = block.First + next[block.Name]
			next[block.Name]++
		}
		if gw.UID == of.UID {
			return slots
		}
	}
	return nil
}

// Service has port 80, unless its name says that there is none.
func (*gatewayTenants) Service(key model.Object) *backend.Service {
	if key.Name == "none" {
		return nil
	}
	return backend.NewService(&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
}

// Secret has a certificate, unless its name says otherwise.
func (*gatewayTenants) Secret(key model.Object) (*corev1.Secret, error) {
	chain, private := listenerPair()
	switch key.Name {
	case "none":
		return nil, nil
	case "nonsense":
		chain = []byte("nonsense\n")
	}
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: private}}, nil
}

// ConfigMap has an authority, unless its name says otherwise.
func (*gatewayTenants) ConfigMap(key model.Object) (*policy.ConfigMap, error) {
	chain, _ := listenerPair()
	switch key.Name {
	case "none":
		return nil, nil
	case "nonsense":
		chain = []byte("nonsense\n")
	}
	return policy.NewConfigMap(&corev1.ConfigMap{Data: map[string]string{corev1.ServiceAccountRootCAKey: string(chain)}}), nil
}
