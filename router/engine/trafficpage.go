package engine

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/traffic"
)

// otherRoutes is the namespace and name of all Routes without rows of their own. No object has such a name.
const otherRoutes = "_other"

// classes and causes are the values of labels, by their counters.
var (
	classes = []string{"1xx", "2xx", "3xx", "4xx", "5xx", "none"}
	causes  = []string{"connect", "response", "client_abort"}
)

// families are the metrics of Routes, by name.
func (*trafficMetrics) families() []family {
	return []family{
		{name: "fairlead_route_connections", kind: "gauge", help: "Requests and connections of Routes that are under way.", gauge: func(r *traffic.Row) uint64 { return r.Connections }},
		{name: "fairlead_route_endpoints", kind: "gauge", help: "Endpoints of Routes that get requests.", gauge: func(r *traffic.Row) uint64 { return r.Endpoints }},
		{name: "fairlead_route_received_bytes_total", kind: "counter", help: "Bytes that clients sent to Routes.", first: traffic.BytesReceived},
		{name: "fairlead_route_requests_total", kind: "counter", help: "Requests of Routes, by class of the answer's status; none are those without an answer, and passthrough connections.", label: "class", values: classes, first: traffic.Status1xx},
		{name: "fairlead_route_router_errors_total", kind: "counter", help: "Requests of Routes that failed, by cause: connect (no endpoint could be reached), response (its answer was broken off or invalid) or client_abort.", label: "cause", values: causes, first: traffic.ConnectErrors},
		{name: "fairlead_route_sent_bytes_total", kind: "counter", help: "Bytes that Routes sent to clients.", first: traffic.BytesSent},
	}
}

// Describe implements prometheus.Collector. It describes the series of Routes, too, so that no other metric has their names.
func (t *trafficMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- t.total
	to <- t.series
	to <- t.asking
	to <- prometheus.NewDesc(latencies.name, latencies.help, []string{"namespace", "route"}, nil)
	to <- prometheus.NewDesc(withinObjective.name, withinObjective.help, []string{"within", "namespace", "route"}, nil)
	to <- prometheus.NewDesc(objectives.name, objectives.help, []string{"namespace", "route", "slo"}, nil)
	for _, f := range t.families() {
		labels := []string{"namespace", "route"}
		if f.label != "" {
			labels = append([]string{f.label}, labels...)
		}
		to <- prometheus.NewDesc(f.name, f.help, labels, nil)
	}
}

// Collect implements prometheus.Collector. The series of Routes are not among what it sends: see WriteRoutes.
func (t *trafficMetrics) Collect(to chan<- prometheus.Metric) {
	t.read(fresh, false)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.from == nil {
		return
	}
	total := t.ledger.Total()
	for i, class := range classes {
		to <- prometheus.MustNewConstMetric(t.total, prometheus.CounterValue, float64(total[i]), class)
	}
	perRow := traffic.SeriesPerRow
	if t.ledger.Timed() {
		perRow += traffic.SeriesPerLatency
	}
	series := perRow
	t.ledger.Rows(func(r traffic.Row) {
		series += perRow + len(objectivesOf(&r))
		if t.ledger.Timed() && r.Measure.LatencyShare > 0 {
			series += traffic.SeriesPerObjective
		}
	})
	to <- prometheus.MustNewConstMetric(t.series, prometheus.GaugeValue, float64(t.budget), "budget")
	to <- prometheus.MustNewConstMetric(t.series, prometheus.GaugeValue, float64(series), "routes")
	asking := t.ledger.Asking()
	to <- prometheus.MustNewConstMetric(t.asking, prometheus.GaugeValue, float64(asking.Granted), "granted")
	to <- prometheus.MustNewConstMetric(t.asking, prometheus.GaugeValue, float64(asking.LeftOut), "left_out")
}

// WriteRoutes writes the series of Routes in the text format of Prometheus. There are tens of thousands, which the
// client library would keep in memory all at once, check and sort, in ten times as long.
func (m *Metrics) WriteRoutes(to io.Writer) error {
	m.traffic.renew()
	rows, timed := m.traffic.rows()
	if rows == nil {
		return nil
	}
	w := bufio.NewWriterSize(to, 64<<10)
	for _, f := range m.traffic.families() {
		// The writer keeps its first error for Flush.
		f.begin(w)
		for i := range rows {
			f.write(w, &rows[i])
		}
	}
	writeObjectives(w, rows)
	if timed {
		writeLatencies(w, rows)
	}
	return w.Flush() //nolint:wrapcheck // of the client's connection
}

// rows returns the rows of Routes and of the rest, and whether they have latencies.
func (t *trafficMetrics) rows() (rows []traffic.Row, timed bool) {
	t.read(fresh, false)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.from == nil {
		return nil, false
	}
	t.ledger.Rows(func(r traffic.Row) { rows = append(rows, r) })
	slices.SortFunc(rows, func(a, b traffic.Row) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	rest, gauges := t.ledger.Rest()
	return append(rows, traffic.Row{Route: traffic.Route{Namespace: otherRoutes, Name: otherRoutes}, Counts: rest, Gauges: gauges, Latency: t.ledger.RestLatency()}), t.ledger.Timed()
}

// family is one metric of Routes.
type family struct {
	name, help, kind string
	// label is that beside namespace and route, and values are its values; empty for none.
	label  string
	values []string
	// first is the counter of the first value; others follow.
	first int
	// gauge is the value of one that is no counter.
	gauge func(*traffic.Row) uint64
}

func (f *family) begin(w *bufio.Writer) {
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
}

// write writes the series of one row. Names of Kubernetes objects need no quoting.
func (f *family) write(w *bufio.Writer, r *traffic.Row) {
	if f.gauge != nil {
		if !r.Ended {
			f.line(w, r, "", f.gauge(r))
		}
		return
	}
	if len(f.values) == 0 {
		f.line(w, r, "", r.Counts[f.first])
	}
	for i, value := range f.values {
		f.line(w, r, f.label+`="`+value+`",`, r.Counts[f.first+i])
	}
}

func (f *family) line(w *bufio.Writer, r *traffic.Row, label string, value uint64) {
	b := strconv.AppendUint(f.labels(w, r, label), value, 10)
	_, _ = w.Write(append(b, '\n')) // Flush has the error
}

// labels begins a line, up to its value.
func (f *family) labels(w *bufio.Writer, r *traffic.Row, label string) []byte {
	b := append(w.AvailableBuffer(), f.name...)
	b = append(append(append(b, '{'), label...), `namespace="`...)
	b = append(append(append(b, r.Namespace...), `",route="`...), r.Name...)
	return append(b, `"} `...)
}
