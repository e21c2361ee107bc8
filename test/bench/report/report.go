// Package report has what a benchmark measured, with what is required of it, as a
// table and as a file.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Bound is what a figure should be; nil asks for nothing.
type Bound struct {
	limit float64
	least bool
}

// AtMost is met by a figure up to a limit.
func AtMost(limit float64) *Bound { return &Bound{limit: limit} }

// AtLeast is met by a figure from a limit on.
func AtLeast(limit float64) *Bound { return &Bound{limit: limit, least: true} }

func (b *Bound) met(v float64) bool {
	return b == nil || b.least && v >= b.limit || !b.least && v <= b.limit
}

func (b *Bound) String() string {
	switch {
	case b == nil:
		return ""
	case b.least:
		return fmt.Sprintf("≥ %g", b.limit)
	}
	return fmt.Sprintf("≤ %g", b.limit)
}

// Report is what the file with the results holds.
type Report struct {
	Latencies []Latency `json:"latencies"`
	Figures   []Figure  `json:"figures"`
}

// Latency is one row: times in milliseconds from the API server's answer to
// the first response that shows the change.
type Latency struct {
	Change  string  `json:"change"`
	Routes  int     `json:"routes"`
	Samples int     `json:"samples"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
	Mean    float64 `json:"mean"`
	// Update and Apply are the router's own part of the mean: to compute the
	// wanted state, and to bring HAProxy there. The rest is the watch's
	// delivery, less what of it came before the answer, and the request or
	// handshake that shows the change.
	Update float64 `json:"update"`
	Apply  float64 `json:"apply"`
	// RequiredP50 and RequiredP99 are promises, zero for none.
	RequiredP50 float64 `json:"requiredP50,omitempty"`
	RequiredP99 float64 `json:"requiredP99,omitempty"`
}

// Figure is one further number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Required is the promise, such as "≤ 2", or empty.
	Required string `json:"required,omitempty"`
	Met      bool   `json:"met"`
	Note     string `json:"note"`
}

// NewLatency returns the row of a kind of change, of which samples were taken while so many
// routes were there. Before and after are the router's metrics around them.
func NewLatency(name string, routes int, samples []time.Duration, before, after map[string]float64) Latency {
	slices.Sort(samples)
	var total time.Duration
	for _, d := range samples {
		total += d
	}
	at := func(percent int) float64 {
		return Milliseconds(samples[min(len(samples)*percent/100, len(samples)-1)])
	}
	mean := func(metric string) float64 {
		count := after[metric+"_count"] - before[metric+"_count"]
		if count == 0 {
			return 0
		}
		return (after[metric+"_sum"] - before[metric+"_sum"]) / count * 1000
	}
	return Latency{
		Change: name, Routes: routes, Samples: len(samples), P50: at(50), P99: at(99), Max: at(100),
		Mean:   Milliseconds(total / time.Duration(len(samples))),
		Update: mean("fairlead_router_plan_duration_seconds"), Apply: mean("fairlead_router_apply_duration_seconds"),
	}
}

// met reports whether a row is as promised.
func (l *Latency) met() bool {
	return (l.RequiredP50 == 0 || l.P50 <= l.RequiredP50) && (l.RequiredP99 == 0 || l.P99 <= l.RequiredP99)
}

// Milliseconds returns a time in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Megabytes returns a size in millions of bytes.
func Megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// Figure notes a figure that nothing is required of.
func (r *Report) Figure(name string, value float64, unit, note string) {
	r.Require(name, value, unit, nil, note)
}

// Require notes a figure that is promised.
func (r *Report) Require(name string, value float64, unit string, b *Bound, note string) {
	f := Figure{Name: name, Value: value, Unit: unit, Required: b.String(), Met: b.met(value), Note: note}
	r.Figures = append(r.Figures, f)
	fmt.Printf("          %s: %.4g %s %s (%s)\n", name, value, unit, f.Required, note)
}

// Write writes the file with the results.
func (r *Report) Write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Print writes the tables.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "\nFrom the API server's answer to the first changed response, in ms; update and apply are the router's part of the mean\n")
	fmt.Fprintf(w, "%-28s %7s %8s %8s %8s %8s %8s %8s %8s\n", "change", "routes", "samples", "p50", "p99", "max", "mean", "update", "apply")
	for _, l := range r.Latencies {
		fmt.Fprintf(w, "%-28s %7d %8d %8.1f %8.1f %8.1f %8.2f %8.2f %8.2f%s\n", l.Change, l.Routes, l.Samples, l.P50, l.P99, l.Max, l.Mean, l.Update, l.Apply, missed(l.met()))
	}
	fmt.Fprintln(w)
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%-56s %9.4g %-4s %-8s%-7s %s\n", f.Name, f.Value, f.Unit, f.Required, missed(f.Met), f.Note)
	}
}

func missed(met bool) string {
	if met {
		return ""
	}
	return " MISSED"
}

// Check returns what does not keep the promise.
func (r *Report) Check() error {
	var errs []error
	for _, l := range r.Latencies {
		if !l.met() {
			errs = append(errs, fmt.Errorf("%s at %d routes: p50 %.1f ms and p99 %.1f ms, required are %g and %g", l.Change, l.Routes, l.P50, l.P99, l.RequiredP50, l.RequiredP99))
		}
	}
	for _, f := range r.Figures {
		if !f.Met {
			errs = append(errs, fmt.Errorf("%s: %.4g %s, required is %s", f.Name, f.Value, f.Unit, f.Required))
		}
	}
	return errors.Join(errs...)
}
