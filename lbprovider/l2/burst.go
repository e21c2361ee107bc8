package l2

import "time"

// offsets returns when the gratuitous frames of a burst go out. The first shows
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
	// held is before when nothing goes out.
	held time.Time
	// ownerDiedAt is Claim.Lost, until a frame has gone out.
	ownerDiedAt time.Time
}

// due returns when the next frame goes out; false if never.
func (b *burst) due() (at time.Time, ever bool) {
	if offset := offsets(); b.sent < len(offset) {
		at = b.start.Add(offset[b.sent])
	} else if b.refresh > 0 {
		at = b.last.Add(b.refresh)
	} else {
		return time.Time{}, false
	}
	if at.Before(b.held) {
		at = b.held
	}
	return at, true
}

// hold lets nothing out until then: another has just claimed the address. If it
// is the new owner, this node is about to learn that, and must not draw
// clients back in the meantime.
func (b *burst) hold(until time.Time) { b.held = until }

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
