package bgp_test

import (
	"fmt"
	"net/netip"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// A peer gets one route for each prefix, with what all offers of it ask for.
func ExampleMerge() {
	service := netip.MustParsePrefix("192.168.10.200/32")
	offers := []bgp.Offer{
		{Route: bgp.Route{Prefix: service, LocalPref: 100}},
		{Route: bgp.Route{Prefix: service, LocalPref: 200, Prepend: 2}},
		{Route: bgp.Route{Prefix: netip.MustParsePrefix("192.168.10.201/32")}, Peers: []string{"other"}},
	}
	peer := bgp.Peer{Name: "rack-1", Address: netip.MustParseAddr("192.168.10.1")}
	routes, refused := bgp.Merge(peer, offers)
	for _, r := range routes {
		fmt.Println(r.Prefix, "localPref", r.LocalPref, "prepend", r.Prepend)
	}
	fmt.Println("beyond the limit:", refused)
	// Output:
	// 192.168.10.200/32 localPref 200 prepend 2
	// beyond the limit: 0
}

// What changed is announced, and what is gone is withdrawn.
func ExampleDifferences() {
	route := func(address string, pref uint32) bgp.Route {
		return bgp.Route{Prefix: netip.MustParsePrefix(address), LocalPref: pref}
	}
	old := []bgp.Route{route("10.0.0.1/32", 100), route("10.0.0.2/32", 100)}
	now := []bgp.Route{route("10.0.0.2/32", 200), route("10.0.0.3/32", 100)}
	gone, changed := bgp.Differences(old, now)
	for _, r := range gone {
		fmt.Println("withdraw", r.Prefix)
	}
	for _, r := range changed {
		fmt.Println("announce", r.Prefix, r.LocalPref)
	}
	// Output:
	// withdraw 10.0.0.1/32
	// announce 10.0.0.2/32 200
	// announce 10.0.0.3/32 100
}
