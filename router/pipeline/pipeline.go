// Package pipeline computes what HAProxy should serve from the cluster's objects:
//
//	changes ─▶ door (route → claim) ─▶ admit (host → winners, table) ─▶ want
//
// Package engine takes it on from there: plan (live, want → steps) ─▶ HAProxy ─▶
// status. This package is pure.
package pipeline

import (
	"maps"
	"slices"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Pipeline computes the wanted state of HAProxy, and the status of each route,
// from a source of objects. It recomputes only what a change touches; the
// result always equals that of computing everything anew. It does no IO and is
// used by one goroutine.
type Pipeline struct {
	src      door.Source
	settings door.Settings
	routes   map[model.Object]*tracked
	// served counts the routes that are part of the wanted state.
	served int
	// index leads from an object to the routes that depend on it.
	index index
	// secretsChanged is true if index may have other Secrets than Secrets returned
	// last.
	secretsChanged bool
	// claims are the claims of each host by route, hosts the decisions on them.
	claims map[string][]*model.Claim
	hosts  map[string]*admit.Host
	// covered are the hosts with claims below each wildcard host.
	covered map[string]map[string]struct{}
	// chains are the hosts that bring each certificate chain.
	chains       map[string]map[string]struct{}
	defaultChain string
	// caUses counts the backends that each CA verifies.
	caUses map[string]int
	want   *plan.State
	// keeping are the routes that are not served as they are now, restored
	// those that a former process left so.
	keeping  model.Objects
	restored map[model.Object]Kept
	// paces shares out the health checks of each namespace.
	paces paces
	// early are results of routes that are about to be taken in.
	early map[model.Object]early
}

// tracked is what the pipeline knows of one route.
type tracked struct {
	result *route.Result
	// material is what the route's TLS texts hold.
	material *certificate.Material
	// from is the version of the object that the result's claim comes from.
	from *routev1.Route
	// good is the last version of the object that could be served.
	good *routev1.Route
	// accepted is the last version that HAProxy has taken, refusal what it has
	// against the one after that, or nil.
	accepted accepted
	refusal  *refusal
	// barrier closes the path of a version that cannot be served.
	barrier *model.Claim
	// served is what the route adds to the wanted state, nil if it lost.
	served *model.Claim
}

// New returns a pipeline that wants nothing but a default certificate.
func New(src door.Source, s door.Settings, defaultCert *model.Certificate) *Pipeline {
	p := &Pipeline{
		src: src, settings: s,
		routes: map[model.Object]*tracked{}, index: index{},
		claims: map[string][]*model.Claim{}, hosts: map[string]*admit.Host{},
		covered: map[string]map[string]struct{}{}, chains: map[string]map[string]struct{}{}, caUses: map[string]int{},
		want: plan.NewState(), keeping: model.Objects{}, paces: newPaces(), secretsChanged: true,
	}
	p.SetDefaultCertificate(defaultCert)
	return p
}

// Want returns the wanted state, which the next Update changes.
func (p *Pipeline) Want() *plan.State { return p.want }

// Bare returns the wanted state without any route.
func (p *Pipeline) Bare() *plan.State {
	bare := plan.NewState()
	id := p.want.Lines[anyName]
	bare.Lines[anyName], bare.Certs[id] = id, p.want.Certs[id]
	return bare
}

// Secrets returns the Secrets that routes name, and whether that may be others
// than at the last call.
func (p *Pipeline) Secrets() (all model.Objects, changed bool) {
	if !p.secretsChanged {
		return nil, false
	}
	p.secretsChanged = false
	return p.index.all(door.KindSecret), true
}

// NamesSecrets reports whether any route names a Secret.
func (p *Pipeline) NamesSecrets() bool { return len(p.index[door.KindSecret]) > 0 }

// SetSettings changes the router-wide settings. The next Update must be one of
// everything.
func (p *Pipeline) SetSettings(s door.Settings) { p.settings = s }

// Settings returns the router-wide settings.
func (p *Pipeline) Settings() door.Settings { return p.settings }

// anyName is the crt-list filter of the default certificate.
const anyName = "*"

// SetDefaultCertificate changes the certificate of hosts that bring none, and
// returns what to compare.
func (p *Pipeline) SetDefaultCertificate(c *model.Certificate) *plan.Scope {
	const id = plan.DefaultCertID
	p.want.Lines[anyName], p.want.Certs[id] = id, c.PEM
	p.defaultChain = c.Chain
	scope := plan.NewScope()
	scope.Certs[id], scope.Lines[anyName] = struct{}{}, struct{}{}
	return scope
}

// Update takes changes in. It returns what may now differ from before: the
// names to compare with HAProxy, and the routes whose status to look at.
func (p *Pipeline) Update(ch door.Changes) (*plan.Scope, model.Objects) {
	ch = p.Resolve(ch)
	dirty := p.dirty(ch)
	p.forgive(dirty, ch)
	scope, touched := p.update(dirty, ch.All)
	if ch.All {
		p.restored = nil // whoever is not here now is gone
	}
	return scope, touched
}

// update computes dirty routes and what depends on them anew, and if all is
// true every host: the settings may decide otherwise.
func (p *Pipeline) update(dirty model.Objects, all bool) (*plan.Scope, model.Objects) {
	scope, touched, hosts := plan.NewScope(), model.Objects{}, map[string]struct{}{}
	p.ingestEarly(dirty)
	for key := range dirty {
		touched[key] = struct{}{}
		p.ingest(key, hosts)
	}
	p.early = nil
	for key := range p.paces.settle(p.settings, all) {
		touched[key] = struct{}{}
		p.ingest(key, hosts)
	}
	if all {
		for host := range p.claims {
			hosts[host] = struct{}{}
		}
	}
	for _, family := range p.families(hosts) {
		p.decide(family, scope, touched)
	}
	for key := range touched {
		p.serve(key, scope)
	}
	return scope, touched
}

// Resolve returns the changes of routes that changes of any objects come to.
func (p *Pipeline) Resolve(ch door.Changes) door.Changes {
	if ch.All {
		return door.Changes{All: true}
	}
	out := door.Changes{Objects: model.Objects{}, Endpoints: model.Objects{}}
	maps.Copy(out.Endpoints, ch.Endpoints)
	for o := range ch.Objects {
		switch o.Kind {
		case route.Kind:
			out.Objects[o] = struct{}{}
		case door.KindService:
			p.index.addTo(out.Endpoints, o)
		default:
			p.index.addTo(out.Objects, o)
		}
	}
	return out
}

// dirty returns the routes that resolved changes concern.
func (p *Pipeline) dirty(ch door.Changes) model.Objects {
	dirty := model.Objects{}
	if ch.All {
		for k := range p.routes {
			dirty[k] = struct{}{}
		}
		for _, k := range p.src.Routes() {
			dirty[k] = struct{}{}
		}
	}
	maps.Copy(dirty, ch.Objects)
	maps.Copy(dirty, ch.Endpoints)
	return dirty
}

// ingest reads one route again and notes the hosts that must be decided again.
func (p *Pipeline) ingest(key model.Object, hosts map[string]struct{}) {
	r := p.routes[key]
	before := &route.Result{Object: key}
	if r != nil {
		before = r.result
	}
	old := before.Claim
	delete(p.keeping, key)
	object := p.src.Route(key)
	if object == nil {
		if r != nil {
			r.result = &route.Result{Object: key}
			p.depend(key, before, r.result)
			p.claim(key, old, nil, hosts)
		}
		return
	}
	if r == nil || r.result.UID != string(object.UID) {
		if r != nil {
			p.claim(key, old, nil, hosts)
			old = nil
			*r = tracked{served: r.served}
		} else {
			r = &tracked{}
			p.routes[key] = r
			p.restore(r, key, object)
		}
	}
	r.result = p.ingestOrKeep(r, object)
	if r.kept() {
		p.keeping[key] = struct{}{}
	}
	p.depend(key, before, r.result)
	p.claim(key, old, r.result.Claim, hosts)
}

// depend notes what a route depends on.
func (p *Pipeline) depend(key model.Object, before, now *route.Result) {
	if slices.Contains(p.index.replace(key, before.Depends, now.Depends), door.KindSecret) {
		p.secretsChanged = true
	}
}

// claim replaces a route's claim.
func (p *Pipeline) claim(key model.Object, old, c *model.Claim, hosts map[string]struct{}) {
	p.paces.set(key, c)
	if old != nil && (c == nil || c.Host != old.Host) {
		p.claims[old.Host] = slices.DeleteFunc(p.claims[old.Host], func(o *model.Claim) bool { return o.Owner == key })
		hosts[old.Host] = struct{}{}
	}
	if c == nil {
		return
	}
	claims, known := p.claims[c.Host]
	if !known {
		p.cover(c.Host, true)
	}
	if i := slices.IndexFunc(claims, func(o *model.Claim) bool { return o.Owner == key }); i >= 0 {
		claims[i] = c
	} else {
		p.claims[c.Host] = append(claims, c)
	}
	if old == nil || !sameRight(old, c) {
		hosts[c.Host] = struct{}{}
	}
}

// sameRight reports whether two claims of one route lead to the same decision
// about their host and the same values of its keys, because they differ at most
// in servers and what is no key's.
func sameRight(a, b *model.Claim) bool {
	return a.Host == b.Host && a.NamedHost == b.NamedHost && a.Path == b.Path && a.Exact == b.Exact && a.Fallback == b.Fallback && a.UID == b.UID && a.Created.Equal(b.Created) &&
		a.Termination == b.Termination && a.Insecure == b.Insecure && a.RedirectStatus == b.RedirectStatus && plan.Target(&a.Backend, false) == plan.Target(&b.Backend, false) &&
		a.Closed == b.Closed && slices.Equal(a.Backend.Policy.Allow, b.Backend.Policy.Allow) &&
		certID(a.Certificate) == certID(b.Certificate)
}

func certID(c *model.Certificate) string {
	if c == nil {
		return ""
	}
	return c.ID
}

// serve changes the wanted backend of a route to that of its claim, if it won.
func (p *Pipeline) serve(key model.Object, scope *plan.Scope) {
	r := p.routes[key]
	if r == nil {
		return
	}
	if c := r.served; c != nil {
		name := c.Backend.Name()
		scope.Backends[name] = struct{}{}
		delete(p.want.Backends, name)
		for e := range plan.PolicyEntries(&c.Backend) {
			scope.Entries[e] = struct{}{}
			delete(p.want.Entries, e)
		}
		if c.Backend.CA != nil {
			p.useCA(c.Backend.CA, -1, scope)
		}
		r.served = nil
		p.served--
	}
	c := r.result.Claim
	if c != nil {
		if _, lost := p.hosts[c.Host].Losers[key]; !lost {
			p.addBackend(&c.Backend, scope)
			r.served = c
			p.served++
		}
	}
	if r.result.UID == "" {
		delete(p.routes, key)
	}
}

func (p *Pipeline) addBackend(b *model.Backend, scope *plan.Scope) {
	name := b.Name()
	scope.Backends[name] = struct{}{}
	p.want.Backends[name] = plan.WantBackend(b)
	for e, v := range plan.PolicyEntries(b) {
		scope.Entries[e] = struct{}{}
		p.want.Entries[e] = v
	}
	if b.CA != nil {
		p.useCA(b.CA, 1, scope)
	}
}

// useCA counts the backends that a CA verifies: the router's own verifies many.
func (p *Pipeline) useCA(ca *model.CA, n int, scope *plan.Scope) {
	p.caUses[ca.ID] += n
	p.want.CAs[ca.ID] = ca.PEM
	if p.caUses[ca.ID] == 0 {
		delete(p.caUses, ca.ID)
		delete(p.want.CAs, ca.ID)
	}
	scope.CAs[ca.ID] = struct{}{}
}
