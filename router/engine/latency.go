package engine

import (
	"bufio"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/router/traffic"
)

// sampleLease is for how long after a reading of the page requests are sampled: while no client reads it, none are.
const sampleLease = traffic.Settle

// Sampler has requests sampled until a time, and hands on how long each of them took. *feed.Feed is one.
type Sampler interface {
	Sample(take func(backend []byte, took time.Duration), until time.Time)
}

// sampling is how requests are sampled, under the mutex of trafficMetrics.
type sampling struct{ sampler Sampler }

// SampleBy lets HAProxy's records of sampled requests be counted. Without, no request is sampled.
func (m *Metrics) SampleBy(s Sampler) { m.traffic.locked(func() { m.traffic.sampler = s }) }

// setSample takes the share of requests that HAProxy samples, 1/n; 0 is none.
func (t *trafficMetrics) setSample(n int) {
	t.locked(func() { t.ledger.SetLatency(n > 0 && t.sampler != nil) })
}

// renew has requests sampled for another while.
func (t *trafficMetrics) renew() {
	t.mutex.Lock()
	sampler := t.sampler
	if !t.ledger.Timed() {
		sampler = nil
	}
	t.mutex.Unlock()
	if sampler != nil {
		sampler.Sample(t.observe, time.Now().Add(sampleLease))
	}
}

func (t *trafficMetrics) observe(backend []byte, took time.Duration) {
	t.locked(func() { t.ledger.Observe(backend, took) })
}

// The metrics of sampled requests.
var (
	latencies = family{
		name: "fairlead_route_request_duration_seconds", kind: "histogram",
		help: "Time from the first byte of a request to the last byte of its answer, of the sampled requests of Routes. Its count is not the number of requests: that is fairlead_route_requests_total.",
	}
	withinObjective = family{
		name: "fairlead_route_slo_sampled_requests_total", kind: "counter",
		help: "Sampled requests of Routes with an objective of latency, by whether they took no longer than it says. Their number is not that of requests; shares are right.",
	}
)

func writeLatencies(w *bufio.Writer, rows []traffic.Row) {
	latencies.begin(w)
	for i := range rows {
		writeHistogram(w, &rows[i])
	}
	withinObjective.begin(w)
	for i := range rows {
		if r := &rows[i]; r.Measure.LatencyShare > 0 {
			withinObjective.line(w, r, `within="true",`, r.Latency.Within)
			withinObjective.line(w, r, `within="false",`, r.Latency.Beyond)
		}
	}
}

// writeHistogram writes the series of one row, each bucket with those below it.
func writeHistogram(w *bufio.Writer, r *traffic.Row) {
	bounds := traffic.LatencyBounds()
	part := family{name: latencies.name + "_bucket"}
	sum := uint64(0)
	for i, n := range r.Latency.Buckets {
		sum += n
		le := "+Inf"
		if i < len(bounds) {
			le = strconv.FormatFloat(bounds[i].Seconds(), 'g', -1, 64)
		}
		part.line(w, r, `le="`+le+`",`, sum)
	}
	part.name = latencies.name + "_sum"
	b := strconv.AppendFloat(part.labels(w, r, ""), r.Latency.Sum.Seconds(), 'g', -1, 64)
	_, _ = w.Write(append(b, '\n')) // Flush has the error
	part.name = latencies.name + "_count"
	part.line(w, r, "", sum)
}
