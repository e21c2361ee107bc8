package engine_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestGracefulRestart kills a speaker and starts another: its routes stay with
// the router, and what the new one does not announce goes.
func TestGracefulRestart(t *testing.T) {
	n := newNetwork(t)
	frr := n.frr("tor", `
router bgp 64500
 bgp router-id 198.18.60.1
 no bgp ebgp-requires-policy
 neighbor 198.18.60.2 remote-as 64512
`)
	p := bgp.Peer{
		Name: "tor", MyASN: 64512, PeerASN: 64500, Address: netip.MustParseAddr("198.18.60.1"),
		RouterID: netip.MustParseAddr("198.18.60.2"), GracefulRestart: true,
	}
	const kept, gone = "198.18.200.1/32", "198.18.200.2/32"
	const there = "via 198.18.60.2; path 64512"

	first := n.speaker("")
	first.apply(bgp.Session{Peer: p, Routes: routes(kept, gone)})
	n.route(frr, kept, there)
	n.route(frr, gone, there)
	for _, how := range []string{"crash", "end"} {
		if how == "crash" {
			first.kill()
		} else {
			first.stop(n)
		}
		n.route(frr, kept, there+"; stale")
		second := n.speaker("restarting")
		wanted := routes(kept)
		if how == "crash" {
			wanted = routes(kept, gone) // as if nothing had changed
		}
		second.apply(bgp.Session{Peer: p, Routes: wanted})
		n.until(func() error { // stale until told again, and never gone
			out, err := frr.Command(t.Context(), "show bgp ipv4 unicast "+kept+" json")
			if err != nil {
				return err
			}
			if !strings.Contains(out, "198.18.60.2") {
				t.Fatalf("after a %s the router lost the route:\n%s", how, out)
			}
			if strings.Contains(out, `"stale":true`) {
				return fmt.Errorf("after a %s the route stays stale", how)
			}
			return nil
		})
		first = second
	}
	n.route(frr, gone, "")
	n.route(frr, kept, there)
}

// TestDistantBIRD talks to BIRD beyond a router, in both families.
func TestDistantBIRD(t *testing.T) {
	n := newNetwork(t)
	bird := n.bird("far", `
router id 198.18.61.2;
protocol device {}
protocol kernel { ipv4 { import all; export where source = RTS_BGP; }; learn; merge paths on; }
protocol bgp node4 {
  local 198.18.61.2 as 64501; neighbor 198.18.60.2 as 64512; multihop; password "secret-of-bird";
  ipv4 { import all; export none; };
}
protocol bgp node6 {
  local fd00:61::2 as 64501; neighbor fd00:60::2 as 64512; multihop;
  ipv6 { import all; export none; };
}
`)
	s := n.speaker("")
	four := bgp.Peer{
		Name: "bird4", MyASN: 64512, PeerASN: 64501, Address: netip.MustParseAddr("198.18.61.2"), MultiHop: true, Password: "secret-of-bird",
		RouterID: netip.MustParseAddr("198.18.60.2"),
	}
	six := four
	six.Name, six.Address, six.Password = "bird6", netip.MustParseAddr("fd00:61::2"), ""
	near := four
	near.Name, near.MultiHop, near.Source = "near", false, netip.MustParseAddr("198.18.60.3")
	n.run("ip", "-n", n.prefix+"node", "addr", "add", "198.18.60.3/24", "dev", "eth0")
	marked := routes("198.18.200.1/32")
	marked[0].Communities, marked[0].Prepend = communities(), 1
	s.apply(bgp.Session{Peer: four, Routes: marked}, bgp.Session{Peer: six, Routes: routes("fd00:200::1/128")}, bgp.Session{Peer: near})
	n.seen(bird, "show route all protocol node4", "198.18.200.1/32", "BGP.next_hop: 198.18.60.2", "BGP.as_path: 64512 64512", "(64512,100)", "(4200000000, 1, 2)")
	n.seen(bird, "show route all protocol node6", "fd00:200::1/128", "BGP.next_hop: fd00:60::2", "BGP.as_path: 64512")
	// Without ebgpMultiHop a packet goes no further than the next router.
	n.problem(s, "near", "there is no way to 198.18.61.2:179")
	if out := n.output("ip", "-n", n.prefix+"far", "route", "show", "198.18.200.1"); !strings.Contains(out, "via 198.18.61.1") {
		t.Errorf("the router's kernel has %q", out)
	}
}
