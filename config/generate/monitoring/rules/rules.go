// Package rules are the alerts on Fairlead's metrics: for each what it means, what to do, and series for which it does
// and does not fire. The files in config/monitoring and the runbooks in docs/monitoring are made of them.
package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says who must look at an alert, and when.
type Severity string

// The severities of alerts.
const (
	// Page is for now: clients get errors, or will within minutes.
	Page Severity = "page"
	// Ticket is for the next working day.
	Ticket Severity = "ticket"
)

// Alert is one rule with its runbook.
type Alert struct {
	Name     string
	Severity Severity
	// Expr is the PromQL, For how long it must hold; empty for no time.
	Expr, For string
	// Summary is one sentence, which may use labels of the result.
	Summary string
	// Meaning says what has happened, Effect what clients or tenants notice.
	Meaning, Effect string
	// Check are commands that show the cause.
	Check []string
	// Repair says what to do, Silence when the alert may be silenced.
	Repair, Silence string
	// Fires are series for which the alert fires after 100 minutes at the latest, Silent some for which it does not. They
	// have promtool's form: a series, then values for each minute.
	Fires, Silent []Series
}

// Series is a series of a test.
type Series struct{ Name, Values string }

// Record is a rule that records the result of a query under a name.
type Record struct{ Name, Expr string }

// Group is the rules about one part.
type Group struct {
	Name  string
	Title string
	// Records are computed before Alerts, which use them.
	Records []Record
	Alerts  []Alert
}

// Groups returns all alerts.
func Groups() []Group {
	return []Group{
		{"fairlead-routers", "Routers", nil, slices.Concat(routers(), haproxy())},
		{"fairlead-routes", "Routes and policies", nil, routes()},
		{"fairlead-budgets", "Budgets of errors", ratios(), budgets()},
		{"fairlead-objectives", "Objectives of Routes", slices.Concat(objectiveRecords(), slownessRecords()), slices.Concat(objectives(), slowness())},
		{"fairlead-agent", "Policy agent", nil, agent()},
		{"fairlead-addresses", "Addresses", nil, slices.Concat(addresses(), bgp())},
		{"fairlead-operator", "Operator, names and clouds", nil, operator()},
	}
}

// runbooks is where the pages are published.
const runbooks = "https://github.com/fairlead/fairlead/blob/main/docs/monitoring/runbooks/"

// YAML returns groups as they stand below "groups:", indented by a number of spaces.
func YAML(groups []Group, indent int) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "- name: %s\n  rules:\n", g.Name)
		for _, r := range g.Records {
			fmt.Fprintf(&b, "  - record: %s\n%s", r.Name, query(r.Expr))
		}
		for _, a := range g.Alerts {
			fmt.Fprintf(&b, "  - alert: %s\n%s", a.Name, query(a.Expr))
			if a.For != "" {
				fmt.Fprintf(&b, "    for: %s\n", a.For)
			}
			fmt.Fprintf(&b, "    labels: {severity: %s}\n    annotations:\n      summary: %s\n      runbook_url: %s%s.md\n", a.Severity, quote(a.Summary), runbooks, a.Name)
		}
	}
	pad := strings.Repeat(" ", indent)
	return pad + strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+pad) + "\n"
}

// query writes the PromQL of a rule.
func query(expr string) string {
	return "    expr: |-\n      " + strings.ReplaceAll(expr, "\n", "\n      ") + "\n"
}

// quote writes a string of YAML.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// constant is a series with one value all the time.
func constant(series, value string) Series { return Series{series, value + "x120"} }

// growing is a counter with so much more each minute.
func growing(series, more string) Series { return Series{series, "0+" + more + "x120"} }

// one wraps a single series.
func one(s Series) []Series { return []Series{s} }
