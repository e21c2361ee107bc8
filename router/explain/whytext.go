package explain

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Text writes the answer for a terminal.
func (y *Why) Text(w io.Writer) error {
	p := &printer{w: w}
	verdict := "NOT SERVED"
	switch {
	case y.Policy != nil && y.Served:
		verdict = "APPLIED"
	case y.Policy != nil:
		verdict = "NOT APPLIED"
	case y.Served:
		verdict = "SERVED"
	}
	p.line("%s  %s by router %s", verdict, y.Object, y.Router)
	if y.Policy != nil {
		y.Policy.print(p)
	}
	if y.Endpoints != nil {
		switch n := *y.Endpoints; n {
		case -1:
			p.line("  endpoints are not known")
		default:
			p.line("  %s ready", count(n, "endpoint"))
		}
	}
	y.printGateway(p)
	for i := range y.Routes {
		y.Routes[i].print(p)
	}
	p.findings(y.Findings)
	p.list("Next:", y.Next)
	p.list("Notes:", y.Notes)
	return p.err
}

func (r *WhyRoute) print(p *printer) {
	p.line("\nRoute %s", r.Route.text())
	if r.Backend != "" {
		p.line("  backend %s", r.Backend)
	}
	if r.Share != nil && r.Backend != "" {
		p.line("  the service gets %.1f %% of its requests", *r.Share)
	}
	p.table(reachRows(r.Reach))
	if len(r.Shadows) > 0 {
		p.line("  Shadowed by:")
		var rows [][]string
		for _, s := range r.Shadows {
			rows = append(rows, []string{"    " + s.Route.Namespace + "/" + s.Route.Name, s.Why})
		}
		p.table(rows)
	}
	for _, f := range r.Findings {
		p.finding(f)
	}
}

func reachRows(all []Reach) (rows [][]string) {
	for _, reach := range all {
		url := reach.URL
		if reach.Below {
			url += " and all below"
		}
		rows = append(rows, []string{"  " + url, reach.Result})
	}
	return rows
}

func percent(part, total int) float64 {
	return math.Round(1000*float64(part)/float64(total)) / 10
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func plural(kind string) string {
	switch kind[len(kind)-1] {
	case 's':
		return kind + "es"
	case 'y':
		return kind[:len(kind)-1] + "ies"
	}
	return fmt.Sprint(kind, "s")
}
