package pipeline

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// This file keeps the last good version of an object while the newest one cannot
// be served: because its door finds it wrong, or because HAProxy refuses it. It is
// the last good version that the wanted state has then, so files, read-back and
// drift all follow it without knowing.

// accepted is a version of an object that HAProxy has taken, with its claims.
type accepted struct {
	object door.Version
	claims []*model.Claim
}

// closed reports whether nothing of the version reaches a pod.
func (a accepted) closed() bool {
	return len(a.claims) > 0 && !slices.ContainsFunc(a.claims, func(c *model.Claim) bool { return !c.Closed })
}

// fallback is what is served in place of a version that HAProxy refused. Each
// is tried after HAProxy has refused the one before.
type fallback int

const (
	// formerVersion is the last version that HAProxy took, with the pods and
	// Secrets of now.
	formerVersion fallback = iota + 1
	// formerClaims are those of then: it was a pod or a Secret that HAProxy
	// refused.
	formerClaims
	// barred are the hosts and paths of the newest version, closed, where a former
	// one would let through what the newest one keeps out.
	barred
	// withdrawn is nothing.
	withdrawn
)

// refusal is HAProxy's word against a version of an object.
type refusal struct {
	fallback fallback
	message  string
	// version identifies the refused version.
	version string
}

// Forget has no former version of an object served in place of one that cannot be: what is wanted
// is a matter of the objects as they are now, as for a router that has just started.
func (p *Pipeline) Forget() { p.forgetful = true }

// past returns the claims that the object has made so far.
func (r *tracked) past() []*model.Claim {
	if r.result != nil && len(r.result.Claims) > 0 {
		return r.result.Claims
	}
	return r.accepted.claims
}

// kept reports whether something older is served than the newest version.
func (r *tracked) kept() bool {
	if r.refusal != nil {
		return true
	}
	if len(r.result.Claims) == 0 {
		return false
	}
	for _, f := range r.result.Findings {
		if f.Severity == api.SeverityError {
			return true
		}
	}
	return r.result.Pending
}

// ingestOrKeep ingests an object. If it cannot be served as it is now, its
// last good version is ingested instead, under the finding about the new one.
func (p *Pipeline) ingestOrKeep(r *tracked, key model.Object, object door.Version) *door.Result {
	if p.forgetful {
		r.good, r.accepted = nil, accepted{}
	}
	res := p.read(r, key, object)
	r.barred = false
	switch {
	case r.refusal != nil:
		p.fallBack(r, res, object)
		return res
	case len(res.Claims) > 0 && closed(res):
		// What was served before comes back with the next version that can be read.
		r.from, r.barred = object, true
		if r.good != nil && !r.door.Continues(r.good, object) {
			r.good, r.accepted = nil, accepted{}
		}
		return res
	case len(res.Claims) > 0:
		r.good, r.from = object, object
		return res
	case r.good == nil || r.good == object || !res.Pending && !contentRefused(res) || !r.door.Continues(r.good, object):
		r.good, r.from, r.accepted = nil, nil, accepted{}
	case !p.covers(r, res, r.good, object):
		p.bar(r, res, object, r.good)
		return res
	case p.keep(r, res, r.good):
		setEffect(res, "the last good version keeps serving")
		return res
	}
	if r.door.Guarded(object, p.src, p.settings) {
		p.bar(r, res, object, nil)
	}
	return res
}

// bar closes the paths of a version that cannot be served, or, if they are not
// known, those of the former one, which would let through what the newest one
// keeps out.
func (p *Pipeline) bar(r *tracked, res *door.Result, newest, former door.Version) {
	barrier := res.Barrier
	if barrier == nil && former != nil {
		for _, c := range p.ingestVersion(r, res.Object, former).Claims {
			barrier = append(barrier, c.Barred())
		}
	}
	if barrier == nil {
		return
	}
	for _, b := range barrier {
		b.Certificate = nil
		if i := slices.IndexFunc(r.accepted.claims, func(c *model.Claim) bool { return c.Host == b.Host }); i >= 0 {
			b.Certificate = r.accepted.claims[i].Certificate
		}
	}
	res.Claims, r.from, r.barred = barrier, newest, true
	effect := "requests get a 503 page, because something of the " + noun(res.Object) + " that protects cannot be used"
	if former != nil {
		effect = "requests get a 503 page, because the last good version would let through what this one keeps out"
	}
	setEffect(res, effect)
}

// noun is what messages call an object.
func noun(o model.Object) string { return strings.ToLower(string(o.Kind)) }

func setEffect(res *door.Result, effect string) {
	for i := range res.Findings {
		if res.Findings[i].Severity == api.SeverityError {
			res.Findings[i].Effect = effect
		}
	}
}

// keep makes the claims of a former version those of a result, if it can still be
// served.
func (p *Pipeline) keep(r *tracked, res *door.Result, former door.Version) bool {
	kept := p.ingestVersion(r, res.Object, former)
	if len(kept.Claims) == 0 {
		return false
	}
	// What the served version depends on must be noticed, too.
	res.Claims, res.Effective, r.from = kept.Claims, kept.Effective, former
	if kept.OfGateway != nil && res.OfGateway != nil {
		res.Effectives = kept.Effectives
	}
	res.Depends = append(res.Depends, kept.Depends...)
	return true
}

// closed reports whether an object keeps its paths while nothing of it is served,
// because something that protects cannot be read.
func closed(res *door.Result) bool {
	return slices.ContainsFunc(res.Findings, func(f api.Finding) bool { return f.Reason == api.ReasonPolicyClosed })
}

// contentRefused reports whether an object was refused for what its fields hold,
// as opposed to a host that it may not have.
func contentRefused(res *door.Result) bool {
	for _, f := range res.Findings {
		if f.Severity == api.SeverityError {
			return f.Reason == api.ReasonExtendedValidationFailed || f.Reason == api.ReasonInvalidField || f.Reason == api.ReasonInvalidAnnotation
		}
	}
	return false
}

// fallBack puts into the result of an object what is served in place of what HAProxy refused.
func (p *Pipeline) fallBack(r *tracked, res *door.Result, newest door.Version) {
	former := r.accepted
	for i, c := range res.Claims {
		if i == 0 {
			res.Barrier = nil
		}
		res.Barrier = append(res.Barrier, c.Barred())
	}
	res.Claims, r.barred = nil, false
	covered := len(former.claims) > 0 && p.mayReplace(r, res, newest)
	f := api.Finding{
		Object: r.door.Ref(res.Object), Reason: api.ReasonRefusedByHAProxy, Severity: api.SeverityError,
		Message: "HAProxy refused this " + noun(res.Object) + "'s configuration: " + r.refusal.message,
		Effect:  "the " + noun(res.Object) + " is not served",
	}
	res.Findings = append([]api.Finding{f}, res.Findings...)
	withdrawListeners(res, f.Text())
	switch {
	case covered && r.refusal.fallback == formerVersion && p.keep(r, res, former.object):
		setEffect(res, "the last good version keeps serving")
	case covered && r.refusal.fallback == formerClaims:
		res.Claims, r.from = former.claims, former.object
		setEffect(res, "the last good version keeps serving")
	case covered && r.refusal.fallback < barred || r.refusal.fallback == withdrawn:
	case len(former.claims) > 0 && !covered:
		p.bar(r, res, newest, former.object)
	case r.door.Guarded(newest, p.src, p.settings):
		p.bar(r, res, newest, nil)
	}
}

// Refuse takes HAProxy's word against what a route adds to the wanted state,
// and puts in its place the last version that HAProxy took. It returns what
// may now differ, as Update does, and false if the route adds nothing.
func (p *Pipeline) Refuse(key model.Object, message string) (*plan.Scope, model.Objects, bool) {
	r, object := p.objects[key], p.src.Object(key)
	if r == nil || len(r.served) == 0 && !showsCertificates(r.result) || object == nil {
		return nil, nil, false
	}
	if r.refusal == nil {
		r.refusal = &refusal{version: fingerprint(r.door, object)}
	}
	r.refusal.message, r.good = message, r.accepted.object
	for refused := r.served; r.refusal.fallback < withdrawn; {
		r.refusal.fallback++
		res := p.read(r, key, object)
		if p.fallBack(r, res, object); len(res.Claims) > 0 && !sameContent(res.Claims, refused) {
			break
		}
	}
	scope, touched := p.update(model.Objects{key: {}}, false)
	return scope, touched, true
}

// sameContent reports whether claims ask HAProxy for the same as others.
func sameContent(a, b []*model.Claim) bool {
	return slices.EqualFunc(a, b, func(a, b *model.Claim) bool {
		c := *a
		c.Version = b.Version
		return reflect.DeepEqual(&c, b)
	})
}

// clearRefusals lets routes with resolved changes try again what HAProxy refused. A change
// of pods alone is no reason where the pods were not.
func (p *Pipeline) clearRefusals(dirty model.Objects, ch door.Changes) {
	for key := range dirty {
		r := p.objects[key]
		if r == nil || r.refusal == nil {
			continue
		}
		_, object := ch.Objects[key]
		if ch.All || object || r.refusal.fallback != formerVersion {
			r.refusal = nil
		}
	}
}

// Retry lets all routes try again what HAProxy refused, and returns what may
// now differ, as Update does.
func (p *Pipeline) Retry() (*plan.Scope, model.Objects) {
	refused := model.Objects{}
	for key := range p.fallenBack {
		if r := p.objects[key]; r.refusal != nil {
			r.refusal, refused[key] = nil, struct{}{}
		}
	}
	return p.update(refused, false)
}

// Accept notes that HAProxy has taken what routes add to the wanted state. That a route may have no
// expression now, and so gets no request, is no version to go back to.
func (p *Pipeline) Accept(keys model.Objects) {
	for key := range keys {
		if r := p.objects[key]; r != nil && len(r.served) > 0 && !r.barred && !slices.ContainsFunc(r.served, func(c *model.Claim) bool { return c.Nothing() }) {
			r.accepted = accepted{r.from, r.served}
		}
	}
}

// Unaccepted returns the claims that HAProxy has not taken yet, in any order.
func (p *Pipeline) Unaccepted() []*model.Claim {
	var out []*model.Claim
	for _, r := range p.objects {
		if !slices.Equal(r.served, r.accepted.claims) {
			out = append(out, r.served...)
		}
	}
	return out
}

// Owners returns which object each name in the wanted state belongs to: those of
// backends, certificates and CAs. It looks at all objects.
func (p *Pipeline) Owners() plan.Owners {
	owners := plan.Owners{}
	for _, s := range p.listeners.bySlot {
		for owner, lines := range s.lines {
			for _, line := range lines {
				owners[line.CertID] = owner
				if line.ca != nil {
					owners[line.ca.ID] = owner
				}
			}
		}
	}
	p.listeners.shared.owners(owners, p.hosts)
	for key, r := range p.objects {
		for _, c := range r.served {
			for _, name := range p.names(c) {
				owners[name] = key
			}
		}
	}
	return owners
}

// names returns the names that a claim brings to the wanted state.
func (p *Pipeline) names(c *model.Claim) []string {
	var names []string
	for b := range c.Backends() {
		names = append(names, b.Name())
	}
	if c.Certificate != nil {
		names = append(names, c.Certificate.ID, plan.WithHTTP2(c.Certificate.ID))
	}
	if own := c.Backend.Policy().ClientCertificate; own != nil {
		names = append(names, own.ID)
	}
	if ca := c.Backend.CA; ca != nil && ca != p.settings.DestinationCA && ca != p.settings.SystemCA {
		names = append(names, ca.ID)
	}
	return slices.AppendSeq(names, p.clientNames(c))
}

// Without returns the wanted state less what some claims bring to it.
func (p *Pipeline) Without(claims []*model.Claim) *plan.State {
	names := map[string]struct{}{}
	for _, c := range claims {
		for _, name := range p.names(c) {
			names[name] = struct{}{}
		}
	}
	return p.want.Without(names)
}
