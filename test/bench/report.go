package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// What the project promises for each kind of change, in milliseconds.
const (
	requiredP50 = 15
	requiredP99 = 60
)

// bound is what a figure should be.
type bound struct {
	limit float64
	least bool
}

func atMost(limit float64) *bound  { return &bound{limit: limit} }
func atLeast(limit float64) *bound { return &bound{limit: limit, least: true} }

func (b *bound) met(v float64) bool { return b.least && v >= b.limit || !b.least && v <= b.limit }

func (b *bound) String() string {
	switch {
	case b == nil:
		return ""
	case b.least:
		return fmt.Sprintf("≥ %g", b.limit)
	}
	return fmt.Sprintf("≤ %g", b.limit)
}

// report is what bench.json holds.
type report struct {
	Latencies []latency `json:"latencies"`
	Figures   []figure  `json:"figures"`
}

// latency is one row: times in milliseconds from the API server's answer to
// the first response that shows the change.
type latency struct {
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
}

// figure is one further number.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Required is the promise, such as "≤ 2", or empty.
	Required string `json:"required,omitempty"`
	Met      bool   `json:"met"`
	Note     string `json:"note"`
}

func newLatency(name string, routes int, samples []time.Duration, before, after map[string]float64) latency {
	slices.Sort(samples)
	var total time.Duration
	for _, d := range samples {
		total += d
	}
	at := func(percent int) float64 {
		return milliseconds(samples[min(len(samples)*percent/100, len(samples)-1)])
	}
	mean := func(metric string) float64 {
		count := after[metric+"_count"] - before[metric+"_count"]
		if count == 0 {
			return 0
		}
		return (after[metric+"_sum"] - before[metric+"_sum"]) / count * 1000
	}
	return latency{
		Change: name, Routes: routes, Samples: len(samples), P50: at(50), P99: at(99), Max: at(100),
		Mean:   milliseconds(total / time.Duration(len(samples))),
		Update: mean("fairlead_router_plan_duration_seconds"), Apply: mean("fairlead_router_apply_duration_seconds"),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *report) figure(name string, value float64, unit, note string) {
	r.require(name, value, unit, nil, note)
}

// require notes a figure that is promised.
func (r *report) require(name string, value float64, unit string, b *bound, note string) {
	f := figure{Name: name, Value: value, Unit: unit, Required: b.String(), Met: b == nil || b.met(value), Note: note}
	r.Figures = append(r.Figures, f)
	fmt.Printf("          %s: %.4g %s %s (%s)\n", name, value, unit, f.Required, note)
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\nFrom the API server's answer to the first changed response, in ms; update and apply are the router's part of the mean\n")
	fmt.Fprintf(w, "%-20s %7s %8s %8s %8s %8s %8s %8s %8s\n", "change", "routes", "samples", "p50", "p99", "max", "mean", "update", "apply")
	for _, l := range r.Latencies {
		fmt.Fprintf(w, "%-20s %7d %8d %8.1f %8.1f %8.1f %8.2f %8.2f %8.2f\n", l.Change, l.Routes, l.Samples, l.P50, l.P99, l.Max, l.Mean, l.Update, l.Apply)
	}
	fmt.Fprintln(w)
	for _, f := range r.Figures {
		met := ""
		if !f.Met {
			met = "MISSED"
		}
		fmt.Fprintf(w, "%-56s %9.4g %-4s %-8s %-6s %s\n", f.Name, f.Value, f.Unit, f.Required, met, f.Note)
	}
}

// check returns what does not keep the promise.
func (r *report) check() error {
	var errs []error
	for _, l := range r.Latencies {
		if l.P50 > requiredP50 || l.P99 > requiredP99 {
			errs = append(errs, fmt.Errorf("%s at %d routes: p50 %.1f ms and p99 %.1f ms, required are %d and %d", l.Change, l.Routes, l.P50, l.P99, requiredP50, requiredP99))
		}
	}
	for _, f := range r.Figures {
		if !f.Met {
			errs = append(errs, fmt.Errorf("%s: %.4g %s, required is %s", f.Name, f.Value, f.Unit, f.Required))
		}
	}
	return errors.Join(errs...)
}
