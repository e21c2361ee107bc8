// Package wait polls: it looks again and again until something is true, and
// otherwise says what it waited for and what it saw last. Tests and the programs
// that measure share it, so that a wait that fails always reads the same way:
//
//	wait.Poll{}.For(t, "the Route is admitted", func() error { … })
//	err := wait.Poll{Limit: time.Minute}.Until(ctx, "the router is ready", func() error { … })
//
// Wait for the event itself where there is one: a channel, or the end of a
// process. Polling is for what only a look from outside shows.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// defaultLimit is enough for what takes a second on a quiet machine, on one that is busy.
	defaultLimit = time.Minute
	defaultEvery = 10 * time.Millisecond
	// Slowly is for looks that start a program, such as kubectl.
	Slowly = 200 * time.Millisecond
	// NoPause looks again at once, for measurements of how long something takes.
	NoPause = time.Duration(-1)
	// NoLimit leaves the end to the context.
	NoLimit = time.Duration(1<<63 - 1)
)

// Poll is how long to look, and how often. The zero value looks for a minute,
// every 10 milliseconds.
type Poll struct {
	// Limit is when to give up. A test that passes never reaches it, so it may be
	// long enough for a busy machine.
	Limit time.Duration
	// Every is the pause between two looks, or NoPause.
	Every time.Duration
}

// T is the part of testing.TB that For needs, so that programs that measure do
// not contain the package testing.
type T interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// For looks until check returns nil, and ends the test otherwise. It also works
// in a test's cleanup, where the test's context has ended.
func (p Poll) For(t T, what string, check func() error) {
	t.Helper()
	if err := p.Until(context.WithoutCancel(t.Context()), what, check); err != nil {
		t.Fatal(err)
	}
}

// Until looks until check returns nil. Otherwise it returns the last error of
// check, with what was waited for, when the limit has passed, when the context
// ends, or when check says with GiveUp that it is of no use to wait longer.
//
// The last look comes after the limit: on a busy machine, what was late is not
// reported as missing.
func (p Poll) Until(ctx context.Context, what string, check func() error) error {
	limit, every := p.Limit, p.Every
	if limit == 0 {
		limit = defaultLimit
	}
	if every == 0 {
		every = defaultEvery
	}
	start := time.Now()
	for {
		over := time.Since(start) >= limit
		err := check()
		_, final := errors.AsType[*finalError](err)
		switch {
		case err == nil:
			return nil
		case final:
			return fmt.Errorf("waiting for: %s: gave up after %v: %w", what, since(start), err)
		case ctx.Err() != nil:
			return fmt.Errorf("waiting for: %s: %w after %v; last: %w", what, ctx.Err(), since(start), err)
		case over:
			return fmt.Errorf("waiting for: %s: not within %v; last: %w", what, limit, err)
		}
		pause(ctx, min(every, limit-time.Since(start)))
	}
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Millisecond) }

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// finalError is one that more waiting does not change.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// GiveUp returns an error with which a check ends the wait at once.
func GiveUp(err error) error { return &finalError{err} }

// Reason returns an error with that text, and nil if there is none: for checks
// that say in words what is missing.
func Reason(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// True returns an error unless ok, for checks with nothing to say about what
// they saw.
func True(ok bool) error {
	if !ok {
		return errors.New("it is not so")
	}
	return nil
}
