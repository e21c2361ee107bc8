package l2

import "time"

// offsets returns when the gratuitous frames of a burst go out. The first tells
// everyone at once; one 1.1 s later reaches Linux neighbours that ignore changes
// within a second of the last (locktime); the rest is for frames that get lost.
func offsets() []time.Duration {
	return []time.Duration{
		0, 200 * time.Millisecond, 1100 * time.Millisecond, 2200 * time.Millisecond, 3300 * time.Millisecond, 5 * time.Second,
	}
}

// burst is the schedule of one address.
type burst struct {
	start time.Time
	sent  int
	// refresh is the pause between frames after the burst; 0 means none follow.
	refresh time.Duration
	last    time.Time
}

// due returns when the next frame goes out; false if never.
func (b *burst) due() (time.Time, bool) {
	if at := offsets(); b.sent < len(at) {
		return b.start.Add(at[b.sent]), true
	}
	if b.refresh <= 0 {
		return time.Time{}, false
	}
	return b.last.Add(b.refresh), true
}

// mark notes that a frame went out at now.
func (b *burst) mark(now time.Time) {
	b.sent++
	b.last = now
}

// restart begins a new burst at the given time, unless one has only just begun.
func (b *burst) restart(at time.Time) {
	if at.Sub(b.start) > offsets()[1] {
		b.start, b.sent = at, 0
	}
}

// over says whether only refreshes are left.
func (b *burst) over() bool { return b.sent >= len(offsets()) }
