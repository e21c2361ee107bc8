package bgp

import (
	"hash/crc32"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// Peers returns the routers that the node with these labels and addresses talks
// to, in the order of cfg.
func Peers(cfg *config.Config, node string, set labels.Set, addrs []netip.Addr) []Peer {
	if cfg == nil {
		return nil
	}
	var out []Peer
	for _, c := range cfg.Peers {
		if config.MatchesAny(c.Nodes, set) {
			out = append(out, peerOf(c, node, addrs))
		}
	}
	return out
}

func peerOf(c *config.Peer, node string, addrs []netip.Addr) Peer {
	p := Peer{
		Name: c.Name, MyASN: c.MyASN, LocalASN: c.LocalASN, PeerASN: c.PeerASN, Dynamic: c.DynamicASN,
		Address: c.Address, Interface: c.Interface, Source: c.Source, Port: c.Port,
		HoldTime: c.Hold, KeepaliveTime: c.Keepalive, ConnectTime: c.Connect,
		RouterID: c.RouterID, Password: string(c.Password),
		GracefulRestart: c.GracefulRestart, MultiHop: c.EBGPMultiHop, VRF: c.VRF, DualStack: c.DualStack,
	}
	if !p.RouterID.IsValid() {
		p.RouterID = RouterID(node, addrs)
	}
	return p
}

// RouterID returns the BGP identifier of a node: its first IPv4 address, or, if
// it has none, a number made of its name.
func RouterID(node string, addrs []netip.Addr) netip.Addr {
	if i := slices.IndexFunc(addrs, netip.Addr.Is4); i >= 0 {
		return addrs[i]
	}
	sum := crc32.ChecksumIEEE([]byte(node))
	// Identifiers need not be addresses, but some routers refuse what no host
	// may have (RFC 6286 asks for non-zero only).
	return netip.AddrFrom4([4]byte{byte(sum>>24)%223 + 1, byte(sum >> 16), byte(sum >> 8), byte(sum)})
}
