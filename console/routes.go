package console

import (
	"net/http"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
)

// routesPage is the list of Routes.
type routesPage struct {
	Query   string
	Problem string
	// Sort is the order of the URL, for the form.
	Sort    string
	Columns []head
	Rows    []*explain.Row
	Window  window
	// Previous and Next are queries of URLs, empty at the ends. Same is that of this choice.
	Previous, Next, Same string
	// All is how many Routes there are, Counts how many of each state.
	All    int
	Counts []stateCount
	Keys   []searchKey
}

// searched is the form of a list.
type searched struct {
	Action string
	Page   routesPage
}

// Hint is an example of a search.
func (s searched) Hint() string {
	if strings.HasSuffix(s.Action, "events") {
		return "type:error ns:shop -source:finding"
	}
	return "host:shop state:refused -ns:test"
}

// head is a column with the link that sorts by it.
type head struct {
	Title, Query string
	// Sorted is "ascending", "descending" or "none".
	Sorted string
}

// stateCount is how many Routes have a state.
type stateCount struct {
	State explain.RowState
	Count int
	Query string
}

// searchKey is a word of the search language, for its help.
type searchKey struct{ Key, About, Choices string }

// routes shows the list of Routes and routes of Gateways.
func (v *visit) routes() answer {
	return answer{name: "routes", title: "Routes", line: Line{Command: "lint"}, data: newListPage(readList(v.values, routeList), v.world.rows)}
}

// gateways shows the list of listeners.
func (v *visit) gateways() answer {
	return answer{name: "gateways", title: "Gateways", line: Line{Command: "lint"}, data: newListPage(readList(v.values, listenerList), v.world.listeners)}
}

// newListPage is the part of a list that its URL chooses.
func newListPage(l list, rows []*explain.Row) routesPage {
	chosen := l.choose(rows)
	w := windowOf(len(chosen), l.page)
	data := routesPage{
		Query: l.text, Sort: l.order(), Rows: part(chosen, w), Window: w, Same: l.values(l.order(), 1), All: len(rows),
		Counts: countStates(rows), Keys: searchKeys(l.of),
	}
	if l.err != nil {
		data.Problem = l.err.Error()
	}
	if data.Sort == "route" {
		data.Sort = ""
	}
	if w.Page > 1 {
		data.Previous = "?" + l.values(l.order(), w.Page-1)
	}
	if w.Page < w.Pages {
		data.Next = "?" + l.values(l.order(), w.Page+1)
	}
	for _, c := range l.of.columns() {
		h := head{Title: c.Title, Sorted: "none"}
		next := c.Name
		if c.Name == l.sort {
			h.Sorted = "ascending"
			if l.down {
				h.Sorted = "descending"
			} else {
				next = "-" + c.Name
			}
		}
		h.Query = "?" + l.values(next, 1)
		data.Columns = append(data.Columns, h)
	}
	return data
}

// countStates counts the Routes of each state, those without left out.
func countStates(rows []*explain.Row) (out []stateCount) {
	counts := map[explain.RowState]int{}
	for _, r := range rows {
		counts[r.State]++
	}
	for _, s := range explain.RowStates() {
		if counts[s] > 0 {
			out = append(out, stateCount{s, counts[s], "?" + list{text: "state:" + string(s)}.values("", 1)})
		}
	}
	return out
}

// searchKeys explain the search language.
func searchKeys(of listKind) (out []searchKey) {
	keys := queryKeys(of)
	for _, name := range []string{"kind", "ns", "name", "host", "path", "state", "reason", "tls", "pods", "cert", "service", "ingress", "gateway", "listener", "type", "source"} {
		if keys[name].about == "" {
			continue
		}
		out = append(out, searchKey{name, keys[name].about, strings.Join(keys[name].choices, ", ")})
	}
	return out
}

// export writes what the list shows, all pages of it, as CSV or JSON.
func (v *visit) export(w http.ResponseWriter, name string) {
	l := readList(v.values, routeList)
	if l.err != nil {
		http.Error(w, l.err.Error(), http.StatusBadRequest)
		return
	}
	chosen := l.choose(v.world.rows)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if name == "routes.csv" {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_ = writeCSV(w, chosen) // only a browser that has gone does not take it
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = writeJSON(w, chosen, v.world.notes)
}
