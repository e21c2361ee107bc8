package controller

import (
	"math/rand/v2"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// memory is what is remembered of one Service. The queue never hands out one
// Service twice at once, so only its own worker uses it.
type memory struct {
	// ask is the hash of what the hook was last asked for, with success or not.
	ask string
	// spec and targets are hashes of what the hook was last asked for with success.
	spec, targets string
	// done is when Ensure last succeeded with nothing left to be done.
	done time.Time
	// failures counts passes that failed in a row, and rest is until when
	// nothing is tried after the last of them.
	failures int
	rest     time.Time
	// reported are the warnings of the last pass.
	reported map[string]bool
	// again is when the cloud, which is not finished, asked to be asked again. Our
	// own writes wake us before.
	again time.Time
	// polls counts passes in a row in which the cloud was not finished.
	polls int
}

// asked notes what is asked for, by its hash, and returns how long the hook is
// still to be left alone. Only another request ends a pause early: nodes and
// endpoints, which change all the time, must not bring calls that fail forward.
func (m *memory) asked(hash string, now time.Time) time.Duration {
	if hash != m.ask {
		m.ask = hash
		m.failures, m.polls, m.rest, m.again = 0, 0, time.Time{}, time.Time{}
	}
	return max(m.rest.Sub(now), 0)
}

// failed notes that a pass failed, and returns when to try again.
func (m *memory) failed(err error, now time.Time) time.Duration {
	m.failures++
	wait := backoff(hook.AsError(err), m.failures)
	m.rest = now.Add(wait)
	return wait
}

func (m *memory) succeeded() { m.failures, m.rest, m.again = 0, time.Time{}, time.Time{} }

// poll notes that the cloud is not finished, and returns when to look again: as
// it asked, and the longer it lasts the less often, up to most.
func (m *memory) poll(after time.Duration, slower int, most time.Duration, now time.Time) time.Duration {
	m.polls++
	wait := min(after*time.Duration(1+m.polls/slower), max(after, most))
	m.again = now.Add(wait)
	return wait
}

// backoff returns when to try again after an error.
func backoff(e *hook.Error, failures int) time.Duration {
	if e.RetryAfter > 0 {
		return min(e.RetryAfter, 5*time.Minute)
	}
	doubling := func(from, most time.Duration) time.Duration {
		d := from << min(failures-1, 10)
		d = min(d, most)
		return d - time.Duration(rand.Int64N(int64(d)/4+1)) //nolint:gosec // no secret depends on it
	}
	switch e.Class {
	case hook.ClassQuota:
		return 5 * time.Minute
	case hook.ClassInvalidConfig, hook.ClassConflict, hook.ClassUnsupported:
		// Subnets may get tagged, names may become free.
		return doubling(time.Minute, 10*time.Minute)
	case hook.ClassDenied, hook.ClassProtected:
		return doubling(time.Minute, 10*time.Minute)
	case hook.ClassBusy, hook.ClassNotFound:
		return doubling(5*time.Second, 30*time.Second)
	case hook.ClassThrottled, hook.ClassUnavailable, hook.ClassInternal:
	}
	return doubling(5*time.Second, 5*time.Minute)
}
