package bgp

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// MaxRoutes is how many prefixes a peer is told at most. More are a mistake in
// the configuration, which a router must not suffer from.
const MaxRoutes = 10_000

// Merge returns the routes that the peer gets from the offers of all Services,
// sorted by prefix: of equal prefixes the communities are united, and the
// largest localPref counts. It leaves out families that the session does not
// carry, and returns how many routes are beyond MaxRoutes.
func Merge(peer Peer, offers []Offer) (routes []Route, refused int) {
	merged := map[netip.Prefix]Route{}
	for _, o := range offers {
		if len(o.Peers) > 0 && !slices.Contains(o.Peers, peer.Name) || !peer.Carries(o.Prefix) {
			continue
		}
		r, known := merged[o.Prefix]
		if !known {
			r = Route{Prefix: o.Prefix}
		}
		r.LocalPref = max(r.LocalPref, o.LocalPref)
		if len(o.Communities) > 0 {
			all := slices.Concat(r.Communities, o.Communities)
			slices.SortFunc(all, compareCommunities)
			r.Communities = slices.Compact(all)
		}
		merged[o.Prefix] = r
	}
	routes = slices.SortedFunc(maps.Values(merged), func(a, b Route) int { return comparePrefixes(a.Prefix, b.Prefix) })
	if refused = len(routes) - MaxRoutes; refused > 0 {
		return routes[:MaxRoutes], refused
	}
	return routes, 0
}

func compareCommunities(a, b config.Community) int {
	if a.Large != b.Large {
		if a.Large {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.C, b.C))
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
