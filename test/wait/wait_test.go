package wait_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

var errDown = errors.New("it is down")

func TestUntilReturnsWhenTheCheckSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, looks := time.Now(), 0
		err := wait.Poll{Every: time.Second}.Until(t.Context(), "it is up", func() error {
			if looks++; looks < 4 {
				return errDown
			}
			return nil
		})
		if took := time.Since(start); err != nil || looks != 4 || took != 3*time.Second {
			t.Errorf("%d looks in %v: %v; want 4 in 3s", looks, took, err)
		}
	})
}

func TestUntilSaysWhatItWaitedForAndSawLast(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		poll  wait.Poll
		end   time.Duration // of the context; 0: never
		check func(look int) error
		want  string
		took  time.Duration
		is    error
	}{
		"at the limit": {
			poll: wait.Poll{Limit: 2 * time.Second, Every: 300 * time.Millisecond}, took: 2 * time.Second, is: errDown,
			check: func(look int) error { return fmt.Errorf("look %d: %w", look, errDown) },
			want:  "waiting for: it is up: not within 2s; last: look 8: it is down",
		},
		"by default": {
			took: time.Minute, is: errDown,
			check: func(int) error { return errDown },
			want:  "waiting for: it is up: not within 1m0s; last: it is down",
		},
		"when the context ends": {
			poll: wait.Poll{Limit: time.Minute, Every: 10 * time.Second}, end: 5 * time.Second, took: 5 * time.Second, is: context.DeadlineExceeded,
			check: func(int) error { return errDown },
			want:  "waiting for: it is up: context deadline exceeded after 5s; last: it is down",
		},
		"when the check gives up": {
			poll: wait.Poll{Every: time.Second}, took: 2 * time.Second, is: io.EOF,
			check: func(look int) error {
				if look == 3 {
					return fmt.Errorf("the process ended: %w", wait.GiveUp(io.EOF))
				}
				return errDown
			},
			want: "waiting for: it is up: gave up after 2s: the process ended: EOF",
		},
		"in words": {
			poll: wait.Poll{Limit: time.Second}, took: time.Second,
			check: func(int) error { return wait.Reason("2 of 3 are there") },
			want:  "waiting for: it is up: not within 1s; last: 2 of 3 are there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.end > 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, tt.end)
					defer cancel()
				}
				start, looks := time.Now(), 0
				err := tt.poll.Until(ctx, "it is up", func() error { looks++; return tt.check(looks) })
				if err == nil || err.Error() != tt.want {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%v is not %v", err, tt.is)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// TestLastLook: what is true at the limit counts, even if a look takes longer
// than the limit.
func TestLastLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := wait.Poll{Limit: time.Second}.Until(t.Context(), "it is up", func() error {
			late := time.Since(start) >= time.Second
			<-time.After(5 * time.Second) // the machine is busy
			return wait.True(late)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestNoPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, looks := time.Now(), 0
		err := wait.Poll{Every: wait.NoPause}.Until(t.Context(), "it is up", func() error {
			looks++
			return wait.True(looks == 1000)
		})
		if took := time.Since(start); err != nil || took != 0 {
			t.Errorf("1000 looks took %v: %v", took, err)
		}
	})
}

// recorded is a test that only notes its end.
type recorded struct {
	*testing.T
	ctx  context.Context
	said string
}

func (r *recorded) Context() context.Context { return r.ctx }
func (r *recorded) Fatal(args ...any)        { r.said = strings.TrimSpace(fmt.Sprintln(args...)) }

// TestFor: it ends the test, but not because the test's context has ended, as it
// has in a cleanup.
func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, looks := &recorded{T: t, ctx: ctx}, 0
		wait.Poll{}.For(r, "it is up", func() error { looks++; return wait.True(looks == 3) })
		if r.said != "" {
			t.Error(r.said)
		}
		wait.Poll{Limit: time.Second}.For(r, "it is up", func() error { return errDown })
		if want := "waiting for: it is up: not within 1s; last: it is down"; r.said != want {
			t.Errorf("got  %s\nwant %s", r.said, want)
		}
	})
}
