package console

import (
	"maps"
	"slices"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
)

// overviewPage is the first page.
type overviewPage struct {
	Routes, Hosts int
	// Listeners are those of Gateways, Refused those of them that are not served.
	Listeners, Refused int
	Counts             []stateCount
	// Worst are Routes that are not served, or closed; More is how many others there are.
	Worst []*explain.Row
	More  int
	// Checked says that there is a cluster to check. Verdict is empty while the checks are
	// being made.
	Checked bool
	Verdict check.Verdict
	Age     string
	// Problem says why they could not be made.
	Problem string
	// Wrong are those that fail or warn, Unknown the ids of those that could not be made,
	// OK how many found nothing.
	Wrong   bounded[check.Check]
	Unknown []string
	OK      int
}

// worstShown is how many Routes the first page names.
const worstShown = 20

// overview is the verdict, and what is wrong.
func (v *visit) overview() answer {
	data := overviewPage{Routes: len(v.world.rows), Counts: countStates(v.world.rows)}
	data.Listeners = len(v.world.listeners)
	for _, l := range v.world.listeners {
		if l.State == explain.RowRefused {
			data.Refused++
		}
	}
	hosts := map[string]bool{}
	for _, r := range v.world.rows {
		if r.Route.Host != "" {
			hosts[r.Route.Host] = true
		}
		for _, h := range r.Hosts {
			hosts[h] = true
		}
		if r.State != explain.RowRefused && r.State != explain.RowClosed && r.State != explain.RowLastGood {
			continue
		}
		if len(data.Worst) < worstShown {
			data.Worst = append(data.Worst, r)
		} else {
			data.More++
		}
	}
	data.Hosts = len(hosts)
	a := answer{name: "overview", title: "Overview", line: Line{Command: "lint"}}
	if v.options.Cluster {
		a.line = Line{Command: "status"}
	}
	if k, shown := v.checks(); shown {
		data.checks(k)
	}
	a.data = data
	return a
}

// checks takes in what `status` says.
func (d *overviewPage) checks(k kept[check.Report]) {
	d.Checked, d.Problem = true, problemText(k.err)
	if k.value == nil {
		return
	}
	d.Verdict, d.Age = k.value.Verdict, ageText(k.age)
	var wrong []check.Check
	for _, state := range []check.State{check.Fail, check.Warn} {
		for i := range k.value.Checks {
			if k.value.Checks[i].State == state {
				wrong = append(wrong, k.value.Checks[i])
			}
		}
	}
	unknown := map[string]bool{}
	for i := range k.value.Checks {
		if k.value.Checks[i].State == check.Unknown {
			unknown[k.value.Checks[i].ID] = true
		}
	}
	d.Wrong, d.Unknown, d.OK = boundedList(wrong), sortedNames(unknown), k.value.Count(check.OK)
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
