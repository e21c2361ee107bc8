package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// GatewayClass is the class of a rig's Gateways.
const GatewayClass = "fairlead"

// UseGateways gives the API server the kinds of the Gateway API, and makes a class. No
// operator runs in a rig: what it does for the routers, which is to give slots, does
// GiveSlots.
func (r *Rig) UseGateways(ctx context.Context) error {
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	if err := r.server.Apply(ctx, filepath.Join(root, "config", "gateway")); err != nil {
		return err
	}
	if _, err := r.server.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil {
		return err
	}
	return r.Create(ctx,
		&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: GatewayClass}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayapi.ControllerName}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperandNamespace, Name: gatewayapi.SlotsName(api.DefaultIngressController)}})
}

// CreateNamespaces creates namespaces.
func (r *Rig) CreateNamespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := r.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

// Gateway returns a Gateway that lets routes and ListenerSets of all namespaces attach.
func Gateway(name string, listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	all := gatewayv1.NamespacesFromAll
	for i := range listeners {
		listeners[i].AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}}
	}
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: GatewayClass, Listeners: listeners,
			AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &all}},
		},
	}
}

// Listener returns a listener of protocol HTTP, or HTTPS if certificates name Secrets. An
// empty hostname is any.
func Listener(name string, port int32, hostname string, certificates ...string) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: gatewayv1.HTTPProtocolType}
	if hostname != "" {
		h := gatewayv1.Hostname(hostname)
		l.Hostname = &h
	}
	if len(certificates) > 0 {
		l.Protocol, l.TLS = gatewayv1.HTTPSProtocolType, &gatewayv1.ListenerTLSConfig{}
		for _, c := range certificates {
			l.TLS.CertificateRefs = append(l.TLS.CertificateRefs, gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(c)})
		}
	}
	return l
}

// ListenerSet returns a ListenerSet of a Gateway of a rig.
func ListenerSet(namespace, name, gateway string, listeners ...gatewayv1.Listener) *gatewayv1.ListenerSet {
	in := gatewayv1.Namespace(Namespace)
	s := &gatewayv1.ListenerSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       gatewayv1.ListenerSetSpec{ParentRef: gatewayv1.ParentGatewayReference{Name: gatewayv1.ObjectName(gateway), Namespace: &in}},
	}
	for _, l := range listeners {
		s.Spec.Listeners = append(s.Spec.Listeners, gatewayv1.ListenerEntry(l))
	}
	return s
}

// CertificateSecret returns a Secret with a new certificate for a host, and its serial number.
func (r *Rig) CertificateSecret(namespace, name, host string) (*corev1.Secret, string, error) {
	cert, key, serial, err := r.CA.Issue(host)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte(cert), corev1.TLSPrivateKeyKey: []byte(key)},
	}, serial, err
}

// HTTPRoute returns a route for one host, attached to a Gateway of a rig.
func HTTPRoute(namespace, name, gateway, host string, rules ...gatewayv1.HTTPRouteRule) *gatewayv1.HTTPRoute {
	in := gatewayv1.Namespace(Namespace)
	return &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: gatewayv1.ObjectName(gateway), Namespace: &in}}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(host)},
			Rules:           rules,
		},
	}
}

// SetRoute returns a route for one host, attached to a ListenerSet of its namespace.
func SetRoute(namespace, name, set, host string, rules ...gatewayv1.HTTPRouteRule) *gatewayv1.HTTPRoute {
	r := HTTPRoute(namespace, name, set, host, rules...)
	kind := gatewayv1.Kind("ListenerSet")
	r.Spec.ParentRefs[0].Kind, r.Spec.ParentRefs[0].Namespace = &kind, nil
	return r
}

// PathRule returns a rule that sends what is below a path to port 80 of a Service.
func PathRule(path, service string) gatewayv1.HTTPRouteRule {
	kind, port := gatewayv1.PathMatchPathPrefix, gatewayv1.PortNumber(80)
	return gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &kind, Value: &path}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: &port},
		}}},
	}
}

// GiveSlots gives each port that a Gateway and ListenerSets of it ask for a slot of the
// protocol's block, the lowest that is free, and returns them by port. Ports that it asks for
// no more lose theirs. The Gateway must have been created.
func (r *Rig) GiveSlots(ctx context.Context, g *gatewayv1.Gateway, further ...gatewayv1.Listener) (map[int32]int, error) {
	r.slotsMu.Lock()
	defer r.slotsMu.Unlock()
	given, asked := map[int32]int{}, append(slices.Clone(g.Spec.Listeners), further...)
	maps.DeleteFunc(r.slots, func(slot int32, s gatewayapi.Slot) bool {
		if s.UID != g.UID {
			return false
		}
		keep := slices.ContainsFunc(asked, func(l gatewayv1.Listener) bool {
			block, _ := gatewayapi.BlockFor(l.Protocol)
			return l.Port == s.Port && block.Has(slot)
		})
		if keep {
			given[s.Port] = int(slot)
		}
		return !keep
	})
	for _, l := range asked {
		if given[l.Port] != 0 {
			continue
		}
		block, known := gatewayapi.BlockFor(l.Protocol)
		slot := block.First
		for ; block.Has(slot) && r.slots[slot].UID != ""; slot++ {
		}
		if !known || !block.Has(slot) {
			return nil, fmt.Errorf("give Gateway %s slots: none for port %d, %s", g.Name, l.Port, l.Protocol)
		}
		if r.slots == nil {
			r.slots = gatewayapi.Table{}
		}
		r.slots[slot] = gatewayapi.Slot{Namespace: g.Namespace, Name: g.Name, UID: g.UID, Port: l.Port}
		given[l.Port] = int(slot)
	}
	return given, r.writeSlots(ctx)
}

// FreeSlotsOf takes the slots of a Gateway that is gone away. The next one that asks gets the
// lowest that are free, at once.
func (r *Rig) FreeSlotsOf(ctx context.Context, gateway string) error {
	r.slotsMu.Lock()
	defer r.slotsMu.Unlock()
	maps.DeleteFunc(r.slots, func(_ int32, s gatewayapi.Slot) bool { return s.Name == gateway })
	return r.writeSlots(ctx)
}

// writeSlots writes the table for the routers. The caller holds slotsMu.
func (r *Rig) writeSlots(ctx context.Context) error {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperandNamespace, Name: gatewayapi.SlotsName(api.DefaultIngressController)},
		Data:       r.slots.Data(),
	}
	if err := r.Client.Update(ctx, m); err != nil {
		return fmt.Errorf("write the slots: %w", err)
	}
	return nil
}

// Delete deletes objects, of which only the names count.
func (r *Rig) Delete(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := r.Client.Delete(ctx, o); err != nil {
			return fmt.Errorf("delete %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// DeleteAll deletes all objects of a kind in a namespace.
func (r *Rig) DeleteAll(ctx context.Context, namespace string, kind client.Object) error {
	if err := r.Client.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("delete each %T in %s: %w", kind, namespace, err)
	}
	return nil
}

// Replace makes the fields of an object those of the one given, but for metadata and status.
func (r *Rig) Replace(ctx context.Context, o client.Object) error {
	text, err := json.Marshal(o)
	fields := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	for _, not := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(fields, not)
	}
	if err == nil {
		text, err = json.Marshal(fields)
	}
	if err != nil {
		return fmt.Errorf("replace %T %s: %w", o, o.GetName(), err)
	}
	return r.Patch(ctx, o, string(text))
}
