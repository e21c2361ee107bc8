package kube

import "time"

// pace bounds how often the status of one object is written: burst times in a row,
// then once in every. A tenant whose objects change without end sees their statuses
// late, and does not keep the API server from the changes of others.
type pace struct {
	every time.Duration
	burst int
}

// statusPace is for each Route and each route of the Gateway API.
var statusPace = pace{every: 10 * time.Second, burst: 6}

// wait returns how long after now an object's next write is due, zero or less for at
// once. used is what next returned for the last one, or zero.
func (p pace) wait(used, now time.Time) time.Duration {
	return used.Add(-time.Duration(p.burst-1) * p.every).Sub(now)
}

// next counts a write: it returns when all writes so far would have been made, had
// there been every between them.
func (p pace) next(used, now time.Time) time.Time {
	if used.Before(now) {
		used = now
	}
	return used.Add(p.every)
}
