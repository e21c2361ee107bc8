package pipeline

import (
	"reflect"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// This file keeps the last good version of a route while the newest one cannot
// be served: because its door finds it wrong, or because HAProxy refuses it. It is
// the last good version that the wanted state has then, so files, read-back and
// drift all follow it without knowing.

// accepted is a version of a route that HAProxy has taken.
type accepted struct {
	object *routev1.Route
	claim  *model.Claim
}

// fallback is what is served in place of a version that HAProxy refused. Each
// is tried after HAProxy has refused the one before.
type fallback int

const (
	// formerVersion is the last version that HAProxy took, with the pods and
	// Secrets of now.
	formerVersion fallback = iota + 1
	// formerClaim is the same as it was then: it was a pod or a Secret that
	// HAProxy refused.
	formerClaim
	// barred is the host and path of the newest version, closed, where a former
	// one would let through what the newest one keeps out.
	barred
	// withdrawn is nothing.
	withdrawn
)

// refusal is HAProxy's word against a version of a route.
type refusal struct {
	fallback fallback
	message  string
	// version identifies the refused version of the object.
	version string
}

// certificate returns the one that the route has brought so far, or nil.
func (r *tracked) certificate() *model.Certificate {
	switch {
	case r.result != nil && r.result.Claim != nil:
		return r.result.Claim.Certificate
	case r.accepted.claim != nil:
		return r.accepted.claim.Certificate
	}
	return nil
}

// kept reports whether something older is served than the newest version.
func (r *tracked) kept() bool {
	if r.refusal != nil {
		return true
	}
	if r.result.Claim == nil {
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
func (p *Pipeline) ingestOrKeep(r *tracked, object *routev1.Route) *route.Result {
	res := p.read(r, object)
	switch {
	case r.refusal != nil:
		p.fallBack(r, res)
		return res
	case res.Claim != nil:
		r.good, r.from = object, object
		return res
	case r.good == nil || r.good == object || !res.Pending && !contentRefused(res) || r.good.Spec.Host != object.Spec.Host:
		r.good, r.from, r.accepted = nil, nil, accepted{}
	case !route.Covers(r.good, object, p.settings):
		p.bar(r, res, object, r.good)
		return res
	case p.keep(r, res, r.good):
		setEffect(res, "the last good version keeps serving")
		return res
	}
	if route.Guarded(object) {
		p.bar(r, res, object, nil)
	}
	return res
}

// bar closes the path of a version that cannot be served, or, if that is not
// known, the path of the former one, which would let through what the newest
// one keeps out.
func (p *Pipeline) bar(r *tracked, res *route.Result, newest, former *routev1.Route) {
	barrier := res.Barrier
	if barrier == nil && former != nil {
		if kept := p.ingestVersion(r, former); kept.Claim != nil {
			barrier = kept.Claim.Barred()
		}
	}
	if barrier == nil {
		return
	}
	barrier.Certificate = nil
	if c := r.accepted.claim; c != nil && c.Host == barrier.Host {
		barrier.Certificate = c.Certificate
	}
	res.Claim, r.from, r.barrier = barrier, newest, barrier
	effect := "requests get a 503 page, because something of the route that protects cannot be used"
	if former != nil {
		effect = "requests get a 503 page, because the last good version would let through what this one keeps out"
	}
	setEffect(res, effect)
}

func setEffect(res *route.Result, effect string) {
	for i := range res.Findings {
		if res.Findings[i].Severity == api.SeverityError {
			res.Findings[i].Effect = effect
		}
	}
}

// keep makes a former version the claim of a result, if it can still be served.
func (p *Pipeline) keep(r *tracked, res *route.Result, former *routev1.Route) bool {
	kept := p.ingestVersion(r, former)
	if kept.Claim == nil {
		return false
	}
	// What the served version depends on must be noticed, too.
	res.Claim, r.from = kept.Claim, former
	res.Depends = append(res.Depends, kept.Depends...)
	return true
}

// contentRefused reports whether a route was refused for what its fields hold,
// as opposed to a host that it may not have.
func contentRefused(res *route.Result) bool {
	for _, f := range res.Findings {
		if f.Severity == api.SeverityError {
			return f.Reason == api.ReasonExtendedValidationFailed || f.Reason == api.ReasonInvalidField || f.Reason == api.ReasonInvalidAnnotation
		}
	}
	return false
}

// fallBack puts into a result what is served in place of what HAProxy refused.
func (p *Pipeline) fallBack(r *tracked, res *route.Result) {
	newest, former := p.src.Route(res.Object), r.accepted
	if res.Claim != nil {
		res.Barrier = res.Claim.Barred()
	}
	res.Claim = nil
	covered := former.claim != nil && (former.claim.Closed || route.Covers(former.object, newest, p.settings))
	f := api.Finding{
		Object: route.RouteRef(res.Object), Reason: api.ReasonRefusedByHAProxy, Severity: api.SeverityError,
		Message: "HAProxy refused this route's configuration: " + r.refusal.message,
		Effect:  "the route is not served",
	}
	res.Findings = append([]api.Finding{f}, res.Findings...)
	switch {
	case covered && r.refusal.fallback == formerVersion && p.keep(r, res, former.object):
		setEffect(res, "the last good version keeps serving")
	case covered && r.refusal.fallback == formerClaim:
		res.Claim, r.from = former.claim, former.object
		setEffect(res, "the last good version keeps serving")
	case covered && r.refusal.fallback < barred || r.refusal.fallback == withdrawn:
	case former.claim != nil && !covered:
		p.bar(r, res, newest, former.object)
	case route.Guarded(newest):
		p.bar(r, res, newest, nil)
	}
}

// Refuse takes HAProxy's word against what a route adds to the wanted state,
// and puts in its place the last version that HAProxy took. It returns what
// may now differ, as Update does, and false if the route adds nothing.
func (p *Pipeline) Refuse(key model.Object, message string) (*plan.Scope, model.Objects, bool) {
	r, object := p.routes[key], p.src.Route(key)
	if r == nil || r.served == nil || object == nil {
		return nil, nil, false
	}
	if r.refusal == nil {
		r.refusal = &refusal{version: fingerprint(object)}
	}
	r.refusal.message, r.good = message, r.accepted.object
	for refused := r.served; r.refusal.fallback < withdrawn; {
		r.refusal.fallback++
		res := p.read(r, object)
		if p.fallBack(r, res); res.Claim != nil && !sameContent(res.Claim, refused) {
			break
		}
	}
	scope, touched := p.update(model.Objects{key: {}}, false)
	return scope, touched, true
}

// sameContent reports whether two claims ask HAProxy for the same.
func sameContent(a, b *model.Claim) bool {
	c := *a
	c.Version = b.Version
	return reflect.DeepEqual(&c, b)
}

// forgive lets routes with resolved changes try again what HAProxy refused. A change
// of pods alone is no reason where the pods were not.
func (p *Pipeline) forgive(dirty model.Objects, ch door.Changes) {
	for key := range dirty {
		r := p.routes[key]
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
	for key := range p.keeping {
		if r := p.routes[key]; r.refusal != nil {
			r.refusal, refused[key] = nil, struct{}{}
		}
	}
	return p.update(refused, false)
}

// Accept notes that HAProxy has taken what routes add to the wanted state.
func (p *Pipeline) Accept(keys model.Objects) {
	for key := range keys {
		if r := p.routes[key]; r != nil && r.served != nil && r.served != r.barrier {
			r.accepted = accepted{r.from, r.served}
		}
	}
}

// Unaccepted returns the claims that HAProxy has not taken yet, in any order.
func (p *Pipeline) Unaccepted() []*model.Claim {
	var out []*model.Claim
	for _, r := range p.routes {
		if r.served != nil && r.served != r.accepted.claim {
			out = append(out, r.served)
		}
	}
	return out
}

// Bringer returns the route that brings the certificate or CA of a step. It
// looks at all routes.
func (p *Pipeline) Bringer(s plan.Step) (model.Object, bool) {
	id := ""
	switch s := s.(type) {
	case plan.CertPut:
		id = s.ID
	case plan.LineSet:
		id = s.CertID
	case plan.CAPut:
		id = s.ID
	}
	for key, r := range p.routes {
		c := r.served
		if c == nil || id == "" {
			continue
		}
		if c.Certificate != nil && (c.Certificate.ID == id || plan.WithHTTP2(c.Certificate.ID) == id) || c.Backend.CA != nil && c.Backend.CA.ID == id {
			return key, true
		}
	}
	return model.Object{}, false
}
