package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// TestCalls: a member answers others, and what cannot be asked is known not to have been.
func TestCalls(t *testing.T) {
	t.Parallel()
	ids, certs := freePorts(t, 3), certificates(t, time.Now())
	var members []*Member
	begun, ends, slow := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for _, id := range ids[:2] {
		m := New(slog.New(slog.DiscardHandler), 0)
		m.Answer(func(_ context.Context, question []byte) []byte {
			switch string(question) {
			case "hang":
				close(begun)
				<-ends
			case "slow":
				begun <- struct{}{}
				<-slow
			}
			return append([]byte("answer to "), question...)
		})
		m.Set(Config{Self: id, Members: ids[:2], Certificates: certs})
		defer m.Close()
		members = append(members, m)
	}
	wait.Poll{}.For(t, "an answer", func() error {
		text, err := members[0].Call(t.Context(), ids[1], []byte("question"))
		if err == nil && string(text) != "answer to question" {
			err = fmt.Errorf("%q", text)
		}
		return err
	})
	for i := range 20 {
		name := strings.Repeat("x", i+1)
		// Each one takes the same member for the owner.
		if a, b := members[0].Owner(name), members[1].Owner(name); (a == "") == (b == "") || a != "" && a != ids[1] || b != "" && b != ids[0] {
			t.Errorf("%q is owned by %q, or by %q", name, a, b)
		}
	}
	if text, err := members[0].Call(t.Context(), ids[1], make([]byte, LongestCall-10)); err != nil || len(text) != LongestCall {
		t.Errorf("the longest question: %d bytes, %v", len(text), err)
	}
	if _, err := members[0].Call(t.Context(), ids[1], make([]byte, LongestCall)); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("an answer that is too long: %v", err)
	}
	stranger := New(slog.New(slog.DiscardHandler), 0)
	stranger.Set(Config{Self: ids[2], Members: ids, Certificates: certificates(t, time.Now())})
	defer stranger.Close()
	unlisted := New(slog.New(slog.DiscardHandler), 0)
	unlisted.Set(Config{Self: ids[2], Members: ids, Certificates: certs})
	defer unlisted.Close()
	for name, call := range map[string]func() ([]byte, error){
		"a question that is too long":   func() ([]byte, error) { return members[0].Call(t.Context(), ids[1], make([]byte, LongestCall+1)) },
		"another certificate":           func() ([]byte, error) { return stranger.Call(t.Context(), ids[1], []byte("x")) },
		"a member that is not known":    func() ([]byte, error) { return unlisted.Call(t.Context(), ids[1], []byte("x")) },
		"a member that does not listen": func() ([]byte, error) { return members[0].Call(t.Context(), "127.0.0.1:1", []byte("x")) },
		"before the address is known":   func() ([]byte, error) { return New(slog.New(slog.DiscardHandler), 0).Call(t.Context(), ids[1], nil) },
	} {
		if text, err := call(); !errors.Is(err, ErrNotAsked) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	failed := make(chan error)
	call := func(text string) {
		go func() {
			_, err := members[0].Call(t.Context(), ids[1], []byte(text))
			failed <- err
		}()
		<-begun
	}
	call("slow")
	call("hang")
	go members[1].Close()
	wait.Poll{}.For(t, "the end to begin", func() error {
		if _, err := members[0].Call(t.Context(), ids[1], []byte("late")); !errors.Is(err, ErrNotAsked) {
			return fmt.Errorf("a further question: %w", err)
		}
		return nil
	})
	close(slow)
	if err := <-failed; err != nil {
		t.Errorf("what a member answers that is about to end: %v", err)
	}
	if err := <-failed; !errors.Is(err, ErrNoAnswer) {
		t.Errorf("a member that ends while it answers: %v", err)
	}
	close(ends)
}
