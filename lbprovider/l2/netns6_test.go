package l2_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/test/wait"
)

// ndisc asks with the real ndisc6 which hardware address answers for addr.
func (s *segment) ndisc(addr string) string {
	s.t.Helper()
	cmd := exec.Command("nsenter", "--net=/run/netns/"+s.prefix+"client", "ndisc6", "-q", "-1", "-r", "1", "-w", "200", addr, "eth0")
	out, _ := cmd.Output() // it fails where nobody answers
	return strings.ToLower(strings.TrimSpace(string(out)))
}

// owner6 polls until exactly the given hardware address answers ("" for nobody).
func (s *segment) owner6(addr, want string) {
	s.t.Helper()
	s.eventually(func() string {
		if got := s.ndisc(addr); got != want {
			return fmt.Sprintf("%s is at %q, want %q", addr, got, want)
		}
		return ""
	})
}

// eventually polls until check returns "", and ends the test otherwise.
func (s *segment) eventually(check func() string) {
	s.t.Helper()
	wait.Poll{Limit: 10 * time.Second}.For(s.t, "the segment", func() error { return wait.Reason(check()) })
}

// neighbour6 returns what the client's kernel believes about addr.
func (s *segment) neighbour6(addr string) string {
	s.t.Helper()
	return s.run("ip", "-n", s.prefix+"client", "-6", "neigh", "show", addr)
}

// TestAnnounceIPv6OnRealSegment runs without any IPv4 address, as in a cluster that
// has IPv6 alone.
func TestAnnounceIPv6OnRealSegment(t *testing.T) {
	s := newSegment(t)
	for i, ns := range []string{"client", "a", "b"} {
		s.run("ip", "-n", s.prefix+ns, "-4", "addr", "flush", "dev", "eth0")
		s.run("ip", "-n", s.prefix+ns, "addr", "add", fmt.Sprintf("fd00:77::%d/64", i+1), "dev", "eth0", "nodad")
	}
	const vip = "fd00:77::100"
	a, b := s.announcer("a", "eth0"), s.announcer("b", "eth0")
	macA, macB := s.link("a", "eth0"), s.link("b", "eth0")
	all := func(addrs ...string) map[string]l2.Claim {
		claims := map[string]l2.Claim{}
		for _, addr := range addrs {
			claims[addr] = l2.Claim{}
		}
		return claims
	}

	s.owner6(vip, "")
	a.announce(all(vip))
	s.owner6(vip, macA)
	s.owner6("fd00:77::101", "")

	t.Run("the node is a member of the group in which the address is asked for", func(t *testing.T) {
		const group = "ff02::1:ff00:100"
		member := func() bool {
			return strings.Contains(s.run("ip", "-n", s.prefix+"a", "maddr", "show", "dev", "eth0"), group)
		}
		if !member() {
			t.Errorf("no member of %s", group)
		}
		// Another address of the same group keeps it.
		a.announce(all(vip, "fd00:77:1::100"))
		a.announce(all("fd00:77:1::100"))
		s.owner6(vip, "")
		if !member() {
			t.Error("the group was left although an address is in it")
		}
		a.announce(nil)
		s.eventually(func() string {
			if member() {
				return "still a member of the group"
			}
			return ""
		})
		a.announce(all(vip))
		s.owner6(vip, macA)
	})
	t.Run("the client's kernel keeps the address reachable by unicast questions", func(*testing.T) {
		// An entry whose time is over is confirmed by questions to its own
		// hardware address. They reach no ICMPv6 socket, as no interface has the
		// address. FAILED would be seen if they were not answered.
		s.run("ip", "-n", s.prefix+"client", "-6", "neigh", "replace", vip, "lladdr", macA, "dev", "eth0", "nud", "probe")
		s.eventually(func() string {
			if got := s.neighbour6(vip); !strings.Contains(got, "REACHABLE") || !strings.Contains(got, macA) {
				return fmt.Sprintf("the client's kernel believes %q", got)
			}
			return ""
		})
	})
	t.Run("a neighbour learns at once that the address moved", func(t *testing.T) {
		s.run("ip", "-n", s.prefix+"client", "-6", "neigh", "replace", vip, "lladdr", macA, "dev", "eth0", "nud", "stale")
		start := time.Now()
		a.announce(nil)
		b.announce(all(vip))
		s.eventually(func() string {
			if got := s.neighbour6(vip); !strings.Contains(got, macB) {
				return fmt.Sprintf("the client's kernel believes %q", got)
			}
			return ""
		})
		t.Logf("the client's kernel learned it after %v", time.Since(start).Round(time.Millisecond))
		s.owner6(vip, macB)
	})
	t.Run("who gives up an address answers until another has it", func(t *testing.T) {
		b.announce(map[string]l2.Claim{vip: {Yield: true}})
		s.owner6(vip, macB)
		a.announce(all(vip))
		s.owner6(vip, macA)
		if got := s.ndisc(vip); got != macA {
			t.Errorf("the address is at %q", got)
		}
		b.announce(nil)
	})
	t.Run("an address that somebody else wants to configure is defended", func(*testing.T) {
		s.run("ip", "-n", s.prefix+"client", "addr", "add", vip+"/64", "dev", "eth0")
		s.eventually(func() string {
			if got := s.run("ip", "-n", s.prefix+"client", "-6", "addr", "show", "dev", "eth0", "to", vip); !strings.Contains(got, "dadfailed") {
				return fmt.Sprintf("the client believes that the address is free: %s", got)
			}
			return ""
		})
		s.run("ip", "-n", s.prefix+"client", "addr", "del", vip+"/64", "dev", "eth0")
	})
	t.Run("an interface without IPv6 gets it later", func(*testing.T) {
		s.run("ip", "netns", "exec", s.prefix+"a", "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
		s.owner6(vip, "")
		s.run("ip", "netns", "exec", s.prefix+"a", "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
		s.run("ip", "-n", s.prefix+"a", "addr", "add", "fd00:77::2/64", "dev", "eth0", "nodad")
		s.owner6(vip, macA)
	})
	t.Run("traffic flows to the owner, and follows it", func(t *testing.T) {
		if _, err := exec.LookPath("nft"); err != nil {
			t.Skip("needs nft")
		}
		for _, h := range []struct{ ns, addr string }{{"a", "fd00:77::2"}, {"b", "fd00:77::3"}} {
			s.deliver(h.ns, vip, h.addr)
		}
		s.serves(vip, "a")
		a.announce(nil)
		b.announce(all(vip))
		s.serves(vip, "b")
	})
}

// deliver does on a host what kube-proxy does on a node: what comes for the VIP
// goes to a server, which here is on the host itself.
func (s *segment) deliver(ns, vip, addr string) {
	s.t.Helper()
	rules := fmt.Sprintf("table ip6 t { chain c { type nat hook prerouting priority dstnat; ip6 daddr %s tcp dport 80 dnat to [%s]:8080; }; }", vip, addr)
	s.run("ip", "netns", "exec", s.prefix+ns, "nft", rules)
	cmd, ready := s.child(ns, "server", ns)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may be gone
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		s.t.Fatalf("server in %s: %v", ns, err)
	}
}

// server is an HTTP server that tells its name.
func server(args []string) error {
	l, err := net.Listen("tcp", ":8080")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, args[0]) }))
}

// serves polls until a client reaches the server on this host at the VIP.
func (s *segment) serves(vip, want string) {
	s.t.Helper()
	s.eventually(func() string {
		out, err := exec.Command("nsenter", "--net=/run/netns/"+s.prefix+"client",
			"curl", "-s", "-g", "--max-time", "1", "http://["+vip+"]/").Output()
		if err != nil || string(out) != want {
			return fmt.Sprintf("GET from %s: %q, %v, want %q", vip, out, err, want)
		}
		return ""
	})
}

// TestInterfaceWithoutAddress has ARP answered on an interface that has no
// address at all, as network cards that are only there for the clients.
func TestInterfaceWithoutAddress(t *testing.T) {
	s := newSegment(t)
	s.run("ip", "-n", s.prefix+"a", "addr", "flush", "dev", "eth0")
	s.run("ip", "netns", "exec", s.prefix+"a", "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
	a := s.announcer("a", "eth0")
	a.announce(map[string]l2.Claim{"198.18.77.100": {}})
	s.owner("198.18.77.100", s.link("a", "eth0"))
}

// TestNeedsNetRawOnly runs a host that has no other capability, and what is
// left to an ordinary user of the rest.
func TestNeedsNetRawOnly(t *testing.T) {
	s := newSegment(t)
	s.run("ip", "-n", s.prefix+"a", "addr", "add", "fd00:77::2/64", "dev", "eth0", "nodad")
	s.as = []string{"setpriv", "--bounding-set=-all,+net_raw"}
	a := s.announcer("a", "eth0")
	a.announce(map[string]l2.Claim{"198.18.77.100": {}, "fd00:77::100": {}})
	s.owner("198.18.77.100", s.link("a", "eth0"))
	s.owner6("fd00:77::100", s.link("a", "eth0"))
}

// TestBridge: a port of a bridge sees the frames of the bridge, which is the one
// to answer.
func TestBridge(t *testing.T) {
	s := newSegment(t)
	s.run("ip", "-n", s.prefix+"a", "link", "add", "name", "br0", "address", "02:00:00:00:77:b0", "type", "bridge", "forward_delay", "0")
	s.run("ip", "-n", s.prefix+"a", "link", "set", "eth0", "master", "br0")
	s.run("ip", "-n", s.prefix+"a", "link", "set", "br0", "up")
	a := s.announcer("a", "br0")
	a.announce(map[string]l2.Claim{"198.18.77.100": {}})
	s.owner("198.18.77.100", "02:00:00:00:77:b0")
}

// TestTwoInterfacesOnOneSegment: each hears what the other announces, which is no
// conflict, and each answers for itself.
func TestTwoInterfacesOnOneSegment(t *testing.T) {
	s := newSegment(t)
	s.cable("a", "eth1")
	a := s.announcer("a", "eth0,eth1")
	a.announce(map[string]l2.Claim{"198.18.77.100": {}})
	s.eventually(func() string {
		got := s.who("198.18.77.100", 1)
		if len(got) != 2 || got[0] == got[1] {
			return fmt.Sprintf("answers from %v", got)
		}
		return ""
	})
	if n := a.metric("fairlead_lb_l2_conflicts_total", "198.18.77.100"); n != 0 {
		t.Errorf("%v conflicts with itself", n)
	}
}

// TestVLANFramesAreNotOurs: without an interface for a VLAN, its frames show up
// on the one below, without the tag.
func TestVLANFramesAreNotOurs(t *testing.T) {
	s := newSegment(t)
	a := s.announcer("a", "eth0")
	const vip = "198.18.77.100"
	a.announce(map[string]l2.Claim{vip: {}})
	s.owner(vip, s.link("a", "eth0"))
	before := a.metric("metallb_layer2_requests_received", vip)
	s.inject(vip, 5)
	s.inject(vip, 0) // a priority, but no VLAN
	s.eventually(func() string {
		if n := a.metric("metallb_layer2_requests_received", vip) - before; n != 1 {
			return fmt.Sprintf("%v requests were taken for ours, want the one without a VLAN", n)
		}
		return ""
	})
}

// TestConflict has another host claim an address, as one does that was given it
// by hand.
func TestConflict(t *testing.T) {
	s := newSegment(t)
	const vip4, vip6 = "198.18.77.100", "fd00:77::100"
	// Before the announcer begins: a frame of IPv6 that is due while the node has no such address is not sent later.
	s.run("ip", "-n", s.prefix+"a", "addr", "add", "fd00:77::2/64", "dev", "eth0", "nodad")
	a := s.announcer("a", "eth0")
	a.announce(map[string]l2.Claim{vip4: {}, vip6: {}})
	s.owner6(vip6, s.link("a", "eth0"))
	s.eventually(func() string { // until then a claim may be of who had it before
		if n := a.metrics()["metallb_layer2_gratuitous_sent"]; n < 12 {
			return fmt.Sprintf("%v announcements of 12", n)
		}
		return ""
	})
	s.run("ip", "-n", s.prefix+"b", "addr", "add", vip6+"/64", "dev", "eth0", "nodad")
	s.run("ip", "-n", s.prefix+"b", "addr", "add", vip4+"/24", "dev", "eth0")
	for _, args := range [][]string{{"arping", "-q", "-c", "1", "-S", vip4, "-i", "eth0", "198.18.77.1"}, {"ndisc6", "-q", "-1", "-r", "1", "-s", vip6, "fd00:77::9", "eth0"}} {
		exec.Command("nsenter", append([]string{"--net=/run/netns/" + s.prefix + "b"}, args...)...).Run() //nolint:errcheck // that it asks is what counts
	}
	macB := s.link("b", "eth0")
	a.says("conflict " + vip4 + " " + macB + " eth0")
	a.says("conflict " + vip6 + " " + macB + " eth0")
}

// TestIPVS: where kube-proxy has put all addresses on every node, the kernel must
// be told not to answer for them.
func TestIPVS(t *testing.T) {
	s := newSegment(t)
	a := s.announcer("a", "eth0")
	const metric = "fairlead_lb_kernel_replies"
	if a.metrics()[metric] != 0 {
		t.Error("there is no IPVS, but a complaint")
	}
	s.run("ip", "-n", s.prefix+"a", "link", "add", "name", "kube-ipvs0", "type", "bridge")
	told := func(want float64) {
		s.eventually(func() string {
			if got := a.metrics()[metric]; got != want {
				return fmt.Sprintf("%s is %v, want %v", metric, got, want)
			}
			return ""
		})
	}
	told(1)
	s.run("ip", "netns", "exec", s.prefix+"a", "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
	s.run("ip", "-n", s.prefix+"a", "addr", "add", "198.18.77.55/24", "dev", "eth0") // any change has it looked at again
	told(0)
}

// metrics asks the announcer for its metrics: by name the sums, and by name and
// address.
func (a *announcer) metrics() map[string]float64 {
	a.s.t.Helper()
	if _, err := fmt.Fprintln(a.input, "metrics"); err != nil {
		a.s.t.Fatal(err)
	}
	for a.lines.Scan() {
		text, ok := strings.CutPrefix(a.lines.Text(), "metrics ")
		if !ok {
			continue
		}
		all := map[string]float64{}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			a.s.t.Fatal(err)
		}
		return all
	}
	a.s.t.Fatal("the announcer ended")
	return nil
}

func (a *announcer) metric(name, ip string) float64 {
	a.s.t.Helper()
	return a.metrics()[name+" "+ip]
}
