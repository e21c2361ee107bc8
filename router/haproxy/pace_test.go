package haproxy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/plan"
)

func TestPace(t *testing.T) {
	t.Parallel()
	const half = stretch / 2
	for _, tt := range []struct {
		name  string
		costs []int
		// after is the time from each answer to the next line, want the waits.
		after time.Duration
		want  []time.Duration
	}{
		{"one change", []int{stretch}, 0, []time.Duration{0}},
		{"a long line and a short one", []int{half, half}, 0, []time.Duration{0, 0}},
		{"long lines", []int{stretch, stretch, stretch}, 0, []time.Duration{0, rest, rest}},
		{"long lines that come slowly", []int{stretch, stretch}, rest, []time.Duration{0, 0}},
		{"what is left of the rest", []int{stretch, stretch}, rest / 4, []time.Duration{0, rest - rest/4}},
		{"short lines add up", []int{half, half, half, half, half}, 0, []time.Duration{0, 0, rest, 0, rest}},
	} {
		var p pace
		now := time.Unix(1e9, 0)
		for i, cost := range tt.costs {
			got := p.before(cost, now)
			if got != tt.want[i] {
				t.Errorf("%s: line %d waits %s, want %s", tt.name, i, got, tt.want[i])
			}
			now = now.Add(got + time.Second) // however long the line itself takes
			p.after(now)
			now = now.Add(tt.after)
		}
	}
}

// TestPaceOfRoutes: a route with its certificate goes without a rest, and each
// further new or old backend of a plan after one.
func TestPaceOfRoutes(t *testing.T) {
	t.Parallel()
	server := plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80")}
	secure := []plan.Step{
		plan.CertPut{ID: "c", PEM: "x"},
		plan.BackendAdd{Name: "b", Profile: "p"},
		plan.ServerAdd{Backend: "b", Name: "s", Server: server},
		plan.BackendPublish{Name: "b"},
		plan.LineSet{Filter: "h", CertID: "c"},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: "h/"}, Value: "b"},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTPS, Key: "h/"}, Value: "b"},
		plan.EntryAdd{Entry: plan.Entry{Map: plan.MapSNI, Key: "h"}, Value: "b"},
	}
	var added, removed []plan.Step
	for i := range 10 {
		b := fmt.Sprint("b", i)
		added = append(added, plan.BackendAdd{Name: b, Profile: "p"}, plan.ServerAdd{Backend: b, Name: "s", Server: server})
		removed = append(removed, plan.BackendDel{Name: b})
	}
	for _, tt := range []struct {
		name  string
		steps []plan.Step
		want  time.Duration
	}{
		{"a route with its certificate", secure, 0},
		{"ten backends", added, 9 * rest},
		{"ten backends less", removed, 9 * rest},
	} {
		var p pace
		now, rested := time.Unix(1e9, 0), time.Duration(0)
		lines, err := encode(tt.steps, testLayout, testCaps, minCommand)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			wait := p.before(l.cost, now)
			rested += wait
			now = now.Add(wait)
			p.after(now)
		}
		if rested != tt.want {
			t.Errorf("%s: %s of rest, want %s", tt.name, rested, tt.want)
		}
	}
}
