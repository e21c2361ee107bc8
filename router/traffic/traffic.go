// Package traffic counts what Routes have had of requests, from HAProxy's counters, within a budget of series: some
// Routes in detail, all others together in a rest. It is pure.
//
//	HAProxy's counters ─▶ Ledger ─▶ Row for each detailed Route, the rest, the total
//
// Sums stay exact while Routes come and go. The difference between two readings of a backend goes to exactly one place:
// to the row of its Route or to the rest. No counter ever falls, and none grows by more than what was counted:
//
//   - A Route that gets a row begins at 0. For a while (Settle) its requests still go to the rest, so that each scraper
//     has seen the 0 before the row counts.
//   - A Route that loses its row leaves the row as it is: from then on its requests go to the rest. The row goes
//     after that while, so that each scraper has seen all of it. What it had is not added to the rest again, because
//     that would look like a burst of requests.
package traffic

import (
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Settle is how long a row stands still after it comes and before it goes. A scraper that looks at least that often
// misses nothing.
const Settle = 5 * time.Minute

// Stay is how long a Route that had requests keeps its row after others have earned it.
const Stay = time.Hour

// window is the time constant by which former requests lose weight where Routes compete for rows: a request of an hour
// ago has 37 % of the weight of one of now.
const window = time.Hour

// The counters of a Route.
const (
	Status1xx = iota
	Status2xx
	Status3xx
	Status4xx
	Status5xx
	// StatusNone counts requests that ended without a status, and passthrough connections.
	StatusNone
	// ConnectErrors are requests that reached no endpoint, ResponseErrors those whose answer broke off or was
	// invalid, ClientAborts those that the client gave up.
	ConnectErrors
	ResponseErrors
	ClientAborts
	BytesReceived
	BytesSent
	counters
)

// Statuses are how many of the first counters are requests.
const Statuses = StatusNone + 1

// roomOfRow is for how many series each row takes room: those that it has, and one for the two objectives
// of a Route that asks for its row. At most half of all rows are of such Routes.
const roomOfRow = SeriesPerRow + 1

// roomOfLatency is for how many more each row takes room where requests are sampled: those of its latencies, and one for the two
// of objectives (SeriesPerObjective), which half of the rows may have.
const roomOfLatency = SeriesPerLatency + 1

// SeriesPerObjective is how many series a row has of the objective of latency, beside the objective.
const SeriesPerObjective = 2

// SeriesPerRow is how many series a row has: its counters, its connections and its endpoints.
const SeriesPerRow = counters + 2

// Series is the budget of one router's series, all pages together, unless an IngressController says otherwise.
// reserved of them are for all that is not of single Routes.
const (
	Series      = 25_000
	LeastSeries = 2_000
	MostSeries  = 1_000_000
	reserved    = 1_500
)

// Counts are the values of all counters.
type Counts [counters]uint64

func (c *Counts) add(d *Counts) {
	for i, n := range d {
		c[i] += n
	}
}

func (c *Counts) requests() (sum uint64) {
	for _, n := range c[:Statuses] {
		sum += n
	}
	return sum
}

// since returns what was counted after an earlier reading. A counter that is lower than before began again at 0.
func (c *Counts) since(before *Counts) (d Counts) {
	for i, n := range c {
		d[i] = n
		if n >= before[i] {
			d[i] = n - before[i]
		}
	}
	return d
}

// Reading is what HAProxy has counted for one backend since it started.
type Reading struct {
	Backend string
	Counts  Counts
	Gauges
	// Sessions are all requests or connections so far, those under way included.
	Sessions uint64
	// Partial is true if the gauges were not read.
	Partial bool
}

// UnderWay returns the requests under way by what was counted: each counts when it comes to the backend, and once more by
// its status when it ends. Connections of TCP have no status.
func (r *Reading) UnderWay() (requests uint64, known bool) {
	ended := r.Counts.requests()
	return r.Sessions - min(ended, r.Sessions), !isTCP(r.Backend)
}

// Gauges are values of now.
type Gauges struct {
	// Connections are requests and connections under way, Endpoints the servers that get some.
	Connections, Endpoints uint64
}

func (g *Gauges) add(o Gauges) {
	g.Connections += o.Connections
	g.Endpoints += o.Endpoints
}

// Route names a Route.
type Route struct{ Namespace, Name string }

func isTCP(backend string) bool { return strings.HasPrefix(backend, string(model.KindTCP)+":") }

// routeOf reads the name of a backend, such as be_http:shop:web:1a2b. A canary's backend belongs to its Route.
func routeOf(backend string) (Route, bool) {
	if !model.IsBackendName(backend) {
		return Route{}, false
	}
	parts := strings.SplitN(backend, ":", 4)
	if len(parts) < 3 {
		return Route{}, false
	}
	name, _, _ := model.SplitClaim(parts[2])
	return Route{parts[1], name}, true
}

// Row is what a detailed Route has had.
type Row struct {
	Route
	Counts  Counts
	Latency Latency
	Gauges
	// Measure has the objectives of a Route that asked for its row, and got it for that.
	Measure model.Measure
	// Ended is true for a row that only stands until all have seen it; it has no gauges.
	Ended bool
}
