package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// externalDNS begins the annotations by which external-dns publishes names.
const externalDNS = "external-dns.alpha.kubernetes.io/"

// indexDoors notes, by name, the Gateways that serve a host at addresses of their own, each with
// its oldest claim, and the oldest claim of those that do at the address of the router. A running router does none of this: it costs only those who ask.
func (g *gateways) indexDoors() {
	g.doors, g.atRouter = map[string]map[model.Object]*model.Claim{}, map[string]*model.Claim{}
	for key := range g.served {
		_, served := g.pipeline.Claims(key)
		for _, c := range served {
			if _, host := model.SplitHost(c.Host); host != match.Any {
				g.indexDoor(host, c)
			}
		}
	}
}

// indexDoor notes one claim of a host.
func (g *gateways) indexDoor(host string, c *model.Claim) {
	scope, _ := model.SplitHost(c.Host)
	if scope == "" { // its Gateway is at the address of the router
		if known := g.atRouter[host]; known == nil || c.Older(known) {
			g.atRouter[host] = c
		}
		return
	}
	l, served := g.byScope[scope]
	if !served {
		return // no client comes in by it
	}
	if g.doors[host] == nil {
		g.doors[host] = map[model.Object]*model.Claim{}
	}
	if known := g.doors[host][l.Gateway]; known == nil || c.Older(known) {
		g.doors[host][l.Gateway] = c
	}
}

// doorsOf returns the Gateways that serve a host by that very name, in order.
func (g *gateways) doorsOf(host string) []model.Object {
	if g == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(g.doors[host]), compareKeys)
}

// twoDoors finds the hosts of a route that Gateways serve at other addresses. It tells once,
// of the first host.
func (s *Snapshot) twoDoors(key model.Object, find finder) {
	g := s.gateways()
	_, served := s.pipeline.Claims(key)
	for _, c := range served {
		doors := g.doorsOf(c.Host)
		if len(doors) == 0 {
			continue
		}
		var at []string
		for _, d := range doors {
			at = append(at, s.gatewayDoor(g, d, c.Host))
		}
		find(api.SeverityInfo, "spec.host", api.ReasonHostOnTwoDoors,
			fmt.Sprintf("%s answers for host %s, too; this route does at %s", few(at), c.Host, s.routerDoor()), effectTwoDoors+s.published(g, key, doors, c.Host))
		return
	}
}

const effectTwoDoors = "the two do not meet: DNS decides which one clients reach"

// gatewayTwoDoors is the same for a route of the Gateway API: hosts that Routes, Ingresses and
// routes of other Gateways have at the router's own addresses or, if its Gateway is there itself,
// that others have at addresses of their own. A route that names both Gateways is at both on
// purpose.
func (s *Snapshot) gatewayTwoDoors(g *gateways, key model.Object) []Finding {
	var hosts []string
	message, effect := "", ""
	_, served := g.pipeline.Claims(key)
	for _, c := range served {
		scope, host := model.SplitHost(c.Host)
		if slices.Contains(hosts, host) {
			continue
		}
		say := s.besideRouter
		if scope == "" {
			say = s.besideGateways
		}
		if other, published := say(g, key, c); other != "" {
			if hosts = append(hosts, host); len(hosts) == 1 {
				message, effect = other, effectTwoDoors+published
			}
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	if len(hosts) > 1 {
		message += fmt.Sprintf("; the same holds for %s of this route", count(len(hosts)-1, "further host"))
	}
	return []Finding{s.finding(api.Finding{
		Object: refOf(g.served[key]), Field: "spec.hostnames", Reason: api.ReasonHostOnTwoDoors, Severity: api.SeverityInfo, Message: message, Effect: effect,
	})}
}

// besideRouter says what has the host of a claim at the router's own addresses, and what publishes
// its name; empty if nothing has.
func (s *Snapshot) besideRouter(g *gateways, key model.Object, c *model.Claim) (other, published string) {
	scope, host := model.SplitHost(c.Host)
	at, listener := s.routerOwner(g, host), g.byScope[scope]
	if at == (model.Object{}) || at == key || listener.Scope == "" {
		return "", ""
	}
	gateway := listener.Gateway
	return fmt.Sprintf("%s answers for host %s at %s, too; this route does at Gateway %s%s", s.noun(at), host, s.routerDoor(), gateway, g.addresses(gateway)),
		s.published(g, at, g.doorsOf(host), host)
}

// besideGateways says which Gateways have the host of a claim at addresses of their own.
func (s *Snapshot) besideGateways(g *gateways, key model.Object, c *model.Claim) (other, published string) {
	doors := slices.DeleteFunc(g.doorsOf(c.Host), func(d model.Object) bool { return g.doors[c.Host][d].Owner == key })
	if len(doors) == 0 {
		return "", ""
	}
	return fmt.Sprintf("%s answers for host %s, too; this route does at %s", s.gatewayDoor(g, doors[0], c.Host), c.Host, s.routerDoor()), s.published(g, key, doors, c.Host)
}

// routerOwner returns a Route or a route of a Gateway that has a host of that very name at the
// router's own addresses, or none.
func (s *Snapshot) routerOwner(g *gateways, host string) model.Object {
	if routes := s.servedAt(host); len(routes) > 0 {
		return routes[0]
	}
	if c := g.atRouter[host]; c != nil {
		return c.Owner
	}
	return model.Object{}
}

// servedAt returns the routes that are served at a host of that very name, in order.
func (s *Snapshot) servedAt(host string) (found []model.Object) {
	for _, key := range s.byHost[host] {
		if c, served := s.claimAt(key, host); served && c.Host == host {
			found = append(found, key)
		}
	}
	return found
}

// noun names a Route, or the Ingress that it is made of, or a route of a Gateway.
func (s *Snapshot) noun(key model.Object) string {
	if OfGatewayAPI(string(key.Kind)) {
		return kindAndName(key)
	}
	if name := s.source.ingress[key]; name != "" {
		return "ingress/" + key.Namespace + "/" + name
	}
	return "route/" + key.String()
}

func (s *Snapshot) gatewayDoor(g *gateways, gateway model.Object, host string) string {
	return fmt.Sprintf("%s at Gateway %s%s", kindAndName(g.doors[host][gateway].Owner), gateway, g.addresses(gateway))
}

// addresses are those of a Gateway in brackets, as far as its status has some.
func (g *gateways) addresses(of model.Object) string {
	var all []string
	if o, ok := g.served[of].(*gatewayv1.Gateway); ok {
		for _, a := range o.Status.Addresses {
			all = append(all, a.Value)
		}
	}
	return inBrackets(all)
}

// routerDoor names the router with its own addresses, as far as its Service has some.
func (s *Snapshot) routerDoor() string {
	var all []string
	if service := s.objects.Services[model.Object{Kind: "Service", Namespace: api.OperandNamespace, Name: api.RouterName(s.options.Router)}]; service != nil {
		for _, a := range service.Status.LoadBalancer.Ingress {
			all = append(all, cmp.Or(a.IP, a.Hostname))
		}
	}
	return "router " + s.options.Router + inBrackets(all)
}

func inBrackets(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " (" + few(all) + ")"
}

// few joins texts, of which it shows three.
func few(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// published says what publishes the name of a host for which of its two doors.
func (s *Snapshot) published(g *gateways, key model.Object, gateways []model.Object, host string) string {
	router, gateway := s.publishesRouter(g, key, host), ""
	for _, at := range gateways {
		if gateway = g.publishes(at, host); gateway != "" {
			break
		}
	}
	switch {
	case router != "" && gateway != "":
		return fmt.Sprintf(". The name is published for both: by %s, and by %s; keep one of the two", router, gateway)
	case router != "" || gateway != "":
		return ". The name is published by " + cmp.Or(router, gateway)
	}
	return ""
}

// publishesRouter says what publishes a name for the router: an annotation of the Route, or of
// its Ingress, or of a route of a Gateway there, or the operator's record of the domain.
func (s *Snapshot) publishesRouter(g *gateways, key model.Object, host string) string {
	if o := g.served[key]; o != nil {
		if a := annotated(o.GetAnnotations()); a != "" {
			return a + " of " + s.noun(key)
		}
	}
	if r := s.source.routes[key]; r != nil {
		if a := annotated(r.Annotations); a != "" {
			return a + " of " + s.noun(key)
		}
	}
	if i := s.objects.Ingresses[model.Object{Kind: "Ingress", Namespace: key.Namespace, Name: s.source.ingress[key]}]; i != nil {
		if a := annotated(i.Annotations); a != "" {
			return a + " of " + s.noun(key)
		}
	}
	if domain := s.settings.Domain; domain != "" && strings.HasSuffix(host, "."+domain) {
		return "the record *." + domain + " of IngressController " + s.options.Router
	}
	return ""
}

// publishes says which annotation publishes a name for a Gateway.
func (g *gateways) publishes(gateway model.Object, host string) string {
	route := g.doors[host][gateway].Owner
	if o := g.served[route]; o != nil {
		if a := annotated(o.GetAnnotations()); a != "" {
			return a + " of " + kindAndName(route)
		}
	}
	o, ok := g.served[gateway].(*gatewayv1.Gateway)
	if !ok {
		return ""
	}
	if a := annotated(o.Annotations); a != "" {
		return a + " of Gateway " + gateway.String()
	}
	if o.Spec.Infrastructure != nil {
		for name, value := range o.Spec.Infrastructure.Annotations {
			if string(name) == externalDNS+"hostname" && slices.Contains(strings.FieldsFunc(string(value), func(r rune) bool { return r == ',' || r == ' ' }), host) {
				return "annotation " + string(name) + " of spec.infrastructure of Gateway " + gateway.String()
			}
		}
	}
	return ""
}

// annotated returns the first annotation of external-dns, empty for none.
func annotated(all map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, externalDNS) {
			return "annotation " + name
		}
	}
	return ""
}

// otherDoors says where else the host of a request is served, and how to ask there: at most
// three Gateways.
func (s *Snapshot) otherDoors(e *Explanation) {
	told := slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Reason == api.ReasonHostOnTwoDoors })
	g, most := s.gateways(), 3
	for _, name := range suffixes(e.Host) {
		for _, d := range g.doorsOf(name) {
			if most--; most < 0 {
				return
			}
			if !told || name != e.Host {
				e.Notes = append(e.Notes, fmt.Sprintf("the host has another door: %s; DNS decides which one clients reach", s.gatewayDoor(g, d, name)))
			}
			e.Next = append(e.Next, "ask there: "+terminal.Command("kubectl", "fairlead", "explain", e.URL, "--gateway", d.String()))
		}
	}
}

// suffixes are the hosts of Gateways that take a name: itself, and the wildcards that cover it,
// of any number of labels.
func suffixes(name string) []string {
	all := []string{name}
	for {
		_, rest, found := strings.Cut(name, ".")
		if !found {
			return all
		}
		all, name = append(all, "*."+rest), rest
	}
}

// routerDoors says the same of a request that is asked at a Gateway.
func (s *Snapshot) routerDoors(e *Explanation) {
	for _, host := range []string{e.Host, match.Wildcard(e.Host)} {
		if at := s.routerOwner(s.gateways(), host); at != (model.Object{}) {
			e.Notes = append(e.Notes, fmt.Sprintf("the host has another door: %s at %s; DNS decides which one clients reach", s.noun(at), s.routerDoor()))
			e.Next = append(e.Next, "ask there: "+terminal.Command("kubectl", "fairlead", "explain", e.URL))
			return
		}
	}
}
