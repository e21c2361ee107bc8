package process

import (
	"net/netip"

	"github.com/vishvananda/netlink"
)

// Direct says whether the peer is on a network of this node, without a router
// between.
func Direct(peer netip.Addr) bool {
	routes, err := netlink.RouteGet(peer.WithZone("").AsSlice())
	return peer.Zone() != "" || err == nil && len(routes) > 0 && routes[0].Gw == nil && routes[0].Via == nil
}
