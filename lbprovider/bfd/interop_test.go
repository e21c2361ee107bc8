package bfd_test

import (
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bfd"
)

// fast is a profile with which a busy machine loses no session: what is not
// about the time of detection uses a large multiplier, at the peer too.
func fast() bfd.Profile {
	p := bfd.DefaultProfile()
	p.ReceiveInterval, p.TransmitInterval = 100*time.Millisecond, 100*time.Millisecond
	p.DetectMultiplier = 20
	return p
}

func (h *peerHost) add(o order) {
	h.t.Helper()
	o.Do = "add"
	if a := h.do(o); a.Error != "" {
		h.t.Fatal(a.Error)
	}
}

// quiet fails the test if the session changed its state.
func (h *peerHost) quiet() {
	h.t.Helper()
	for _, c := range h.changed() {
		h.t.Errorf("the session changed: %s", c.Change)
	}
}

// on runs a step with the host and the router reporting to it. A step starts
// where the last one ended, so the first that fails ends the test.
func on(t *testing.T, h *peerHost, f *frr, name string, step func(t *testing.T)) {
	t.Helper()
	ok := t.Run(name, func(t *testing.T) {
		h.t, f.t = t, t
		step(t)
	})
	if h.t, f.t = t, t; !ok {
		t.FailNow()
	}
}

func TestSingleHopWithFRR(t *testing.T) {
	p := newPath(t)
	const us, near = "198.18.80.1", "198.18.80.2"
	peer := netip.MustParseAddr(near)
	h := start(t, p.ns("us"))
	f := startFRR(t, p.ns("near"), "bfd\n peer "+us+"\n  receive-interval 100\n  transmit-interval 100\n  detect-multiplier 20\n")
	slowest := fast()
	slowest.ReceiveInterval, slowest.TransmitInterval = 300*time.Millisecond, 300*time.Millisecond
	h.add(order{Peer: peer, Profile: slowest})

	on(t, h, f, "comes up and negotiates the slower intervals", func(*testing.T) {
		h.becomes(near, "up", isUp)
		f.becomes(us, "up", func(p frrPeer) bool {
			return p.Status == "up" && p.RemoteTx == 300 && p.RemoteRx == 300 && p.RemoteMult == 20
		})
		h.becomes(near, "as negotiated", func(st bfd.Status) bool {
			return st.TxInterval == 300*time.Millisecond && st.DetectionTime == 6*time.Second
		})
		h.changed()
	})
	on(t, h, f, "a second session with the peer is refused", func(t *testing.T) {
		if a := h.do(order{Do: "add", Peer: peer, Profile: fast()}); !strings.Contains(a.Error, bfd.ErrExists.Error()) {
			t.Errorf("error %q", a.Error)
		}
	})
	on(t, h, f, "a new profile does not end the session", func(t *testing.T) {
		slow := fast()
		slow.TransmitInterval, slow.ReceiveInterval, slow.DetectMultiplier = 700*time.Millisecond, 150*time.Millisecond, 30
		for _, c := range []struct {
			profile          bfd.Profile
			tx, detect       time.Duration
			remoteRx, remote int
		}{
			{fast(), 100 * time.Millisecond, 2 * time.Second, 100, 100},
			{slow, 700 * time.Millisecond, 3 * time.Second, 150, 700},
			{fast(), 100 * time.Millisecond, 2 * time.Second, 100, 100},
		} {
			if a := h.do(order{Do: "profile", Peer: peer, Profile: c.profile}); a.Error != "" {
				t.Fatal(a.Error)
			}
			h.becomes(near, "as negotiated anew", func(st bfd.Status) bool { return st.TxInterval == c.tx && st.DetectionTime == c.detect })
			f.becomes(us, "told", func(p frrPeer) bool { return p.RemoteRx == c.remoteRx && p.RemoteTx == c.remote })
		}
		f.vtysh("configure terminal", "bfd", "peer "+us, "receive-interval 400", "detect-multiplier 25")
		h.becomes(near, "as FRR wants it", func(st bfd.Status) bool {
			return st.TxInterval == 400*time.Millisecond && st.DetectionTime == 2500*time.Millisecond
		})
		f.vtysh("configure terminal", "bfd", "peer "+us, "receive-interval 100", "detect-multiplier 20")
		h.becomes(near, "as before", func(st bfd.Status) bool {
			return st.TxInterval == 100*time.Millisecond && st.DetectionTime == 2*time.Second
		})
		h.quiet()
		if got := f.peer(us); got.SessionUp != 1 || got.SessionDown != 0 {
			t.Errorf("FRR counted changes: %+v", got)
		}
	})
	on(t, h, f, "a peer that stops is found out, and found again", func(t *testing.T) {
		f.vtysh("configure terminal", "bfd", "peer "+us, "detect-multiplier 3")
		h.becomes(near, "given three packets' time", func(st bfd.Status) bool { return isUp(st) && st.DetectionTime == 300*time.Millisecond })
		h.changed()
		stopped := time.Now()
		if err := f.bfdd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		c := <-h.changes
		t.Logf("100 ms × 3: %v after the peer stopped: %s", c.At.Sub(stopped).Round(time.Millisecond), c.Change)
		if !c.Failed || !strings.Contains(c.Change, "Up→Down control detection time expired") {
			t.Errorf("change %+v", c)
		}
		if err := f.bfdd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		f.vtysh("configure terminal", "bfd", "peer "+us, "detect-multiplier 20")
		h.becomes(near, "up again", func(st bfd.Status) bool { return isUp(st) && st.DetectionTime == 2*time.Second })
		m := h.status(near).Metrics
		ups, downs := m["metallb_bfd_session_up_events{"+near+",}"], m["metallb_bfd_session_down_events{"+near+",}"]
		if m["metallb_bfd_session_up{"+near+",}"] != 1 || downs < 1 || ups != downs+1 {
			t.Errorf("metrics count the changes wrongly: %v", m)
		}
		if m["metallb_bfd_control_packet_input{"+near+",}"] < 3 || m["metallb_bfd_control_packet_output{"+near+",}"] < 3 {
			t.Errorf("metrics count no packets: %v", m)
		}
	})
	on(t, h, f, "a peer that is shut down on purpose has not failed", func(t *testing.T) {
		h.changed()
		f.vtysh("configure terminal", "bfd", "peer "+us, "shutdown")
		st := h.becomes(near, "down", func(st bfd.Status) bool { return st.State == bfd.Down })
		if c := h.changed(); len(c) != 1 || c[0].Failed || st.PeerState != bfd.AdminDown {
			t.Errorf("changes %+v, status %+v", c, st)
		}
		f.vtysh("configure terminal", "bfd", "peer "+us, "no shutdown")
		h.becomes(near, "up again", isUp)
	})
	on(t, h, f, "a session that is closed here tells the peer, and may come back", func(*testing.T) {
		h.do(order{Do: "close", Peer: peer})
		f.becomes(us, "told", func(p frrPeer) bool {
			return p.Status == "down" && strings.Contains(p.RemoteDiag, "administratively down")
		})
		h.add(order{Peer: peer, Profile: fast()})
		h.becomes(near, "up again", isUp)
	})
	on(t, h, f, "a new process takes the place of one that was killed", func(t *testing.T) {
		f.becomes(us, "up", func(p frrPeer) bool { return p.Status == "up" })
		before := f.peer(us).SessionUp
		h.kill()
		next := start(t, p.ns("us"))
		next.add(order{Peer: peer, Profile: fast()})
		next.becomes(near, "up", isUp)
		f.becomes(us, "up again", func(p frrPeer) bool { return p.Status == "up" && p.SessionUp > before })
	})
}

func TestIPv6WithFRR(t *testing.T) {
	p := newPath(t)
	h := start(t, p.ns("us"))
	f := startFRR(t, p.ns("near"), `bfd
 peer fd00:80::1 local-address fd00:80::2
 !
 peer fe80::1 local-address fe80::2 interface us
`)
	on(t, h, f, "global address", func(*testing.T) {
		h.add(order{Peer: netip.MustParseAddr("fd00:80::2"), Local: netip.MustParseAddr("fd00:80::1"), Profile: fast()})
		h.becomes("fd00:80::2", "up", isUp)
	})
	on(t, h, f, "link-local address", func(*testing.T) {
		h.add(order{Peer: netip.MustParseAddr("fe80::2"), Local: netip.MustParseAddr("fe80::1"), Interface: "near", Profile: fast()})
		h.becomes("fe80::2", "up", isUp)
		f.becomes("fe80::1", "up", func(p frrPeer) bool { return p.Status == "up" })
	})
}

func TestPassive(t *testing.T) {
	p := newPath(t)
	const us, near = "198.18.80.1", "198.18.80.2"
	h := start(t, p.ns("us"))
	f := startFRR(t, p.ns("near"), "bfd\n peer "+us+"\n  passive-mode\n")
	passive := fast()
	passive.PassiveMode = true
	h.add(order{Peer: netip.MustParseAddr(near), Profile: passive})
	on(t, h, f, "two passive ends say nothing", func(t *testing.T) {
		// Each would have sent its first packet at once.
		if st := h.status(near); st.Status.State != bfd.Down || st.Metrics["metallb_bfd_control_packet_output{"+near+",}"] != 0 {
			t.Errorf("status %+v", st)
		}
	})
	on(t, h, f, "the passive end answers", func(*testing.T) {
		f.vtysh("configure terminal", "bfd", "peer "+us, "no passive-mode")
		h.becomes(near, "up", isUp)
	})
}

func TestMultihopWithFRR(t *testing.T) {
	p := newPath(t)
	const us, far = "198.18.80.1", "198.18.81.2"
	peer := netip.MustParseAddr(far)
	h := start(t, p.ns("us"))
	f := startFRR(t, p.ns("far"), "bfd\n peer "+us+" multihop local-address "+far+"\n !\n peer fd00:80::1 multihop local-address fd00:81::2\n")
	h.add(order{Peer: peer, Multihop: true, Profile: fast()})
	on(t, h, f, "comes up over a router", func(*testing.T) {
		h.becomes(far, "up", isUp)
		f.becomes(us, "up", func(p frrPeer) bool { return p.Status == "up" })
	})
	on(t, h, f, "IPv6", func(*testing.T) {
		h.add(order{Peer: netip.MustParseAddr("fd00:81::2"), Multihop: true, Profile: fast()})
		h.becomes("fd00:81::2", "up", isUp)
	})
	on(t, h, f, "packets that passed more routers than allowed do not count", func(t *testing.T) {
		strict := fast()
		strict.MinimumTTL = 255
		h.do(order{Do: "profile", Peer: peer, Profile: strict})
		h.becomes(far, "down", func(st bfd.Status) bool { return st.State == bfd.Down })
		if n := h.status(far).Metrics["fairlead_lb_bfd_packets_discarded_total{TTL}"]; n == 0 {
			t.Error("no packet was counted as discarded")
		}
		h.do(order{Do: "profile", Peer: peer, Profile: fast()})
		h.becomes(far, "up again", isUp)
	})
	on(t, h, f, "a cut path is found out", func(t *testing.T) {
		h.changed()
		cut := time.Now()
		p.run("ip", "-n", p.ns("near"), "link", "set", "far", "down")
		for range 2 { // IPv4 and IPv6
			c := <-h.changes
			t.Logf("%s: %v after the cut: %s", c.Peer, c.At.Sub(cut).Round(time.Millisecond), c.Change)
			if !c.Failed {
				t.Errorf("change %+v", c)
			}
		}
	})
}

// TestForeignPackets sends a host what it must not heed: packets of strangers,
// from too far away, or malformed. It is passive, so any answer would show.
func TestForeignPackets(t *testing.T) {
	p := newPath(t)
	const peer, stranger = "198.18.80.2", "198.18.80.9"
	p.run("ip", "-n", p.ns("near"), "addr", "add", stranger+"/24", "dev", "us")
	h := start(t, p.ns("us"))
	passive := fast()
	passive.PassiveMode = true
	h.add(order{Peer: netip.MustParseAddr(peer), Profile: passive})
	const (
		down    = "20400318000000090000000000000001000f424000000000" // of nobody we know yet
		guessed = "20400318000000090000000700000001000f424000000000" // names another session
		broken  = "20400018000000090000000000000001000f424000000000" // multiplier 0
	)
	discarded := func() (n float64) {
		for name, value := range h.status(peer).Metrics {
			if strings.HasPrefix(name, "fairlead_lb_bfd_packets_discarded_total") {
				n += value
			}
		}
		return n
	}
	for _, c := range []struct{ name, from, ttl, payload, reason string }{
		{"of a stranger", stranger, "255", down, "unknown session"},
		{"for no session of ours", peer, "255", guessed, "unknown session"},
		{"through a router", peer, "254", down, "TTL"},
		{"malformed", peer, "255", broken, "malformed"},
		{"empty", peer, "255", "", "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			before := h.status(peer).Metrics["fairlead_lb_bfd_packets_discarded_total{"+c.reason+"}"]
			sendFrom(t, p.ns("near"), c.from, "198.18.80.1:3784", c.ttl, c.payload)
			eventually(t, func() string {
				if got := h.status(peer).Metrics["fairlead_lb_bfd_packets_discarded_total{"+c.reason+"}"]; got != before+1 {
					return "the packet was not discarded: " + c.reason
				}
				return ""
			})
			if st := h.status(peer); st.Status.State != bfd.Down || st.Metrics["metallb_bfd_control_packet_output{"+peer+",}"] != 0 {
				t.Errorf("it had an effect: %+v", st)
			}
		})
	}
	h.t = t
	if discarded() != 5 {
		t.Errorf("%v packets were discarded, want 5", discarded())
	}
	sendFrom(t, p.ns("near"), peer, "198.18.80.1:3784", "255", down)
	if c := <-h.changes; c.Change != "Down→Init none" { // for a moment, as nobody goes on
		t.Errorf("a right packet led to %q", c.Change)
	}
}

// TestWithBIRD is for another implementation than FRR's.
func TestWithBIRD(t *testing.T) {
	p := newPath(t)
	const us, near = "198.18.80.1", "198.18.80.2"
	bird := startBIRD(t, p.ns("near"), "protocol bfd { interface \"*\" { interval 100 ms; multiplier 20; }; neighbor "+us+"; neighbor fd00:80::1; }\n")
	h := start(t, p.ns("us"))
	for _, peer := range []string{near, "fd00:80::2"} {
		h.add(order{Peer: netip.MustParseAddr(peer), Profile: fast()})
		h.becomes(peer, "up, and as negotiated", func(st bfd.Status) bool {
			return isUp(st) && st.TxInterval == 100*time.Millisecond && st.DetectionTime == 2*time.Second
		})
	}
	h.changed()
	slow := fast()
	slow.TransmitInterval = 500 * time.Millisecond
	h.do(order{Do: "profile", Peer: netip.MustParseAddr(near), Profile: slow})
	h.becomes(near, "slower", func(st bfd.Status) bool { return st.TxInterval == 500*time.Millisecond })
	h.quiet()
	if err := bird.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if c := <-h.changes; !c.Failed {
			t.Errorf("change %+v", c)
		}
	}
}
