package protocol

import (
	"testing"
	"time"
)

const (
	ms     = time.Millisecond
	local  = 7
	remID  = 9
	always = 0.5 // what "random" returns: packets follow after 87.5 % of the interval
)

func epoch() time.Time { return time.Unix(1000, 0) }

func config() Config {
	return Config{DesiredMinTx: 100 * ms, RequiredMinRx: 200 * ms, DetectMult: 3}
}

func newMachine(cfg Config) *Machine {
	return NewMachine(local, cfg, func() float64 { return always })
}

// from is a packet of the peer in state s, which sends every 100 ms and can
// receive every 50 ms.
func from(s State) Packet {
	return Packet{State: s, DetectMult: 4, My: remID, Your: local, DesiredMinTx: 100 * ms, RequiredMinRx: 50 * ms}
}

// in returns a machine that has reached the state s.
func in(t *testing.T, s State, cfg Config) *Machine {
	t.Helper()
	m := newMachine(cfg)
	m.Start(epoch())
	way := map[State][]State{Down: {}, Init: {Down}, Up: {Init}, AdminDown: {}}
	for _, p := range way[s] {
		m.Receive(epoch(), from(p))
	}
	if s == AdminDown {
		m.Disable(epoch())
	}
	if m.State() != s {
		t.Fatalf("state %v, want %v", m.State(), s)
	}
	return m
}

// TestTransitions is the table of RFC 5880 section 6.2 and the text of 6.8.6.
func TestTransitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, received, want State
		diag                  Diag
	}{
		{Down, AdminDown, Down, NoDiag},
		{Down, Down, Init, NoDiag},
		{Down, Init, Up, NoDiag},
		{Down, Up, Down, NoDiag},
		{Init, AdminDown, Down, NeighborDown},
		{Init, Down, Init, NoDiag},
		{Init, Init, Up, NoDiag},
		{Init, Up, Up, NoDiag},
		{Up, AdminDown, Down, NeighborDown},
		{Up, Down, Down, NeighborDown},
		{Up, Init, Up, NoDiag},
		{Up, Up, Up, NoDiag},
		{AdminDown, AdminDown, AdminDown, AdminDownDiag},
		{AdminDown, Down, AdminDown, AdminDownDiag},
		{AdminDown, Init, AdminDown, AdminDownDiag},
		{AdminDown, Up, AdminDown, AdminDownDiag},
	} {
		t.Run(c.state.String()+" receives "+c.received.String(), func(t *testing.T) {
			t.Parallel()
			m := in(t, c.state, config())
			out := m.Receive(epoch(), from(c.received))
			if m.State() != c.want || m.Diag() != c.diag {
				t.Errorf("state %v (%v), want %v (%v)", m.State(), m.Diag(), c.want, c.diag)
			}
			changed := c.state != c.want
			if out.Changed != changed || out.Send != changed {
				t.Errorf("changed %v, send %v: a change, and only that, is told at once", out.Changed, out.Send)
			}
			if out.Send && (out.Packet.State != c.want || out.Packet.Diag != c.diag || out.Packet.My != local || out.Packet.Your != remID) {
				t.Errorf("packet %+v", out.Packet)
			}
		})
	}
}

// due returns how long after the epoch the machine has something to do.
func due(t *testing.T, m *Machine) time.Duration {
	t.Helper()
	at, ever := m.Due()
	if !ever {
		t.Fatal("nothing will ever be due")
	}
	return at.Sub(epoch())
}

func TestPace(t *testing.T) {
	t.Parallel()
	t.Run("slow until up, whatever is wanted", func(t *testing.T) {
		t.Parallel()
		m := in(t, Down, config())
		if got := due(t, m); got != 875*ms {
			t.Errorf("next packet after %v", got)
		}
		out := m.Tick(epoch().Add(875 * ms))
		if !out.Send || out.Packet.DesiredMinTx != SlowTx || out.Packet.RequiredMinRx != 200*ms || out.Packet.Your != 0 {
			t.Errorf("output %+v", out)
		}
	})
	t.Run("as fast as both want, once up", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		if m.TxInterval() != 100*ms || due(t, m) != 87500*time.Microsecond {
			t.Errorf("interval %v, next %v", m.TxInterval(), due(t, m))
		}
		slowPeer := from(Up)
		slowPeer.RequiredMinRx = 400 * ms
		m.Receive(epoch(), slowPeer)
		if m.TxInterval() != 400*ms || due(t, m) != 350*ms {
			t.Errorf("interval %v, next %v", m.TxInterval(), due(t, m))
		}
	})
	t.Run("never later than the interval, never before three quarters of it", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			random   float64
			mult     uint8
			low, top time.Duration
		}{{0, 3, 100 * ms, 100 * ms}, {0.9999, 3, 75 * ms, 76 * ms}, {0, 1, 90 * ms, 90 * ms}, {0.9999, 1, 75 * ms, 76 * ms}} {
			cfg := config()
			cfg.DetectMult = c.mult
			m := NewMachine(local, cfg, func() float64 { return c.random })
			m.Receive(epoch(), from(Init))
			if got := due(t, m); got < c.low || got > c.top {
				t.Errorf("random %v, multiplier %d: next packet after %v", c.random, c.mult, got)
			}
		}
	})
	t.Run("not at all to a peer that wants nothing", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		p := from(Up)
		p.RequiredMinRx = 0
		m.Receive(epoch(), p)
		if got := due(t, m); got != 800*ms { // only the peer's silence
			t.Errorf("due after %v", got)
		}
		p.Poll = true
		if out := m.Receive(epoch(), p); !out.Send || !out.Packet.Final {
			t.Errorf("a poll is answered all the same: %+v", out)
		}
	})
	t.Run("not to a peer in demand mode, but for polls", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		p := from(Up)
		p.Demand, p.Final = true, true
		m.Receive(epoch(), p)
		if got := due(t, m); got != 800*ms {
			t.Errorf("due after %v", got)
		}
		faster := config()
		faster.DesiredMinTx = 50 * ms
		if out := m.Set(epoch(), faster); !out.Send || !out.Packet.Poll || due(t, m) != 43750*time.Microsecond {
			t.Errorf("output %+v, next %v", out, due(t, m))
		}
	})
}

func TestPassive(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Passive = true
	m := newMachine(cfg)
	if out := m.Start(epoch()); out.Send {
		t.Error("a passive end spoke first")
	}
	if _, ever := m.Due(); ever {
		t.Error("a passive end has something to say")
	}
	if out := m.Receive(epoch(), from(Down)); !out.Send || m.State() != Init {
		t.Errorf("output %+v, state %v", out, m.State())
	}
	// The peer vanishes. That is told once; then the passive end is silent.
	if out := m.Tick(epoch().Add(time.Hour)); !out.Send || m.State() != Down {
		t.Errorf("output %+v, state %v", out, m.State())
	}
	if _, ever := m.Due(); ever {
		t.Error("a passive end speaks to a peer that is gone")
	}
}

func TestDetection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		peerTx time.Duration
		want   time.Duration
	}{
		{"the peer could send faster than this end wants", 100 * ms, 800 * ms},
		{"the peer sends slower than this end could take", 300 * ms, 1200 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := in(t, Up, config())
			p := from(Up)
			p.DesiredMinTx, p.RequiredMinRx = c.peerTx, 0 // so that nothing else is due
			m.Receive(epoch(), p)
			if got := m.DetectionTime(); got != c.want {
				t.Errorf("detection time %v, want %v", got, c.want)
			}
			if out := m.Tick(epoch().Add(c.want - 1)); out.Changed {
				t.Error("the peer was given up too early")
			}
			out := m.Tick(epoch().Add(c.want))
			if !out.Changed || !out.Send || out.Packet.State != Down || out.Packet.Diag != DetectionExpired || out.Packet.Your != remID {
				t.Errorf("output %+v", out)
			}
			if m.Peer() != 0 {
				t.Error("the discriminator of a lost peer is remembered")
			}
		})
	}
	t.Run("Late tells of a timer that fired late", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		if _, expired := m.Late(epoch().Add(799 * ms)); expired {
			t.Error("expired too early")
		}
		if late, expired := m.Late(epoch().Add(900 * ms)); !expired || late != 100*ms {
			t.Errorf("late %v, expired %v", late, expired)
		}
	})
}

func TestPoll(t *testing.T) {
	t.Parallel()
	final := from(Up)
	final.Final = true
	t.Run("coming up polls until the peer confirms", func(t *testing.T) {
		t.Parallel()
		m := in(t, Init, config())
		if out := m.Receive(epoch(), from(Up)); !out.Packet.Poll || out.Packet.DesiredMinTx != 100*ms {
			t.Errorf("packet %+v", out.Packet)
		}
		if out := m.Tick(epoch().Add(100 * ms)); !out.Send || !out.Packet.Poll {
			t.Errorf("packet %+v", out.Packet)
		}
		m.Receive(epoch().Add(110*ms), final)
		if out := m.Tick(epoch().Add(200 * ms)); !out.Send || out.Packet.Poll {
			t.Errorf("packet %+v", out.Packet)
		}
	})
	t.Run("a poll is answered at once", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		p := from(Up)
		p.Poll = true
		out := m.Receive(epoch(), p)
		if !out.Send || !out.Packet.Final || out.Packet.Poll || out.Changed {
			t.Errorf("output %+v", out)
		}
	})
	t.Run("slower sending waits for the peer, faster does not", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		m.Receive(epoch(), final)
		slower := config()
		slower.DesiredMinTx = 500 * ms
		if out := m.Set(epoch(), slower); out.Changed || !out.Packet.Poll || out.Packet.DesiredMinTx != 500*ms || m.TxInterval() != 100*ms {
			t.Errorf("output %+v, interval %v", out, m.TxInterval())
		}
		m.Receive(epoch(), final)
		if m.TxInterval() != 500*ms {
			t.Errorf("interval %v after the peer confirmed", m.TxInterval())
		}
		m.Set(epoch(), config())
		if m.TxInterval() != 100*ms || m.State() != Up {
			t.Errorf("interval %v", m.TxInterval())
		}
	})
	t.Run("faster detection waits for the peer, slower does not", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		m.Receive(epoch(), final)
		faster := config()
		faster.RequiredMinRx = 100 * ms
		m.Set(epoch(), faster)
		if m.DetectionTime() != 800*ms {
			t.Errorf("detection time %v before the peer confirmed", m.DetectionTime())
		}
		m.Receive(epoch(), final)
		if m.DetectionTime() != 400*ms {
			t.Errorf("detection time %v after", m.DetectionTime())
		}
		m.Set(epoch(), config())
		if m.DetectionTime() != 800*ms {
			t.Errorf("detection time %v", m.DetectionTime())
		}
	})
	t.Run("a confirmation of an older change does not count for a newer", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		m.Receive(epoch(), final)
		for _, d := range []time.Duration{400 * ms, 500 * ms} {
			cfg := config()
			cfg.DesiredMinTx = d
			m.Set(epoch(), cfg)
		}
		m.Receive(epoch(), final)
		if m.TxInterval() != 100*ms {
			t.Errorf("interval %v after the first confirmation", m.TxInterval())
		}
		m.Receive(epoch(), final)
		if m.TxInterval() != 500*ms {
			t.Errorf("interval %v after the second", m.TxInterval())
		}
	})
	t.Run("a profile that changes nothing is not told", func(t *testing.T) {
		t.Parallel()
		m := in(t, Up, config())
		if out := m.Set(epoch(), config()); out.Send {
			t.Errorf("output %+v", out)
		}
	})
}

// TestTwoMachines lets two ends talk over a line that loses packets and checks
// that neither goes down as long as fewer are lost than the multiplier, through
// changes of profiles.
func TestTwoMachines(t *testing.T) {
	t.Parallel()
	seed := uint32(1)
	random := func() float64 { // any spread will do
		seed = seed*1664525 + 1013904223
		return float64(seed>>8) / (1 << 24)
	}
	ends := [2]*Machine{NewMachine(1, config(), random), NewMachine(2, config(), random)}
	now := epoch()
	pass := func(to int, out Output) {
		for out.Send {
			out = ends[to].Receive(now, out.Packet)
			to = 1 - to
		}
	}
	for i, m := range ends {
		pass(1-i, m.Start(now))
	}
	lost := [2]int{}
	for step := range 20000 {
		if step == 100 && (ends[0].State() != Up || ends[1].State() != Up) {
			t.Fatalf("after %v: %v and %v", now.Sub(epoch()), ends[0].State(), ends[1].State())
		}
		for i, m := range ends {
			at, ever := m.Due()
			if other, also := ends[1-i].Due(); !ever || also && other.Before(at) {
				continue
			}
			now = at
			out := m.Tick(now)
			if step > 100 && out.Changed {
				t.Fatalf("step %d: end %d became %v (%v)", step, i, m.State(), m.Diag())
			}
			if step > 100 && out.Send && lost[i] < 2 && random() < 0.3 {
				lost[i]++
				continue
			}
			if out.Send {
				lost[i] = 0
			}
			pass(1-i, out)
		}
		if step > 100 && step%50 == 0 {
			cfg := config()
			cfg.DesiredMinTx = time.Duration(10+random()*500) * ms
			cfg.RequiredMinRx = time.Duration(10+random()*500) * ms
			pass(1-step/50%2, ends[step/50%2].Set(now, cfg))
		}
	}
}

func TestMachineDoesNotAllocate(t *testing.T) {
	m := in(t, Up, config())
	now := epoch()
	var buf [PacketLen]byte
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(100 * ms)
		frame := m.Tick(now).Packet.Append(buf[:0])
		p, err := Parse(from(Up).Append(frame[:0]))
		if err != nil {
			t.Fatal(err)
		}
		m.Receive(now, p)
	}); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}
