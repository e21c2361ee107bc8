package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// reachOf says which requests a claim is for, and what becomes of one of them; comes is false
// if none of them can come in by the claim's listener: it is not served, or another one of its
// port has the host.
func (s *Snapshot) reachOf(g *gateways, c *model.Claim) (reach Reach, comes bool) {
	scope := c.Listener()
	l, served := g.byScope[scope]
	if !served {
		return reach, false
	}
	host := claimHost(l, c)
	if streams := handsOn(l); streams || c.Datagrams != nil {
		if streams && !g.comesBy(l, host) {
			return reach, false
		}
		reach.URL = "datagrams to port " + strconv.Itoa(l.Port)
		if streams {
			reach.URL = "connections to port " + strconv.Itoa(l.Port) + streamName(host)
		}
		switch taker := g.taker(c, host); {
		case taker.Owner != c.Owner && taker.Host == c.Host:
			reach.Result, reach.elsewhere = "go to "+kindAndName(taker.Owner)+", which is older and has all", true
		case taker.Owner != c.Owner:
			reach.Result, reach.elsewhere = "go to "+kindAndName(taker.Owner)+", which has a more specific hostname", true
		case streams:
			reach.Result, reach.Served = g.targets(s, c)
		default:
			reach.Result, reach.Served = g.relayed(s, c)
		}
		return reach, true
	}
	reach = Reach{URL: urlOf(l, host, c), Below: !c.Exact && c.Expression() == nil}
	asked := match.Request{Host: strings.ReplaceAll(hostOf(host), "*", anyLabel), Path: samplePath(c), Asked: askedFor(c.Conditions)}
	by, winner, answer := g.owner(l, asked)
	switch {
	case by != scope:
		return reach, false
	case c.Answer != 0:
		reach.Result = fmt.Sprintf("the router answers %d: no backend of the rule can be used", c.Answer)
	case winner == nil && match.RedirectStatus(answer) != 0:
		reach.Result, reach.elsewhere = "is redirected to https by a Route, which goes first", true
	case winner == nil:
		reach.Result = "the router answers by itself: " + answer
	case winner.Owner != c.Owner:
		reach.Result, reach.elsewhere = "goes to "+kindAndName(winner.Owner)+", which goes first", true
	case winner.Backend.Name() != c.Backend.Name():
		reach.Result = "goes to another rule of the route, which goes first"
	case c.Closed:
		reach.Result = closedByPolicy
	case len(c.Backend.Policy().Redirects) > 0:
		reach.Served, reach.Result = true, "the router redirects"
	default:
		reach.Result, reach.Served = g.targets(s, c)
	}
	return reach, true
}

// comesBy reports whether connections for a host, or for one that a wildcard stands for, come in by
// a listener, and not by another one of its port.
func (g *gateways) comesBy(l model.Listener, host string) bool {
	if gatewayapi.TCP.Has(int32(l.Slot)) {
		return true // which is the only one of its port
	}
	by, _, _ := g.owner(l, match.Request{Host: sample(host), Path: "/"})
	return by == l.Scope
}

// taker returns the claim that gets what is not looked up as a request, of those for a host of the
// listener of one: that with the most specific hostname, of several the oldest.
func (g *gateways) taker(c *model.Claim, host string) *model.Claim {
	if g.oldest == nil {
		g.oldest = g.oldestByHost()
	}
	scope := c.Listener()
	for of := host; of != ""; {
		if known := g.oldest[scope][of]; known != nil {
			return known
		}
		_, rest, more := strings.Cut(strings.TrimPrefix(of, "*."), ".")
		if of = ""; more {
			of = "*." + rest
		}
	}
	return cmp.Or(g.oldest[scope][match.Any], c)
}

func (g *gateways) oldestByHost() map[model.ScopeID]map[string]*model.Claim {
	oldest := map[model.ScopeID]map[string]*model.Claim{}
	for key := range g.served {
		all, _ := g.pipeline.Claims(key)
		for _, c := range all {
			scope := c.Listener()
			_, host := model.SplitHost(c.Host)
			if oldest[scope] == nil {
				oldest[scope] = map[string]*model.Claim{}
			}
			if known := oldest[scope][host]; known == nil || model.ByAge(c, known) < 0 {
				oldest[scope][host] = c
			}
		}
	}
	return oldest
}

// kindAndName names an object as users type it, with its namespace.
func kindAndName(o model.Object) string {
	return strings.ToLower(string(o.Kind)) + "/" + o.String()
}

// handsOn reports whether connections to a listener are handed on whole. Those of HTTPS can have
// slots of TLS.
func handsOn(l model.Listener) bool {
	slot := int32(l.Slot)
	return gatewayapi.TLS.Has(slot) && !l.EndsRequests || gatewayapi.TCP.Has(slot)
}

// endsTLS reports whether clients speak HTTPS to a listener.
func endsTLS(l model.Listener) bool { return l.EndsRequests }

func hostOf(host string) string {
	if host == match.Any {
		return "*"
	}
	return host
}

func streamName(host string) string {
	if host == match.Any {
		return ""
	}
	return ", server name " + host
}

// urlOf is the URL of a claim, with its conditions.
func urlOf(l model.Listener, host string, c *model.Claim) string {
	scheme, usual := "http", 80
	if endsTLS(l) {
		scheme, usual = "https", 443
	}
	at := hostOf(host)
	if l.Port != usual {
		at += ":" + strconv.Itoa(l.Port)
	}
	url := scheme + "://" + at + cmp.Or(c.Path, "/")
	if e := c.Expression(); e != nil {
		url = scheme + "://" + at + " with a path like " + e.Written
	}
	return url + conditionsOf(c.Conditions)
}

func conditionsOf(c *model.Conditions) string {
	if c == nil {
		return ""
	}
	var all []string
	if c.Method != "" {
		all = append(all, "method "+c.Method)
	}
	for _, h := range c.Headers {
		all = append(all, "header "+h.Name+separator(h, ": ")+h.Value)
	}
	for _, q := range c.Queries {
		all = append(all, "parameter "+q.Name+separator(q, "=")+q.Value)
	}
	if len(all) == 0 {
		return ""
	}
	return " if " + strings.Join(all, ", ")
}

// separator is what stands between a name and a value, or says that the value is an expression.
func separator(c model.Condition, usual string) string {
	if c.Pattern != "" {
		return " matching "
	}
	return usual
}

// sampleOf is a value that meets a condition.
func sampleOf(c model.Condition) string {
	if c.Pattern != "" {
		return regex.ExampleValue(c.Pattern)
	}
	return c.Value
}

// askedFor is what a request has that meets the conditions.
func askedFor(c *model.Conditions) match.Asked {
	a := match.Asked{Method: "GET", Value: func(model.CanarySource, string) (string, bool) { return "", false }}
	if c == nil {
		return a
	}
	a.Method = cmp.Or(c.Method, a.Method)
	a.Value = func(source model.CanarySource, name string) (string, bool) {
		list := c.Headers
		if source == model.CanaryQuery {
			list = c.Queries
		}
		for _, v := range list {
			if v.Name == name || source == model.CanaryHeader && strings.EqualFold(v.Name, name) {
				return sampleOf(v), true
			}
		}
		return "", false
	}
	return a
}

// targets says which Services a claim leads to, and whether one of their endpoints takes
// requests.
func (g *gateways) targets(s *Snapshot, c *model.Claim) (text string, up bool) {
	if c.Answer != 0 {
		return "the router closes them: no backend of the rule can be used", false
	}
	services := map[string]int{}
	for b := range c.Backends() {
		for i := range b.Servers {
			if b.Servers[i].Weight > 0 {
				services[serviceOf(b.Servers[i].ID)]++
				up = true
			}
		}
	}
	var parts []string
	for _, service := range slices.Sorted(maps.Keys(services)) {
		parts = append(parts, fmt.Sprintf("Service %s (%s)", service, count(services[service], "endpoint")))
	}
	if up {
		return "goes to " + strings.Join(parts, ", "), true
	}
	var unknown []string
	for _, service := range g.servicesOf(c) {
		if s.source.Service(service) != nil && !s.source.endpointsKnown(service) {
			unknown = append(unknown, service.Name)
		}
	}
	if len(unknown) > 0 {
		return "goes to the endpoints of Service " + strings.Join(unknown, ", "), true
	}
	return "503 of the router: no endpoint is ready", false
}

// relayed says where datagrams go, and whether a pod gets them.
func (g *gateways) relayed(s *Snapshot, c *model.Claim) (text string, up bool) {
	pods := 0
	for _, t := range c.Datagrams.Targets {
		if t.Weight > 0 {
			pods += len(t.Pods)
		}
	}
	if pods > 0 {
		return "go to " + count(pods, "pod"), true
	}
	for _, service := range g.pipeline.Services(c.Owner) {
		if s.source.Service(service) != nil && !s.source.endpointsKnown(service) {
			return "go to the pods of Service " + service.Name, true
		}
	}
	return "are dropped: no pod is ready", false
}

// servicesOf returns the Services that the rule of a claim names: the claim's own name
// begins with the rule's number.
func (g *gateways) servicesOf(c *model.Claim) (services []model.Object) {
	for _, ref := range g.refsOf(c) {
		namespace := c.Owner.Namespace
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		services = append(services, model.Object{Kind: door.KindService, Namespace: namespace, Name: string(ref.Name)})
	}
	return services
}

// serviceOf returns the Service in a server's ID.
func serviceOf(id string) string {
	kind, rest, _ := strings.Cut(id, ":")
	if kind == "pod" {
		_, rest, _ = strings.Cut(rest, ":")
	}
	service, _, _ := strings.Cut(rest, ":")
	return service
}
