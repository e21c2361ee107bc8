package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/test/bench/lb/allocation"
	"github.com/fairlead/fairlead/test/bench/lb/memory/usage"
)

// good is a run in which everything is as required, and nothing better.
func good() *results {
	small := usage.Usage{WorkingSet: memoryLimit}
	return &results{
		Election:   &elections{Times: []float64{1, 100}},
		Answers:    &answered{Asked: 60000, Answered: leastAnswers, Allocations: 3},
		Allocation: &allocation.Result{Services: 10000, Restart: 5 * time.Second},
		Memory:     &footprint{Start: small, Restart: small, Burst: small},
		Handovers:  []handover{{Lost: 1, Silence: 300, Moved: 300, Rate: leastRate}},
		Takeovers:  []float64{1500, 1500, 1500},
		Routed:     []float64{600},
	}
}

func missed(r *results) int {
	n := 0
	for _, l := range r.lines() {
		if !l.met {
			n++
		}
	}
	return n
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*results)
		missed int
	}{
		{"all met", func(*results) {}, 0},
		{"nothing measured", func(r *results) { *r = results{} }, 9},
		{"an election too slow", func(r *results) { r.Election.Times[1] = 101 }, 1},
		{"an answer allocates too often", func(r *results) { r.Answers.Allocations = 4 }, 1},
		{"too few answers", func(r *results) { r.Answers.Answered-- }, 1},
		{"fewer Services than promised", func(r *results) { r.Allocation.Services-- }, 1},
		{"a needless write", func(r *results) { r.Allocation.Writes = 1 }, 1},
		{"memory after a restart", func(r *results) { r.Memory.Restart.WorkingSet++ }, 1},
		{"memory after a burst", func(r *results) { r.Memory.Burst.WorkingSet++ }, 1},
		{"two requests lost", func(r *results) { r.Handovers[0].Lost = 2 }, 1},
		{"none lost, but too few sent", func(r *results) { r.Handovers[0] = handover{Rate: leastRate - 1} }, 1},
		{"slow handover", func(r *results) { r.Handovers[0].Silence = 301 }, 1},
		{"late handover", func(r *results) { r.Handovers[0].Moved = 301 }, 1},
		{"slow takeovers", func(r *results) { r.Takeovers = []float64{1501, 1501, 2001} }, 1},
		{"one slow failure with BGP", func(r *results) { r.Routed = append(r.Routed, 601) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := good()
			tt.change(r)
			if got := missed(r); got != tt.missed {
				t.Errorf("%d lines are missed, want %d", got, tt.missed)
			}
			if err := check(r.lines()); (err != nil) != (tt.missed > 0) {
				t.Errorf("-require says %v", err)
			}
		})
	}
}

// Runs of several times are put together, and nothing else is lost by that.
func TestAdd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results.json")
	first := good()
	if err := first.write(file); err != nil {
		t.Fatal(err)
	}
	var next results
	if err := next.read(file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, &next); diff != "" {
		t.Errorf("read is not what was written (-written +read):\n%s", diff)
	}
	next.Takeovers = append(next.Takeovers, 1600)
	var text strings.Builder
	show(&text, next.lines())
	if want := "| 4 times: p50 1.50 s, p95 1.60 s, max 1.60 s | yes |"; !strings.Contains(text.String(), want) {
		t.Errorf("the table has no %q:\n%s", want, text.String())
	}
	if err := new(results).read(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("no earlier results: %v", err)
	}
}
