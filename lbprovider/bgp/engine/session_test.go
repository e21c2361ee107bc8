package engine_test

import (
	"net/netip"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/engine"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// peer is a session of AS 64512 with tor; change edits it.
func peer(name, address string, asn uint32, change func(*bgp.Peer)) bgp.Peer {
	p := bgp.Peer{
		Name: name, MyASN: 64512, PeerASN: asn, Address: netip.MustParseAddr(address), RouterID: netip.MustParseAddr("198.18.60.2"),
	}
	if change != nil {
		change(&p)
	}
	return p
}

func TestExternalSession(t *testing.T) {
	n := newNetwork(t)
	frr := n.frr("tor", `
router bgp 4200000000
 bgp router-id 198.18.60.1
 no bgp ebgp-requires-policy
 neighbor 198.18.60.2 remote-as 64512
 neighbor 198.18.60.2 password secret-of-tor
 address-family ipv4 unicast
  network 198.18.99.0/24
`)
	s := n.speaker("")
	tor := peer("tor", "198.18.60.1", 4200000000, func(p *bgp.Peer) { p.Password = "secret-of-tor" })
	all := routes("198.18.200.1/32", "198.18.201.0/28")
	all[0].Communities = []config.Community{{A: 64512, B: 100}, {A: 64512, B: 200}, {Large: true, A: 4200000000, B: 1, C: 2}}
	all[0].LocalPref = 300 // not for others' AS
	s.apply(engine.Session{Peer: tor, Routes: all})
	s.up("tor")
	n.route(frr, "198.18.200.1/32", "via 198.18.60.2; path 64512; 64512:100 64512:200 4200000000:1:2")
	n.route(frr, "198.18.201.0/28", "via 198.18.60.2; path 64512")

	all = append(routes("198.18.200.1/32"), routes("198.18.200.2/32")...)
	s.apply(engine.Session{Peer: tor, Routes: all})
	n.route(frr, "198.18.200.2/32", "via 198.18.60.2; path 64512")
	n.route(frr, "198.18.201.0/28", "")
	n.route(frr, "198.18.200.1/32", "via 198.18.60.2; path 64512")
	s.stop()
	n.route(frr, "198.18.200.1/32", "")
}
