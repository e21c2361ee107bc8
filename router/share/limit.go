package share

import (
	"errors"
	"time"
)

// Limit is how many requests are admitted in a time, and how many at once.
type Limit struct {
	Requests int64
	// Per is a whole number of milliseconds.
	Per   time.Duration
	Burst int64
}

// Bounds of a limit: those of the API.
const (
	mostRequests = 1_000_000
	mostPer      = 24 * time.Hour
)

// errLimit is the error for a limit that is out of bounds.
var errLimit = errors.New("invalid limit")

// Check refuses limits that cannot be counted without overflow.
func (l Limit) Check() error {
	if l.Requests < 1 || l.Requests > mostRequests || l.Burst < 1 || l.Burst > mostRequests || l.Per < time.Millisecond || l.Per > mostPer ||
		l.Per%time.Millisecond != 0 || l.Burst*l.token() > l.Requests*mostPer.Microseconds() {
		return errLimit
	}
	return nil
}

// token is one request in units: in each microsecond, a bucket gets Requests of them.
func (l Limit) token() int64 { return l.Per.Microseconds() }

// most is a full bucket in units, at most 8.64e16.
func (l Limit) most() int64 { return l.Burst * l.token() }

// part is what one of n members admits by itself. Its burst may be 0.
func (l Limit) part(n int) Limit {
	return Limit{Requests: l.Requests, Per: l.Per * time.Duration(n), Burst: l.Burst / int64(n)}
}

// earned is what the limit gives in a time, at most a full bucket.
func (l Limit) earned(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return min(l.Requests*min(d, mostPer).Microseconds(), l.most())
}

// wait is the time until so many units are earned.
func (l Limit) wait(units int64) time.Duration {
	return time.Duration((max(units, 0)+l.Requests-1)/l.Requests) * time.Microsecond
}

// bucket holds the tokens of one key.
type bucket struct {
	limit Limit
	// credit is what it had at the time at, in units.
	credit int64
	at     time.Duration
	// seen is when a request was last counted by it: whose bucket it was by then.
	seen time.Duration
	// leased are tokens that others have and may not have used yet.
	leased int64
	// begun counts how often the bucket began again: returns to an earlier one are void.
	begun int
}

// begin has the bucket hold what was earned since it was certainly not below empty.
func (b *bucket) begin(l Limit, empty, now time.Duration) {
	*b = bucket{limit: l, credit: l.earned(now - empty), at: now, seen: now, begun: b.begun + 1}
}

// fill adds what was earned. Leased tokens count as part of the burst.
func (b *bucket) fill(now time.Duration) {
	// Time that is not a whole microsecond is left for the next look.
	if whole := (now - b.at).Truncate(time.Microsecond); whole > 0 {
		b.credit += b.limit.earned(whole)
		b.at += whole
	}
	b.credit = min(b.credit, b.limit.most()-b.leased*b.limit.token())
}

// take takes up to n tokens, and returns how many it took.
func (b *bucket) take(now time.Duration, n int64) int64 {
	b.fill(now)
	if b.limit.Burst == 0 {
		return 0
	}
	n = max(min(n, b.credit/b.limit.token()), 0)
	b.credit -= n * b.limit.token()
	return n
}

// wait is the time until one token is there.
func (b *bucket) wait() time.Duration { return b.limit.wait(b.limit.token() - b.credit) }

// whole is true for a bucket that says no more than one that was never there.
func (b *bucket) whole(now time.Duration) bool {
	later := *b
	later.fill(now)
	return later.leased == 0 && later.credit >= later.limit.most()
}
