package preflight

import (
	"fmt"

	"github.com/fairlead/fairlead/check"
)

// Schema names the form of a Report for programs.
const Schema = "fairlead.dev/preflight/v1"

// Verdict is the answer.
type Verdict string

// The verdicts.
const (
	Ready    Verdict = "ready"
	NotReady Verdict = "not ready"
	// Unclear: nothing is known to be wrong, but something without which nothing can be
	// said could not be read.
	Unclear Verdict = "unknown"
)

// Check is one line of the answer.
type Check struct {
	// ID is stable.
	ID      string      `json:"id"`
	State   check.State `json:"state"`
	Summary string      `json:"summary"`
	// Remedy is what to do, and Page a page of the documentation; both are empty where
	// nothing is wrong.
	Remedy string `json:"remedy"`
	Page   string `json:"page"`
}

// Report is all that was found.
type Report struct {
	Schema     string  `json:"schema"`
	Verdict    Verdict `json:"verdict"`
	Kubernetes string  `json:"kubernetes"`
	// Partial says that something could not be read; Notes say what.
	Partial bool       `json:"partial"`
	Notes   []string   `json:"notes"`
	Checks  []Check    `json:"checks"`
	Kinds   []Decision `json:"kinds"`
}

// finding is what a rule found wrong.
type finding struct {
	state                 check.State
	summary, remedy, page string
}

// rule is a check: what it needs, and what it finds. Without findings, good is the summary.
type rule struct {
	id    string
	needs []Source
	judge func(*Facts) (good string, found []finding)
}

func rules() []rule {
	return []rule{
		{"kubernetes", []Source{SourceVersion}, kubernetes},
		{"admission-policies", []Source{SourceVersion, SourcePolicyKinds}, policyKinds},
		{"installation", []Source{SourceWorkloads}, installed},
		{"openshift", []Source{SourceKinds, SourceRouteAPI}, openShift},
		{"kinds", []Source{SourceKinds, SourceRouteAPI}, kinds},
		{"gateway-api", []Source{SourceKinds}, gatewayAPI},
		{"speaker-ports", []Source{SourcePods, SourceServices}, speakerPorts},
		{"router-ports", []Source{SourcePods, SourceControllers}, routerPorts},
		{"node-ports", []Source{SourceServices}, nodePorts},
		{"address-provider", []Source{SourceWorkloads, SourceKinds}, addressProviders},
		{"ingress-classes", []Source{SourceClasses}, ingressClasses},
		{"gateway-classes", []Source{SourceGatewayClasses}, gatewayClasses},
		{"rights", []Source{SourceRights}, rights},
		{"namespaces", []Source{SourceNamespaces}, namespacesExist},
		{"pod-security", []Source{SourceNamespaces, SourceControllers}, podSecurity},
		{"webhooks", []Source{SourceWebhooks, SourceEndpoints, SourceNamespaces}, webhooks},
	}
}

// perRule is how many findings of a rule are listed; the others are counted.
const perRule = 10

// Judge says whether Fairlead may be installed or upgraded.
func Judge(f *Facts) *Report {
	r := &Report{Schema: Schema, Verdict: Ready, Kubernetes: f.Kubernetes, Notes: f.notes(), Checks: []Check{}, Kinds: []Decision{}}
	r.Partial = len(r.Notes) > 0
	for _, rule := range rules() {
		r.Checks = append(r.Checks, rule.apply(f)...)
	}
	if f.gap(SourceKinds, SourceRouteAPI) == "" {
		r.Kinds = decisions(f)
	}
	switch {
	case r.Count(check.Fail) > 0:
		r.Verdict = NotReady
	case f.gap(SourceVersion, SourceKinds, SourceRouteAPI, SourceRights) != "":
		r.Verdict = Unclear
	}
	return r
}

// apply returns at least one Check.
func (r rule) apply(f *Facts) []Check {
	good, found := r.judge(f)
	if why := f.gap(r.needs...); why != "" {
		// What is wrong is wrong, whatever else could not be read.
		if len(found) == 0 {
			return []Check{{ID: r.id, State: check.Unknown, Summary: why}}
		}
	}
	if len(found) == 0 {
		return []Check{{ID: r.id, State: check.OK, Summary: good}}
	}
	var all []Check
	for _, n := range found[:min(len(found), perRule)] {
		all = append(all, Check{ID: r.id, State: n.state, Summary: n.summary, Remedy: n.remedy, Page: n.page})
	}
	if rest := len(found) - perRule; rest > 0 {
		last := found[perRule]
		for _, n := range found[perRule:] {
			if n.state == check.Fail {
				last = n
			}
		}
		all = append(all, Check{ID: r.id, State: last.state, Summary: fmt.Sprintf("the same holds for %d more", rest), Remedy: last.remedy, Page: last.page})
	}
	return all
}

// Count returns how many checks have a state.
func (r *Report) Count(state check.State) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].State == state {
			n++
		}
	}
	return n
}
