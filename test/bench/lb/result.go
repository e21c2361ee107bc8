package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/test/bench/lb/allocation"
)

// results is what bench-lb.json holds: what was measured, not what it comes to,
// so that the runs of several times can be put together. Times are milliseconds.
type results struct {
	Election   *elections         `json:"election,omitempty"`
	Answers    *answered          `json:"answers,omitempty"`
	Allocation *allocation.Result `json:"allocation,omitempty"`
	Memory     *footprint         `json:"memory,omitempty"`
	// Handovers, Takeovers and Routed have one entry for each run. A takeover
	// lasts from the end of the owner's power to the first answered request, and
	// a failure with BGP and BFD until no request is lost any more.
	Handovers []handover `json:"handovers,omitempty"`
	Takeovers []float64  `json:"takeovers,omitempty"`
	Routed    []float64  `json:"routed,omitempty"`
}

// read adds to the results what an earlier run wrote; a missing file is none.
func (r *results) read(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return fmt.Errorf("read earlier results: %w", err)
	}
	return nil
}

func (r *results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil { // in a new clone the folder is not there
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// line is a line of the table.
type line struct {
	what, required, seen string
	met                  bool
}

// lines returns the table: every figure that is promised, measured or not.
func (r *results) lines() []line {
	var all []line
	add := func(measured bool, what, required string, met func() bool, seen string, args ...any) {
		l := line{what: what, required: required, seen: "not measured"}
		if measured {
			l.seen, l.met = fmt.Sprintf(seen, args...), met()
		}
		all = append(all, l)
	}
	seconds := func(ms float64) float64 { return ms / 1000 }
	p50, p95, highest := spread(r.Takeovers)
	add(len(r.Takeovers) > 0, "Layer 2, the owner's power is cut: until the first answered request", "p50 ≤ 1.5 s, p95 ≤ 2 s",
		func() bool { return p50 <= 1500 && p95 <= 2000 }, "%d times: p50 %.2f s, p95 %.2f s, max %.2f s", len(r.Takeovers), seconds(p50), seconds(p95), seconds(highest))

	h := sum(r.Handovers)
	add(h.times > 0, "planned handover: requests lost, of 1,000 per second", "≤ 1 each",
		func() bool { return h.worst <= 1 && h.slowest >= leastRate }, "%d times: %d at most, %d in all, at %.0f requests/s or more", h.times, h.worst, h.lost, h.slowest)
	add(h.times > 0, "planned handover: longest time without an answer", "p95 ≤ 300 ms",
		func() bool { return h.silence[1] <= 300 }, "p50 %.0f ms, p95 %.0f ms, max %.0f ms", h.silence[0], h.silence[1], h.silence[2])
	add(h.times > 0, "planned handover: from the order until the client sends to the new node", "p95 ≤ 300 ms",
		func() bool { return h.moved[1] <= 300 }, "p50 %.0f ms, p95 %.0f ms, max %.0f ms", h.moved[0], h.moved[1], h.moved[2])

	b50, b95, longest := spread(r.Routed)
	add(len(r.Routed) > 0, "BGP with BFD (100 ms × 3), a node's power is cut: until no request is lost", "≤ 0.6 s",
		func() bool { return longest <= 600 }, "%d times: p50 %.2f s, p95 %.2f s, max %.2f s", len(r.Routed), seconds(b50), seconds(b95), seconds(longest))

	a := r.Allocation
	if a == nil {
		a = &allocation.Result{}
	}
	add(a.Services > 0, "allocation after a restart with 10,000 Services: time; changed; needless writes", "≤ 5 s; 0; 0",
		func() bool { return a.Services >= 10000 && a.Restart.Seconds() <= 5 && a.Changed == 0 && a.Writes == 0 },
		"%d Services: %.2f s; %d; %d", a.Services, a.Restart.Seconds(), a.Changed, a.Writes)
	return slices.Concat(all, r.machine())
}

// leastAnswers is how many ARP requests a node answers in a second, at least.
const leastAnswers = 20_000

// machine returns the lines about what a speaker costs.
func (r *results) machine() []line {
	all := []line{
		{what: "memory of a speaker, 5,000 Services by ARP and to 3 BGP peers: working set", required: "≤ 50 MB", seen: "not measured"},
		{what: "election for 5,000 Services on 100 nodes, when nodes come and go", required: "≤ 100 ms", seen: "not measured"},
		{what: "ARP requests answered per second; allocations for each", required: "≥ 20,000; ≤ 3", seen: "not measured"},
	}
	if m := r.Memory; m != nil {
		all[0].seen, all[0].met = m.String(), m.met()
	}
	if e := r.Election; e != nil {
		p50, _, highest := spread(e.Times)
		all[1].seen = fmt.Sprintf("p50 %.1f ms, max %.1f ms, %.0f allocations; the very first %.0f ms", p50, highest, e.Allocations, e.First)
		all[1].met = highest <= 100
	}
	if a := r.Answers; a != nil {
		all[2].seen = fmt.Sprintf("%.0f of %.0f asked; %.0f", a.Answered, a.Asked, a.Allocations)
		all[2].met = a.Answered >= leastAnswers && a.Allocations <= 3
	}
	return all
}

func show(w io.Writer, lines []line) {
	fmt.Fprintln(w, "| what | required | seen | met |\n|---|---|---|---|")
	for _, l := range lines {
		met := "**no**"
		if l.met {
			met = "yes"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", l.what, l.required, l.seen, met)
	}
}

// check returns what is not as required.
func check(lines []line) error {
	var missed []string
	for _, l := range lines {
		if !l.met {
			missed = append(missed, fmt.Sprintf("%s: %s, required is %s", l.what, l.seen, l.required))
		}
	}
	if len(missed) > 0 {
		return errors.New(strings.Join(missed, "\n"))
	}
	return nil
}

// spread returns the median, the 95th percentile and the largest of the values:
// percentiles are values than which that part is not larger.
func spread(values []float64) (p50, p95, highest float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	all := slices.Sorted(slices.Values(values))
	at := func(percent int) float64 { return all[(len(all)*percent+99)/100-1] }
	return at(50), at(95), all[len(all)-1]
}
