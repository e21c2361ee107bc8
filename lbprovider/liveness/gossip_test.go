package liveness

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// group is speakers on loopback addresses.
type group struct {
	t    *testing.T
	port int
	// network is a format of addresses.
	network string
	profile Profile
	all     []*Gossip
}

func newGroup(t *testing.T, secrets ...string) *group {
	t.Helper()
	return newGroupOn(t, "127.77.0.%d", "", secrets...)
}

func newGroupOn(t *testing.T, network string, profile Profile, secrets ...string) *group {
	t.Helper()
	g := &group{t: t, network: network, profile: profile}
	l, err := net.Listen("tcp", net.JoinHostPort(g.address(0), "0"))
	if err != nil {
		t.Fatal(err)
	}
	g.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	for i, secret := range secrets {
		g.start(i, secret)
	}
	return g
}

func (g *group) address(i int) string { return fmt.Sprintf(g.network, i+1) }
func node(i int) string               { return fmt.Sprintf("n%d", i) }

func (g *group) start(i int, secret string) *Gossip {
	g.t.Helper()
	s, err := Start(Options{
		NodeName: node(i), BindAddress: g.address(i), BindPort: g.port, Secret: []byte(secret), Profile: g.profile, Changed: func() {},
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
		peers = append(peers, g.address(j))
	}
	s.SetPeers(peers)
	return s
}

// crash ends a speaker without a farewell.
func (g *Gossip) crash() {
	close(g.done)
	_ = g.list.Shutdown()
}

// patience is how long a busy machine may take for what takes seconds.
const patience = 2 * time.Minute

// eventually polls until there is no error.
func (g *group) eventually(try func() error) {
	g.t.Helper()
	wait.Poll{Limit: patience, Every: 5 * time.Millisecond}.For(g.t, "the group", try)
}

// sees waits until s reports these members, as "name:phase", and returns how long that took.
func (g *group) sees(s *Gossip, want ...string) time.Duration {
	g.t.Helper()
	start := time.Now()
	g.eventually(func() error {
		var got []string
		snap := s.Snapshot()
		for name, m := range snap.Members {
			got = append(got, name+":"+string(m.Phase))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || !snap.Synced {
			return fmt.Errorf("%s sees %v (synced: %v), want %v", s.opts.NodeName, got, snap.Synced, want)
		}
		return nil
	})
	return time.Since(start)
}

func TestCrashIsNoticed(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], "n0:active")
	start := time.Now()
	g.start(1, "key")
	g.start(2, "key")
	for _, s := range g.all {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
	// Newcomers settle beside an active speaker before they take part.
	for _, s := range g.all[1:] {
		if settled := time.Unix(0, s.activeAt.Load()).Sub(start); settled < settleTime {
			t.Errorf("%s took part after %v, want %v at least", s.opts.NodeName, settled, settleTime)
		}
	}
	g.all[2].crash()
	took := max(g.sees(g.all[0], "n0:active", "n1:active"), g.sees(g.all[1], "n0:active", "n1:active"))
	t.Logf("both others noticed the crash after %v", took.Round(10*time.Millisecond)) // on an idle machine 0.8 to 1.6 s
}

func TestFarewell(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], "n0:active")
	g.start(1, "key")
	g.sees(g.all[0], "n0:active", "n1:active")
	if !g.all[1].Drain() {
		t.Error("n1 believes that it is alone")
	}
	g.sees(g.all[0], "n0:active", "n1:draining")
	if err := g.all[1].Stop(); err != nil {
		t.Error(err)
	}
	g.sees(g.all[0], "n0:active")
	if lost := g.all[0].losses.list(time.Now()); len(lost) > 0 {
		t.Errorf("who leaves on purpose is not lost, but these are: %v", lost)
	}
}

func TestInterfacesAreTold(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key", "key")
	told := func(want string) {
		t.Helper()
		g.eventually(func() error {
			m := g.all[0].Snapshot().Members["n1"]
			if got := fmt.Sprintf("%v %v", m.Interfaces, m.Interfaces != nil); got != want {
				return fmt.Errorf("n0 knows %q, want %q", got, want)
			}
			return nil
		})
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
		g.eventually(func() error {
			m := g.all[0].Snapshot().Members["n1"]
			if got := fmt.Sprintf("%v %v %v", m.APILost, m.Answering, m.Answering != nil); got != want {
				return fmt.Errorf("n0 knows %q, want %q", got, want)
			}
			return nil
		})
	}
	told("false [] false")
	g.all[1].SetAnswering([]string{"a/b"})
	told("false [" + Mark("a/b") + "] true")
	g.all[1].SetAPIReach(APIReach{APILost: true})
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

// TestLastWordIsSpread changes what a speaker says of itself, from several sides
// at once: the others end up with what holds at last, not with what came before.
func TestLastWordIsSpread(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key", "key")
	for round := range 20 {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { g.all[1].SetInterfaces([]string{fmt.Sprintf("eth%d-%d", round, i)}, nil) })
			wg.Go(func() { g.all[1].SetAPIReach(APIReach{APILost: i%2 == 0}) })
		}
		wg.Wait()
		g.eventually(func() error {
			said, heard := *g.all[1].self.Load(), g.all[0].Snapshot().Members["n1"]
			if !said.equal(heard) {
				return fmt.Errorf("n1 says %+v, n0 heard %+v", said, heard)
			}
			return nil
		})
	}
}

// TestLostSpeakerSettlesAnew partitions nothing: it tells a speaker that
// others lost it, as they do when they meet again.
func TestLostSpeakerSettlesAnew(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "key")
	g.sees(g.all[0], "n0:active")
	g.start(1, "key")
	g.start(2, "key")
	for _, s := range g.all {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
	g.all[2].crash()
	g.sees(g.all[0], "n0:active", "n1:active")
	if lost := g.all[0].losses.list(time.Now())["n2"]; lost < 1 {
		t.Errorf("n0 lost n2 %d times", lost)
	}
	back := g.start(2, "key")
	for _, s := range []*Gossip{g.all[0], g.all[1], back} {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
	// So often that it settles for longer than anything here takes.
	g.all[1].noteReportedLosses(100)
	g.sees(g.all[0], "n0:active", "n1:settling", "n2:active")
	g.sees(back, "n0:active", "n1:settling", "n2:active")
	// When that time is over, it takes part again.
	g.all[1].activeAt.Store(time.Now().UnixNano())
	for _, s := range []*Gossip{g.all[0], g.all[1], back} {
		g.sees(s, "n0:active", "n1:active", "n2:active")
	}
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
	var f lossHistory
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
	if !f.noteReported(1, now) || f.noteReported(1, now.Add(time.Minute)) || !f.noteReported(2, now.Add(time.Minute)) || !f.noteReported(1, now.Add(time.Hour)) {
		t.Error("a speaker is to settle anew once for each time that it was lost")
	}
}

func TestDifferentKeysDoNotMeet(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "one", "other")
	g.sees(g.all[0], "n0:active")
	g.sees(g.all[1], "n1:active")
}
