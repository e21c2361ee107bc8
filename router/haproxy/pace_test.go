package haproxy

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	const half = maxCommands / 2
	for _, tt := range []struct {
		name  string
		costs []int
		// after is the time from each answer to the next line, want the waits.
		after time.Duration
		want  []time.Duration
	}{
		{"one change", []int{maxCommands}, 0, []time.Duration{0}},
		{"a long line and a short one", []int{half, half}, 0, []time.Duration{0, 0}},
		{"long lines", []int{maxCommands, maxCommands, maxCommands}, 0, []time.Duration{0, rest, rest}},
		{"long lines that come slowly", []int{maxCommands, maxCommands}, rest, []time.Duration{0, 0}},
		{"what is left of the rest", []int{maxCommands, maxCommands}, rest / 4, []time.Duration{0, rest - rest/4}},
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
