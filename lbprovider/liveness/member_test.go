package liveness

import (
	"encoding/json"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

func TestReadMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		meta  string
		phase Phase
		bad   bool
	}{
		{"", Active, false},
		{`{"phase":"draining"}`, Draining, false},
		{`{"phase":"settling","interfaces":["eth0"],"lost":true,"steady":false}`, Settling, false},
		{`{"phase":"draining","interfaces":["eth0\n"]}`, Active, true},
		{`{"phase":"draining","answering":["` + "\u001b" + `[2J"]}`, Active, true},
		{`{"phase":"draining","interfaces":["sixteen-letters!"]}`, Active, true},
		{`{"phase":"owner"}`, Active, true},
		{`{"phase":`, Active, true},
		{`null`, Active, false},
	} {
		m, err := readMember([]byte(tt.meta))
		if m.Phase != tt.phase || (err != nil) != tt.bad {
			t.Errorf("%s: %+v, %v", tt.meta, m, err)
		}
	}
}

// FuzzMember: whatever another speaker says of itself, what is made of it has a
// known phase, fits what speakers tell each other, and reads the same again.
func FuzzMember(f *testing.F) {
	for _, meta := range []string{
		`{"phase":"active","interfaces":["eth0","eth1"],"without6":["eth1"],"answering":["abcdef"],"lost":true,"steady":true}`,
		`{"phase":"draining"}`, "", "null", "[]", "\x00", `{"interfaces":["\n\t\r\u0000\f"]}`, `{"Silent":true,"Reach":{"Lost":true}}`,
	} {
		f.Add([]byte(meta))
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		m, err := readMember(meta)
		if m.Phase != Active && m.Phase != Settling && m.Phase != Draining {
			t.Fatalf("phase %q", m.Phase)
		}
		if m.APISilent {
			t.Fatal("another speaker's word on what only this one knows")
		}
		if err != nil {
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := readMember(text); err != nil || !again.equal(m) {
			t.Fatalf("%s reads as %+v, and then as %+v: %v", meta, m, again, err)
		}
	})
}

// FuzzState: whatever another speaker tells of losses, this one stands back no
// longer than it may, and tells on what others can read.
func FuzzState(f *testing.F) {
	for _, data := range []string{
		`{"n1":3,"n2":1}`, `{"n1":-1}`, `{"n1":9223372036854775807}`, `{"n1":1e99}`, `{"n1":1.5}`, `{"n1":null}`, `{"N1":4}`, `{"n1":1,"n1":7}`,
		"", "null", "[]", "{", "\x00", "{\"\n\t\r\u0000\f\":1}",
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lost, ok := readLost(data, "n1")
		if lost < 0 || !ok && lost != 0 {
			t.Fatalf("lost %d times, %v", lost, ok)
		}
		var known lossHistory
		now := time.Unix(1_700_000_000, 0)
		known.noteReported(lost, now)
		if wait := known.settle(); wait < settleTime || wait > settleLimit {
			t.Fatalf("it stands back for %v", wait)
		}
		known.add(string(data), now)
		text, err := json.Marshal(known.list(now))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := readLost(text, "n1"); !ok {
			t.Fatalf("what is told on cannot be read: %q", text)
		}
	})
}

// TestCutOffSettlesFirst: a speaker that was cut off never sees another one while it
// still takes part in elections: it would take addresses in that moment.
func TestCutOffSettlesFirst(t *testing.T) {
	t.Parallel()
	for range 2000 {
		g := active()
		g.isolated.Store(true)
		go events{g}.NotifyJoin(&memberlist.Node{Name: "b", Addr: net.IPv4(198, 18, 0, 2)})
		for {
			all := g.members()
			if _, met := all["b"]; met {
				if all["a"].Phase != Settling {
					t.Fatalf("it sees the other one and is %s", all["a"].Phase)
				}
				break
			}
		}
	}
}

// active is a speaker that takes part in elections, without a network.
func active() *Gossip {
	g := &Gossip{
		opts: Options{NodeName: "a", Log: slog.New(slog.DiscardHandler)}, table: memberTable{known: map[string]memberRecord{}, dead: map[string]time.Time{}},
		wake: make(chan struct{}, 1), again: make(chan struct{}, 1), metaChanged: make(chan struct{}, 1),
	}
	g.self.Store(&Member{Phase: Active})
	g.synced.Store(true)
	return g
}

// TestCutOffIsSeenSettling: the others see a speaker that was cut off again before it sees
// them. They must not take it for one that takes part in elections, though it does so
// itself as long as it is alone.
func TestCutOffIsSeenSettling(t *testing.T) {
	g := active()
	others := []*memberlist.Node{{Name: "b", Addr: net.IPv4(198, 18, 0, 2)}, {Name: "c", Addr: net.IPv4(198, 18, 0, 3)}}
	said := func() Phase {
		m, err := readMember(delegate{g}.NodeMeta(metaLimit))
		if err != nil {
			t.Fatal(err)
		}
		return m.Phase
	}
	self := &memberlist.Node{Name: "a", Addr: net.IPv4(198, 18, 0, 1)}
	for _, n := range append(others, self) {
		events{g}.NotifyJoin(n)
	}
	if p := said(); p != Active {
		t.Fatalf("it says %s, with all others there", p)
	}
	for _, n := range others {
		events{g}.NotifyLeave(n)
	}
	<-g.metaChanged
	if own := g.members()["a"].Phase; said() != Settling || own != Active {
		t.Errorf("cut off, it is %s and says %s", own, said())
	}
	events{g}.NotifyJoin(others[0])
	if own := g.members()["a"].Phase; said() != Settling || own != Settling {
		t.Errorf("back, it is %s and says %s", own, said())
	}
}
