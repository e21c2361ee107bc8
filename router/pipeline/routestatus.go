package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Known reports whether there is such an object, and pending whether it is too
// early to say anything about it.
func (p *Pipeline) Known(key model.Object) (known, pending bool) {
	r := p.objects[key]
	return r != nil, r != nil && r.result.Pending
}

// Status returns what the router says about an object that it knows.
func (p *Pipeline) Status(key model.Object) model.RouteStatus {
	r := p.objects[key]
	res := r.result
	st := model.RouteStatus{
		Object: key, UID: res.UID, Host: res.Host, WildcardPolicy: res.WildcardPolicy,
		Admitted: true, Findings: res.Findings,
	}
	if of := res.OfGateway; of != nil {
		st.Generation, st.Parents, st.Listeners = of.Generation, of.Parents, of.ListenerStatus
		st.Conditions, st.AttachedTo, st.TLSPolicies = of.Conditions, of.AttachedTo, of.TLSPolicies
	}
	if lost := p.lost(r, key); lost.findings != nil {
		st.Findings = append(lost.findings, st.Findings...)
		st.Parents = lost.parents(st.Parents)
	}
	if r.refusal != nil {
		st.Parents = refused(st.Parents, st.Findings[0])
	}
	if p.probes.stretched(key.Namespace) && isProbed(r) {
		st.Findings = append(slices.Clip(st.Findings), p.lessOften(r.door.Ref(key)))
	}
	st.Findings = p.authServer(st.Findings, key, r)
	for _, f := range st.Findings {
		switch {
		case f.Severity != api.SeverityError:
		case f.Reason != api.ReasonPolicyClosed:
			st.Admitted, st.Reason, st.Message = false, f.Reason, f.Text()
			return st
		case st.Reason == "":
			st.Reason, st.Message = f.Reason, closedText(f)
		}
	}
	return st
}

func (p *Pipeline) lessOften(o api.ObjectRef) api.Finding {
	return api.Finding{
		Object: o, Severity: api.SeverityWarning, Reason: api.ReasonTooManyHealthChecks,
		Message: fmt.Sprintf("the routes of the namespace ask for more than %d health checks a second", p.settings.CheckBudget()/int64(time.Hour/time.Second)),
		Effect:  "health checks are made less often",
	}
}

// lost is what became of claims that are not served as they are.
type lost struct {
	// findings are about each, of several equal ones the first.
	findings []api.Finding
	// scoped is the first about claims in scopes, or nil.
	scoped *api.Finding
	// shared has what became of those at the router's own ports, by their listener.
	shared map[model.ScopeID]*lostShared
}

// lostShared is what became of the claims that a shared listener serves for a route.
type lostShared struct {
	// first is the first finding about them, or nil.
	first *api.Finding
	// claims counts them, and foreign those that lost to another namespace.
	claims, foreign int
}

func (p *Pipeline) lost(r *tracked, key model.Object) (out lost) {
	for _, c := range r.result.Claims {
		if c.IsShared() {
			out.at(c).claims++
		}
		found, has := lostBy(p.hosts[c.Host], c.ID())
		if !has {
			continue
		}
		f := found // on the heap, which few claims need
		f.Object = r.door.Ref(key)
		if !slices.Contains(out.findings, f) {
			out.findings = append(out.findings, f)
		}
		if !c.IsShared() {
			out.scoped = cmp.Or(out.scoped, &f)
			continue
		}
		of := out.at(c)
		if of.first = cmp.Or(of.first, &f); f.Reason == api.ReasonNotAllowedByListeners {
			of.foreign++
		}
	}
	return out
}

// lostBy returns what is to be said of a claim that a host does not serve as it is.
func lostBy(h *admit.Host, id model.ClaimID) (f api.Finding, has bool) {
	for _, all := range []map[model.ClaimID]api.Finding{h.Losers, h.Closed, h.Replaced} {
		if f, has = all[id]; has {
			return f, true
		}
	}
	return f, false
}

// at returns what became of the claims of a listener.
func (o *lost) at(c *model.Claim) *lostShared {
	if o.shared == nil {
		o.shared = map[model.ScopeID]*lostShared{}
	}
	if o.shared[c.Listener()] == nil {
		o.shared[c.Listener()] = &lostShared{}
	}
	return o.shared[c.Listener()]
}

// parents says of a route of the Gateway API what has no place, of each parent what is about its
// listeners.
func (o *lost) parents(all []model.ParentStatus) []model.ParentStatus {
	out := make([]model.ParentStatus, 0, len(all))
	for i := range all {
		one, f, foreign := all[i:i+1], o.scoped, 0
		for _, scope := range all[i].Scopes {
			of := o.shared[scope]
			if of == nil {
				continue
			}
			if f = cmp.Or(f, of.first); of.foreign == of.claims {
				f, foreign = of.first, foreign+1
			}
		}
		switch {
		case f == nil:
		case foreign > 0 && foreign == len(all[i].Scopes):
			one = withCondition(one, model.StatusCondition{Type: "Accepted", Reason: string(api.ReasonNotAllowedByListeners), Message: f.Message})
			one[0].Listeners = nil
		default:
			one = partly(one, *f)
		}
		out = append(out, one...)
	}
	return out
}

// partly says of a route of the Gateway API that some of its matches have no place.
func partly(parents []model.ParentStatus, f api.Finding) []model.ParentStatus {
	return withCondition(parents, model.StatusCondition{Type: "PartiallyInvalid", True: true, Reason: string(api.ReasonUnsupportedValue), Message: "Dropped Rule: " + f.Text()})
}

// refused says of a route of the Gateway API that HAProxy does not take it.
func refused(parents []model.ParentStatus, f api.Finding) []model.ParentStatus {
	out := withCondition(parents, model.StatusCondition{Type: "Accepted", Reason: string(api.ReasonUnsupportedValue), Message: f.Text()})
	for i := range out {
		out[i].Listeners = nil
	}
	return out
}

// withCondition returns the parents that the route is attached to with a condition more,
// or another one of its type.
func withCondition(parents []model.ParentStatus, c model.StatusCondition) []model.ParentStatus {
	out := slices.Clone(parents)
	for i := range out {
		if out[i].Listeners == nil {
			continue
		}
		out[i].Conditions = append(slices.DeleteFunc(slices.Clone(out[i].Conditions), func(o model.StatusCondition) bool { return o.Type == c.Type }), c)
	}
	return out
}

// closedText begins with what clients get, because the object is admitted all the
// same.
func closedText(f api.Finding) string {
	effect := f.Effect
	f.Effect = ""
	return effect + ": " + f.Text()
}

// LastGood reports whether a former version of an object is served, because the newest cannot be.
func (p *Pipeline) LastGood(key model.Object) bool {
	r := p.objects[key]
	return r != nil && len(r.served) > 0 && !r.barred && !r.result.Pending && r.kept()
}

// Count returns how many objects of its doors the router knows, and how many it
// serves: of those that make claims.
func (p *Pipeline) Count() (known, served int) { return len(p.objects) - p.gateways, p.served }

func (p *Pipeline) countGateway(key model.Object, n int) {
	if key.Kind == door.KindGateway || key.Kind == door.KindListenerSet {
		p.gateways += n
	}
}

func keysOf[K comparable, V any](m map[K]V) map[K]struct{} {
	out := make(map[K]struct{}, len(m))
	for k := range maps.Keys(m) {
		out[k] = struct{}{}
	}
	return out
}
