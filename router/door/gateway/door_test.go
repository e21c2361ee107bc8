package gateway_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// cluster is a source of the objects that manifests describe.
type cluster struct {
	objects    map[model.Object]door.Version
	services   map[model.Object]*backend.Service
	slices     map[model.Object][]*backend.Slice
	grants     map[string][]*gatewayv1.ReferenceGrant
	namespaces map[string]*policy.Namespace
	slots      map[int32]int32
	// full is the block of which no slot is left for a namespace, "H of ns".
	full       string
	configMaps map[string]*policy.ConfigMap
	policies   map[string][]*policy.Object
}

// newCluster reads manifests. Each Service has two endpoints, unless its name is "empty".
func newCluster(t testing.TB, manifests string) *cluster {
	t.Helper()
	c := &cluster{
		objects: map[model.Object]door.Version{}, services: map[model.Object]*backend.Service{}, slices: map[model.Object][]*backend.Slice{},
		grants: map[string][]*gatewayv1.ReferenceGrant{}, namespaces: map[string]*policy.Namespace{},
		slots: map[int32]int32{80: 20000, 8080: 20001}, configMaps: map[string]*policy.ConfigMap{}, policies: map[string][]*policy.Object{},
	}
	for text := range strings.SplitSeq(manifests, "\n---\n") {
		var head struct{ Kind string }
		read(t, text, &head)
		switch head.Kind {
		case "Gateway":
			g := &gatewayv1.Gateway{}
			read(t, text, g)
			c.objects[model.Object{Kind: gateway.KindGateway, Namespace: g.Namespace, Name: g.Name}] = g
		case "ListenerSet":
			s := &gatewayv1.ListenerSet{}
			read(t, text, s)
			c.objects[model.Object{Kind: gateway.KindListenerSet, Namespace: s.Namespace, Name: s.Name}] = s
		case "HTTPRoute":
			r := &gatewayv1.HTTPRoute{}
			read(t, text, r)
			c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: r.Namespace, Name: r.Name}] = r
		case "GRPCRoute":
			r := &gatewayv1.GRPCRoute{}
			read(t, text, r)
			c.objects[model.Object{Kind: gateway.KindGRPCRoute, Namespace: r.Namespace, Name: r.Name}] = r
		case "TLSRoute":
			r := &gatewayv1.TLSRoute{}
			read(t, text, r)
			c.objects[model.Object{Kind: gateway.KindTLSRoute, Namespace: r.Namespace, Name: r.Name}] = r
		case "TCPRoute":
			r := &gatewayv1.TCPRoute{}
			read(t, text, r)
			c.objects[model.Object{Kind: gateway.KindTCPRoute, Namespace: r.Namespace, Name: r.Name}] = r
		case "UDPRoute":
			r := &gatewayv1.UDPRoute{}
			read(t, text, r)
			c.objects[model.Object{Kind: gateway.KindUDPRoute, Namespace: r.Namespace, Name: r.Name}] = r
		case "ReferenceGrant":
			g := &gatewayv1.ReferenceGrant{}
			read(t, text, g)
			c.grants[g.Namespace] = append(c.grants[g.Namespace], g)
		case "BackendTLSPolicy":
			p := &gatewayv1.BackendTLSPolicy{}
			read(t, text, p)
			c.objects[model.Object{Kind: gateway.KindBackendTLSPolicy, Namespace: p.Namespace, Name: p.Name}] = p
		case "ConfigMap":
			m := &corev1.ConfigMap{}
			read(t, text, m)
			c.configMaps[m.Name] = policy.NewConfigMap(m)
		case "RoutePolicy":
			p := &v1alpha1.RoutePolicy{}
			read(t, text, p)
			c.policies[p.Namespace] = append(c.policies[p.Namespace], policy.ReadRoutePolicy(p))
		case "ClusterRoutePolicy":
			p := &v1alpha1.ClusterRoutePolicy{}
			read(t, text, p)
			c.policies[""] = append(c.policies[""], policy.ReadClusterRoutePolicy(p))
		case "Namespace":
			n := &corev1.Namespace{}
			read(t, text, n)
			c.namespaces[n.Name] = policy.NewNamespace(n.Labels, n.Annotations)
		case "Service":
			s := &corev1.Service{}
			read(t, text, s)
			c.service(s)
		default:
			t.Fatalf("manifest of kind %q", head.Kind)
		}
	}
	return c
}

func (c *cluster) service(s *corev1.Service) {
	key := model.Object{Kind: door.KindService, Namespace: s.Namespace, Name: s.Name}
	c.services[key] = backend.NewService(s)
	if s.Name == "empty" {
		return
	}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}}, {Addresses: []string{"198.18.0.2"}}}}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: s.Name}
	for i := range s.Spec.Ports {
		port := int32(8080 + i)
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &s.Spec.Ports[i].Name, Port: &port, Protocol: &s.Spec.Ports[i].Protocol})
	}
	c.slices[key] = []*backend.Slice{backend.NewSlice(slice)}
}

func read(t testing.TB, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func (c *cluster) All() (keys []model.Object) {
	for key := range c.objects {
		keys = append(keys, key)
	}
	return keys
}
func (c *cluster) Object(key model.Object) door.Version        { return c.objects[key] }
func (c *cluster) Service(key model.Object) *backend.Service   { return c.services[key] }
func (c *cluster) Slices(key model.Object) []*backend.Slice    { return c.slices[key] }
func (c *cluster) Secret(model.Object) (*corev1.Secret, error) { return nil, nil }
func (c *cluster) ConfigMap(k model.Object) (*policy.ConfigMap, error) {
	return c.configMaps[k.Name], nil
}

func (c *cluster) Policies(namespace string) *policy.Set {
	return policy.NewSet(c.policies[namespace])
}
func (c *cluster) Namespace(name string) *policy.Namespace             { return c.namespaces[name] }
func (c *cluster) AllPolicies() []model.Object                         { return nil }
func (c *cluster) Grants(namespace string) []*gatewayv1.ReferenceGrant { return c.grants[namespace] }

func (c *cluster) Slots(*gatewayv1.Gateway) map[gatewayapi.Port]int32 {
	slots := map[gatewayapi.Port]int32{{Number: 53, UDP: true}: 24000}
	for number, podPort := range c.slots {
		slots[gatewayapi.Port{Number: number}] = podPort
	}
	return slots
}

func (c *cluster) TLSPolicies(namespace string) (all []*gatewayv1.BackendTLSPolicy) {
	for key, o := range c.objects {
		if p, ok := o.(*gatewayv1.BackendTLSPolicy); ok && key.Namespace == namespace {
			all = append(all, p)
		}
	}
	return all
}

// grpcRoute ingests the GRPCRoute of that name.
func (c *cluster) grpcRoute(t testing.TB, namespace, name string) *door.Result {
	t.Helper()
	v := c.objects[model.Object{Kind: gateway.KindGRPCRoute, Namespace: namespace, Name: name}]
	if v == nil {
		t.Fatalf("no GRPCRoute %s/%s", namespace, name)
	}
	return gateway.GRPCRoutes{}.Ingest(v, c, door.Settings{Agent: true}, door.Past{})
}

func (c *cluster) SlotsFull(b gatewayapi.Block, namespace string) bool {
	return c.full == b.Name+" of "+namespace
}

func (c *cluster) Joint(g *gatewayv1.Gateway) *gatewayapi.Joint {
	var sets []*gatewayv1.ListenerSet
	for _, o := range c.objects {
		if s, ok := o.(*gatewayv1.ListenerSet); ok {
			if parent, _ := gateway.SetGateway(s); parent.Namespace == g.Namespace && parent.Name == g.Name {
				sets = append(sets, s)
			}
		}
	}
	return gatewayapi.Join(g, sets, func(namespace string) (map[string]string, bool) {
		n := c.namespaces[namespace]
		if n == nil {
			return nil, false
		}
		return n.Labels, true
	})
}

// route ingests the HTTPRoute of that name.
func (c *cluster) route(t testing.TB, namespace, name string) *door.Result {
	t.Helper()
	v := c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: namespace, Name: name}]
	if v == nil {
		t.Fatalf("no HTTPRoute %s/%s", namespace, name)
	}
	return gateway.HTTPRoutes{}.Ingest(v, c, door.Settings{}, door.Past{})
}

// condition returns "True" or "False" with the reason of a condition of a parent.
func condition(conditions []model.StatusCondition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind && c.True {
			return "True " + c.Reason
		} else if c.Type == kind {
			return "False " + c.Reason
		}
	}
	return ""
}

const web = `
kind: Service
metadata: {namespace: ns, name: web}
spec: {ports: [{name: http, port: 80}, {name: admin, port: 81}]}
---
kind: Service
metadata: {namespace: ns, name: next}
spec: {ports: [{port: 8080}]}
---
kind: Service
metadata: {namespace: ns, name: empty}
spec: {ports: [{port: 8080}]}
---
kind: Service
metadata: {namespace: ns, name: tls}
spec: {ports: [{port: 443, appProtocol: https}, {name: h2c, port: 80, appProtocol: kubernetes.io/h2c}]}
---
kind: Service
metadata: {namespace: ns, name: grpc}
spec: {ports: [{port: 80, appProtocol: grpc}, {name: ws, port: 81, appProtocol: kubernetes.io/ws}]}
---
kind: Service
metadata: {namespace: other, name: web}
spec: {ports: [{port: 80}]}
`

const plainGateway = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: http, port: 80, protocol: HTTP}]}
`

func manifests(parts ...string) string {
	for i := range parts {
		parts[i] = strings.Trim(parts[i], "\n")
	}
	return strings.Join(parts, "\n---\n")
}

// rule makes an HTTPRoute with one rule, in namespace ns and attached to Gateway gw.
func rule(text string) string {
	return "kind: HTTPRoute\nmetadata: {namespace: ns, name: r, uid: u}\nspec:\n  parentRefs: [{name: gw}]\n  rules:\n  - " +
		strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n    ")
}
