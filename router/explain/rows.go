package explain

import (
	"cmp"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Row is one Route of a list, one route of the Gateway API, or one listener.
type Row struct {
	// Kind is that of the object, such as "Route" or "HTTPRoute".
	Kind  string    `json:"kind"`
	Route RouteInfo `json:"route"`
	State RowState  `json:"state"`
	// Reasons are those of its findings, the worst first, each once.
	Reasons []api.Reason `json:"reasons,omitempty"`
	// Why is the message of the worst finding, or why the router does not select the
	// Route. It is empty if nothing is wrong.
	Why string `json:"why,omitempty"`
	// Services are those that the Route names.
	Services []string `json:"services,omitempty"`
	// Pods is how many endpoints get requests; nil if that is not known or the Route is not
	// served.
	Pods *int `json:"pods,omitempty"`
	// Certificate is the State of its Cert, empty if the router ends no TLS for it.
	Certificate string `json:"certificate,omitempty"`

	// Hosts, Paths and Parents are all of a route of the Gateway API, as far as a list has
	// room. Parents are such as "gateway/ns/name#section".
	Hosts   []string `json:"hosts,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Parents []string `json:"parents,omitempty"`
	// Listener, Port and Protocol are those of a listener, and Attached is how many routes
	// it has; nil if it is not this router's.
	Listener string `json:"listener,omitempty"`
	Port     int    `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Attached *int   `json:"attached,omitempty"`
}

// RowState is what becomes of a Route.
type RowState string

// The states, the worst first.
const (
	// RowRefused Routes are not served.
	RowRefused RowState = "refused"
	// RowClosed Routes answer 503 because something that protects cannot be applied.
	RowClosed RowState = "closed"
	// RowLastGood Routes are served by a former version, by the word of the router.
	RowLastGood RowState = "last-good"
	// RowWarns Routes are served, but not in every way that they ask for.
	RowWarns RowState = "warns"
	// RowServed Routes are served as they are.
	RowServed RowState = "served"
	// RowNotSelected Routes are those of other routers.
	RowNotSelected RowState = "not-selected"
)

// RowStates returns all states, the worst first.
func RowStates() []RowState {
	return []RowState{RowRefused, RowClosed, RowLastGood, RowWarns, RowServed, RowNotSelected}
}

// lastGoodEffect ends the message of a condition whose Route is served by a former
// version (router/pipeline).
const lastGoodEffect = "the last good version keeps serving"

// RowsOf lists the Routes of a host in the order in which they are tried: those of the
// host itself, of the wildcard that covers it and for any host, and then those that are
// not served.
func (s *Snapshot) RowsOf(host string) []Row {
	host = match.Host(host)
	keys := slices.Clone(s.about(host))
	slices.SortStableFunc(keys, func(a, b model.Object) int {
		x, servedX := s.claimAt(a, host)
		y, servedY := s.claimAt(b, host)
		switch {
		case servedX != servedY:
			return trueFirst(servedX, servedY)
		case x == nil || y == nil:
			return compareKeys(a, b)
		}
		return cmp.Or(trueFirst(moreSpecific(x, y), moreSpecific(y, x)), compareKeys(a, b))
	})
	rows, seen := make([]Row, 0, len(keys)), model.Objects{}
	hidden := false
	for _, key := range keys {
		if s.hides(key) {
			if !hidden { // one line stands for all
				rows = append(rows, Row{Kind: string(key.Kind), Route: hiddenInfo(), State: RowNotSelected, Why: notShown})
			}
			hidden = true
			continue
		}
		if _, twice := seen[key]; !twice { // a route may have the host and an alias
			seen[key] = struct{}{}
			rows = append(rows, s.row(key))
		}
	}
	return rows
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (s *Snapshot) row(key model.Object) Row {
	r := s.source.routes[key]
	row := Row{Kind: string(key.Kind), Route: s.info(key), State: RowServed, Services: servicesOf(r)}
	if why := s.source.unselected[key]; why != "" {
		row.State, row.Why = RowNotSelected, why
		return row
	}
	c, served := s.pipeline.Claim(key)
	row.judge(s.findingsOf(key), served)
	if said, known := admittedBy(r, s.options.Router); known && !s.objects.Offline && strings.HasSuffix(said.message, lastGoodEffect) {
		row.State = RowLastGood
	}
	if served && len(s.unknownServices(key)) == 0 {
		n := 0
		for i := range c.Backend.Servers {
			if c.Backend.Servers[i].Weight > 0 {
				n++
			}
		}
		row.Pods = &n
	}
	if cert, _ := s.routeCert(key, 0); cert != nil {
		row.Certificate = cert.State
	}
	return row
}

// judge takes the findings in.
func (row *Row) judge(findings []Finding, served bool) {
	worst := slices.Clone(findings)
	slices.SortStableFunc(worst, func(a, b Finding) int { return cmp.Compare(severity(a), severity(b)) })
	for i, f := range worst {
		if !slices.Contains(row.Reasons, f.Reason) {
			row.Reasons = append(row.Reasons, f.Reason)
		}
		if i == 0 && f.Severity != api.SeverityInfo {
			row.State, row.Why = RowWarns, f.Message
			if f.Severity == api.SeverityError {
				row.State = RowClosed
			}
		}
	}
	if !served {
		row.State, row.Why = RowRefused, cmp.Or(row.Why, "the router does not serve it")
	}
}

// severity is lower for what is worse.
func severity(f Finding) int {
	switch f.Severity {
	case api.SeverityError:
		return 0
	case api.SeverityWarning:
		return 1
	case api.SeverityInfo:
	}
	return 2
}

// servicesOf are the Services that a Route names.
func servicesOf(r *routev1.Route) []string {
	names := []string{r.Spec.To.Name}
	for _, b := range r.Spec.AlternateBackends {
		names = append(names, b.Name)
	}
	return names
}
