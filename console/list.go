package console

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/explain"
)

// pageRows is how many rows a page shows at most: of more, a browser would have so many nodes
// that it is slow on small machines.
const pageRows = 64

// listKind is what a list is of.
type listKind int

const (
	// routeList is that of Routes and routes of Gateways, listenerList that of listeners,
	// eventList that of findings and events.
	routeList listKind = iota
	listenerList
	eventList
)

// kinds are those of the objects that the list has.
func (k listKind) kinds() []string {
	if k == listenerList {
		return explain.ListenerKinds()
	}
	return explain.ListedKinds()
}

// list is a choice of Routes or listeners: what is in the URL of the page.
type list struct {
	of listKind
	// text is the search as it was typed, query as it was understood; err says what is
	// wrong with it, and then no Route is chosen.
	text  string
	query query
	err   error
	// sort is one of columns, and down says that the last comes first.
	sort string
	down bool
	// page counts from 1.
	page int
}

// column is one of the list of Routes.
type column struct {
	// Name is the one in URLs.
	Name, Title string
	compare     func(a, b *explain.Row) int
}

// columns are those of a list, in order.
func (k listKind) columns() []column {
	stateOrder := func(r *explain.Row) int { return slices.Index(explain.RowStates(), r.State) }
	pods := func(r *explain.Row) int {
		if r.Pods == nil {
			return -1
		}
		return *r.Pods
	}
	host := func(a, b *explain.Row) int {
		return cmp.Or(cmp.Compare(a.Route.Host, b.Route.Host), cmp.Compare(a.Route.Path, b.Route.Path))
	}
	cert := column{"cert", "Certificate", func(a, b *explain.Row) int { return cmp.Compare(a.Certificate, b.Certificate) }}
	if k == listenerList {
		return []column{
			{"state", "State", func(a, b *explain.Row) int { return cmp.Compare(stateOrder(a), stateOrder(b)) }},
			{"route", "Gateway or ListenerSet", func(_, _ *explain.Row) int { return 0 }},
			{"listener", "Listener", func(a, b *explain.Row) int { return cmp.Compare(a.Listener, b.Listener) }},
			{"host", "Host", host},
			{"protocol", "Protocol", func(a, b *explain.Row) int { return cmp.Compare(a.Protocol, b.Protocol) }},
			{"port", "Port", func(a, b *explain.Row) int { return cmp.Compare(a.Port, b.Port) }},
			{"attached", "Routes", func(a, b *explain.Row) int { return cmp.Compare(attached(a), attached(b)) }},
			cert,
		}
	}
	return []column{
		{"state", "State", func(a, b *explain.Row) int { return cmp.Compare(stateOrder(a), stateOrder(b)) }},
		{"route", "Route", func(_, _ *explain.Row) int { return 0 }},
		{"host", "Host and path", host},
		{"tls", "TLS", func(a, b *explain.Row) int { return cmp.Compare(termination(a), termination(b)) }},
		{"pods", "Pods", func(a, b *explain.Row) int { return cmp.Compare(pods(a), pods(b)) }},
		cert,
	}
}

func attached(r *explain.Row) int {
	if r.Attached == nil {
		return -1
	}
	return *r.Attached
}

// readList reads the choice of a URL. Unknown values are as if they were not there.
func readList(v url.Values, of listKind) list {
	l := list{of: of, text: v.Get("q"), sort: v.Get("sort"), page: 1}
	l.query, l.err = parseQuery(l.text, of)
	name, down := strings.CutPrefix(l.sort, "-")
	l.sort, l.down = "route", false
	for _, c := range of.columns() {
		if c.Name == name {
			l.sort, l.down = name, down
		}
	}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 0 {
		l.page = n
	}
	return l
}

// values are the choice with another order and page, as in a URL.
func (l list) values(sort string, page int) string {
	v := url.Values{}
	if l.text != "" {
		v.Set("q", l.text)
	}
	if sort != "" && sort != "route" {
		v.Set("sort", sort)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return v.Encode()
}

// order is the sort of the URL.
func (l list) order() string {
	if l.down {
		return "-" + l.sort
	}
	return l.sort
}

// choose returns the Routes that are searched for, in order.
func (l list) choose(rows []*explain.Row) []*explain.Row {
	chosen := []*explain.Row{}
	if l.err != nil {
		return chosen
	}
	for _, r := range rows {
		if l.query.matches(r) {
			chosen = append(chosen, r)
		}
	}
	all := l.of.columns()
	by := all[slices.IndexFunc(all, func(c column) bool { return c.Name == l.sort })].compare
	slices.SortStableFunc(chosen, func(a, b *explain.Row) int {
		n := cmp.Or(by(a, b), cmp.Compare(a.Route.Namespace, b.Route.Namespace), cmp.Compare(a.Route.Name, b.Route.Name), cmp.Compare(a.Kind, b.Kind))
		if l.down {
			return -n
		}
		return n
	})
	return chosen
}

// window is the part of a list that one page shows.
type window struct {
	First, Last, Total int
	Page, Pages        int
}

// windowOf returns the part of so many rows that a page shows; pages beyond the last are
// the last.
func windowOf(total, page int) window {
	pages := max(1, (total+pageRows-1)/pageRows)
	page = min(page, pages)
	w := window{First: (page-1)*pageRows + 1, Last: min(page*pageRows, total), Total: total, Page: page, Pages: pages}
	if total == 0 {
		w.First = 0
	}
	return w
}

// part returns the elements that the window shows.
func part[T any](all []T, w window) []T {
	if w.Total == 0 {
		return nil
	}
	return all[w.First-1 : w.Last]
}

// SchemaRoutes names the JSON form of a list of Routes.
const SchemaRoutes = "fairlead.dev/routes/v1"

// writeJSON writes a list of Routes.
func writeJSON(w io.Writer, chosen []*explain.Row, notes []string) error {
	if notes == nil {
		notes = []string{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema string         `json:"schema"`
		Items  []*explain.Row `json:"items"`
		Notes  []string       `json:"notes"`
	}{SchemaRoutes, chosen, notes})
}

// writeCSV writes a list of Routes for a spreadsheet.
func writeCSV(w io.Writer, chosen []*explain.Row) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"namespace", "name", "state", "host", "path", "tls", "pods", "certificate", "reasons", "why", "services", "kind", "gateways"}}
	for _, r := range chosen {
		pods := ""
		if r.Pods != nil {
			pods = strconv.Itoa(*r.Pods)
		}
		var reasons []string
		for _, reason := range r.Reasons {
			reasons = append(reasons, string(reason))
		}
		rows = append(rows, []string{
			r.Route.Namespace, r.Route.Name, string(r.State), hostsOf(r), r.Route.Path, termination(r), pods, r.Certificate,
			strings.Join(reasons, " "), r.Why, strings.Join(r.Services, " "), r.Kind, strings.Join(r.Parents, " "),
		})
	}
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// hostsOf are the hosts of a row, as one text.
func hostsOf(r *explain.Row) string {
	if len(r.Hosts) > 1 {
		return strings.Join(r.Hosts, " ")
	}
	return r.Route.Host
}

// cell keeps a spreadsheet from taking a tenant's text for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
