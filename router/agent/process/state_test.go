package process

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestJoined: what workers cannot read is said until they say otherwise, also while one of them is
// started again, and of two the worse one counts.
func TestJoined(t *testing.T) {
	t.Parallel()
	s := &Supervisor{Log: slog.New(slog.DiscardHandler), workers: map[string]*child{}, troubles: map[string]snapshot.Troubles{}, changed: make(chan struct{})}
	s.register(prometheus.NewRegistry())
	hear := func(name string, beats ...beat) {
		c := &child{name: name}
		s.workers[name] = c
		var lines strings.Builder
		for _, b := range beats {
			lines.Write(encode(b))
		}
		s.listen(strings.NewReader(lines.String()), c)
	}
	bad := snapshot.Trouble{Kind: snapshot.KindIssuer, Address: "https://a", Cause: "x", Until: 100}
	worse := bad
	worse.Until = 0
	want := func(what string, list ...snapshot.Trouble) {
		t.Helper()
		got := s.state().Troubles
		if len(got) != min(len(list), 1) || !got.Equal(snapshot.Troubles{"p": list}) && len(list) > 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	want("at first")
	hear("a", beat{Troubles: &snapshot.Troubles{"p": {bad}}}, beat{})
	want("one worker", bad)
	hear("b", beat{Troubles: &snapshot.Troubles{"p": {worse}}}, beat{Closed: map[string]string{"q": "no"}})
	want("both", worse)
	if s.state().Closed["q"] != "no" {
		t.Error("what is closed is not said")
	}
	hear("b", beat{}, beat{})
	want("one of them starts again", worse)
	hear("b", beat{}, beat{Troubles: &snapshot.Troubles{}})
	want("and can read it", bad)
	hear("a", beat{Troubles: &snapshot.Troubles{}})
	want("as the other one")
}
