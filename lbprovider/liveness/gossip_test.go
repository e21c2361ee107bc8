package liveness

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// group is speakers on loopback addresses.
type group struct {
	t    *testing.T
	port int
	all  []*Gossip
}

func newGroup(t *testing.T, secrets ...string) *group {
	t.Helper()
	l, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &group{t: t, port: l.Addr().(*net.TCPAddr).Port}
	l.Close()
	for i, secret := range secrets {
		g.start(i, secret)
	}
	return g
}

func address(i int) string { return fmt.Sprintf("127.77.0.%d", i+1) }
func node(i int) string    { return fmt.Sprintf("n%d", i) }

func (g *group) start(i int, secret string) *Gossip {
	g.t.Helper()
	s, err := Start(Options{
		NodeName: node(i), BindAddress: address(i), BindPort: g.port, Secret: []byte(secret), Changed: func() {},
		Log: slog.New(slog.DiscardHandler), // memberlist's goroutines outlive the test
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		select {
		case <-s.done: // the test stopped it
		default:
			s.crash()
		}
	})
	g.all = append(g.all, s)
	var peers []string
	for j := range max(3, i+1) {
		peers = append(peers, address(j))
	}
	s.SetPeers(peers)
	return s
}

// crash ends a speaker without a farewell.
func (g *Gossip) crash() {
	close(g.done)
	_ = g.list.Shutdown()
}

// sees polls until s reports these members, as "name:phase", and returns how long that took.
func (g *group) sees(s *Gossip, within time.Duration, want ...string) time.Duration {
	g.t.Helper()
	start := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var got []string
		snap := s.Snapshot()
		for name, m := range snap.Members {
			got = append(got, name+":"+string(m.Phase))
		}
		slices.Sort(got)
		if slices.Equal(got, want) && snap.Synced {
			return time.Since(start)
		}
		if time.Since(start) > within {
			g.t.Fatalf("%s sees %v (synced: %v), want %v", s.opts.NodeName, got, snap.Synced, want)
		}
		<-tick.C
	}
}

func TestCrashIsNoticedSoon(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], 10*time.Second, "n0:active")
	g.start(1, "key")
	g.start(2, "key")
	// Newcomers settle beside an active speaker before they take part.
	g.sees(g.all[1], 5*time.Second, "n0:active", "n1:settling", "n2:settling")
	for _, s := range g.all {
		g.sees(s, 15*time.Second, "n0:active", "n1:active", "n2:active")
	}
	g.all[2].crash()
	took := max(g.sees(g.all[0], 8*time.Second, "n0:active", "n1:active"), g.sees(g.all[1], 8*time.Second, "n0:active", "n1:active"))
	t.Logf("both others noticed the crash after %v", took.Round(10*time.Millisecond))
	if took > 4*time.Second { // on an idle machine 0.8 to 1.6 s
		t.Errorf("the crash was noticed only after %v", took)
	}
}

func TestFarewell(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], 10*time.Second, "n0:active")
	g.start(1, "key")
	g.sees(g.all[0], 15*time.Second, "n0:active", "n1:active")
	stopped := make(chan error, 1)
	if !g.all[1].Drain() {
		t.Error("n1 believes that it is alone")
	}
	g.sees(g.all[0], 2*time.Second, "n0:active", "n1:draining")
	go func() { stopped <- g.all[1].Stop() }()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := g.sees(g.all[0], 2*time.Second, "n0:active"); took > time.Second {
		t.Errorf("the farewell was heard only after %v", took)
	}
}

func TestInterfacesAreTold(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key", "key")
	told := func(want string) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for {
			m, ok := g.all[0].Snapshot().Members["n1"]
			if got := fmt.Sprintf("%v %v", m.Interfaces, m.Interfaces != nil); ok && got == want {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("n0 knows %q, want %q", got, want)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	told("[] false")
	g.all[1].SetInterfaces([]string{"eth1", "eth0"}, []string{"eth1"})
	told("[eth0 eth1] true")
	g.all[1].SetInterfaces(nil, nil)
	told("[] true")
	// More than fits: the speaker then does not say.
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%s%d", strings.Repeat("e", 10), i))
	}
	g.all[1].SetInterfaces(many, many)
	told("[] false")
}

func TestLostAPIServerAndProbesAreTold(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key", "key")
	told := func(want string) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for {
			m, ok := g.all[0].Snapshot().Members["n1"]
			if got := fmt.Sprintf("%v %v %v", m.Lost, m.Answering, m.Answering != nil); ok && got == want {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("n0 knows %q, want %q", got, want)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	told("false [] false")
	g.all[1].SetAnswering([]string{"a/b"})
	told("false [" + Mark("a/b") + "] true")
	g.all[1].SetLost(true)
	g.all[1].SetAnswering(nil)
	told("true [] true")
	// More than fits: the interfaces go first, then what answers.
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprint(i))
	}
	g.all[1].SetAnswering(many)
	told("true [] false")
}

// TestLostSpeakerSettlesAnew partitions nothing: it tells a speaker that
// others lost it, as they do when they meet again.
func TestLostSpeakerSettlesAnew(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], 10*time.Second, "n0:active")
	g.start(1, "key")
	g.start(2, "key")
	for _, s := range g.all {
		g.sees(s, 15*time.Second, "n0:active", "n1:active", "n2:active")
	}
	g.all[2].crash()
	g.sees(g.all[0], 8*time.Second, "n0:active", "n1:active")
	g.start(2, "key")
	if lost := g.all[0].flaps.list(time.Now())["n2"]; lost != 1 {
		t.Errorf("n0 lost n2 %d times, want 1", lost)
	}
	g.sees(g.all[1], 15*time.Second, "n0:active", "n1:active", "n2:active")
	g.all[1].told(1)
	g.sees(g.all[0], 5*time.Second, "n0:active", "n1:settling", "n2:active")
	g.sees(g.all[0], 15*time.Second, "n0:active", "n1:active", "n2:active")
}

func TestSettleFor(t *testing.T) {
	t.Parallel()
	for lost, want := range map[int]time.Duration{
		0: 5 * time.Second, 1: 5 * time.Second, 2: 5 * time.Second, 3: 10 * time.Second, 4: 20 * time.Second, 8: 5 * time.Minute, 100: 5 * time.Minute,
	} {
		if got := settleFor(lost); got != want {
			t.Errorf("after %d losses: %v, want %v", lost, got, want)
		}
	}
}

func TestFlaps(t *testing.T) {
	t.Parallel()
	var f flaps
	now := time.Now()
	f.add("a", now)
	f.add("a", now.Add(time.Minute))
	f.add("b", now.Add(time.Minute))
	if got := fmt.Sprint(f.list(now.Add(2 * time.Minute))); got != "map[a:2 b:1]" {
		t.Error(got)
	}
	if !f.alone(now.Add(time.Minute + time.Second)) { // it was this speaker that was cut off
		t.Error("two were lost at once, and that was not seen")
	}
	if got := fmt.Sprint(f.list(now.Add(2 * time.Minute))); got != "map[a:1]" {
		t.Error(got)
	}
	if got := fmt.Sprint(f.list(now.Add(time.Hour))); got != "map[]" {
		t.Error(got)
	}
	if !f.told(1, now) || f.told(1, now.Add(time.Minute)) || !f.told(2, now.Add(time.Minute)) || !f.told(1, now.Add(time.Hour)) {
		t.Error("a speaker is to settle anew once for each time that it was lost")
	}
}

func TestDifferentKeysDoNotMeet(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "one", "other")
	g.sees(g.all[0], 10*time.Second, "n0:active")
	g.sees(g.all[1], 10*time.Second, "n1:active")
}
