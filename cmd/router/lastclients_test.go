package main

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestLastClients: a router that stops serves for its delay, longer while clients come, and not for ever.
func TestLastClients(t *testing.T) {
	for _, test := range []struct {
		name        string
		delay       time.Duration
		comeUntil   time.Duration // since the signal
		fails       bool
		least, most time.Duration
	}{
		{"no client", 5 * time.Second, 0, false, 5 * time.Second, 6 * time.Second},
		{"clients that leave within the delay", 5 * time.Second, 3 * time.Second, false, 5 * time.Second, 6 * time.Second},
		{"clients that come after the delay", 5 * time.Second, 12 * time.Second, false, 13 * time.Second, 14 * time.Second},
		{"clients that never leave", 5 * time.Second, time.Hour, false, 30 * time.Second, 31 * time.Second},
		{"HAProxy does not answer", 5 * time.Second, time.Hour, true, 5 * time.Second, 6 * time.Second},
		{"no delay", 0, time.Hour, false, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			lastClients{test.delay, func() (uint64, error) {
				if test.fails {
					return 0, errors.New("no answer")
				}
				return uint64(min(time.Since(began), test.comeUntil) / (100 * time.Millisecond)), nil
			}}.wait(slog.New(slog.DiscardHandler))
			if took := time.Since(began); took < test.least || took > test.most {
				t.Errorf("%s: stopped after %v, want %v to %v", test.name, took, test.least, test.most)
			}
		})
	}
}
