package bgp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fairlead/fairlead/lbprovider/config"
)

// MaxRoutes is how many prefixes a peer is told at most. More are a mistake in
// the configuration, which a router must not suffer from.
const MaxRoutes = 10_000

// Merge returns the routes that the peer gets from the offers of all Services,
// sorted by prefix: of equal prefixes the communities are united, and the
// largest localPref and asPathPrepend count. It leaves out families that the session does not
// carry, and returns how many routes are beyond MaxRoutes.
func Merge(peer Peer, offers []Offer) (routes []Route, refused int) {
	routes = make([]Route, 0, len(offers))
	for _, o := range offers {
		if len(o.Peers) > 0 && !slices.Contains(o.Peers, peer.Name) || !peer.Carries(o.Prefix) {
			continue
		}
		routes = append(routes, o.Route)
	}
	slices.SortFunc(routes, CompareRoutes)
	merged := routes[:0]
	for _, r := range routes {
		if last := len(merged) - 1; last < 0 || merged[last].Prefix != r.Prefix {
			merged = append(merged, Route{Prefix: r.Prefix, LocalPref: r.LocalPref, Prepend: r.Prepend, Communities: union(nil, r.Communities)})
		} else {
			merged[last].LocalPref = max(merged[last].LocalPref, r.LocalPref)
			merged[last].Prepend = max(merged[last].Prepend, r.Prepend)
			merged[last].Communities = union(merged[last].Communities, r.Communities)
		}
	}
	routes = merged
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

// union returns the communities of both, sorted and without repetition.
func union(a, b []config.Community) []config.Community {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 && slices.IsSortedFunc(b, strictly) {
		return b
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, compareCommunities)
	return slices.Compact(all)
}

// strictly is compareCommunities for a list in which none may be repeated.
func strictly(a, b config.Community) int {
	return cmp.Or(compareCommunities(a, b), -1)
}

// CompareRoutes orders routes by their prefixes.
func CompareRoutes(a, b Route) int {
	return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
