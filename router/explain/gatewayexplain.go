package explain

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// ExplainAt says what becomes of a request to the address of a Gateway. The URL's port says
// which of its listeners it comes to. The error says what to ask instead.
func (s *Snapshot) ExplainAt(r *Request, namespace, name string) (*Explanation, error) {
	key := model.Object{Kind: gateway.KindGateway, Namespace: namespace, Name: name}
	g := s.gateways()
	if g == nil || s.objects.Gateways[key] == nil {
		return nil, s.missing(string(key.Kind), key)
	}
	if g.served[key] == nil {
		return nil, fmt.Errorf("router %s does not serve Gateway %s: %s", s.options.Router, key, terminal.Command("kubectl", "fairlead", "why", "gateway/"+name, "-n", namespace))
	}
	if of, is := g.served[key].(*gatewayv1.Gateway); is && g.joined && gatewayapi.SharesAddress(of) {
		return s.Explain(r), nil // its address is the router's
	}
	e := &Explanation{
		Schema: SchemaExplain, URL: r.URL, Router: s.options.Router, Gateway: key.String(),
		Host: match.Host(r.Host), Path: r.Path, EndpointsKnown: true, Notes: s.Notes(),
	}
	port := r.port()
	e.Listener = Listener{Port: port}
	l, ports := g.listenerAt(key, port)
	l, refused := g.named(l, r)
	switch {
	case l.Slot == 0:
		return e.unheard(key, fmt.Sprintf("the Gateway serves no listener at port %d, but at %s", port, strings.Join(ports, ", "))), nil
	case refused != "":
		e.SNI = match.ServerName(r.SNI)
		return e.unheard(key, fmt.Sprintf(refused, port, cmp.Or(e.SNI, "none"))), nil
	case handsOn(l):
		return nil, fmt.Errorf("connections to port %d are handed on whole, whatever the request is: ask for the route with %s", port, terminal.Command("kubectl", "fairlead", "why", "gateway/"+name, "-n", namespace))
	case endsTLS(l) != r.Secure:
		e.Result = Result{Text: "no answer: the listener at port " + strconv.Itoa(port) + " speaks plain HTTP"}
		if !r.Secure {
			e.Result = Result{Status: 400, Text: "400, or the connection is closed: the listener at port " + strconv.Itoa(port) + " speaks TLS"}
		}
		return e, nil
	}
	if r.Secure {
		e.SNI = match.ServerName(r.SNI)
		if by, _, _ := g.owner(l, match.Request{Host: r.Host, Path: r.Path}); by != "" && by != l.Scope {
			e.Listener.Name = g.listenerName(g.byScope[by])
			e.Result = Result{Status: misdirected, Text: "421 of the router: the host belongs to listener " + e.Listener.Name + ", and the server name to " + g.listenerName(l) + "; clients ask again over a connection of its own"}
			return e, nil
		}
	}
	s.answerAt(e, g, l, r)
	s.routerDoors(e)
	return e, nil
}

// misdirected is the status of requests for the host of another listener than the server name's.
const misdirected = 421

// unheard says that no listener of a Gateway takes the connection.
func (e *Explanation) unheard(gateway model.Object, why string) *Explanation {
	e.Result.Text = "no connection: " + why
	e.Next = append(e.Next, "see its listeners: "+terminal.Command("kubectl", "fairlead", "why", "gateway/"+gateway.Name, "-n", gateway.Namespace))
	return e
}

// byRouter is what the router answers itself at the port of a Gateway.
func byRouter(answer string) Result {
	status, _ := strings.CutPrefix(answer, "!")
	n, err := strconv.Atoi(status)
	text := "the rule that takes the request has no backend that can be used"
	switch {
	case err != nil:
		n, text = 404, "no route of the listener takes the request"
	case answer == match.TooLong || answer == match.TooLarge:
		text = "a path, header or parameter is longer than what an expression of a rule is compared with"
	case answer == match.BadPath:
		text = "programs read this path in different ways, and some paths of the host protect what others do not"
	}
	return Result{Status: n, Text: strconv.Itoa(n) + " of the router: " + text}
}

// answerAt says which route of a listener's port takes a request, and what it does with it.
func (s *Snapshot) answerAt(e *Explanation, g *gateways, l model.Listener, r *Request) {
	scope, c, answer := g.owner(l, match.Request{Host: r.Host, Path: r.Path, Asked: r.asked()})
	if at, known := g.byScope[scope]; known {
		e.Listener.Name = g.listenerName(at)
	}
	if c == nil {
		e.Result = byRouter(answer)
		e.Next = append(e.Next, "see the routes of the listener: "+terminal.Command("kubectl", "fairlead", "why", "gateway/"+l.Gateway.Name, "-n", l.Gateway.Namespace))
		return
	}
	rule, _, _ := strings.Cut(c.Rule, "-")
	e.GatewayRoute = kindAndName(c.Owner)
	if n, err := strconv.Atoi(rule); err == nil {
		e.GatewayRoute += ", rule " + strconv.Itoa(n)
	}
	e.Backend = c.Backend.Name()
	for b := range c.Backends() {
		e.Endpoints = append(e.Endpoints, endpoints(b, r)...)
	}
	for _, f := range g.pipeline.Status(c.Owner).Findings {
		e.Findings = append(e.Findings, s.finding(f))
	}
	e.Policies = groups(g.pipeline.EffectiveOf(c))
	result, refused := answered(c, r, s.options.Now)
	switch text, up := g.targets(s, c); {
	case c.Closed:
		e.Result = Result{Status: 503, Text: closedByPolicy}
	case refused && result.Location == "":
		e.Result = result
	case len(c.Backend.Policy().Redirects) > 0:
		e.Result = Result{Text: "the router redirects, as the rule says"}
	default:
		if a := c.Backend.Policy().Agent; a != nil {
			e.Notes = append(e.Notes, "the policy agent decides first ("+a.Methods+"); it was not asked: the answer is for a request that it lets on")
			e.Notes = append(e.Notes, s.agentNotes(g.pipeline, c.Owner)...)
		}
		e.PodPath = podPath(c, r.Path)
		e.Served, e.Result.Text = up, text
		e.EndpointsKnown = len(e.Endpoints) > 0 || !up
	}
}

// owner returns the scope that a request to the port of a listener comes in by, the claim that
// it goes to, nil if there is none, and the answer that the router gives itself.
func (g *gateways) owner(l model.Listener, r match.Request) (scope model.ScopeID, c *model.Claim, answer string) {
	r.Slot, r.TLS = l.Slot, len(l.Certificates) > 0
	if l.Slot == 0 { // beside Routes, where hosts have no scope
		r.TLS, r.SNI = endsTLS(l), r.Host
	}
	d := match.Decide(g.tables, r)
	if l.Slot == 0 {
		d.Scope = l.Scope
	}
	for _, value := range match.Values(d.Value) {
		if c := g.byBackend[plan.TargetBackend(value)]; c != nil {
			return d.Scope, c, ""
		}
	}
	return d.Scope, nil, cmp.Or(d.Value, match.Refuse)
}

// closedByPolicy is the answer of claims that are closed.
const closedByPolicy = "503 of the router: something that protects these requests cannot be applied, see the findings"

// port is the one that the request is sent to.
func (r *Request) port() int {
	if _, text, found := cutPort(r.Host); found {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	if r.Secure {
		return 443
	}
	return 80
}

// cutPort parts the port from a host, which may be an IPv6 address in brackets.
func cutPort(host string) (name, port string, found bool) {
	if a, err := netip.ParseAddrPort(host); err == nil {
		return a.Addr().String(), strconv.Itoa(int(a.Port())), true
	}
	if strings.HasPrefix(host, "[") {
		return host, "", false
	}
	return strings.Cut(host, ":")
}

// listenerAt returns a listener at a port of a Gateway, its own or that of a ListenerSet; its
// slot is 0 if there is none. Ports are those that have one.
func (g *gateways) listenerAt(key model.Object, port int) (found model.Listener, ports []string) {
	known := map[int]struct{}{}
	for _, l := range g.byScope {
		if l.Gateway != key || l.Datagrams {
			continue
		}
		known[l.Port] = struct{}{}
		if l.Port == port {
			found = l
		}
	}
	for _, p := range slices.Sorted(maps.Keys(known)) {
		ports = append(ports, strconv.Itoa(p))
	}
	if len(ports) == 0 {
		ports = []string{"none"}
	}
	return found, ports
}

// named returns the listener that the server name of a request leads to, and why the connection
// is refused, with the port and the name to be put in, if it is.
func (g *gateways) named(l model.Listener, r *Request) (at model.Listener, refused string) {
	if !r.Secure || l.Slot == 0 || !endsTLS(l) && !gatewayapi.TLS.Has(int32(l.Slot)) {
		return l, ""
	}
	name := match.ServerName(r.SNI)
	by, _, _ := g.owner(l, match.Request{Host: name, Path: "/"})
	at, known := g.byScope[by]
	switch {
	case !known:
		return l, "no listener at port %d has the server name %s"
	case handsOn(at) && name == "":
		return at, "listeners of protocol TLS at port %d need a server name, and there is %s"
	case len(at.Certificates) > 0 && !g.shown(at.Slot, name):
		return at, "no listener at port %d has a certificate for the server name %s: those of wildcards are for one label"
	}
	return at, ""
}

// shown reports whether clients with a server name, empty for none, are shown a certificate.
func (g *gateways) shown(slot int, name string) bool {
	for line, terms := range g.pipeline.Want().SlotLines {
		for host := range strings.SplitSeq(terms.Names, " ") {
			if line.Slot == slot && (host == match.Any || name != "" && (host == name || host == match.Wildcard(name))) {
				return true
			}
		}
	}
	return false
}

// listenerName returns the name of a listener, with its ListenerSet if it is of one.
func (g *gateways) listenerName(l model.Listener) string {
	for _, st := range g.pipeline.Status(l.Owner).Listeners {
		if st.Scope != l.Scope {
			continue
		}
		if l.Owner != l.Gateway {
			return st.Name + " of ListenerSet " + l.Owner.String()
		}
		return st.Name
	}
	return cmp.Or(l.Hostname, "any host")
}
