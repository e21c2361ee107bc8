package bgp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
)

func ad(name string, change func(*config.BGPAdvertisement)) *config.BGPAdvertisement {
	a := &config.BGPAdvertisement{Name: name, AggregationLength: 32, AggregationLengthV6: 128}
	if change != nil {
		change(a)
	}
	return a
}

func selectors(key, value string) []labels.Selector {
	return []labels.Selector{labels.SelectorFromSet(labels.Set{key: value})}
}

// nodes are a and b, reachable and ready; change edits them.
func nodes(change func(a, b *election.Node)) []election.Node {
	all := []election.Node{
		{Name: "a", Labels: labels.Set{"rack": "1"}, Ready: true, Alive: true},
		{Name: "b", Labels: labels.Set{"rack": "2"}, Ready: true, Alive: true},
	}
	if change != nil {
		change(&all[0], &all[1])
	}
	return all
}

// offersOf writes offers as "prefix pref communities @peers".
func offersOf(offers []Offer) []string {
	var out []string
	for _, o := range offers {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %v @%s", o.Prefix, o.LocalPref, o.Communities, strings.Join(o.Peers, ","))))
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	everywhere := map[string]bool{"a": true, "b": true}
	host := []string{"198.18.200.1/32 0 [] @"}
	for _, tt := range []struct {
		name   string
		ads    []*config.BGPAdvertisement
		change func(*Request)
		nodes  func(a, b *election.Node)
		reason Reason
		words  string
		on     []string
		offers []string
	}{
		{name: "both nodes announce", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a", "b"}, offers: host},
		{name: "no advertisement", reason: NoAdvertisement},
		{
			name:   "none for the Service",
			ads:    []*config.BGPAdvertisement{ad("x", func(a *config.BGPAdvertisement) { a.Services = selectors("app", "other") })},
			reason: NoMatchingAdvertisement,
		},
		{
			name: "for other nodes", reason: NotEligible, on: []string{"b"}, words: "a: no advertisement selects it",
			ads: []*config.BGPAdvertisement{ad("x", func(a *config.BGPAdvertisement) { a.Nodes = selectors("rack", "2") })},
		},
		{
			name: "no pod anywhere", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NoReadyEndpoints,
			change: func(r *Request) { r.Endpoints = nil },
		},
		{
			name: "Local without a pod here", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			change: func(r *Request) { r.Local, r.Endpoints = true, map[string]bool{"b": true} },
			words:  "a: it has no ready endpoint",
		},
		{
			name: "Local with pods", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a", "b"},
			change: func(r *Request) { r.Local = true }, offers: host,
		},
		{
			name: "Cluster without a pod here", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a", "b"},
			change: func(r *Request) { r.Endpoints = map[string]bool{"b": true} }, offers: host,
		},
		{
			name: "label keeps this node out", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			nodes: func(a, _ *election.Node) { a.Excluded = true },
			words: "a: it has the label node.kubernetes.io/exclude-from-external-load-balancers",
		},
		{
			name: "no network here", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			nodes: func(a, _ *election.Node) { a.NetworkUnavailable = true },
		},
		{
			name: "both kept out", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NoEligibleNode,
			nodes: func(a, b *election.Node) { a.Excluded, b.NetworkUnavailable = true, true },
			words: "b: its network is unavailable",
		},
		{
			name: "the other is unreachable", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a"}, offers: host,
			nodes: func(_, b *election.Node) { b.Alive = false },
		},
		{
			name: "alone, and not known as reachable", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a"}, offers: host,
			nodes: func(a, b *election.Node) { a.Alive, b.Alive = false, false },
		},
		{
			name: "draining gives way", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			nodes: func(a, _ *election.Node) { a.Draining = true },
		},
		{
			name: "drained by a user gives way", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			nodes: func(a, _ *election.Node) { a.Drained = true },
		},
		{
			name: "draining, but there is no other", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a"}, offers: host,
			nodes: func(a, b *election.Node) { a.Draining, b.Alive = true, false },
		},
		{
			name: "a router that is silent gives way with Local", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: NotEligible, on: []string{"b"},
			change: func(r *Request) {
				r.Local, r.Doubts = true, map[string]election.Exclusion{"a": election.ExcludedSilent}
			},
		},
		{
			name: "doubts about pods do not matter with Cluster", ads: []*config.BGPAdvertisement{ad("x", nil)}, reason: Announced, on: []string{"a", "b"}, offers: host,
			change: func(r *Request) { r.Doubts = map[string]election.Exclusion{"a": election.ExcludedSilent} },
		},
		{
			name: "aggregates, both families, attributes and peers", reason: Announced, on: []string{"a", "b"},
			change: func(r *Request) {
				r.Addrs = []netip.Addr{netip.MustParseAddr("198.18.200.1"), netip.MustParseAddr("fd00:200::1")}
			},
			ads: []*config.BGPAdvertisement{
				ad("hosts", func(a *config.BGPAdvertisement) { a.LocalPref, a.Peers = 200, []string{"tor1"} }),
				ad("nets", func(a *config.BGPAdvertisement) {
					a.AggregationLength, a.AggregationLengthV6 = 24, 64
					a.Communities = []config.Community{{A: 64512, B: 1}, {Large: true, A: 1, B: 2, C: 3}}
				}),
			},
			offers: []string{
				"198.18.200.1/32 200 [] @tor1", "198.18.200.0/24 0 [64512:1 large:1:2:3] @",
				"fd00:200::1/128 200 [] @tor1", "fd00:200::/64 0 [64512:1 large:1:2:3] @",
			},
		},
		{
			name: "two wishes for localPref", reason: ConflictingAdvertisements, on: []string{"a", "b"},
			ads: []*config.BGPAdvertisement{
				ad("x", func(a *config.BGPAdvertisement) { a.LocalPref = 100 }),
				ad("y", func(a *config.BGPAdvertisement) { a.LocalPref, a.Peers = 200, []string{"tor"} }),
			},
			words: `BGPAdvertisements "x" and "y" want localPref 100 and 200 for 198.18.200.1/32`,
		},
		{
			name: "two wishes for asPathPrepend", reason: ConflictingAdvertisements, on: []string{"a", "b"},
			ads: []*config.BGPAdvertisement{
				ad("x", func(a *config.BGPAdvertisement) { a.Prepend = 3 }),
				ad("y", func(a *config.BGPAdvertisement) { a.Peers = []string{"tor"} }),
			},
			words: `BGPAdvertisements "x" and "y" want asPathPrepend 3 and 0 for 198.18.200.1/32`,
		},
		{
			name: "two wishes for localPref in one family", reason: Announced, on: []string{"a", "b"}, offers: host,
			change: func(r *Request) {
				r.Addrs = []netip.Addr{netip.MustParseAddr("198.18.200.1"), netip.MustParseAddr("fd00:200::1")}
			},
			ads: []*config.BGPAdvertisement{
				ad("x", func(a *config.BGPAdvertisement) { a.AggregationLengthV6 = 128 }),
				ad("y", func(a *config.BGPAdvertisement) { a.LocalPref, a.AggregationLength = 200, 0 }),
			},
			words: `BGPAdvertisements "x" and "y" want localPref 0 and 200 for fd00:200::1/128`,
		},
		{
			name: "two wishes for different peers", reason: Announced, on: []string{"a", "b"},
			ads: []*config.BGPAdvertisement{
				ad("x", func(a *config.BGPAdvertisement) { a.LocalPref, a.Peers = 100, []string{"tor1"} }),
				ad("y", func(a *config.BGPAdvertisement) { a.LocalPref, a.Peers = 200, []string{"tor2"} }),
			},
			offers: []string{"198.18.200.1/32 100 [] @tor1", "198.18.200.1/32 200 [] @tor2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := Request{Addrs: []netip.Addr{netip.MustParseAddr("198.18.200.1")}, Ads: tt.ads, Labels: labels.Set{"app": "web"}, Endpoints: everywhere}
			if tt.change != nil {
				tt.change(&req)
			}
			d := Decide(req, nodes(tt.nodes), "a")
			if d.Reason != tt.reason || d.Announce != (tt.reason == Announced) {
				t.Fatalf("announce %v, reason %q, want %q", d.Announce, d.Reason, tt.reason)
			}
			if diff := cmp.Diff(tt.on, d.Nodes); diff != "" {
				t.Errorf("nodes: %s", diff)
			}
			if diff := cmp.Diff(tt.offers, offersOf(d.Offers)); diff != "" {
				t.Errorf("offers: %s", diff)
			}
			if !strings.Contains(d.String(), tt.words) {
				t.Errorf("%q lacks %q", d, tt.words)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	offer := func(prefix string, pref uint32, peers []string, communities ...config.Community) Offer {
		return Offer{Route: Route{Prefix: netip.MustParsePrefix(prefix), LocalPref: pref, Communities: communities}, Peers: peers}
	}
	c1, c2, large := config.Community{A: 1, B: 1}, config.Community{A: 1, B: 2}, config.Community{Large: true, A: 1, B: 1, C: 1}
	offers := []Offer{
		offer("198.18.201.0/24", 0, nil, c2),
		offer("198.18.201.0/24", 0, nil, large, c1), // of another Service
		offer("198.18.200.1/32", 0, []string{"tor1"}, c1),
		offer("198.18.200.1/32", 300, nil),
		offer("198.18.200.2/32", 0, []string{"tor2", "tor3"}),
		offer("fd00:200::1/128", 0, nil),
	}
	v4, v6 := netip.MustParseAddr("198.18.60.1"), netip.MustParseAddr("fd00:60::1")
	for _, tt := range []struct {
		name string
		peer Peer
		want []string
	}{
		{"named", Peer{Name: "tor1", Address: v4}, []string{"198.18.200.1/32 300 [1:1]", "198.18.201.0/24 0 [1:1 1:2 large:1:1:1]"}},
		{"not named", Peer{Name: "tor9", Address: v4}, []string{"198.18.200.1/32 300 []", "198.18.201.0/24 0 [1:1 1:2 large:1:1:1]"}},
		{"IPv6 only", Peer{Name: "tor2", Address: v6}, []string{"fd00:200::1/128 0 []"}},
		{"both families", Peer{Name: "tor2", Address: v6, DualStack: true}, []string{
			"198.18.200.1/32 300 []", "198.18.200.2/32 0 []", "198.18.201.0/24 0 [1:1 1:2 large:1:1:1]", "fd00:200::1/128 0 []",
		}},
		{"unnumbered", Peer{Name: "tor9", Interface: "eth0"}, []string{
			"198.18.200.1/32 300 []", "198.18.201.0/24 0 [1:1 1:2 large:1:1:1]", "fd00:200::1/128 0 []",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			routes, refused := Merge(tt.peer, offers)
			var got []string
			for _, r := range routes {
				got = append(got, fmt.Sprintf("%s %d %v", r.Prefix, r.LocalPref, r.Communities))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || refused > 0 {
				t.Errorf("refused %d; %s", refused, diff)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		t.Parallel()
		var many []Offer
		addr := netip.MustParseAddr("198.18.0.0")
		for range MaxRoutes + 5 {
			many, addr = append(many, Offer{Route: Route{Prefix: netip.PrefixFrom(addr, 32)}}), addr.Next()
		}
		if routes, refused := Merge(Peer{Address: v4}, many); len(routes) != MaxRoutes || refused != 5 {
			t.Errorf("%d routes, %d refused", len(routes), refused)
		}
	})
}

func TestPeers(t *testing.T) {
	t.Parallel()
	v4, v6 := netip.MustParseAddr("198.18.60.1"), netip.MustParseAddr("fd00:60::1")
	cfg := &config.Config{Peers: []*config.Peer{
		{Name: "all", MyASN: 64512, PeerASN: 64512, Address: v4, Password: "secret"},
		{Name: "rack2", MyASN: 64512, PeerASN: 64513, Address: v6, RouterID: netip.MustParseAddr("198.18.0.9"), Nodes: selectors("rack", "2")},
	}}
	node := []netip.Addr{netip.MustParseAddr("fd00:60::2"), netip.MustParseAddr("198.18.60.2")}
	got := Peers(cfg, "a", labels.Set{"rack": "1"}, node)
	if len(got) != 1 || got[0].Name != "all" || got[0].Password != "secret" || got[0].RouterID != node[1] || !got[0].Internal() {
		t.Errorf("rack 1: %+v", got)
	}
	got = Peers(cfg, "a", labels.Set{"rack": "2"}, node[:1])
	if len(got) != 2 || got[1].RouterID != netip.MustParseAddr("198.18.0.9") || got[1].Internal() {
		t.Fatalf("rack 2: %+v", got)
	}
	if id := got[0].RouterID; !id.Is4() || id == netip.IPv4Unspecified() || id != RouterID("a", nil) || id == RouterID("b", nil) {
		t.Errorf("a node without IPv4 has the identifier %s", id)
	}
}
