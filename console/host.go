package console

import (
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/explain"
)

// hostPage is one host.
type hostPage struct {
	Host string
	// Owner is the namespace of the oldest Route that is served, Since its creation.
	Owner string
	Since *time.Time
	// Routes are those of the host, in the order in which they are tried; those that are not
	// served come last.
	Routes bounded[explain.Row]
	// Gateways are what routes of Gateways ask for at the host.
	Gateways bounded[explain.HostReach]
	// Certificate is what clients of the host are shown; empty if the router ends no TLS.
	Certificate string
	Plain, TLS  string // URLs to ask
}

// host shows the Routes of a host.
func (v *visit) host(name string) answer {
	name = strings.ToLower(name)
	data := hostPage{Host: name, Plain: "http://" + name + "/", TLS: "https://" + name + "/"}
	var rows []explain.Row
	var reaches []explain.HostReach
	v.ask(v.world, func(s *explain.Snapshot) {
		rows, reaches = s.RowsOf(name), s.HostReaches(name)
		// A Route that is refused may have a host that no client can ask for.
		if secure, err := explain.ParseRequest(explain.RequestArgs{URL: data.TLS}); err == nil {
			if c := s.Explain(secure).Certificate; c != nil {
				data.Certificate = certificateText(c)
			}
		}
	})
	rows = append(rows, v.world.unserved(name)...)
	hidden := slices.ContainsFunc(rows, func(r explain.Row) bool { return r.Route.Hidden })
	if len(reaches) == 0 && !slices.ContainsFunc(rows, func(r explain.Row) bool { return !r.Route.Hidden }) {
		return missing("No Route has host " + name + ".")
	}
	for i := range rows {
		r := &rows[i].Route
		served := rows[i].State != explain.RowRefused && rows[i].State != explain.RowNotSelected
		if served && !hidden && r.Host == name && r.Created != nil && (data.Since == nil || r.Created.Before(*data.Since)) {
			data.Owner, data.Since = r.Namespace, r.Created
		}
	}
	data.Routes, data.Gateways = boundedList(rows), boundedList(reaches)
	return answer{name: "host", title: "Host " + name, data: data, line: Line{Command: "explain", Subject: data.TLS}}
}

// unserved lists the routes of Gateways that name a host and are not served.
func (w *world) unserved(host string) (rows []explain.Row) {
	for _, r := range w.rows {
		named := slices.ContainsFunc(r.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
		if named && (r.State == explain.RowRefused || r.State == explain.RowNotSelected) {
			rows = append(rows, *r)
		}
	}
	return rows
}
