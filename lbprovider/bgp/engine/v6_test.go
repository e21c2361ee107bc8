package engine_test

import (
	"net/netip"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestIPv6Alone has a node without any IPv4 address talk to FRR, as in a cluster
// that has IPv6 alone: its identifier is made of its name.
func TestIPv6Alone(t *testing.T) {
	n := newNetwork(t)
	for host, link := range map[string]string{"node": "eth0", "tor": "to-node"} {
		n.run("ip", "-n", n.prefix+host, "-4", "addr", "flush", "dev", link)
	}
	frr := n.frr("tor", `
router bgp 64500
 bgp router-id 192.0.2.1
 no bgp ebgp-requires-policy
 neighbor fd00:60::2 remote-as 64512
 neighbor fd00:60::2 password secret
 address-family ipv6 unicast
  neighbor fd00:60::2 activate
`)
	id := bgp.RouterID("n1", []netip.Addr{netip.MustParseAddr("fd00:60::2")})
	s := n.speaker("")
	s.apply(bgp.Session{Peer: bgp.Peer{
		Name: "tor", MyASN: 64512, PeerASN: 64500, Address: netip.MustParseAddr("fd00:60::1"), RouterID: id, Password: "secret",
	}, Routes: routes("fd00:77::5/128")})
	n.up(s, "tor")
	n.route(frr, "fd00:77::5/128", "via fd00:60::2; path 64512")
	n.seen(frr, "show bgp neighbors fd00:60::2 json", `"remoteRouterId":"`+id.String()+`"`)
}
