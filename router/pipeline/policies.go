package pipeline

import (
	"slices"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// A change of a policy concerns the objects that it applied to, which the index
// has, and those that it applies to now, which this file finds.

// concerned adds the objects that a changed policy applied to and applies to.
func (p *Pipeline) concerned(set model.Objects, key model.Object) {
	p.index.addTo(set, key)
	policies := p.src.Policies(key.Namespace)
	if policies.Crowded() {
		// Which of them apply may have changed with this one.
		p.eachObject(key.Namespace, func(o model.Object, _ *tracked) {
			set[o] = struct{}{}
			if o.Kind == door.KindGateway {
				p.index.addTo(set, o)
			}
		})
		return
	}
	changed := policies.Get(key.Name)
	if changed == nil {
		return
	}
	for _, g := range changed.Gateways() {
		p.index.addTo(set, g) // the routes that are attached to it, of all namespaces
	}
	if names, all := changed.Names(p.Named); all {
		for _, o := range names {
			set[o] = struct{}{}
		}
		return
	}
	p.eachObject(key.Namespace, func(o model.Object, r *tracked) {
		if p.reaches(changed, o, r) {
			set[o] = struct{}{}
		}
	})
}

// Named reports whether objects of a kind come in by a door of their own.
func (p *Pipeline) Named(k model.Kind) bool { return p.doors[k] != nil }

// eachObject calls a function for each known object of a namespace, or of all if
// that is empty.
func (p *Pipeline) eachObject(namespace string, do func(model.Object, *tracked)) {
	for o, r := range p.objects {
		if namespace == "" || o.Namespace == namespace {
			do(o, r)
		}
	}
}

// reaches reports whether a policy applies to an object as it is now, or to a
// version of it that may be served in its place.
func (p *Pipeline) reaches(changed *policy.Object, o model.Object, r *tracked) bool {
	for _, v := range []door.Version{p.src.Object(o), r.good, r.from, r.accepted.object} {
		if v == nil {
			continue
		}
		if _, applies := changed.RankFor(door.Place(r.door, v, p.src, p.settings)); applies {
			return true
		}
	}
	return false
}

// covers reports whether a former version forbids all that the newest one forbids. As
// that depends on the policies of both, so does the result.
func (p *Pipeline) covers(r *tracked, res *door.Result, former, newest door.Version) bool {
	place := door.Place(r.door, former, p.src, p.settings)
	res.Depends = append(res.Depends, policy.Select(place, p.src.Policies(place.Object.Namespace), p.src.Policies("")).Depends...)
	return r.door.Covers(former, newest, p.src, p.settings)
}

// mayReplace reports whether what HAProxy has taken may be served in place of what it
// refused: as a version, which the policies of now apply to, or as the claims of then.
func (p *Pipeline) mayReplace(r *tracked, res *door.Result, newest door.Version) bool {
	former := r.accepted
	covers := p.covers(r, res, former.object, newest)
	if r.refusal.fallback != formerClaims {
		return covers
	}
	return former.closed() || covers && p.stillGuarded(r, res, former)
}

// stillGuarded reports whether claims of then keep out what the policies of now have
// the same version keep out. The result depends on these policies, too.
func (p *Pipeline) stillGuarded(r *tracked, res *door.Result, then accepted) bool {
	now := p.ingestVersion(r, res.Object, then.object)
	res.Depends = append(res.Depends, now.Depends...)
	for _, c := range then.claims {
		if c.Closed {
			continue
		}
		n := ruleOf(now.Claims, c.Rule)
		if n == nil || n.Guard() != "" && n.Guard() != c.Guard() {
			return false
		}
	}
	return true
}

// depend notes what an object depends on now.
func (p *Pipeline) depend(r *tracked, before *door.Result) {
	p.noteOutcome(before, r.result)
	changed := p.index.replace(r, before.Depends, r.result.Depends)
	p.neededChanged = p.neededChanged || slices.Contains(changed, door.KindSecret) || slices.Contains(changed, door.KindConfigMap)
}

// noteOutcome remembers the policies of which there may be something new to say,
// because an object has another result.
func (p *Pipeline) noteOutcome(before, now *door.Result) {
	if before.Effective != nil && before.Effective.Same(now.Effective) && slices.Equal(before.Depends, now.Depends) {
		return
	}
	for _, depends := range [][]model.Object{before.Depends, now.Depends} {
		for _, d := range depends {
			if policy.IsKind(d.Kind) {
				p.unreported[d] = struct{}{}
			}
		}
	}
}

// PolicyReports returns what is to be said of policies since the last call. Changed
// returns the changed objects that are not taken in yet.
func (p *Pipeline) PolicyReports(changed func() model.Objects) []policy.Report {
	if len(p.unreported) == 0 {
		return nil
	}
	p.recounted = true
	waiting := changed()
	tallies := map[model.Object]*policy.Tally{}
	for key := range p.unreported {
		delete(p.policyStates, key) // if it is still there, it is reported
		set := p.src.Policies(key.Namespace)
		if o := set.Get(key.Name); o != nil {
			tallies[key] = policy.NewTally(o, set, p.settings.RouterName)
		}
	}
	for o, r := range p.objects {
		if _, waits := waiting[o]; !waits {
			p.tally(o, r, tallies)
		}
	}
	for o := range waiting {
		p.tallyWaiting(o, tallies)
	}
	reports := make([]policy.Report, 0, len(tallies))
	p.unreported = model.Objects{}
	for key, t := range tallies {
		report := t.Report(p.missing(t.Policy()))
		if report.Pending {
			p.unreported[key] = struct{}{}
		}
		if len(report.States) > 0 {
			p.policyStates[key] = report.States
		}
		reports = append(reports, report)
	}
	return reports
}

// PolicyCount is how a group of some policies fares.
type PolicyCount struct {
	Group policy.Group
	State policy.State
}

// PolicyCounts returns how many policies set a group, by what became of it, and whether
// that may be others than at the last call.
func (p *Pipeline) PolicyCounts() (counts map[PolicyCount]int, changed bool) {
	if !p.recounted {
		return nil, false
	}
	p.recounted = false
	counts = map[PolicyCount]int{}
	for _, groups := range p.policyStates {
		for g, s := range groups {
			counts[PolicyCount{g, s}]++
		}
	}
	return counts, true
}

// tally adds what became of an object to the policies that are for it.
func (p *Pipeline) tally(o model.Object, r *tracked, tallies map[model.Object]*policy.Tally) {
	for i, d := range r.result.Depends {
		if t := tallies[d]; t != nil && !slices.Contains(r.result.Depends[:i], d) {
			t.Add(o, r.result.Effective, p.fate(r, d))
		}
	}
}

// tallyWaiting notes which policies an object that is not taken in yet may have.
func (p *Pipeline) tallyWaiting(o model.Object, tallies map[model.Object]*policy.Tally) {
	v, d := p.src.Object(o), p.doors[o.Kind]
	if v == nil || d == nil {
		return
	}
	place := door.Place(d, v, p.src, p.settings)
	for _, t := range tallies {
		if !t.Waiting() && t.Concerns(place) {
			t.Wait()
		}
	}
}

// missing returns the objects that a policy names and that are not there.
func (p *Pipeline) missing(of *policy.Object) (missing []string) {
	names, _ := of.Names(func(model.Kind) bool { return true })
	for _, o := range names {
		switch {
		case p.doors[o.Kind] != nil && p.src.Object(o) == nil:
			missing = append(missing, policy.Title(o)+" does not exist, or is not for this router")
		case o.Kind == door.KindService && !p.anyTo(o):
			missing = append(missing, "no Route here leads to "+policy.Title(o))
		case o.Kind != door.KindService && p.doors[o.Kind] == nil && !p.anyOf(o):
			missing = append(missing, policy.Title(o)+" has no Route here")
		}
	}
	return missing
}

// anyOf reports whether an object is made of one of another kind, such as an
// Ingress.
func (p *Pipeline) anyOf(source model.Object) (found bool) {
	p.eachObject(source.Namespace, func(_ model.Object, r *tracked) { found = found || r.ingress == source.Name })
	return found
}

// anyTo reports whether an object sends requests to a Service.
func (p *Pipeline) anyTo(service model.Object) (found bool) {
	p.eachObject(service.Namespace, func(o model.Object, r *tracked) {
		v := p.src.Object(o)
		found = found || v != nil && slices.Contains(r.door.Place(v, p.settings).Services, service.Name)
	})
	return found
}

// noteIngress notes which Ingress an object is made of, as policies that name it say
// whether there is one.
func (p *Pipeline) noteIngress(r *tracked, key model.Object, v door.Version) {
	now := ""
	if v != nil {
		now = r.door.Place(v, p.settings).Ingress
	}
	if now == r.ingress {
		return
	}
	r.ingress = now
	for _, o := range p.src.Policies(key.Namespace).All() {
		if _, all := o.Names(p.Named); !all {
			p.unreported[o.Key] = struct{}{}
		}
	}
}
