package cases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/model"
)

// The ports of Gateway n are these and n more.
const (
	mixedPort, httpsPort, tcpPort, udpPort, basePort = 4430, 8440, 9000, 5300, 9900
)

// worldPods are the Services, each with one pod; "none" has no pod, and "missing" is none.
var worldPods = []string{"p0", "p1", "p2", "p3", "p4", "p5"}

var (
	worldNamespaces = []string{"ga", "gb", "gt"}
	worldHosts      = []string{
		"", "*.test", "*.s.test", "*.a.s.test", "*.b.a.s.test", "a.s.test", "b.a.s.test", "s.test", "*.net", "x.net",
		"", "*.test", "*.s.test", "*.a.s.test", "a.s.test", "b.a.s.test", // more often than the next
		"*.2.3.4.5.6.s.test", "*.1.2.3.4.5.6.s.test",
	}
	worldNames = []string{"a.s.test", "A.s.Test", "b.a.s.test", "c.b.a.s.test", "d.c.b.a.s.test", "x.s.test", "s.test", "test", "x.net", "y.x.net", "other", "1.2.3.4.5.6.s.test", "0.1.2.3.4.5.6.7.8.s.test"}
	worldPaths = []string{"/", "/a", "/a/b"}
)

// worldDice makes a world, and changes it.
type worldDice struct{ *rand.Rand }

func (d worldDice) of(list ...string) string { return list[d.IntN(len(list))] }

// roll replaces one object, or none; begin makes all.
func (d worldDice) roll(w *world, kind string, n int) {
	switch name := fmt.Sprint(strings.ToLower(kind[:1]), n); kind {
	case "Gateway":
		d.gateway(w.gateways[n], n)
	case "ListenerSet":
		w.sets = replaced(w.sets, func(s *worldSet) bool { return s.name == name }, d.set(w, name))
	default:
		w.routes = replaced(w.routes, func(r *worldRoute) bool { return r.kind == kind && r.name == name }, d.route(w, kind, name))
	}
}

// replaced returns a list with another element in the place of one, or without it for nil.
func replaced[T any](list []*T, is func(*T) bool, by *T) (out []*T) {
	for _, o := range list {
		if !is(o) {
			out = append(out, o)
		}
	}
	if by != nil {
		out = append(out, by)
	}
	return out
}

// worldKinds are how many objects there may be.
var worldKinds = []struct {
	kind  string
	count int
}{{"Gateway", 2}, {"ListenerSet", 4}, {"TLSRoute", 10}, {"HTTPRoute", 10}, {"TCPRoute", 4}, {"UDPRoute", 4}}

func (d worldDice) begin() *world {
	w := &world{}
	for n := range 2 {
		w.gateways = append(w.gateways, &worldGateway{ns: worldNamespaces[n], name: "gw"})
	}
	for _, k := range worldKinds {
		for n := range k.count {
			d.roll(w, k.kind, n)
		}
	}
	return w
}

func (d worldDice) change(w *world) {
	for range 1 + d.IntN(6) {
		k := worldKinds[d.IntN(len(worldKinds))]
		d.roll(w, k.kind, d.IntN(k.count))
	}
}

func (d worldDice) gateway(g *worldGateway, n int) {
	g.sets, g.listeners = d.of("All", "All", "All", "Same", "None"), nil
	for i := range 3 + d.IntN(4) {
		g.listeners = d.another(g.listeners, i, n)
	}
	if d.IntN(8) > 0 { // else there may be no listener that can be served
		g.listeners = append(g.listeners, worldListener{name: "base", protocol: worldTCP, port: basePort + int32(n)})
	}
}

// another adds a listener, seldom one that is in conflict with those that there are.
func (d worldDice) another(all []worldListener, i, n int) []worldListener {
	for {
		l := d.listener(i, n)
		if d.IntN(20) == 0 || !slices.ContainsFunc(all, func(o worldListener) bool { return o.conflicts(&l) }) {
			return append(all, l)
		}
	}
}

func (d worldDice) listener(i, n int) worldListener {
	l := worldListener{name: fmt.Sprint("l", i), all: d.IntN(3) > 0}
	switch d.IntN(9) {
	case 0:
		l.protocol, l.port = worldTCP, tcpPort+int32(n)
	case 1:
		l.protocol, l.port = worldUDP, []int32{udpPort, tcpPort}[d.IntN(2)]+int32(n)
	case 2, 3:
		l.protocol, l.port = worldHTTPS, httpsPort+int32(n)
	case 4:
		l.protocol, l.port = worldHTTPS, mixedPort+int32(n)
	case 5, 6:
		l.protocol, l.port = worldPass, mixedPort+int32(n)
	default:
		l.protocol, l.port = worldEnd, mixedPort+int32(n)
	}
	if d.IntN(99) == 0 { // which is in conflict with what is usual there
		l.protocol, l.port = worldTCP, mixedPort+int32(n)
	}
	if l.group() == "TLS" {
		l.host, l.lacking = d.of(worldHosts...), l.protocol != worldPass && d.IntN(10) == 0
	}
	return l
}

func (d worldDice) set(w *world, name string) *worldSet {
	if d.IntN(6) == 0 {
		return nil
	}
	n := d.IntN(2)
	s := &worldSet{ns: worldNamespaces[(int(name[1])-'0')%3], name: name, created: d.IntN(3), of: w.gateways[n]}
	for i := range 1 + d.IntN(3) {
		s.listeners = d.another(s.listeners, i, n)
	}
	return s
}

func (d worldDice) route(w *world, kind, name string) *worldRoute {
	if d.IntN(12) == 0 {
		return nil
	}
	r := &worldRoute{kind: kind, ns: worldNamespaces[(int(name[1])-'0')%3], name: name, created: d.IntN(3)}
	for range 1 + d.IntN(4) {
		g := d.IntN(2)
		p := worldParent{kind: "Gateway", ns: w.gateways[g].ns, name: "gw"}
		if len(w.sets) > 0 && d.IntN(3) == 0 {
			s := w.sets[d.IntN(len(w.sets))]
			p.kind, p.ns, p.name = "ListenerSet", s.ns, s.name
		}
		if d.IntN(5) == 0 {
			p.section = fmt.Sprint("l", d.IntN(4))
		}
		if d.IntN(9) == 0 {
			p.port = []int32{mixedPort, httpsPort, tcpPort, udpPort}[d.IntN(4)] + int32(g)
		}
		r.parents = append(r.parents, p)
	}
	for range 1 + d.IntN(3) {
		if host := d.of(worldHosts...); (kind == "TLSRoute" || kind == "HTTPRoute") && host != "" {
			r.hosts = append(r.hosts, host)
		}
	}
	if kind == "TLSRoute" && len(r.hosts) == 0 { // the API demands one
		r.hosts = []string{"*.test"}
	}
	if r.path = ""; kind == "HTTPRoute" {
		r.path = d.of(worldPaths...)
	}
	for range 1 + d.IntN(4)/3 {
		ref := worldRef{service: d.of(append(worldPods, worldPods...)...), weight: 1}
		switch d.IntN(8) {
		case 0:
			ref.service = "missing"
		case 1:
			ref.service = "none"
		case 2:
			ref.weight = 0
		}
		r.refs = append(r.refs, ref)
	}
	return r
}

// name returns one that may be asked for at a port: often one that fits what there is.
func (d worldDice) name(w *world, at []*joined) string {
	if len(at) == 0 || d.IntN(4) == 0 {
		return d.of(worldNames...)
	}
	j := at[d.IntN(len(at))]
	host := j.host
	for _, r := range w.routes {
		if len(r.hosts) > 0 && r.attached(j) && d.IntN(2) == 0 {
			host = r.hosts[d.IntN(len(r.hosts))]
		}
	}
	if base, wild := strings.CutPrefix(host, "*"); wild {
		return d.of("a", "b", "x", "c.b") + base
	}
	return cmp.Or(host, d.of(worldNames...))
}

// sounding returns something to send to a port of Gateway n, most often to one with listeners.
func (d worldDice) sounding(w *world, n int) *sounding {
	p := &sounding{path: d.of("/", "/a", "/a/b", "/ab")}
	var at []*joined
	for range 5 {
		switch p.udp = false; d.IntN(10) {
		case 0:
			p.port = tcpPort
		case 1:
			p.port, p.udp = []int32{udpPort, tcpPort}[d.IntN(2)], true
		case 2, 3, 4:
			p.port = httpsPort
		default:
			p.port = mixedPort
		}
		p.port += int32(n)
		at = slices.DeleteFunc(w.listeners(w.gateways[n]), func(j *joined) bool { return j.port != p.port || (j.protocol == worldUDP) != p.udp })
		if len(at) > 0 {
			break
		}
	}
	if p.secure = p.port != tcpPort+int32(n) && !p.udp; !p.secure {
		return p
	}
	p.sni = d.name(w, at)
	switch p.host = p.sni; d.IntN(8) {
	case 0:
		p.host = d.name(w, at)
	case 1:
		p.sni = ""
	case 2:
		p.host += ":443"
	case 3:
		p.host += "."
	}
	return p
}

// specs returns listeners of the API.
func (d worldDice) specs(owner string, all []worldListener) (out []gatewayv1.Listener) {
	for i := range all {
		l := &all[i]
		from := gatewayv1.NamespacesFromSame
		if l.all {
			from = gatewayv1.NamespacesFromAll
		}
		spec := gatewayv1.Listener{
			Name: gatewayv1.SectionName(l.name), Port: gatewayv1.PortNumber(l.port), Protocol: gatewayv1.ProtocolType(strings.SplitN(string(l.protocol), ",", 2)[0]),
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}},
		}
		if l.host != "" {
			spec.Hostname = new(gatewayv1.Hostname(l.host))
		}
		switch l.protocol {
		case worldPass:
			spec.TLS = &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}
		case worldHTTPS, worldEnd:
			secret := owner + "-" + l.name
			if l.lacking {
				secret = "missing"
			}
			spec.TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: gatewayv1.ObjectName(secret)}}}
		case worldTCP, worldUDP:
		}
		out = append(out, spec)
	}
	return out
}

func worldMeta(kind, ns, name string, created int) metav1.ObjectMeta {
	at := time.Date(2026, 1, 1+created, 0, 0, 0, 0, time.UTC)
	return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID(fmt.Sprint(kind, ns, name, created)), CreationTimestamp: metav1.NewTime(at)}
}

// objects returns those of the API.
func (d worldDice) objects(w *world) (all []metav1.Object) {
	for _, g := range w.gateways {
		from := gatewayv1.FromNamespaces(g.sets)
		all = append(all, &gatewayv1.Gateway{ObjectMeta: worldMeta("Gateway", g.ns, g.name, 0), Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "fairlead", Listeners: d.specs(g.name, g.listeners),
			AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &from}},
		}})
	}
	for _, s := range w.sets {
		set := &gatewayv1.ListenerSet{ObjectMeta: worldMeta("ListenerSet", s.ns, s.name, s.created)}
		set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: gatewayv1.ObjectName(s.of.name), Namespace: new(gatewayv1.Namespace(s.of.ns))}
		for _, l := range d.specs(s.name, s.listeners) {
			set.Spec.Listeners = append(set.Spec.Listeners, gatewayv1.ListenerEntry(l))
		}
		all = append(all, set)
	}
	for _, r := range w.routes {
		all = append(all, r.object())
	}
	return all
}

func (r *worldRoute) object() metav1.Object {
	meta := worldMeta(r.kind, r.ns, r.name, r.created)
	var common gatewayv1.CommonRouteSpec
	for _, p := range r.parents {
		ref := gatewayv1.ParentReference{Kind: new(gatewayv1.Kind(p.kind)), Namespace: new(gatewayv1.Namespace(p.ns)), Name: gatewayv1.ObjectName(p.name)}
		if p.section != "" {
			ref.SectionName = new(gatewayv1.SectionName(p.section))
		}
		if p.port != 0 {
			ref.Port = new(gatewayv1.PortNumber(p.port))
		}
		common.ParentRefs = append(common.ParentRefs, ref)
	}
	var hosts []gatewayv1.Hostname
	for _, h := range r.hosts {
		hosts = append(hosts, gatewayv1.Hostname(h))
	}
	var refs []gatewayv1.BackendRef
	var ofHTTP []gatewayv1.HTTPBackendRef
	for _, ref := range r.refs {
		to := gatewayv1.BackendRef{Weight: new(ref.weight)}
		to.Name, to.Port = gatewayv1.ObjectName(ref.service), new(gatewayv1.PortNumber(80))
		refs, ofHTTP = append(refs, to), append(ofHTTP, gatewayv1.HTTPBackendRef{BackendRef: to})
	}
	switch r.kind {
	case "TLSRoute":
		return &gatewayv1.TLSRoute{ObjectMeta: meta, Spec: gatewayv1.TLSRouteSpec{CommonRouteSpec: common, Hostnames: hosts, Rules: []gatewayv1.TLSRouteRule{{BackendRefs: refs}}}}
	case "TCPRoute":
		return &gatewayv1.TCPRoute{ObjectMeta: meta, Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: common, Rules: []gatewayv1.TCPRouteRule{{BackendRefs: refs}}}}
	case "UDPRoute":
		return &gatewayv1.UDPRoute{ObjectMeta: meta, Spec: gatewayv1.UDPRouteSpec{CommonRouteSpec: common, Rules: []gatewayv1.UDPRouteRule{{BackendRefs: refs}}}}
	}
	match := gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: new(r.path)}}
	return &gatewayv1.HTTPRoute{ObjectMeta: meta, Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: common, Hostnames: hosts, Rules: []gatewayv1.HTTPRouteRule{{Matches: []gatewayv1.HTTPRouteMatch{match}, BackendRefs: ofHTTP}}}}
}

// keys returns the names of objects.
func keys(all []metav1.Object) map[model.Object]metav1.Object {
	out := map[model.Object]metav1.Object{}
	for _, o := range all {
		var kind string
		switch o.(type) {
		case *gatewayv1.Gateway:
			kind = "Gateway"
		case *gatewayv1.ListenerSet:
			kind = "ListenerSet"
		case *gatewayv1.TLSRoute:
			kind = "TLSRoute"
		case *gatewayv1.TCPRoute:
			kind = "TCPRoute"
		case *gatewayv1.UDPRoute:
			kind = "UDPRoute"
		case *gatewayv1.HTTPRoute:
			kind = "HTTPRoute"
		}
		out[objectOf(model.Kind(kind), o)] = o
	}
	return out
}
