package bfd

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// routeCheckInterval is the shortest time between two looks at the routes to a peer. Packets
// of other hosts must not make the node look all the time.
const routeCheckInterval = time.Second

// peerInterfaces knows by which interfaces the node sends to a peer. A packet that says
// that it is the peer's, and came by another one, is a stranger's: of a pod, for
// instance, whose own interface is no way to the router.
type peerInterfaces struct {
	peer    netip.Addr
	vrf     string
	indexes func(peer netip.Addr, vrf string) ([]int, error)

	mu    sync.Mutex
	known []int
	next  time.Time
}

// contains says whether the interface leads to the peer. After a change of the routes
// it may take a second to know.
func (l *peerInterfaces) contains(index int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.next) {
		l.next = now.Add(routeCheckInterval)
		// Without any route the last ones count: that the peer cannot be reached
		// is for the detection time to say.
		if found, err := l.indexes(l.peer, l.vrf); err == nil {
			l.known = found
		}
	}
	return slices.Contains(l.known, index)
}

// routesTo asks the kernel for the interfaces of the routes to the peer.
func routesTo(peer netip.Addr, vrf string) ([]int, error) {
	routes, err := netlink.RouteGetWithOptions(peer.AsSlice(), &netlink.RouteGetOptions{VrfName: vrf, FIBMatch: true})
	if err != nil {
		return nil, fmt.Errorf("find the route to %s: %w", peer, err)
	}
	out := []int{}
	for i := range routes {
		if routes[i].LinkIndex != 0 {
			out = append(out, routes[i].LinkIndex)
		}
		for _, hop := range routes[i].MultiPath {
			out = append(out, hop.LinkIndex)
		}
	}
	if vrf != "" { // by which the kernel may say that a packet came
		link, err := netlink.LinkByName(vrf)
		if err != nil {
			return nil, fmt.Errorf("find VRF %s: %w", vrf, err)
		}
		out = append(out, link.Attrs().Index)
	}
	return out, nil
}
