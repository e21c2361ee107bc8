package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefreshKeepsItsPace(t *testing.T) {
	for _, c := range []struct {
		name   string
		lasts  time.Duration
		wanted time.Duration
	}{
		{"a quick write", 10 * time.Millisecond, filesPause},
		{"a slow write", time.Second, filesShare * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := refresh{due: true}
				r.start(func() error { <-time.After(c.lasts); return nil })
				r.due = true // a change meanwhile
				if _, due := r.in(time.Now()); due {
					t.Error("a second write is due while one runs")
				}
				if err := r.wait(); err != nil {
					t.Fatal(err)
				}
				r.end()
				if wait, due := r.in(time.Now()); !due || wait != c.wanted {
					t.Errorf("due %v in %s, want in %s", due, wait, c.wanted)
				}
			})
		})
	}
}

func TestRefreshReportsOnce(t *testing.T) {
	r := refresh{}
	if err := r.wait(); err != nil {
		t.Errorf("without a write: %v", err)
	}
	failed := errors.New("disk full")
	r.start(func() error { return failed })
	if err := r.wait(); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	r.end()
	if err := r.wait(); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
