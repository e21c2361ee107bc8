package check

import (
	"cmp"
	"fmt"
	"slices"
)

// Schema names the JSON form of a Report.
const Schema = "fairlead.dev/status/v1"

// State is the outcome of a check.
type State string

// The states.
const (
	// OK: nothing is wrong.
	OK State = "ok"
	// Warn: everything is served, but something needs attention, or an object of a
	// user is wrong.
	Warn State = "warn"
	// Fail: something is not served or not announced.
	Fail State = "fail"
	// Unknown: something that the check needs could not be read.
	Unknown State = "unknown"
	// Skipped: the user did not want it checked.
	Skipped State = "skipped"
)

// Finding is something that a rule found wrong.
type Finding struct {
	// Object is "kind/namespace/name", or empty.
	Object string
	// Summary is one sentence without a full stop.
	Summary string
	// Remedy and State replace those of the rule.
	Remedy string
	State  State
}

// Rule is one check.
type Rule struct {
	// ID is stable: "FL", the digit of the group, two digits.
	ID string
	// Title is that of its page.
	Title string
	// State is that of its findings.
	State State
	// Remedy is what to do, usually a command.
	Remedy string
	// Needs are the sources without which nothing can be said.
	Needs []Source
	// Judge returns what is wrong.
	Judge func(*Snapshot) []Finding
}

// Check is the outcome of a rule, or one of several about several objects.
type Check struct {
	ID      string `json:"id"`
	State   State  `json:"state"`
	Summary string `json:"summary"`
	Remedy  string `json:"remedy"`
	Object  string `json:"object"`
}

// Verdict is the answer.
type Verdict string

// The verdicts.
const (
	Healthy   Verdict = "healthy"
	Unhealthy Verdict = "unhealthy"
	// Unclear: nothing is known to be wrong, but something without which nothing can be
	// said of the routers could not be read.
	Unclear Verdict = "unknown"
)

// Report is all that was found.
type Report struct {
	Schema  string  `json:"schema"`
	Verdict Verdict `json:"verdict"`
	// Partial says that something could not be read; Notes say what.
	Partial bool     `json:"partial"`
	Notes   []string `json:"notes"`
	Checks  []Check  `json:"checks"`

	screen []row // for people
}

// perRule is how many objects a rule names; the others are counted.
const perRule = 10

// Rules returns all rules, in the order of their ids.
func Rules() []Rule {
	return slices.Concat(installation(), certificates(), routers(), routes(), addresses(), names(), ingresses(), reach(), capacity())
}

// Judge applies the rules to a snapshot.
func Judge(s *Snapshot) *Report {
	r := &Report{Schema: Schema, Verdict: Healthy, Notes: s.notes(), Checks: []Check{}}
	if r.Notes == nil {
		r.Notes = []string{}
	}
	r.Partial = len(r.Notes) > 0
	for _, rule := range Rules() {
		r.Checks = append(r.Checks, rule.apply(s)...)
	}
	switch {
	case r.Count(Fail) > 0:
		r.Verdict = Unhealthy
	case s.gap(SourceControllers) != "" || s.gap(SourceDeployments) != "":
		r.Verdict = Unclear
	}
	r.screen = s.rows()
	return r
}

// apply returns at least one Check.
func (r Rule) apply(s *Snapshot) []Check {
	found := r.Judge(s)
	for _, source := range r.Needs {
		// What is wrong is wrong, whatever else could not be read. The absence of
		// findings means nothing then.
		gap := s.gap(source)
		if gap == "" || len(found) > 0 && s.Sources[source].partial() {
			continue
		}
		state := Unknown
		if s.Sources[source].Skipped {
			state = Skipped
		}
		return []Check{{ID: r.ID, State: state, Summary: gap}}
	}
	if len(found) == 0 {
		return []Check{{ID: r.ID, State: OK, Summary: r.Title + ": no"}}
	}
	var all []Check
	for _, f := range found[:min(len(found), perRule)] {
		all = append(all, Check{ID: r.ID, State: cmp.Or(f.State, r.State), Summary: f.Summary, Remedy: cmp.Or(f.Remedy, r.Remedy), Object: f.Object})
	}
	if rest := len(found) - perRule; rest > 0 {
		all = append(all, Check{ID: r.ID, State: all[0].State, Summary: fmt.Sprintf("the same holds for %d more objects", rest), Remedy: r.Remedy})
	}
	return all
}

// Count returns how many checks have a state.
func (r *Report) Count(state State) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].State == state {
			n++
		}
	}
	return n
}

// Good reports whether nothing fails, and nothing warns if warnings count.
func (r *Report) Good(warnings bool) bool {
	return r.Verdict == Healthy && (!warnings || r.Count(Warn) == 0)
}
