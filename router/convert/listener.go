package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Ports of listeners.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// maxListeners is the API's, of one Gateway or ListenerSet.
const maxListeners = 64

// Kinds of what listeners are in.
const (
	kindGateway     = "Gateway"
	kindListenerSet = "ListenerSet"
)

// listeners are those that the Routes of a namespace need.
type listeners struct {
	namespace string
	// whole are those of connections that are handed on: a port has either these or those
	// that end TLS, so they are of a Gateway of their own.
	whole bool
	all   []*listenerOf
	// parents are the objects that hold them, each up to maxListeners.
	parents []parent
}

// listenerOf is one of them.
type listenerOf struct {
	host     string
	protocol gatewayv1.ProtocolType
	// secret is what an HTTPS listener shows.
	secret *gatewayv1.SecretObjectReference
	from   string
}

// parent holds listeners.
type parent struct{ kind, name string }

func (l *listenerOf) port() gatewayv1.PortNumber {
	if l.protocol == gatewayv1.HTTPProtocolType {
		return portHTTP
	}
	return portHTTPS
}

func (l *listenerOf) name() gatewayv1.SectionName {
	return gatewayv1.SectionName(listenerName(map[gatewayv1.ProtocolType]string{
		gatewayv1.HTTPProtocolType: "http", gatewayv1.HTTPSProtocolType: "https", gatewayv1.TLSProtocolType: "tls",
	}[l.protocol], l.host))
}

// set returns the listeners of a namespace.
func (c *conversion) set(namespace string, whole bool) *listeners {
	key := namespace
	if whole {
		key += "/tls"
	}
	if c.sets[key] == nil {
		c.sets[key] = &listeners{namespace: namespace, whole: whole}
	}
	return c.sets[key]
}

// listen adds the listeners that a draft needs.
func (c *conversion) listen(d *draft) {
	whole := d.claim.Termination == model.Passthrough
	set := c.set(d.Route.Namespace, whole)
	hosts := []string{d.host}
	if d.alias != nil {
		hosts = append(hosts, d.alias.Host)
	}
	for _, host := range hosts {
		if d.plain() || d.redirects() {
			c.listener(set, d, host, gatewayv1.HTTPProtocolType)
		}
		switch {
		case whole:
			c.listener(set, d, host, gatewayv1.TLSProtocolType)
		case d.secure():
			c.listener(set, d, host, gatewayv1.HTTPSProtocolType)
		}
	}
	if whole {
		c.find(d.Source, api.SeverityInfo, "spec.tls.termination", api.ReasonConversionDiffers,
			"one port of a Gateway has listeners that hand connections on or such that end TLS, and not both", "its host has a Gateway, and an address, of its own; lead its name there")
	}
}

// listener adds a listener unless there is one. Its certificate is that of the oldest Route
// with one, as in the router.
func (c *conversion) listener(set *listeners, d *draft, host string, protocol gatewayv1.ProtocolType) {
	i := slices.IndexFunc(set.all, func(l *listenerOf) bool { return l.host == host && l.protocol == protocol })
	if i < 0 {
		i = len(set.all)
		set.all = append(set.all, &listenerOf{host: host, protocol: protocol, from: d.from()})
	}
	l := set.all[i]
	if protocol == gatewayv1.HTTPSProtocolType && l.secret == nil {
		l.secret = c.certificateOf(d)
	}
}

// certificateOf returns the Secret with the certificate of a Route, nil for none.
func (c *conversion) certificateOf(d *draft) *gatewayv1.SecretObjectReference {
	t := d.Route.Spec.TLS
	switch {
	case t == nil:
		return nil
	case t.ExternalCertificate != nil && t.ExternalCertificate.Name != "":
		return &gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(t.ExternalCertificate.Name)}
	case t.Certificate == "" || t.Key == "":
		return nil
	}
	name := c.name("Secret", d.Route.Namespace, d.Route.Name+"-route-tls")
	chain := t.Certificate
	if t.CACertificate != "" {
		chain += "\n" + t.CACertificate
	}
	if c.in.Keys {
		c.add(&corev1.Secret{
			ObjectMeta: meta(d.Route.Namespace, name, d.from()), Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: []byte(chain), corev1.TLSPrivateKeyKey: []byte(t.Key)},
		})
	} else {
		c.find(d.Source, api.SeverityWarning, "spec.tls.key", api.ReasonConversionNeeds,
			"it holds a private key, which is not part of the output", "handshakes fail until Secret "+name+" of type kubernetes.io/tls exists; create it, or convert with --with-keys")
	}
	return &gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(name)}
}

// settle names the objects that hold the listeners of a namespace, before routes refer to them.
func (c *conversion) settle(set *listeners) {
	if set.parents != nil {
		return
	}
	set.apartFromAny()
	slices.SortFunc(set.all, func(a, b *listenerOf) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.port(), b.port()))
	})
	wanted := "routes"
	if set.whole {
		wanted = "passthrough"
	}
	for n := 0; n*maxListeners < max(len(set.all), 1); n++ {
		kind := kindListenerSet
		if n == 0 && (set.whole || c.in.Gateway.Name == "") {
			kind = kindGateway
		}
		set.parents = append(set.parents, parent{kind, c.name(model.Kind(kind), set.namespace, numbered(wanted, n+1))})
	}
}

// apartFromAny gives each host a listener of each protocol for which there is one for any host:
// routes for any host are for those that no other route names.
func (s *listeners) apartFromAny() {
	for _, l := range slices.Clone(s.all) {
		if l.host != "" {
			continue
		}
		for _, o := range slices.Clone(s.all) {
			if !slices.ContainsFunc(s.all, func(has *listenerOf) bool { return has.host == o.host && has.protocol == l.protocol }) {
				s.all = append(s.all, &listenerOf{host: o.host, protocol: l.protocol, from: o.from})
			}
		}
	}
}

// maxParents is the API's.
const maxParents = 32

// refs returns the parents by which requests for a host come in. A wildcard host goes to the
// listeners of the hosts that it is for, too: a path that no route of a host has is the
// wildcard's. That is not so of any host, whose routes are for hosts that no other route names.
func (c *conversion) refs(set *listeners, host string, protocol gatewayv1.ProtocolType) (refs []gatewayv1.ParentReference) {
	c.settle(set)
	ports := map[string]bool{}
	var byPort []gatewayv1.ParentReference
	for i, l := range set.all {
		if l.protocol != protocol || l.host != host && (!strings.HasPrefix(host, "*.") || host != match.Wildcard(l.host)) {
			continue
		}
		ref := set.ref(i)
		if !ports[string(ref.Name)] {
			ports[string(ref.Name)] = true
			port, whole := l.port(), ref
			whole.Port, whole.SectionName = &port, nil
			byPort = append(byPort, whole)
		}
		refs = append(refs, ref)
	}
	if len(refs) > maxParents {
		return byPort
	}
	return refs
}

// covering returns the listener that requests for a host come in by which has none of its own.
func (c *conversion) covering(set *listeners, host string, protocol gatewayv1.ProtocolType) []gatewayv1.ParentReference {
	c.settle(set)
	for _, wanted := range []string{match.Wildcard(host), ""} {
		for i, l := range set.all {
			if l.protocol == protocol && l.host == wanted {
				return []gatewayv1.ParentReference{set.ref(i)}
			}
		}
	}
	return nil
}

// ref refers to a listener.
func (s *listeners) ref(i int) gatewayv1.ParentReference {
	p, section := s.parents[i/maxListeners], s.all[i].name()
	ref := gatewayv1.ParentReference{Name: gatewayv1.ObjectName(p.name), SectionName: &section}
	if p.kind != kindGateway {
		kind := gatewayv1.Kind(p.kind)
		ref.Kind = &kind
	}
	return ref
}

// writeListeners makes Gateways and ListenerSets.
func (c *conversion) writeListeners() {
	for _, key := range slices.Sorted(maps.Keys(c.sets)) {
		set := c.sets[key]
		c.settle(set)
		for n, p := range set.parents {
			own := set.all[n*maxListeners : min((n+1)*maxListeners, len(set.all))]
			if p.kind == kindGateway {
				c.add(c.gateway(set, p, own, len(set.parents) > 1))
			} else {
				c.add(c.listenerSet(set, p, own))
			}
		}
	}
}

func (c *conversion) gateway(set *listeners, p parent, own []*listenerOf, more bool) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: meta(set.namespace, p.name, "Routes of namespace "+set.namespace)}
	g.Spec.GatewayClassName = gatewayv1.ObjectName(c.in.Class)
	if more {
		same := gatewayv1.NamespacesFromSame
		g.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &same}}
	}
	for _, l := range own {
		host, tls := c.hostAndTLS(set, p, l)
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{Name: l.name(), Hostname: host, Port: l.port(), Protocol: l.protocol, TLS: tls})
	}
	return g
}

func (c *conversion) listenerSet(set *listeners, p parent, own []*listenerOf) *gatewayv1.ListenerSet {
	s := &gatewayv1.ListenerSet{ObjectMeta: meta(set.namespace, p.name, "Routes of namespace "+set.namespace)}
	of := c.in.Gateway
	if first := set.parents[0]; first.kind == kindGateway {
		of = model.Object{Namespace: set.namespace, Name: first.name}
	}
	s.Spec.ParentRef.Name = gatewayv1.ObjectName(of.Name)
	if of.Namespace != set.namespace {
		n := gatewayv1.Namespace(of.Namespace)
		s.Spec.ParentRef.Namespace = &n
	}
	for _, l := range own {
		host, tls := c.hostAndTLS(set, p, l)
		s.Spec.Listeners = append(s.Spec.Listeners, gatewayv1.ListenerEntry{Name: l.name(), Hostname: host, Port: l.port(), Protocol: l.protocol, TLS: tls})
	}
	return s
}

// hostAndTLS returns parts of a listener.
func (c *conversion) hostAndTLS(set *listeners, p parent, l *listenerOf) (host *gatewayv1.Hostname, tls *gatewayv1.ListenerTLSConfig) {
	if l.host != "" {
		h := gatewayv1.Hostname(l.host)
		host = &h
	}
	switch l.protocol {
	case gatewayv1.TLSProtocolType:
		mode := gatewayv1.TLSModePassthrough
		tls = &gatewayv1.ListenerTLSConfig{Mode: &mode}
	case gatewayv1.HTTPSProtocolType:
		secret := l.secret
		if secret == nil {
			secret = c.defaultSecret(set, p, l)
		}
		tls = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{*secret}}
	default:
	}
	return host, tls
}

// defaultSecret is that of a listener whose Routes have no certificate: the router's own is
// for Routes alone.
func (c *conversion) defaultSecret(set *listeners, p parent, l *listenerOf) *gatewayv1.SecretObjectReference {
	named := c.in.Certificate
	if named.Name == "" {
		name := shortened(string(l.name()) + "-tls")
		at := api.ObjectRef{Group: gatewayv1.GroupName, Kind: p.kind, Namespace: set.namespace, Name: p.name}
		c.out.Findings = append(c.out.Findings, api.Finding{
			Object: at, Field: "spec.listeners[" + string(l.name()) + "].tls.certificateRefs", Reason: api.ReasonConversionNeeds, Severity: api.SeverityWarning,
			Message: "its Routes show the router's default certificate, which Gateways do not have",
			Effect:  "handshakes fail until Secret " + name + " of type kubernetes.io/tls exists; create it, or name one with --certificate",
		})
		return &gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(name)}
	}
	ref := &gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(named.Name)}
	if named.Namespace != "" && named.Namespace != set.namespace {
		n := gatewayv1.Namespace(named.Namespace)
		ref.Namespace = &n
		c.grant(named, p.kind, set.namespace)
	}
	return ref
}

// grant lets listeners of a namespace show a Secret of another one.
func (c *conversion) grant(secret model.Object, kind, namespace string) {
	wanted := "converted-" + namespace
	key := model.Object{Kind: "ReferenceGrant", Namespace: secret.Namespace, Name: wanted + "/" + kind}
	if c.names[key] {
		return
	}
	c.names[key] = true
	g := &gatewayv1.ReferenceGrant{ObjectMeta: meta(secret.Namespace, c.name("ReferenceGrant", secret.Namespace, wanted), "Routes of namespace "+namespace)}
	name := gatewayv1.ObjectName(secret.Name)
	g.Spec.From = []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: gatewayv1.Kind(kind), Namespace: gatewayv1.Namespace(namespace)}}
	g.Spec.To = []gatewayv1.ReferenceGrantTo{{Kind: "Secret", Name: &name}}
	c.add(g)
}
