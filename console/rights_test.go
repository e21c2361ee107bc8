package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowRights is an API server that takes its time.
type slowRights struct {
	takes time.Duration
	// may reports whether a user may see a namespace.
	may   func(user, namespace string) bool
	asked atomic.Int64
}

func (r *slowRights) Review(context.Context, string) (Identity, error) { return Identity{}, ErrRefused }

func (r *slowRights) MaySee(ctx context.Context, user Identity, namespace string) (bool, error) {
	r.asked.Add(1)
	select {
	case <-time.After(r.takes):
		return r.may(user.Name, namespace), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// sightsOf are those of an API server, with the clock of a bubble.
func sightsOf(r Rights) *sights { return newSights(r, time.Now, slog.New(slog.DiscardHandler)) }

func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of a bubble
	synctest.Wait()
}

// TestRightsAhead: while a user looks at pages, no page waits for answers about rights, and what a user
// may not see any more is not shown for longer than they are remembered.
func TestRightsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		r := &slowRights{takes: time.Second, may: func(_, namespace string) bool { return namespace == "own" && !revoked.Load() }}
		s, user := sightsOf(r), Identity{Name: "u"}
		waited := func() (*viewer, time.Duration) {
			t.Helper()
			began := time.Now()
			v, err := s.of(t.Context(), user, []string{"a", "b", "own"})
			if err != nil {
				t.Fatal(err)
			}
			return v, time.Since(began)
		}
		if v, took := waited(); !v.sees("own") || v.sees("a") || took != 2*time.Second {
			t.Fatalf("at first %+v after %s", v, took)
		}
		for range 60 {
			sleep(2 * time.Second)
			if v, took := waited(); !v.sees("own") || took > 0 {
				t.Fatalf("%+v after %s", v, took)
			}
		}
		revoked.Store(true)
		end := time.Now()
		for v, _ := waited(); v.sees("own"); v, _ = waited() {
			if time.Since(end) >= rightsFor {
				t.Fatalf("what was revoked is shown after %s", time.Since(end))
			}
			sleep(time.Second)
		}
		r.takes = time.Hour // an API server that does not answer any more
		sleep(rightsFor)
		if v, err := s.of(t.Context(), user, []string{"own"}); err == nil || v != nil {
			t.Errorf("without an answer: %+v, %v", v, err)
		}
	})
}

// TestRightsOfNewNamespaces: a namespace that is new is asked about, and no other. If there is no answer
// soon, the page does not wait, and shows nothing of it.
func TestRightsOfNewNamespaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowRights{may: func(_, namespace string) bool { return strings.HasPrefix(namespace, "own") }}
		s, user, all := sightsOf(r), Identity{Name: "u"}, []string{"a", "b", "own"}
		look := func() (*viewer, int64, time.Duration) {
			t.Helper()
			began, asked := time.Now(), r.asked.Load()
			v, err := s.of(t.Context(), user, all)
			if err != nil {
				t.Fatal(err)
			}
			return v, r.asked.Load() - asked, time.Since(began)
		}
		look()
		all = append(all, "own2")
		if v, asked, _ := look(); !v.sees("own2") || !v.sees("own") || asked != 2 {
			t.Errorf("%+v after %d questions", v, asked)
		}
		r.takes = time.Second
		all = append(all, "own3")
		if v, _, took := look(); v.sees("own3") || !v.sees("own2") || took != rightsPatience {
			t.Errorf("%+v after %s", v, took)
		}
		sleep(3 * time.Second)
		if v, _, took := look(); !v.sees("own3") || took != 0 {
			t.Errorf("%+v after %s", v, took)
		}
		all = []string{"a", "b"}
		if v, _, _ := look(); v.sees("own") && len(v.namespaces) != 3 {
			t.Errorf("%+v", v)
		}
		sleep(3 * time.Second)
		if v, _, _ := look(); v.sees("own") {
			t.Error("a namespace that is gone is remembered as one that the user may see")
		}
	})
}

// TestRightsQuestions: what 50 users may see of 60 namespaces takes few questions, and what is granted
// is shown in time.
func TestRightsQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var granted atomic.Bool
		r := &slowRights{takes: 2 * time.Millisecond, may: func(user, namespace string) bool {
			return user == "u"+strings.TrimPrefix(namespace, "n") || granted.Load() && user == "u1" && namespace == "n2"
		}}
		s := sightsOf(r)
		var all []string
		for i := range 60 {
			all = append(all, fmt.Sprintf("n%d", i))
		}
		look := func(i int) *viewer {
			v, err := s.of(t.Context(), Identity{Name: fmt.Sprintf("u%d", i)}, all)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		const minutes = 10
		for range minutes * 30 {
			for i := range 50 {
				look(i)
			}
			sleep(2 * time.Second)
		}
		asked := r.asked.Load()
		t.Logf("%d questions in %d minutes, %.1f each second", asked, minutes, float64(asked)/minutes/60)
		if most := int64(30_000); asked > most {
			t.Errorf("%d questions, more than %d", asked, most)
		}
		granted.Store(true)
		began := time.Now()
		for !look(1).sees("n2") {
			if time.Since(began) > deniedFor+2*rightsAhead {
				t.Fatal("what was granted is not shown")
			}
			sleep(time.Second)
		}
		granted.Store(false)
		for look(1).sees("n2") {
			sleep(time.Second)
		}
		granted.Store(true)
		s.forget(Identity{Name: "u1"}) // as a log-in does
		if !look(1).sees("n2") {
			t.Error("a log-in does not show what was granted")
		}
	})
}

// TestRightsFail: an answer that fails leaves no worker behind, and the others are not lost.
func TestRightsFail(t *testing.T) {
	t.Parallel()
	s := sightsOf(failing{})
	if _, err := s.of(t.Context(), Identity{Name: "u"}, []string{"a", "b"}); err == nil {
		t.Error("no error")
	}
}

// failing is an API server that knows about all namespaces only.
type failing struct{}

func (failing) Review(context.Context, string) (Identity, error) { return Identity{}, ErrRefused }

func (failing) MaySee(_ context.Context, _ Identity, namespace string) (bool, error) {
	if namespace != "" {
		return false, errors.New("no answer")
	}
	return false, nil
}
