package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// Difference is what clients meet otherwise with other objects.
type Difference struct {
	Schema string `json:"schema"`
	Router string `json:"router"`
	// Changes are in the order of ChangeKinds.
	Changes []Change `json:"changes"`
	// Compared counts the requests that stand for all others and were asked on both sides,
	// Unchanged the routes that answer none of them otherwise.
	Compared  int `json:"compared"`
	Unchanged int `json:"unchanged"`
	// HAProxy is what the change takes in a running HAProxy.
	HAProxy Effort `json:"haproxy"`
	// Findings are those that the objects had not before.
	Findings []Finding `json:"findings,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Change is one thing that becomes different for some requests.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Requests say in words which requests are meant.
	Requests []string `json:"requests"`
	// Before and After are what these get.
	Before string `json:"before"`
	After  string `json:"after"`
	// Route is "namespace/name" of the route that decides, or decided if now none does.
	Route string `json:"route,omitempty"`
	// Count is how many of the compared requests it is for.
	Count int `json:"count"`
}

// ChangeKind says what a change means to a client.
type ChangeKind string

// The kinds of changes, the worst first.
const (
	// ChangeWeaker requests get past something that protected: TLS, a list of clients, a
	// login, a limit.
	ChangeWeaker ChangeKind = "weaker"
	// ChangeLost requests were served and are not any more.
	ChangeLost ChangeKind = "lost"
	// ChangeElsewhere requests go to other Services.
	ChangeElsewhere ChangeKind = "elsewhere"
	// ChangeShare requests are shared out by other weights.
	ChangeShare ChangeKind = "share"
	// ChangeCertificate handshakes show another certificate.
	ChangeCertificate ChangeKind = "certificate"
	// ChangePolicy requests are treated otherwise on their way.
	ChangePolicy ChangeKind = "policy"
	// ChangeGained requests were not served and are now.
	ChangeGained ChangeKind = "gained"
)

// ChangeKinds lists the kinds, the worst first.
func ChangeKinds() []ChangeKind {
	return []ChangeKind{ChangeWeaker, ChangeLost, ChangeElsewhere, ChangeShare, ChangeCertificate, ChangePolicy, ChangeGained}
}

// Effort counts what changes in HAProxy.
type Effort struct {
	Backends     Count `json:"backends"`
	Servers      Count `json:"servers"`
	Keys         Count `json:"keys"`
	Certificates Count `json:"certificates"`
	// Reload is why a new process is needed, or empty.
	Reload string `json:"reload,omitempty"`
}

// Count is how many are new, are gone, and stay with another content.
type Count struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// Has reports whether there is a change of one of the kinds; without kinds, any change.
func (d *Difference) Has(kinds ...ChangeKind) bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return len(kinds) == 0 || slices.Contains(kinds, c.Kind) })
}

// Compare says what requests meet otherwise after than before. Both are of one router.
func Compare(before, after *Snapshot) *Difference {
	d := &Difference{Schema: SchemaDiff, Router: after.options.Router, Changes: []Change{}, HAProxy: effort(before, after)}
	groups := map[groupKey][]class{}
	touched := map[string]bool{}
	var notes []string
	note := func(n string) { notes = append(notes, n) }
	all := slices.Collect(classes(before, after, note))
	all = slices.AppendSeq(all, gatewayClasses(before, after, note))
	d.Compared = len(all)
	// Each side is asked by one goroutine: a snapshot remembers what it was asked for.
	var was, is []*outcome
	both(func() { was = before.outcomes(all) }, func() { is = after.outcomes(all) })
	for i, c := range all {
		for _, a := range compare(before, after, was[i], is[i]) {
			k := groupKey{a.kind, a.before, a.after, cmp.Or(is[i].route, was[i].route)}
			groups[k] = append(groups[k], c)
			touched[was[i].route], touched[is[i].route] = true, true
		}
	}
	for k, of := range groups {
		d.Changes = append(d.Changes, Change{Kind: k.kind, Requests: inWords(of), Before: k.before, After: k.after, Route: k.route, Count: len(of)})
	}
	order := ChangeKinds()
	slices.SortFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), cmp.Compare(a.Route, b.Route), slices.Compare(a.Requests, b.Requests), cmp.Compare(a.After, b.After))
	})
	for _, key := range after.source.keys() {
		if _, served := after.pipeline.Claim(key); served && !touched[key.String()] {
			d.Unchanged++
		}
	}
	d.Unchanged += after.gateways().untouchedRoutes(touched)
	d.Findings = newFindings(before, after)
	d.Notes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.notes, after.notes, notes))))
	return d
}

// both does two things at the same time.
func both(one, other func()) {
	var done sync.WaitGroup
	done.Go(one)
	other()
	done.Wait()
}

// outcomes answers the requests that stand for classes.
func (s *Snapshot) outcomes(all []class) []*outcome {
	out := make([]*outcome, len(all))
	for i := range all {
		out[i] = s.outcome(&all[i])
	}
	return out
}

// groupKey is what requests with the same change have in common.
type groupKey struct {
	kind                 ChangeKind
	before, after, route string
}

// newFindings are those of after that before does not have.
func newFindings(before, after *Snapshot) (fresh []Finding) {
	text := func(f Finding) string {
		return strings.Join([]string{f.Object, f.Field, string(f.Reason), f.Message}, "\x00")
	}
	var was, is *Lint
	both(func() { was = before.Lint("") }, func() { is = after.Lint("") })
	known := map[string]bool{}
	for _, f := range was.Findings {
		known[text(f)] = true
	}
	for _, f := range is.Findings {
		if !known[text(f)] && f.Severity != api.SeverityInfo {
			fresh = append(fresh, f)
		}
	}
	return fresh
}

// effort compares what HAProxy has.
func effort(before, after *Snapshot) Effort {
	e := wantedEffort(before.wanted(), after.wanted())
	if before.base() != after.base() {
		e.Reload = "settings of the router change"
	}
	return e
}

// wanted is what HAProxy has for Routes and for Gateways.
func (s *Snapshot) wanted() *plan.State {
	all := s.pipeline.Want()
	g := s.apart()
	if g == nil {
		return all
	}
	of, both := g.pipeline.Want(), plan.NewState()
	for _, from := range []*plan.State{all, of} {
		maps.Copy(both.Backends, from.Backends)
		maps.Copy(both.Entries, from.Entries)
		maps.Copy(both.Certs, from.Certs)
	}
	return both
}

func wantedEffort(old, now *plan.State) (e Effort) {
	e.Backends = counts(old.Backends, now.Backends, func(_, _ *plan.Backend) bool { return true })
	servers := func(s *plan.State) map[string]string {
		all := map[string]string{}
		for name, b := range s.Backends {
			for _, server := range b.Servers {
				all[name+"/"+server.Name] = fmt.Sprint(server.Server)
			}
		}
		return all
	}
	same := func(a, b string) bool { return a == b }
	e.Servers = counts(servers(old), servers(now), same)
	e.Keys = counts(old.Entries, now.Entries, same)
	e.Certificates = counts(old.Certs, now.Certs, same)
	return e
}

// base is the part of the configuration that no route changes, or empty.
func (s *Snapshot) base() string {
	caps, err := plan.CapabilitiesOf(NewestHAProxy)
	if err != nil {
		return ""
	}
	base, err := render.Skeleton(s.render, render.Layout{Dir: workDir, Run: runDir}, caps)
	if err != nil {
		return ""
	}
	return base.Text
}

func counts[K comparable, V any](old, now map[K]V, same func(a, b V) bool) (c Count) {
	for k, v := range now {
		switch was, there := old[k]; {
		case !there:
			c.Added++
		case !same(was, v):
			c.Changed++
		}
	}
	for k := range old {
		if _, there := now[k]; !there {
			c.Removed++
		}
	}
	return c
}
