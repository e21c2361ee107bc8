package engine_test

import (
	"net/netip"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestUnnumbered has a session with the one router behind an interface, both
// ends of which have link-local addresses only as far as BGP knows.
func TestUnnumbered(t *testing.T) {
	n := newNetwork(t)
	s := n.speaker("")
	p := bgp.Peer{
		Name: "tor", MyASN: 64512, PeerASN: 64500, Interface: "eth0", RouterID: netip.MustParseAddr("198.18.60.2"),
	}
	s.apply(bgp.Session{Peer: p, Routes: routes("198.18.200.1/32", "fd00:200::1/128")})
	n.problem(s, "tor", "no router advertises itself on eth0")
	frr := n.frr("tor", `
interface to-node
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 2
!
router bgp 64500
 bgp router-id 198.18.60.1
 no bgp ebgp-requires-policy
 neighbor to-node interface remote-as 64512
 address-family ipv6 unicast
  neighbor to-node activate
`)
	n.up(s, "tor")
	local := n.linkLocal("node", "eth0")
	n.route(frr, "198.18.200.1/32", "via "+local+"; path 64512")
	n.route(frr, "fd00:200::1/128", "via "+local+"; path 64512")
	n.until(func() error { // the router's kernel sends IPv4 packets there as well
		return n.has(n.output("ip", "-n", n.prefix+"tor", "route", "show", "198.18.200.1"), "via inet6 "+local+" dev to-node")
	})
	if out := n.output("ip", "-n", n.prefix+"tor", "-6", "route", "show", "default"); out != "" {
		t.Errorf("the router took the node for a router: %s", out)
	}
}
