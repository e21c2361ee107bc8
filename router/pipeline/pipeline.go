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
	"time"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/policy"
)

// Pipeline computes the wanted state of HAProxy, and the status of each route,
// from a source of objects. It recomputes only what a change touches; the
// result always equals that of computing everything from scratch. It does no IO and is
// used by one goroutine.
type Pipeline struct {
	doors    map[model.Kind]door.Door
	src      door.Source
	settings door.Settings
	objects  map[model.Object]*tracked
	// served counts the objects that are part of the wanted state, and gateways those that
	// make no claims.
	served, gateways int
	// index leads from an object to those that depend on it.
	index index
	// neededChanged is true if index may have other objects than Needed returned last.
	neededChanged bool
	// claims are the claims of each host, hosts the decisions on them.
	claims map[string][]*model.Claim
	hosts  map[string]*admit.Host
	// guards are what hosts in scopes keep out.
	guards admit.Guards
	// covered are the hosts with claims below each wildcard host.
	covered map[string]map[string]struct{}
	// chains are the hosts that bring each certificate chain.
	chains       map[string]map[string]struct{}
	defaultChain string
	defaultCert  *model.Certificate
	// caUses counts the backends that each CA verifies.
	caUses map[string]int
	// pageUses counts the backends that show each page.
	pageUses map[string]int
	want     *plan.State
	// fallenBack are the objects that are not served as they are now, restored
	// those that a former process left so.
	fallenBack model.Objects
	restored   map[model.Object]Saved
	// shares bounds what the objects of a namespace may have.
	shares shares
	// fetches are the pages that Services are asked for.
	fetches   fetches
	agent     agentPolicies
	probes    probes
	outliers  outliers
	measures  measures
	listeners listeners
	relays    relays
	ends      ends
	// unreported are policies of which there may be something new to say.
	unreported model.Objects
	// policyStates are what became of the groups of policies at the last report.
	policyStates map[model.Object]map[policy.Group]policy.State
	// recounted is true if they may be others than PolicyCounts returned last.
	recounted bool
	// forgetful is set by Forget.
	forgetful bool
	// ingested are results of objects that are about to be taken in.
	ingested map[model.Object]ingested
}

// tracked is what the pipeline knows of one object of a door's kind.
type tracked struct {
	door   door.Door
	result *door.Result
	// material is what the object's TLS texts hold.
	material *certificate.Material
	// from is the version that the result's claims come from.
	from door.Version
	// good is the last version that could be served.
	good door.Version
	// accepted is the last version that HAProxy has taken, refusal what it has
	// against the one after that, or nil.
	accepted accepted
	refusal  *refusal
	// barred is true if the result's claims close the paths of a version that cannot
	// be served.
	barred bool
	// ingress is the name of the Ingress that the object is made of, or empty.
	ingress string
	// served are the claims that the object adds to the wanted state: those that
	// won.
	served []*model.Claim
}

// New returns a pipeline that wants nothing but a default certificate. Objects of
// other kinds than those of its doors are ignored.
func New(doors []door.Door, src door.Source, s door.Settings, defaultCert *model.Certificate) *Pipeline {
	p := &Pipeline{
		doors: make(map[model.Kind]door.Door, len(doors)), src: src, settings: s,
		objects: map[model.Object]*tracked{}, index: index{},
		claims: map[string][]*model.Claim{}, hosts: map[string]*admit.Host{}, guards: admit.NewGuards(),
		covered: map[string]map[string]struct{}{}, chains: map[string]map[string]struct{}{}, caUses: map[string]int{}, pageUses: map[string]int{},
		want: plan.NewState(), fallenBack: model.Objects{}, unreported: model.Objects{}, policyStates: map[model.Object]map[policy.Group]policy.State{}, agent: newAgentPolicies(), probes: newProbes(), outliers: newOutliers(), measures: newMeasures(), listeners: newListeners(), relays: relays{slots: map[int]struct{}{}}, shares: newShares(), fetches: newFetches(), neededChanged: true,
	}
	for _, d := range doors {
		p.doors[d.Kind()] = d
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

// SetSettings changes the router-wide settings. The next Update must be one of
// everything.
func (p *Pipeline) SetSettings(s door.Settings) { p.settings = s }

// LackPorts says whether HAProxy lacks the ports for Gateways. Then KindSlots has changed.
func (p *Pipeline) LackPorts(lack bool) { p.settings.PortsUnbound = lack }

// Settings returns the router-wide settings.
func (p *Pipeline) Settings() door.Settings { return p.settings }

// anyName is the crt-list filter of the default certificate.
const anyName = "*"

// SetDefaultCertificate changes the certificate of hosts that bring none, and
// returns what to compare.
func (p *Pipeline) SetDefaultCertificate(c *model.Certificate) *plan.Scope {
	const id = plan.DefaultCertID
	p.want.Lines[anyName], p.want.Certs[id] = id, c.PEM
	p.defaultChain, p.defaultCert = c.Chain, c
	scope := plan.NewScope()
	scope.Certs[id], scope.Lines[anyName] = struct{}{}, struct{}{}
	p.defaultClientLines(scope)
	return scope
}

// Update takes changes in. It returns what may now differ from before: the
// names to compare with HAProxy, and the routes whose status to look at.
func (p *Pipeline) Update(ch door.Changes) (*plan.Scope, model.Objects) {
	ch = p.Resolve(ch)
	dirty := p.dirty(ch)
	p.clearRefusals(dirty, ch)
	scope, touched := p.update(dirty, ch.All)
	if ch.All {
		p.restored = nil // what is not here now is gone
		for _, key := range p.src.AllPolicies() {
			p.unreported[key] = struct{}{}
		}
	}
	return scope, touched
}

// update recomputes dirty routes and what depends on them, and if all is
// true every host: the settings may decide otherwise.
func (p *Pipeline) update(dirty model.Objects, all bool) (*plan.Scope, model.Objects) {
	scope, touched, hosts := plan.NewScope(), model.Objects{}, map[string]struct{}{}
	p.ingestInParallel(dirty)
	for key := range dirty {
		touched[key] = struct{}{}
		p.ingest(key, hosts)
	}
	p.ingested = nil
	ingest := func(again model.Objects) {
		for key := range again {
			touched[key] = struct{}{}
			p.ingest(key, hosts)
		}
	}
	p.settleShares(all, ingest)
	if all {
		for host := range p.claims {
			hosts[host] = struct{}{}
		}
	}
	p.listeners.shared.addHosts(hosts)
	p.noteGuards(hosts)
	for _, group := range p.hostGroups(hosts) {
		p.decide(group, scope, touched)
	}
	p.settleListeners(scope)
	for key := range touched {
		p.serve(key, scope)
	}
	p.settleProbes(all, touched)
	p.outliers.settle()
	return scope, touched
}

// Resolve returns the changes of doors' objects that changes of any objects come to.
func (p *Pipeline) Resolve(ch door.Changes) door.Changes {
	if ch.All {
		return door.Changes{All: true}
	}
	out := door.Changes{Objects: model.Objects{}, Endpoints: model.Objects{}}
	maps.Copy(out.Endpoints, ch.Endpoints)
	for o := range ch.Objects {
		switch {
		case o.Kind == door.KindService:
			p.index.addTo(out.Endpoints, o)
		case policy.IsKind(o.Kind):
			p.unreported[o] = struct{}{}
			p.concerned(out.Objects, o)
		default:
			if p.doors[o.Kind] != nil {
				out.Objects[o] = struct{}{}
			}
			p.index.addTo(out.Objects, o)
		}
	}
	return out
}

// dirty returns the objects that resolved changes concern.
func (p *Pipeline) dirty(ch door.Changes) model.Objects {
	dirty := model.Objects{}
	if ch.All {
		for k := range p.objects {
			dirty[k] = struct{}{}
		}
		for _, k := range p.src.All() {
			dirty[k] = struct{}{}
		}
	}
	maps.Copy(dirty, ch.Objects)
	maps.Copy(dirty, ch.Endpoints)
	return dirty
}

// ingest reads one object again and notes the hosts that must be decided again.
func (p *Pipeline) ingest(key model.Object, hosts map[string]struct{}) {
	d, r := p.doors[key.Kind], p.objects[key]
	if d == nil {
		return
	}
	before := &door.Result{Object: key}
	if r != nil {
		before = r.result
	}
	old := before.Claims
	delete(p.fallenBack, key)
	object := p.src.Object(key)
	if object == nil {
		if r != nil {
			r.result = &door.Result{Object: key}
			p.depend(r, before)
			p.listeners.replace(key, nil, before.Listeners, nil)
			p.shares.set(key, nil, r.result)
			p.fetches.set(key, nil)
			p.replaceClaims(old, nil, hosts)
			p.noteIngress(r, key, nil)
		}
		return
	}
	if r == nil || r.result.UID != string(object.GetUID()) {
		if r != nil {
			p.replaceClaims(old, nil, hosts)
			old = nil
			*r = tracked{door: d, served: r.served, ingress: r.ingress}
		} else {
			r = &tracked{door: d}
			p.objects[key] = r
			p.countGateway(key, 1)
			p.restore(r, key, object)
		}
	}
	p.noteIngress(r, key, object)
	r.result = p.ingestOrKeep(r, key, object)
	if r.kept() {
		p.fallenBack[key] = struct{}{}
	}
	p.depend(r, before)
	p.listeners.replace(key, object, before.Listeners, r.result.Listeners)
	p.shares.set(key, object, r.result)
	p.ends.note(key, r.result.Until)
	p.fetches.set(key, r.result.Fetches)
	p.replaceClaims(old, r.result.Claims, hosts)
}

// replaceClaims replaces the claims of an object.
func (p *Pipeline) replaceClaims(old, now []*model.Claim, hosts map[string]struct{}) {
	p.noteDatagrams(old, now)
	ofNow, ofOld := byRule(now), byRule(old)
	for _, o := range old {
		if c := ofNow(o.Rule); c == nil || c.Host != o.Host {
			p.claims[o.Host] = slices.DeleteFunc(p.claims[o.Host], func(other *model.Claim) bool { return other.ID() == o.ID() })
			hosts[o.Host] = struct{}{}
		}
	}
	for _, c := range now {
		claims, known := p.claims[c.Host]
		if !known {
			p.cover(c.Host, true)
		}
		if i := slices.IndexFunc(claims, func(o *model.Claim) bool { return o.ID() == c.ID() }); i >= 0 {
			claims[i] = c
		} else {
			p.claims[c.Host] = append(claims, c)
		}
		if o := ofOld(c.Rule); o == nil || !sameRight(o, c) {
			hosts[c.Host] = struct{}{}
		}
	}
}

// ruleOf returns the claim of a rule, or nil.
func ruleOf(claims []*model.Claim, rule string) *model.Claim {
	for _, c := range claims {
		if c.Rule == rule {
			return c
		}
	}
	return nil
}

// byRule returns ruleOf for claims of which many are asked for.
func byRule(claims []*model.Claim) func(rule string) *model.Claim {
	if len(claims) < 8 { // nearly all objects have one
		return func(rule string) *model.Claim { return ruleOf(claims, rule) }
	}
	rules := make(map[string]*model.Claim, len(claims))
	for _, c := range claims {
		rules[c.Rule] = c
	}
	return func(rule string) *model.Claim { return rules[rule] }
}

// sameRight reports whether two versions of a claim lead to the same decision
// about their host and the same values of its keys, because they differ at most
// in servers and values that belong to no key.
func sameRight(a, b *model.Claim) bool {
	return a.Host == b.Host && a.NamedHost == b.NamedHost && a.Path == b.Path && a.Exact == b.Exact && a.Conditions.Equal(b.Conditions) && a.Fallback == b.Fallback && a.UID == b.UID && a.Created.Equal(b.Created) &&
		a.Termination == b.Termination && a.Insecure == b.Insecure && a.ToHTTPS == b.ToHTTPS && plan.Target(&a.Backend, false) == plan.Target(&b.Backend, false) &&
		a.Closed == b.Closed && a.Answer == b.Answer && a.Alias == b.Alias && slices.Equal(a.Backend.Policy().Allow, b.Backend.Policy().Allow) && slices.Equal(a.Backend.Policy().Deny, b.Backend.Policy().Deny) &&
		certID(a.Certificate) == certID(b.Certificate) && a.Shared.Equal(b.Shared)
}

// serve changes the wanted backends of an object to those of its claims that won.
func (p *Pipeline) serve(key model.Object, scope *plan.Scope) {
	r := p.objects[key]
	if r == nil {
		return
	}
	for _, c := range r.served {
		for b := range c.Backends() {
			p.dropBackend(b, scope)
		}
	}
	before := len(r.served)
	r.served = p.winners(r.result.Claims)
	for _, c := range r.served {
		for b := range c.Backends() {
			p.addBackend(b, scope)
		}
	}
	p.measures.note(key, r)
	p.served += min(len(r.served), 1) - min(before, 1)
	if r.result.UID == "" {
		delete(p.objects, key)
		p.ends.note(key, time.Time{})
		p.countGateway(key, -1)
	}
}

// winners returns the claims that have not lost, barred where their host closes them: most
// often all as they are, which share the slice then.
func (p *Pipeline) winners(claims []*model.Claim) []*model.Claim {
	lost := func(c *model.Claim) bool { _, lost := p.hosts[c.Host].Losers[c.ID()]; return lost }
	barred := func(c *model.Claim) bool { _, barred := p.hosts[c.Host].Closed[c.ID()]; return barred }
	if !slices.ContainsFunc(claims, func(c *model.Claim) bool { return lost(c) || barred(c) }) {
		return claims
	}
	out := slices.DeleteFunc(slices.Clone(claims), lost)
	for i, c := range out {
		if barred(c) {
			out[i] = c.Barred()
		}
	}
	return out
}
