package route

import (
	"cmp"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// backend chooses the servers of a claim and how they are used. It reports
// false if the route must not be served.
func (b *builder) backend(c *model.Claim, refs []serviceRef) bool {
	spec, closed := b.readAnnotations(c)
	closed = b.policies(c, &spec) || closed
	if Closed(b.route) {
		// Without cookies it is another backend, so that no client's cookie
		// leads to a server that is about to go.
		refs, spec.DisableCookies, c.Closed = nil, true, true
		b.find(api.SeverityWarning, "spec.port.targetPort", api.ReasonForeignProtection,
			"the Ingress that the Route is made of is closed by one of its annotations; events of the Ingress say by which", effect503)
	}
	b.redirects(c, &spec)
	c.Exact, c.Fallback = spec.Exact && c.Path != "", spec.Fallback
	if spec.Fallback && strings.Trim(c.Path, "/") != "" {
		return b.refuse("spec.path", api.ReasonInvalidField, "must be empty or / where "+api.AnnotationPathType+" is Default")
	}
	if closed {
		*c = *c.Barred()
		return true
	}
	rules, ok := b.policy(c, &spec)
	if !ok {
		return false
	}
	tcp := c.Termination == model.Passthrough
	if tcp {
		refs = slices.DeleteFunc(refs, func(r serviceRef) bool { return r.weight == 0 })
	}
	g := b.gather(refs, tcp, &spec)
	branches := b.branches(&spec, &rules)
	checked := g.checked + checkedIn(branches)
	if g.total == 0 && !Closed(b.route) {
		b.find(api.SeverityInfo, "spec.to", api.ReasonNoEndpoints, "no endpoint is ready", effect503)
	}
	c.Backend = model.Backend{
		Kind: model.KindOf(c.Termination), Owner: c.Owner, CA: b.ca,
		Profile: profile(&spec, b.settings.Balance, tcp, g.weighted > 1),
		Asks:    asked(rules),
	}
	if c.Backend.Profile.Cookie {
		c.Backend.Cookie = b.cookie(c, &spec)
	}
	b.checks(c, &spec, checked)
	for i, w := range backend.Weights(g.weights, g.counts) {
		for _, e := range g.endpoints[i] {
			c.Backend.Servers = append(c.Backend.Servers, b.server(c, &spec, e, g.refs[i].key, w, checked > 1 && g.weights[i] > 0 && !e.Idle))
		}
	}
	sortServers(c.Backend.Servers)
	b.split(c, &spec, rules.Canary, branches)
	if b.tooMany {
		*c = *c.Barred()
		b.find(api.SeverityError, "spec.path", api.ReasonPolicyClosed, b.settings.TooManyPatterns(b.result.Patterns)+" for paths", "no request reaches the route; where it keeps clients out, paths that begin as its own do answer 503")
	}
	return true
}

// gathered are the endpoints of a route's Services, Service by Service.
type gathered struct {
	refs            []serviceRef
	endpoints       [][]backend.Endpoint
	weights, counts []int
	// weighted counts the Services with a weight, checked the endpoints of these.
	weighted, checked, total int
}

// gather finds the endpoints, or those of the Service that stands in where there are none.
func (b *builder) gather(refs []serviceRef, tcp bool, spec *policy.Spec) gathered {
	g := gathered{refs: refs, endpoints: make([][]backend.Endpoint, len(refs)), weights: make([]int, len(refs)), counts: make([]int, len(refs))}
	for i, r := range refs {
		g.endpoints[i] = b.endpoints(r)
		g.weights[i], g.counts[i] = r.weight, len(g.endpoints[i])
		g.total += g.counts[i]
		if r.weight > 0 {
			g.weighted++
			g.checked += g.counts[i]
		}
	}
	if g.total > 0 || tcp {
		return g
	}
	if instead := b.standIn(spec); instead != nil {
		n := len(instead.endpoints)
		return gathered{[]serviceRef{instead.ref}, [][]backend.Endpoint{instead.endpoints}, []int{1}, []int{n}, 1, n, n}
	}
	return g
}

func sortServers(servers []model.Server) {
	slices.SortFunc(servers, func(x, y model.Server) int { return strings.Compare(x.ID, y.ID) })
}

// Closed reports whether a route keeps its host and path while no pod may get
// anything of it.
func Closed(r *routev1.Route) bool {
	return r.Spec.Port != nil && r.Spec.Port.TargetPort.String() == api.ClosedPort
}

func profile(spec *policy.Spec, usual model.Balance, tcp, several bool) model.Profile {
	p := model.Profile{TCP: tcp, Balance: balance(spec.Balance(tcp), usual, tcp, several), Cookie: !tcp && spec.Sticky(), AdjustCase: !tcp && spec.AdjustCase}
	if !tcp {
		p.Retry = spec.Retry()
	}
	if tcp {
		// Without a wish it is the router's default, the zero class.
		p.Tunnel = model.TunnelClass(spec.PassthroughIdle())
	}
	return p
}

// balance returns what a route asks for, or what suits its services. The usual
// one of the router is for HTTP.
func balance(asked, usual model.Balance, tcp, several bool) model.Balance {
	switch {
	case asked != "":
		return asked
	case several:
		return model.RoundRobin
	case tcp:
		return model.SourceHash
	case usual != "":
		return usual
	}
	return model.Random
}

func (b *builder) server(c *model.Claim, spec *policy.Spec, e backend.Endpoint, service model.Object, weight int, check bool) model.Server {
	s := model.Server{ID: e.ID, Address: e.Address, Weight: weight, MaxConn: spec.MaxConn}
	if c.Backend.Profile.Cookie {
		s.Options.Cookie = backend.MD5(e.ID)
	}
	s.Options.HashByAddress = c.Backend.Profile.Balance == model.KeyHash
	switch {
	case check && c.Backend.Health != nil:
		s.Probed = true
	case check:
		s.Options.CheckInterval = backend.Milliseconds(spec.CheckInterval)
	}
	if d := spec.SlowStart(); check && d > 0 {
		s.Options.SlowStart = backend.Milliseconds(d)
	}
	s.Options.More = b.upstream.more
	switch c.Termination {
	case model.Reencrypt:
		s.Options.TLS, s.Options.HTTP2 = true, b.settings.HTTP2 && b.upstream.protocol != policy.ProtocolHTTP1
		if b.ca != nil {
			s.Options.CAID = b.ca.ID
		}
		if b.serviceCA {
			s.Options.VerifyHost = service.Name + "." + service.Namespace + ".svc"
		}
		if name := cmp.Or(b.upstream.verifyHost, spec.ServerName); name != "" {
			s.Options.VerifyHost = name
		}
	case model.Plain, model.Edge:
		s.Options.H2C = e.H2C && b.upstream.protocol != policy.ProtocolHTTP1 || b.upstream.protocol == policy.ProtocolH2C
	case model.Passthrough:
	}
	return s
}

// endpoints returns the backend.Endpoints of one backend reference that match the
// route's port.
func (b *builder) endpoints(r serviceRef) []backend.Endpoint {
	service := b.src.Service(r.key)
	if service == nil {
		b.find(api.SeverityWarning, r.field+".name", api.ReasonServiceNotFound, "Service "+r.key.Name+" does not exist", effectLeftOut)
		return nil
	}
	if service.Named {
		b.find(api.SeverityWarning, r.field+".name", api.ReasonStandaloneOnly, "Service "+r.key.Name+" has the annotation "+api.AnnotationEndpoints,
			"the annotation is ignored; its pods are those of its EndpointSlices")
	}
	all := service.Endpoints(b.src.Slices(r.key))
	if len(all) == 0 {
		return nil
	}
	if b.route.Spec.Port != nil {
		port := b.route.Spec.Port.TargetPort.String()
		selected := backend.WithPort(all, port)
		if len(selected) == 0 {
			b.find(api.SeverityWarning, "spec.port.targetPort", api.ReasonPortNotFound,
				"no endpoint of Service "+r.key.Name+" has a port with the name or pod port number "+port+
					"; it has "+describePorts(all), effectLeftOut)
		}
		return selected
	}
	names := backend.PortNames(all)
	if len(names) > 1 {
		b.find(api.SeverityWarning, "spec.port", api.ReasonAmbiguousPort,
			"Service "+r.key.Name+" has several ports and the route names none", "port "+names[0]+" is used")
		return backend.WithPort(all, names[0])
	}
	return all
}

func describePorts(all []backend.Endpoint) string {
	var ports []string
	for _, e := range all {
		p := e.Address.String()
		p = p[strings.LastIndexByte(p, ':')+1:]
		if e.PortName != "" {
			p = e.PortName + " (" + p + ")"
		}
		ports = append(ports, p)
	}
	slices.Sort(ports)
	return strings.Join(slices.Compact(ports), ", ")
}
