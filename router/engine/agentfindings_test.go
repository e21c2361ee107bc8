package engine

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	agent "github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// TestHearAgent: of what the agent says only printable and bounded texts about policies that it
// was sent are taken, and not more often than every few seconds.
func TestHearAgent(t *testing.T) {
	t.Parallel()
	e := &Engine{log: slog.New(slog.DiscardHandler), agent: agentLink{wanted: map[string]*model.Agent{"p": {}, "q": {}}, left: map[string]string{"q": "too long", "old": "x"}}}
	now := time.Unix(1_800_000_000, 0)
	say := func(r agent.Reply) { e.hearAgent(&r, now) }
	good := snapshot.Trouble{Kind: snapshot.KindIssuer, Address: "https://a/", Cause: "status 500"}
	say(agent.Reply{
		Closed: map[string]string{"p": "no\nkeys" + strings.Repeat("x", 1000), "stranger": "x"},
		Troubles: snapshot.Troubles{
			"p": {good, {Kind: "Evil", Address: "x"}, {Kind: snapshot.KindKeys, Address: "https://b/\x1b[2J", Cause: "a\r\nb"}}, "stranger": {good},
		},
	})
	a := &e.agent
	want := snapshot.Troubles{"p": {good, {Kind: snapshot.KindKeys, Address: `https://b/\u001b[2J`, Cause: "a  b"}}}
	if !a.troubles.Equal(want) {
		t.Errorf("troubles %+v", a.troubles)
	}
	all := a.unusable()
	if len(all) != 2 || len(all["p"]) > longestReason || !strings.HasPrefix(all["p"], "no keys") || all["q"] != "too long" {
		t.Errorf("unusable %v", all)
	}
	changes := 0
	for i := range 100 { // it comes and goes with each answer
		before := a.troubles
		now = now.Add(time.Second)
		r := agent.Reply{}
		if i%2 == 0 {
			r.Troubles = snapshot.Troubles{"q": {good}}
		}
		say(r)
		if !a.troubles.Equal(before) {
			changes++
		}
	}
	if limit := 100 / int(troublePause/time.Second); changes > limit {
		t.Errorf("%d changes in 100 s", changes)
	}
	now = now.Add(troublePause)
	say(agent.Reply{})
	if len(a.troubles) > 0 || len(a.closed) > 0 {
		t.Errorf("it stays: %v, %v", a.troubles, a.closed)
	}
}
