// Package top says which Routes get how much now: what routers' metrics pages counted
// between two readings. It is pure.
package top

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fairlead/fairlead/router/traffic"
)

// Schema is that of the JSON form of View.
const Schema = "fairlead.dev/top/v1"

// Rest is the name and namespace of all Routes without series of their own.
const Rest = "_other"

// Reading is what one router's page says at one time.
type Reading struct {
	At     time.Time
	routes map[traffic.Route]*counters
}

// counters are those of a Route at one router.
type counters struct {
	// requests are by class: 1xx to 5xx, and none for those without answer.
	requests               map[string]float64
	received, sent         float64
	connections, endpoints float64
}

// parse reads a page of metrics. The parser panics on some texts that are no such page, as
// FuzzParse has found; another process's answer must not end this one.
func parse(page io.Reader) (families map[string]*dto.MetricFamily, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the text is no page of metrics: %v", p)
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(page) //nolint:wrapcheck // Parse says what failed
}

// Parse reads a page of metrics (the Prometheus text format) that was read at a time.
// What is not about Routes is passed over.
func Parse(page io.Reader, at time.Time) (*Reading, error) {
	families, err := parse(page)
	if err != nil {
		return nil, fmt.Errorf("read the page of metrics: %w", err)
	}
	r := &Reading{At: at, routes: map[traffic.Route]*counters{}}
	for name, set := range map[string]func(c *counters, class string, value float64){
		"fairlead_route_requests_total":       func(c *counters, class string, v float64) { c.requests[class] += v },
		"fairlead_route_received_bytes_total": func(c *counters, _ string, v float64) { c.received = v },
		"fairlead_route_sent_bytes_total":     func(c *counters, _ string, v float64) { c.sent = v },
		"fairlead_route_connections":          func(c *counters, _ string, v float64) { c.connections = v },
		"fairlead_route_endpoints":            func(c *counters, _ string, v float64) { c.endpoints = v },
	} {
		for _, m := range families[name].GetMetric() {
			var key traffic.Route
			var class string
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "namespace":
					key.Namespace = l.GetValue()
				case "route":
					key.Name = l.GetValue()
				case "class":
					class = l.GetValue()
				}
			}
			c := r.routes[key]
			if c == nil {
				c = &counters{requests: map[string]float64{}}
				r.routes[key] = c
			}
			set(c, class, valueOf(m))
		}
	}
	return r, nil
}

func valueOf(m *dto.Metric) float64 {
	if m.Counter != nil {
		return m.GetCounter().GetValue()
	}
	return m.GetGauge().GetValue()
}

// Line is what one Route gets, from all routers. Rates are per second.
type Line struct {
	Namespace string `json:"namespace"`
	Route     string `json:"route"`
	// Host is the first of the Route's hosts with its path, if Routes could be read.
	Host string `json:"host,omitempty"`
	// Requests are all; the others are by the class of the answer's status, and None those
	// without answer and passthrough connections.
	Requests float64 `json:"requests"`
	OK       float64 `json:"2xx"`
	Redirect float64 `json:"3xx"`
	Client   float64 `json:"4xx"`
	Server   float64 `json:"5xx"`
	None     float64 `json:"none"`
	// Errors is the percentage of 5xx among all.
	Errors float64 `json:"errorPercent"`
	// Connections are under way; Endpoints get requests, at the router that has the most.
	Connections float64 `json:"connections"`
	Endpoints   float64 `json:"endpoints"`
	// Received and Sent are bytes.
	Received float64 `json:"receivedBytes"`
	Sent     float64 `json:"sentBytes"`
}

// View is what users see.
type View struct {
	Schema  string  `json:"schema"`
	Router  string  `json:"router"`
	Seconds float64 `json:"seconds"`
	// Routers is how many replicas were asked, and Unread say why others were not.
	Routers int      `json:"routers"`
	Unread  []string `json:"unread,omitempty"`
	Routes  []Line   `json:"routes"`
	// Total is of all Routes, or those of the namespace that was asked for; Rest of those without series of their own, if there are any.
	Total Line  `json:"total"`
	Rest  *Line `json:"rest,omitempty"`
	// Hidden is how many Routes are below the limit.
	Hidden int `json:"hidden,omitempty"`
}

// Pair are two readings of one router, the older one first.
type Pair struct{ Before, After *Reading }

// Rates adds up what all routers counted between their two readings. A counter that fell
// began again, so that no rate is negative.
func Rates(pairs []Pair) (lines []Line, total Line, rest *Line) {
	sums := map[traffic.Route]*Line{}
	for _, p := range pairs {
		seconds := p.After.At.Sub(p.Before.At).Seconds()
		if seconds <= 0 {
			continue
		}
		for key, now := range p.After.routes {
			line := sums[key]
			if line == nil {
				line = &Line{Namespace: key.Namespace, Route: key.Name}
				sums[key] = line
			}
			was := p.Before.routes[key]
			if was == nil {
				was = &counters{} // its row is new, and began at 0
			}
			line.add(was, now, seconds)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(sums), func(a, b traffic.Route) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		line := sums[key]
		line.finish()
		if key.Namespace == Rest {
			rest = line
			continue
		}
		lines = append(lines, *line)
	}
	if total = Total(lines); rest != nil {
		total.sum(rest)
		total.finish()
	}
	return lines, total, rest
}

// Total adds up lines.
func Total(lines []Line) (total Line) {
	for i := range lines {
		total.sum(&lines[i])
	}
	total.finish()
	return total
}

func (l *Line) add(was, now *counters, seconds float64) {
	rate := func(before, after float64) float64 {
		if after < before {
			before = 0
		}
		return (after - before) / seconds
	}
	for class, n := range now.requests {
		n = rate(was.requests[class], n)
		l.Requests += n
		switch class {
		case "2xx":
			l.OK += n
		case "3xx":
			l.Redirect += n
		case "4xx":
			l.Client += n
		case "5xx":
			l.Server += n
		case "none":
			l.None += n
		}
	}
	l.Received += rate(was.received, now.received)
	l.Sent += rate(was.sent, now.sent)
	l.Connections += now.connections
	l.Endpoints = max(l.Endpoints, now.endpoints)
}

func (l *Line) sum(o *Line) {
	l.Requests += o.Requests
	l.OK, l.Redirect, l.Client, l.Server, l.None = l.OK+o.OK, l.Redirect+o.Redirect, l.Client+o.Client, l.Server+o.Server, l.None+o.None
	l.Connections, l.Endpoints = l.Connections+o.Connections, l.Endpoints+o.Endpoints
	l.Received, l.Sent = l.Received+o.Received, l.Sent+o.Sent
}

func (l *Line) finish() {
	if l.Requests > 0 {
		l.Errors = 100 * l.Server / l.Requests
	}
}

// Keys are what lines can be sorted by.
func Keys() []string { return []string{"req", "5xx", "err", "4xx", "conn", "in", "out", "name"} }

// Sort puts the largest first, or names in their order. Of equal ones the names decide.
func Sort(lines []Line, key string, reverse bool) {
	value := map[string]func(*Line) float64{
		"req": func(l *Line) float64 { return l.Requests }, "5xx": func(l *Line) float64 { return l.Server },
		"err": func(l *Line) float64 { return l.Errors }, "4xx": func(l *Line) float64 { return l.Client },
		"conn": func(l *Line) float64 { return l.Connections }, "in": func(l *Line) float64 { return l.Received },
		"out": func(l *Line) float64 { return l.Sent }, "name": func(*Line) float64 { return 0 },
	}[key]
	slices.SortStableFunc(lines, func(a, b Line) int {
		order := cmp.Or(cmp.Compare(value(&b), value(&a)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Route, b.Route))
		if reverse {
			return -order
		}
		return order
	})
}
