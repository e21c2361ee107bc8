package share

import (
	"slices"
	"testing"
	"time"
)

// mail is what members sent.
type mail struct {
	from, to string
	m        *Message
}

// post is a network whose messages a test hands over.
type post struct{ mail []mail }

func (p *post) node(id string, process uint64) *Node {
	return New(Options{
		ID: id, Process: process,
		Send:   func(to string, m *Message) { p.mail = append(p.mail, mail{id, to, m}) },
		Answer: func(uint64, Verdict) {},
	}, 0)
}

// of returns the last message of a kind.
func (p *post) of(t *testing.T, from, to string, k Kind) *Message {
	t.Helper()
	for _, l := range slices.Backward(p.mail) {
		if l.from == from && l.to == to && l.m.Kind == k {
			copied := *l.m
			return &copied
		}
	}
	t.Fatalf("no message of kind %d from %s to %s", k, from, to)
	return nil
}

// pair are two members that act, at the time that is returned.
func pair(t *testing.T) (p *post, a, b *Node, now time.Duration) {
	t.Helper()
	p = &post{}
	a, b = p.node("a", 1), p.node("b", 2)
	a.Members(0, []string{"a", "b"})
	b.Members(0, []string{"a", "b"})
	for now = 0; now <= 5*Term; now += Tick {
		a.Tick(now)
		b.Tick(now)
		p.deliver(now, map[string]*Node{"a": a, "b": b})
	}
	if !a.acting || !b.acting {
		t.Fatal("they do not act")
	}
	return p, a, b, now
}

// deliver hands all over at once.
func (p *post) deliver(now time.Duration, nodes map[string]*Node) {
	for len(p.mail) > 0 {
		l := p.mail[0]
		p.mail = p.mail[1:]
		if n := nodes[l.to]; n != nil {
			n.Receive(now, l.from, l.m)
		}
	}
}

// TestConsentOutlivesView: consent to a view is not given while another member may still
// act for the one before, or its leases last.
func TestConsentOutlivesView(t *testing.T) {
	t.Parallel()
	p, a, b, now := pair(t)
	a.lastLease = now + slack(Lease) // b has tokens of a
	a.Members(now, []string{"a", "b", "c"})
	b.Members(now, []string{"a", "b", "c"})
	if a.acting || b.acting {
		t.Error("they act for the view before")
	}
	ask := p.of(t, "a", "b", Ask)
	if ask.Ends != slack(Lease) {
		t.Errorf("leases end in %s", ask.Ends)
	}
	b.Receive(now, "a", ask)
	if p.of(t, "b", "a", Reply).Consent {
		t.Error("b consents while tokens of a may be used")
	}
	later := now + slack(slack(Lease))
	a.Tick(later)
	b.Receive(later, "a", p.of(t, "a", "b", Ask))
	if !p.of(t, "b", "a", Reply).Consent {
		t.Error("b does not consent when the leases have ended")
	}
}

// TestConsentWithoutNews: a member that is not heard of any more is waited for.
func TestConsentWithoutNews(t *testing.T) {
	t.Parallel()
	p, _, b, now := pair(t)
	b.Members(now, []string{"b"})
	if b.free() {
		t.Error("b is free at once")
	}
	b.Tick(now + slack(Term) + Round)
	if !b.free() || !b.acting {
		t.Errorf("b acts: %t, after the time of its consent", b.acting)
	}
	_ = p
}

// TestTwoProcesses: a process that follows another one gets no consent while that of the
// former one lasts.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	p, a, b, now := pair(t)
	a.Tick(now + Round)
	old := p.of(t, "a", "b", Ask)
	b.Receive(now, "a", old)
	next := *old
	next.Process, next.Number = 99, 1
	p.mail = nil
	b.Receive(now+Term, "a", &next)
	if len(p.mail) > 0 {
		t.Error("the second process is answered")
	}
	next.Number = 2
	b.Receive(now+slack(Term), "a", &next)
	if r := p.of(t, "b", "a", Reply); !r.Consent || r.Process != 99 {
		t.Errorf("the second process is answered with %+v", r)
	}
}

// TestLateAsks: a question that comes late, after a newer one, changes nothing.
func TestLateAsks(t *testing.T) {
	t.Parallel()
	p, a, b, now := pair(t)
	a.Tick(now + Round)
	old := p.of(t, "a", "b", Ask)
	a.Members(now+2*Round, []string{"a", "b", "c"})
	b.Receive(now+2*Round, "a", p.of(t, "a", "b", Ask)) // b knows that a has left
	p.mail = nil
	b.Receive(now+2*Round, "a", old)
	if len(p.mail) > 0 {
		t.Error("a question of before is answered")
	}
	// And an answer to it is no consent for a.
	a.Members(now+2*Round, []string{"a", "b"})
	a.Receive(now+2*Round, "b", &Message{Kind: Reply, Process: 1, Number: old.Number, View: old.View, Consent: true, Line: 7})
	if a.peers["b"].consent > 0 {
		t.Error("an answer to a question of before counts")
	}
}

// TestLine: buckets are kept only where no consent was interrupted.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(*Node){
		"":             func(*Node) {},
		"suspended":    func(b *Node) { b.peers["a"].line = 0 },
		"process":      func(b *Node) { b.peers["a"].process, b.peers["a"].until = 0, 0 },
		"another view": func(b *Node) { b.Members(b.now, []string{"a", "b", "x"}); b.Members(b.now, []string{"a", "b"}) },
	} {
		p, a, b, now := pair(t)
		k := Key{Namespace: "n"}
		for i := 0; a.view.owner(k.hash()) != "a" || k.Name == ""; i++ {
			k.Name = string(rune('a' + i))
		}
		l := Limit{Requests: 1, Per: time.Hour, Burst: 2}
		a.Take(now, k, l, 0)
		a.buckets.get(k).credit = l.token()
		a.acting = false // its consent has lapsed
		a.past[0].began = 0
		a.peers["b"].consent = 0
		b.now = now
		interrupt(b)
		for end := now + 3*Term; now < end; now += Tick {
			a.Tick(now)
			b.Tick(now)
			p.deliver(now, map[string]*Node{"a": a, "b": b})
		}
		if kept := a.past[0].began == 0; !a.acting || kept != (name == "") {
			t.Errorf("%q: a acts: %t, and keeps its buckets: %t", name, a.acting, kept)
		}
		if v, _ := a.Take(now, k, l, 0); v.Admitted != (name == "") {
			t.Errorf("%q: %+v", name, v)
		}
	}
}

// TestLeave: a member that ends is not waited for, and one that takes its place is.
func TestLeave(t *testing.T) {
	t.Parallel()
	p, a, b, now := pair(t)
	a.Leave(now)
	if v, _ := a.Take(now, Key{Name: "k"}, Limit{Requests: 1, Per: time.Second, Burst: 1}, 0); v.Reason != NoOwner {
		t.Errorf("a member that has left: %+v", v)
	}
	p.deliver(now, map[string]*Node{"b": b})
	b.Tick(now + Round)
	if !b.acting || len(b.view.members) != 1 {
		t.Errorf("b acts: %t, with %v", b.acting, b.view.members)
	}
	next := p.node("a", 3)
	next.Members(now, []string{"a", "b"})
	next.Tick(now + Round)
	p.deliver(now+Round, map[string]*Node{"b": b})
	if b.acting && len(b.view.members) != 2 {
		t.Errorf("b acts with %v", b.view.members)
	}
}

// TestRoom: a namespace with any number of keys leaves room for others, and what is full
// again makes room.
func TestRoom(t *testing.T) {
	t.Parallel()
	n := New(Options{ID: "a", Process: 1, MaxKeys: 1000, Send: func(string, *Message) {}, Answer: func(uint64, Verdict) {}}, 0)
	n.Members(0, []string{"a"})
	now := time.Duration(0)
	for ; now < 4*time.Second; now += Round {
		n.Tick(now)
	}
	l := Limit{Requests: 1, Per: time.Second, Burst: 1}
	full := map[string]int{}
	for _, namespace := range []string{"flood", "second", "third"} {
		for i := range 5000 {
			if v, _ := n.Take(now, Key{namespace, string(rune(i + 1))}, l, 0); v.Reason == Full {
				full[namespace]++
			}
		}
	}
	for namespace, want := range map[string]int{"flood": 200, "second": 160, "third": 128} {
		if got := 5000 - full[namespace]; got != want {
			t.Errorf("%s has %d keys, want %d", namespace, got, want)
		}
	}
	if v, _ := n.Take(now, Key{"fourth", "k"}, l, 0); !v.Admitted {
		t.Errorf("another namespace: %+v", v)
	}
	for end := now + time.Second + 2*Round; now < end; now += Round {
		n.Tick(now)
	}
	if v, _ := n.Take(now, Key{"flood", "new"}, l, 0); !v.Admitted {
		t.Errorf("after a second: %+v", v)
	}
}
