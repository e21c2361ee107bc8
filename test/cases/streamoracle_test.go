package cases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What follows decides connections and requests to Gateways as the Gateway API and the
// documentation have it, without any package of the router: TestRandomStreams compares HAProxy,
// the tables and explain with it.

// world is what there is of the Gateway API.
type world struct {
	gateways []*worldGateway
	sets     []*worldSet
	routes   []*worldRoute
}

// worldProtocol is that of a listener. Those of TLS end it or do not.
type worldProtocol string

const (
	worldHTTPS worldProtocol = "HTTPS"
	worldPass  worldProtocol = "TLS, Passthrough"
	worldEnd   worldProtocol = "TLS, Terminate"
	worldTCP   worldProtocol = "TCP"
	worldUDP   worldProtocol = "UDP"
)

type worldListener struct {
	name     string
	protocol worldProtocol
	port     int32
	host     string // empty for any
	// all lets routes of all namespaces attach; else those of the owner's.
	all bool
	// lacking says that its Secret does not exist.
	lacking bool
}

type worldGateway struct {
	ns, name string
	// sets is which namespaces may have ListenerSets: "All", "Same" or "None".
	sets      string
	listeners []worldListener
}

type worldSet struct {
	ns, name  string
	created   int
	of        *worldGateway
	listeners []worldListener
}

type worldRef struct {
	service string
	weight  int32
}

type worldParent struct {
	kind, ns, name, section string
	port                    int32
}

type worldRoute struct {
	kind, ns, name string
	created        int
	hosts          []string
	path           string // of HTTPRoutes
	parents        []worldParent
	refs           []worldRef
}

// joined is a listener with the object that has it.
type joined struct {
	*worldListener
	kind, ns, owner string
	// accepted ones have no conflict, and served ones a certificate if they need one.
	accepted, served bool
}

// sounding is what a client sends.
type sounding struct {
	port int32
	udp  bool
	// secure clients speak TLS. The empty server name is none.
	secure     bool
	sni        string
	host, path string
}

// outcome is what a client gets: from the router or a pod, over TLS with a certificate's common
// name. The zero outcome is a connection that is closed, or no answer.
type outcome struct {
	status    int
	pod, cert string
}

// group is what listeners of a port must have in common.
func (l *worldListener) group() string {
	switch l.protocol {
	case worldTCP, worldUDP:
		return string(l.protocol)
	case worldHTTPS, worldPass, worldEnd:
	}
	return "TLS"
}

// conflicts reports whether two listeners cannot both be served.
func (l *worldListener) conflicts(o *worldListener) bool {
	a, b := l.group(), o.group()
	switch {
	case l.port != o.port, a == "UDP" != (b == "UDP"):
		return false
	case a != b, a != "TLS":
		return true
	}
	return l.host == o.host
}

// usable reports whether a hostname has no more labels behind a wildcard than are served.
func usable(host string) bool {
	return !strings.HasPrefix(host, "*.") || strings.Count(host, ".") <= 7
}

// listeners returns those of a Gateway and of the ListenerSets that it lets in.
func (w *world) listeners(g *worldGateway) (all []*joined) {
	for i := range g.listeners {
		l := &g.listeners[i]
		alone := !slices.ContainsFunc(g.listeners, func(o worldListener) bool { return o.name != l.name && l.conflicts(&o) })
		all = append(all, &joined{worldListener: l, kind: "Gateway", ns: g.ns, owner: g.name, accepted: alone && usable(l.host)})
	}
	before := slices.Clone(all) // what they ask for no ListenerSet gets
	if !slices.ContainsFunc(all, func(j *joined) bool { return j.accepted }) {
		return serving(all)
	}
	sets := slices.Clone(w.sets)
	slices.SortFunc(sets, func(a, b *worldSet) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.ns+"/"+a.name, b.ns+"/"+b.name))
	})
	for _, s := range sets {
		if s.of != g || g.sets == "None" || g.sets == "Same" && s.ns != g.ns {
			continue
		}
		for i := range s.listeners {
			l := &s.listeners[i]
			j := &joined{worldListener: l, kind: "ListenerSet", ns: s.ns, owner: s.name, accepted: usable(l.host)}
			if slices.ContainsFunc(before, func(o *joined) bool { return l.conflicts(o.worldListener) }) {
				j.accepted = false
			}
			if all = append(all, j); j.accepted {
				before = append(before, j)
			}
		}
	}
	return serving(all)
}

func serving(all []*joined) []*joined {
	for _, j := range all {
		j.served = j.accepted && !j.lacking
	}
	return all
}

// covers says how well a hostname fits a name: the name itself best, then the longest wildcard,
// then none at all; 0 if it does not.
func covers(host, name string) int {
	switch {
	case host == "":
		return 1
	case host == name:
		return 1 << 20
	case strings.HasPrefix(host, "*.") && strings.HasSuffix(name, host[1:]) && name != host[1:]:
		return 1 + len(host)
	}
	return 0
}

// meets reports whether a name can fit both hostnames.
func meets(a, b string) bool {
	inner := func(outer, inner string) bool {
		return strings.HasPrefix(outer, "*.") && strings.HasSuffix(inner, outer[1:])
	}
	return a == "" || b == "" || a == b || inner(a, b) || inner(b, a)
}

// ownerOf returns the listener of a port that has a name, nil for none.
func ownerOf(all []*joined, port int32, name string) (best *joined) {
	for _, j := range all {
		if j.port != port || !j.served || j.group() != "TLS" {
			continue
		}
		if n := covers(j.host, name); n > 0 && (best == nil || n > covers(best.host, name)) {
			best = j
		}
	}
	return best
}

// reach says what comes in by a listener for a hostname of a route, as why writes it, with a name
// that such a client may send; nothing does if another listener has it.
func (w *world) reach(all []*joined, j *joined, host string) (url, name string, comes bool) {
	switch j.protocol {
	case worldTCP:
		return fmt.Sprint("connections to port ", j.port), "", true
	case worldUDP:
		return fmt.Sprint("datagrams to port ", j.port), "", true
	case worldHTTPS, worldPass, worldEnd:
	}
	if !meets(j.host, host) {
		return "", "", false
	}
	if host == "" || strings.HasPrefix(host, "*.") && strings.HasSuffix(j.host, host[1:]) {
		host = j.host // which is narrower
	}
	name = strings.Replace(host, "*", "any-host", 1)
	url = fmt.Sprintf("connections to port %d, server name %s", j.port, host)
	return url, name, ownerOf(all, j.port, name) == j
}

// attached reports whether a route comes in by a listener.
func (r *worldRoute) attached(j *joined) bool {
	kind := map[worldProtocol]string{worldHTTPS: "HTTPRoute", worldPass: "TLSRoute", worldEnd: "TLSRoute", worldTCP: "TCPRoute", worldUDP: "UDPRoute"}[j.protocol]
	if r.kind != kind || !j.all && r.ns != j.ns || slices.ContainsFunc(r.hosts, func(h string) bool { return !usable(h) }) {
		return false
	}
	return slices.ContainsFunc(r.parents, func(p worldParent) bool {
		return p.kind == j.kind && p.ns == j.ns && p.name == j.owner && (p.section == "" || p.section == j.name) && (p.port == 0 || p.port == j.port)
	})
}

// fit says how well the hostnames of a route that fit a listener's fit a name.
func (r *worldRoute) fit(j *joined, name string) (best int) {
	for _, h := range r.names() {
		if meets(j.host, h) {
			best = max(best, covers(h, name))
		}
	}
	return best
}

func (r *worldRoute) names() []string {
	if len(r.hosts) == 0 {
		return []string{""}
	}
	return r.hosts
}

// below reports whether a path is one, or below it.
func below(path, prefix string) bool {
	return prefix == "/" || path == prefix || strings.HasPrefix(path, prefix+"/")
}

// route returns the route of a listener that has a name and path, nil for none.
func (w *world) route(j *joined, name, path string) (best *worldRoute) {
	before := func(a, b *worldRoute) int {
		return cmp.Or(-cmp.Compare(a.fit(j, name), b.fit(j, name)), -cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.created, b.created), strings.Compare(a.ns+"/"+a.name, b.ns+"/"+b.name))
	}
	for _, r := range w.routes {
		if !r.attached(j) || r.fit(j, name) == 0 || r.kind == "HTTPRoute" && !below(path, r.path) {
			continue
		}
		if best == nil || before(r, best) < 0 {
			best = r
		}
	}
	return best
}

// targets returns the pods that a route may lead to, and with which statuses the router answers
// what it leads to no pod: 0 closes the connection.
func (r *worldRoute) targets() (pods []string, own []int) {
	total := int32(0)
	for _, ref := range r.refs {
		switch total += ref.weight; {
		case ref.weight == 0:
		case ref.service == "missing":
			own = append(own, 500)
		case ref.service == "none":
			own = append(own, 503)
		default:
			pods = append(pods, ref.service)
		}
	}
	if total == 0 {
		own = []int{503}
	}
	return pods, own
}

// handed returns what clients get of connections that are handed on, over TLS with a certificate
// of the router if there is one.
func (r *worldRoute) handed(p *sounding, cert string) (all []outcome) {
	if r == nil {
		return []outcome{{cert: cert}}
	}
	pods, own := r.targets()
	for _, pod := range pods {
		o := outcome{200, pod, cert}
		if p.secure && cert == "" {
			o.cert = pod // which ends TLS
		}
		all = append(all, o)
	}
	if len(own) > 0 {
		all = append(all, outcome{cert: cert})
	}
	return all
}

// shows returns the certificate that a client is shown, empty for none: those of wildcards are for
// one label.
func shows(all []*joined, j *joined, name string) string {
	_, parent, _ := strings.Cut(name, ".")
	if j.host == "" || j.host == name || j.host == "*."+parent {
		return certOf(j)
	}
	for _, o := range all {
		if o.port == j.port && o.served && o.host == "" && (o.protocol == worldHTTPS || o.protocol == worldEnd) {
			return certOf(o)
		}
	}
	return ""
}

// certOf is the common name of the certificate of a listener.
func certOf(j *joined) string { return j.ns + "-" + j.owner + "-" + j.name }

// answers returns all that a client may get.
func (w *world) answers(g *worldGateway, p *sounding) []outcome {
	closed := []outcome{{}}
	all := w.listeners(g)
	if !p.secure {
		for _, j := range all {
			if j.port == p.port && j.served && j.group() != "TLS" && (j.protocol == worldUDP) == p.udp {
				return w.route(j, "", "/").handed(p, "")
			}
		}
		return closed
	}
	name := strings.ToLower(p.sni)
	j := ownerOf(all, p.port, name)
	if j == nil {
		return closed
	}
	switch j.protocol {
	case worldPass:
		if name == "" {
			return closed
		}
		return w.route(j, name, "/").handed(p, "")
	case worldEnd:
		cert := shows(all, j, name)
		if name == "" || cert == "" {
			return closed
		}
		return w.route(j, name, "/").handed(p, cert)
	case worldHTTPS, worldTCP, worldUDP:
	}
	cert := shows(all, j, name)
	if cert == "" {
		return closed
	}
	return w.requested(all, j, p, cert)
}

// requested returns what a request gets over a connection to a listener.
func (w *world) requested(all []*joined, j *joined, p *sounding, cert string) (out []outcome) {
	host, _, _ := strings.Cut(strings.ToLower(p.host), ":")
	host = strings.TrimSuffix(host, ".")
	switch by := ownerOf(all, p.port, host); {
	case by == nil:
		return []outcome{{status: 404, cert: cert}}
	case by != j:
		return []outcome{{status: 421, cert: cert}}
	}
	r := w.route(j, host, p.path)
	if r == nil {
		return []outcome{{status: 404, cert: cert}}
	}
	pods, own := r.targets()
	for _, pod := range pods {
		out = append(out, outcome{200, pod, cert})
	}
	for _, status := range own {
		out = append(out, outcome{status: status, cert: cert})
	}
	return out
}
