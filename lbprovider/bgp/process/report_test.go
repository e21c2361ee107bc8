package process

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

// reporting returns a session whose process runs, and what it logs.
func reporting() (*session, *bytes.Buffer, *time.Time) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	log := &bytes.Buffer{}
	s := newSession(bgp.Peer{Name: "tor"}, &Options{
		Now: func() time.Time { return now }, Changed: func() {}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	s.alive = true
	return s, log, &now
}

func always() bool { return true }

// TestSince: since when a session is up is the speaker's own clock.
func TestSince(t *testing.T) {
	t.Parallel()
	s, _, now := reporting()
	for _, state := range []string{bgp.StateEstablished, bgp.StateEstablished, bgp.StateIdle} {
		before := s.sample().status
		*now = now.Add(time.Hour)
		if err := s.apply(wire.Report{State: state}, always); err != nil {
			t.Fatal(err)
		}
		want := *now
		if before.State == state {
			want = before.Since
		}
		if got := s.sample().status.Since; !got.Equal(want) {
			t.Errorf("%s since %v, want %v", state, got, want)
		}
	}
}

// TestAnswers: a process cannot answer what it was not asked, and what it was
// asked it may answer once without it counting as a report.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s, _, _ := reporting()
	question := s.ask()
	never := func() bool { return false }
	if err := s.apply(wire.Report{State: bgp.StateIdle, Answers: question}, never); err != nil {
		t.Errorf("an answer is refused: %v", err)
	}
	if err := s.apply(wire.Report{State: bgp.StateIdle, Answers: question}, never); err == nil || !strings.Contains(err.Error(), "it reports more than") {
		t.Errorf("the same answer is taken twice: %v", err)
	}
	if err := s.apply(wire.Report{State: bgp.StateEstablished, Answers: math.MaxUint64}, always); err == nil || !strings.Contains(err.Error(), "not asked") {
		t.Errorf("an answer to nothing is taken: %v", err)
	}
	if answered, _ := s.answered(s.ask()); answered || s.sample().status.Up() {
		t.Errorf("a refused report counts: %+v", s.sample())
	}
}

// TestCounters: counters neither fall nor overflow, which is told once.
func TestCounters(t *testing.T) {
	t.Parallel()
	s, log, _ := reporting()
	s.past = bgp.Counters{TotalSent: 5, OpensSent: 2}
	for _, c := range []bgp.Counters{{TotalSent: 7, OpensSent: math.MaxUint64}, {TotalSent: 3}, {TotalSent: 8}} {
		if err := s.apply(wire.Report{State: bgp.StateIdle, Counters: c}, always); err != nil {
			t.Fatal(err)
		}
	}
	want := bgp.Counters{TotalSent: 13, OpensSent: math.MaxUint64}
	if got := s.sample().counters; got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}
	if told := strings.Count(log.String(), "counters that fall"); told != 1 {
		t.Errorf("it is told %d times:\n%s", told, log)
	}
}
