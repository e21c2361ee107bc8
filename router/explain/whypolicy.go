package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// WhyPolicy is what a policy does.
type WhyPolicy struct {
	// Conditions are those that the router writes to the policy's status.
	Conditions []WhyCondition `json:"conditions"`
	// Targets are the routes that the policy is for.
	Targets []WhyTarget `json:"targets,omitempty"`
}

// WhyCondition is a condition of a policy, or of an object of the Gateway API.
type WhyCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// WhyTarget is a route that a policy is for.
type WhyTarget struct {
	// Kind is Route, or a kind of the Gateway API; of those Route has only the names.
	Kind  string    `json:"kind"`
	Route RouteInfo `json:"route"`
	// Rank says how the policy comes to the route: the higher one wins.
	Rank string `json:"rank,omitempty"`
	// Closed is true if the route's paths answer 503.
	Closed bool       `json:"closed,omitempty"`
	Groups []WhyGroup `json:"groups,omitempty"`
}

// WhyGroup is what became of a group of a policy for a route.
type WhyGroup struct {
	Group string `json:"group"`
	// By is the source that overrides the group; empty if it is in force.
	By string `json:"by,omitempty"`
	// Conflict is true if that source has the same rank, and is older.
	Conflict bool `json:"conflict,omitempty"`
}

// reports are what a router says of each policy. They look at all its objects, and so are made when
// they are asked for.
type reports struct {
	pipeline *pipeline.Pipeline
	of       map[model.Object]policy.Report
	// due says that some may be others than those that were made.
	due bool
}

func newReports(p *pipeline.Pipeline) *reports {
	return &reports{pipeline: p, of: map[model.Object]policy.Report{}, due: true}
}

func (r *reports) get(key model.Object) policy.Report {
	if r.due {
		for _, made := range r.pipeline.PolicyReports(func() model.Objects { return nil }) {
			r.of[made.Key] = made
		}
		r.due = false
	}
	return r.of[key]
}

// changed says that a policy, or something that it is for, is another one or gone.
func (r *reports) changed(policies model.Objects) {
	r.due = true
	for key := range policies {
		delete(r.of, key)
	}
}

// report is what is to be said of a policy, for Routes and for objects of the Gateway API.
func (s *Snapshot) report(key model.Object) policy.Report {
	routes := s.reports.get(key)
	g := s.apart()
	if g == nil {
		return s.withStatus(key, routes)
	}
	of := g.reports.get(key)
	if of.Targets == 0 {
		return s.withStatus(key, routes)
	}
	return s.withStatus(key, routes.With(of))
}

// policyKey returns the key of a policy by one of the names of its kind.
func policyKey(kind, namespace, name string) (model.Object, bool) {
	switch strings.ToLower(kind) {
	case "routepolicy", "routepolicies", "routepolicy.fairlead.dev":
		return model.Object{Kind: policy.KindRoutePolicy, Namespace: namespace, Name: name}, true
	case "clusterroutepolicy", "clusterroutepolicies", "clusterroutepolicy.fairlead.dev":
		return model.Object{Kind: policy.KindClusterRoutePolicy, Name: name}, true
	}
	return model.Object{}, false
}

// whyPolicy says what a policy does.
func (s *Snapshot) whyPolicy(y *Why, key model.Object) error {
	if s.objects.Policies[key] == nil {
		return s.missing(string(key.Kind), key)
	}
	report := s.report(key)
	y.Policy = &WhyPolicy{Conditions: []WhyCondition{}}
	for _, c := range report.Conditions {
		y.Policy.Conditions = append(y.Policy.Conditions, WhyCondition{c.Type, string(c.Status), c.Reason, c.Message})
	}
	closed := 0
	add := func(p *pipeline.Pipeline) {
		for _, o := range slices.SortedFunc(maps.Keys(p.Dependents(key)), compareKeys) {
			t := s.target(p, key, o)
			y.Policy.Targets = append(y.Policy.Targets, t)
			if t.Closed {
				closed++
				kind := strings.ToLower(string(o.Kind))
				y.next("see what closes %s %s: %s", kind, o, terminal.Command("kubectl", "fairlead", "why", kind+"/"+o.Name, "-n", o.Namespace))
			}
		}
	}
	add(s.pipeline)
	if g := s.apart(); g != nil {
		add(g.pipeline)
	}
	y.Served = len(y.Policy.Targets) > closed
	for _, f := range s.policyFindings(key) {
		y.Findings = append(y.Findings, f)
		if f.Remedy != "" && f.Severity != api.SeverityInfo {
			y.next("%s", f.Remedy)
		}
	}
	if len(report.Conditions) == 0 {
		y.next("the policy is for routers of other IngressControllers; ask one with --router")
	}
	return nil
}

func (s *Snapshot) target(p *pipeline.Pipeline, key, o model.Object) WhyTarget {
	t := WhyTarget{Kind: string(o.Kind), Route: s.info(o)}
	e := p.Effective(o)
	if e == nil {
		t.Closed = true
		return t
	}
	t.Closed = e.Closed()
	for _, origin := range e.Origins {
		if origin.Source.Key == key {
			t.Rank = origin.Source.Rank.String()
			t.Groups = append(t.Groups, WhyGroup{Group: string(origin.Group)})
		}
	}
	for _, l := range e.Losses {
		if l.Source.Key == key {
			t.Rank = cmp.Or(t.Rank, l.Source.Rank.String())
			t.Groups = append(t.Groups, WhyGroup{Group: string(l.Group), By: l.Winner.Title(), Conflict: l.Conflict})
		}
	}
	return t
}

// policyFindings are what is wrong with a policy: what its conditions say, as
// findings.
func (s *Snapshot) policyFindings(key model.Object) []Finding {
	var out []Finding
	find := func(severity api.Severity, reason api.Reason, message string) {
		out = append(out, s.finding(api.Finding{Object: policy.Ref(key), Reason: reason, Message: message, Severity: severity}))
	}
	report := s.report(key)
	for _, f := range report.Findings {
		if f.Reason == api.ReasonPolicyNotApplicable { // the others are those of an agent, and in conditions
			out = append(out, s.finding(f))
		}
	}
	for _, c := range report.Conditions {
		switch reason := api.Reason(c.Reason); {
		case c.Type == api.ConditionAccepted && reason == api.ReasonPolicyConflicted:
			find(api.SeverityWarning, api.ReasonPolicyConflict, c.Message)
		case c.Type == api.ConditionAccepted && reason == api.ReasonPolicyInvalid:
			find(api.SeverityError, api.ReasonInvalidPolicy, c.Message)
		case c.Type == api.ConditionAccepted && c.Status != "True":
			find(api.SeverityError, reason, c.Message)
		case c.Type == api.ConditionProtecting && reason == api.ReasonClosedPaths:
			find(api.SeverityError, api.ReasonPolicyClosed, c.Message)
		case c.Status != "True" && policy.FromAgent(c.Reason):
			find(api.SeverityWarning, reason, c.Message)
		case c.Type == api.ConditionOverridden && c.Status == "True":
			find(api.SeverityInfo, api.ReasonPolicyOverridden, c.Message)
		}
	}
	return out
}

// groups lists what policies say, group by group, and where each value comes from.
func groups(e *policy.Effective) []Policy {
	if e == nil {
		return nil
	}
	var out []Policy
	for _, o := range e.Origins {
		if !o.Source.Own() {
			out = append(out, Policy{Name: string(o.Group), Value: groupText(o.Group, o.Source), Source: sourceText(o.Group, o.Source)})
		}
	}
	for _, l := range e.Losses {
		out = append(out, Policy{
			Name: string(l.Group), Value: "overridden by " + l.Winner.Title(), Source: sourceText(l.Group, l.Source),
		})
	}
	return out
}

func sourceText(g policy.Group, s *policy.Source) string {
	if s.Own() {
		return s.Field(g)
	}
	return fmt.Sprintf("%s %s, rank %d: %s", s.Title(), s.Field(g), s.Rank, s.Rank)
}

// maxGroupText bounds a value on a terminal.
const maxGroupText = 200

// groupText writes a group of a policy.
func groupText(g policy.Group, s *policy.Source) string {
	var text string
	switch g {
	case policy.GroupAccess:
		var parts []string
		if s.Access.Restricted {
			parts = append(parts, "allow "+cmp.Or(prefixes(s.Access.Allow), "no client"))
		}
		if len(s.Access.Deny) > 0 {
			parts = append(parts, "deny "+prefixes(s.Access.Deny))
		}
		text = strings.Join(parts, "; ")
	default:
		text = jsonOf(g, s.Spec)
	}
	if len(text) > maxGroupText {
		text = text[:maxGroupText] + " ..."
	}
	return text
}

// jsonOf writes a group as its field in the manifest, on one line.
func jsonOf(g policy.Group, spec *v1alpha1.PolicySpec) string {
	if g == policy.GroupUpstream && spec.Upstream != nil { // of which tls is a group of its own
		u := *spec.Upstream
		u.TLS, spec = nil, &v1alpha1.PolicySpec{Upstream: &u}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	if g == policy.GroupUpstreamTLS && spec.Upstream != nil {
		if text, err := json.Marshal(spec.Upstream.TLS); err == nil {
			return string(text)
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return ""
	}
	return string(fields[string(g)])
}

// print writes what a policy does.
func (y *WhyPolicy) print(p *printer) {
	var rows [][]string
	for _, c := range y.Conditions {
		rows = append(rows, []string{"  " + c.Type, c.Status, c.Reason, c.Message})
	}
	p.table(rows)
	for _, t := range y.Targets {
		closed := ""
		if t.Closed {
			closed = ": paths answer 503"
		}
		if t.Kind == string(route.Kind) {
			p.line("\nRoute %s%s", t.Route.text(), closed)
		} else {
			p.line("\n%s %s/%s%s", t.Kind, t.Route.Namespace, t.Route.Name, closed)
		}
		rows = nil
		for _, g := range t.Groups {
			state := "in force, rank: " + t.Rank
			switch {
			case g.Conflict:
				state = "in conflict: " + g.By + " is older"
			case g.By != "":
				state = "overridden by " + g.By
			}
			rows = append(rows, []string{"  " + g.Group, state})
		}
		p.table(rows)
	}
}
