package election

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// The expected orders are MetalLB's, so that both agree during a migration.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ nodes, addr, want string }{
		{"node-a node-b node-c", "10.0.0.1", "node-b node-a node-c"},
		{"node-a node-b node-c", "10.0.0.2", "node-b node-c node-a"},
		{"node-a node-b node-c", "10.0.0.3", "node-c node-a node-b"},
		{"node-a node-b node-c", "10.20.30.1", "node-b node-c node-a"},
		{"node-a node-b node-c", "192.168.1.240", "node-a node-c node-b"},
		{"node-a node-b node-c", "192.168.1.241", "node-c node-a node-b"},
		{"node-a node-b node-c", "1000::", "node-b node-c node-a"},
		{"worker-1 worker-2 worker-3", "192.168.1.240", "worker-2 worker-1 worker-3"},
		{"worker-1 worker-2 worker-3", "192.168.1.241", "worker-1 worker-2 worker-3"},
		{"iris1 iris2", "10.20.30.1", "iris2 iris1"},
		{"iris1 iris2", "10.0.0.1", "iris1 iris2"},
		{"worker-3 worker-1 worker-2", "192.168.1.240", "worker-2 worker-1 worker-3"}, // any order in
		{"", "10.0.0.1", ""},
	} {
		t.Run(tt.nodes+" "+tt.addr, func(t *testing.T) {
			t.Parallel()
			var candidates []Candidate
			for n := range strings.FieldsSeq(tt.nodes) {
				candidates = append(candidates, Candidate{Node: n})
			}
			if got := strings.Join(Order(netip.MustParseAddr(tt.addr), candidates), " "); got != tt.want {
				t.Errorf("order %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOnlyAddressesOfALostNodeMove(t *testing.T) {
	t.Parallel()
	var all []Candidate
	for i := range 10 {
		all = append(all, Candidate{Node: fmt.Sprintf("n%d", i)})
	}
	for i := range 1000 {
		addr := netip.AddrFrom4([4]byte{198, 18, byte(i / 256), byte(i)})
		before, after := Order(addr, all), Order(addr, all[1:])
		if before[0] != "n0" && before[0] != after[0] {
			t.Fatalf("%s moved from %s to %s although n0 was lost", addr, before[0], after[0])
		}
	}
}

func poolWith(t testing.TB, specs ...v1beta1.L2AdvertisementSpec) *config.Pool {
	t.Helper()
	res := config.Resources{ProviderNamespace: "ns", Pools: []v1beta1.IPAddressPool{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"10.0.0.0/24"}},
	}}}
	for i, spec := range specs {
		res.L2Advertisements = append(res.L2Advertisements, v1beta1.L2Advertisement{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("ad%d", i)}, Spec: spec,
		})
	}
	cfg, findings := config.Parse(res, nil)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return cfg.Pool("p")
}

func byLabel(key, value string) []metav1.LabelSelector {
	return []metav1.LabelSelector{{MatchLabels: map[string]string{key: value}}}
}

// For 10.0.0.1 the order of node-a, node-b and node-c is b, a, c.
func TestDecide(t *testing.T) {
	t.Parallel()
	type spec = v1beta1.L2AdvertisementSpec
	change := func(name string, f func(*Node)) func(map[string]*Node) {
		return func(nodes map[string]*Node) { f(nodes[name]) }
	}
	everywhere := map[string]bool{"node-a": true, "node-b": true, "node-c": true}
	for _, tt := range []struct {
		name  string
		ads   []spec
		nodes func(map[string]*Node)
		req   func(*Request)
		// owner is the announcing node; for "" the reason says why there is none.
		owner      string
		reason     Reason
		interfaces []string
		excluded   map[string]Exclusion
	}{
		{name: "hash decides", ads: []spec{{}}, owner: "node-b"},
		{name: "it stays where it is", ads: []spec{{}}, req: func(r *Request) { r.Incumbents = []string{"node-c"} }, owner: "node-c"},
		{name: "of two that say so the hash decides", ads: []spec{{}}, req: func(r *Request) { r.Incumbents = []string{"node-c", "node-a"} }, owner: "node-a"},
		{
			name: "it does not stay on a node that is drained", ads: []spec{{}}, nodes: change("node-c", func(n *Node) { n.Drained = true }),
			req: func(r *Request) { r.Incumbents = []string{"node-c"} }, owner: "node-b", excluded: map[string]Exclusion{"node-c": ExcludedDrained},
		},
		{name: "it stays nowhere where nobody is", ads: []spec{{}}, req: func(r *Request) { r.Incumbents = []string{"gone"} }, owner: "node-b"},
		{name: "no advertisement", reason: NoMatchingAdvertisement},
		{name: "no pool", ads: []spec{{}}, req: func(r *Request) { r.Pool = nil }, reason: IPNotAllowed},
		{name: "no endpoint", ads: []spec{{}}, req: func(r *Request) { r.Endpoints = nil }, reason: NoReadyEndpoints},
		{name: "endpoint on no node is enough for Cluster", ads: []spec{{}}, req: func(r *Request) { r.Endpoints = map[string]bool{"": true} }, owner: "node-b"},
		{
			name: "Local needs an endpoint on the node", ads: []spec{{}},
			req:   func(r *Request) { r.Local, r.Endpoints = true, map[string]bool{"node-c": true} },
			owner: "node-c", excluded: map[string]Exclusion{"node-a": ExcludedNoLocal, "node-b": ExcludedNoLocal},
		},
		{
			name: "unreachable", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Alive = false }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedUnreachable},
		},
		{
			name: "label", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Excluded = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedLabel},
		},
		{
			name: "network unavailable", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.NetworkUnavailable = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedNetwork},
		},
		{
			name: "not ready", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Ready = false }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedNotReady},
		},
		{
			name: "draining", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Draining = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedDraining},
		},
		{
			name: "its pod is silent", ads: []spec{{}},
			req: func(r *Request) {
				r.Local, r.Doubts = true, map[string]Exclusion{"node-b": ExcludedSilent, "node-a": ExcludedLeaving}
			},
			owner: "node-c", excluded: map[string]Exclusion{"node-a": ExcludedLeaving, "node-b": ExcludedSilent},
		},
		{
			name: "its pod leaves", ads: []spec{{}},
			req:   func(r *Request) { r.Local, r.Doubts = true, map[string]Exclusion{"node-b": ExcludedLeaving} },
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedLeaving},
		},
		{
			name: "all are silent: rather believe Kubernetes", ads: []spec{{}},
			req: func(r *Request) {
				r.Local, r.Doubts = true, map[string]Exclusion{"node-a": ExcludedSilent, "node-b": ExcludedSilent, "node-c": ExcludedSilent}
			},
			owner: "node-b",
		},
		{
			name: "with Cluster it does not matter where the pods are", ads: []spec{{}},
			req:   func(r *Request) { r.Doubts = map[string]Exclusion{"node-b": ExcludedLeaving} },
			owner: "node-b",
		},
		{
			name: "drained", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Drained = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedDrained},
		},
		{
			name: "without the API server", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.APILost = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedAPILost},
		},
		{
			name: "the lesser doubt wins", ads: []spec{{}},
			nodes: func(all map[string]*Node) {
				all["node-a"].Drained, all["node-b"].Draining, all["node-c"].Drained = true, true, true
			},
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedDraining},
		},
		{
			name: "only a node that settles serves", ads: []spec{{}},
			nodes: change("node-c", func(n *Node) { n.Settling = true }),
			req: func(r *Request) {
				r.Local, r.Doubts = true, map[string]Exclusion{"node-a": ExcludedLeaving, "node-b": ExcludedSilent}
			},
			owner: "node-c", excluded: map[string]Exclusion{"node-a": ExcludedLeaving, "node-b": ExcludedSilent},
		},
		{
			name: "settling", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Settling = true }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedSettling},
		},
		{
			name: "all not ready: better there than nowhere", ads: []spec{{}},
			nodes: func(all map[string]*Node) {
				for _, n := range all {
					n.Ready = false
				}
			},
			owner: "node-b",
		},
		{
			name: "all excluded", ads: []spec{{}}, reason: NoEligibleNode,
			nodes: func(all map[string]*Node) {
				for _, n := range all {
					n.Excluded = true
				}
			},
			excluded: map[string]Exclusion{"node-a": ExcludedLabel, "node-b": ExcludedLabel, "node-c": ExcludedLabel},
		},
		{
			name: "node selector", ads: []spec{{NodeSelectors: byLabel("zone", "x")}}, nodes: change("node-c", func(n *Node) { n.Labels = labels.Set{"zone": "x"} }),
			owner: "node-c", excluded: map[string]Exclusion{"node-a": ExcludedAdvertisement, "node-b": ExcludedAdvertisement},
		},
		{
			name: "preference beats the hash", owner: "node-c",
			ads:   []spec{{PreferredNodeSelectors: []v1beta1.PreferredNodeSelector{{Weight: 5, Preference: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "x"}}}}}},
			nodes: change("node-c", func(n *Node) { n.Labels = labels.Set{"zone": "x"} }),
		},
		{
			name: "preferences of several advertisements add up", owner: "node-a",
			ads: []spec{
				{PreferredNodeSelectors: []v1beta1.PreferredNodeSelector{
					{Weight: 5, Preference: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "x"}}},
					{Weight: 3, Preference: metav1.LabelSelector{MatchLabels: map[string]string{"fast": "yes"}}},
				}},
				{PreferredNodeSelectors: []v1beta1.PreferredNodeSelector{{Weight: 3, Preference: metav1.LabelSelector{MatchLabels: map[string]string{"fast": "yes"}}}}},
			},
			nodes: func(all map[string]*Node) {
				all["node-c"].Labels, all["node-a"].Labels = labels.Set{"zone": "x"}, labels.Set{"fast": "yes"}
			},
		},
		{name: "service selector matches", ads: []spec{{ServiceSelectors: byLabel("app", "x")}}, req: func(r *Request) { r.Labels = labels.Set{"app": "x"} }, owner: "node-b"},
		{name: "service selector does not match", ads: []spec{{ServiceSelectors: byLabel("app", "x")}}, reason: NoMatchingAdvertisement},
		{
			name: "shared address and service selector", ads: []spec{{}, {ServiceSelectors: byLabel("app", "x")}},
			req: func(r *Request) { r.Shared, r.Labels = true, labels.Set{"app": "x"} }, reason: SharedIPWithServiceSelector,
		},
		{
			name: "shared address and a selector for other Services", ads: []spec{{}, {ServiceSelectors: byLabel("app", "y")}},
			req: func(r *Request) { r.Shared, r.Labels = true, labels.Set{"app": "x"} }, owner: "node-b",
		},
		{name: "interfaces of one advertisement", ads: []spec{{Interfaces: []string{"eth1", "eth0"}}}, owner: "node-b", interfaces: []string{"eth0", "eth1"}},
		{name: "interfaces of several advertisements", ads: []spec{{Interfaces: []string{"eth1"}}, {Interfaces: []string{"eth0"}}}, owner: "node-b", interfaces: []string{"eth0", "eth1"}},
		{
			name: "a node without IPv6 where the advertisement is", ads: []spec{{Interfaces: []string{"eth1"}}},
			req:   func(r *Request) { r.IPv6 = true },
			nodes: change("node-b", func(n *Node) { n.Interfaces, n.WithoutIPv6 = []string{"eth0", "eth1"}, []string{"eth1"} }),
			owner: "node-a", interfaces: []string{"eth1"}, excluded: map[string]Exclusion{"node-b": ExcludedNoIPv6},
		},
		{
			name: "a node with IPv6 on another of the interfaces",
			req:  func(r *Request) { r.IPv6 = true }, ads: []spec{{}},
			nodes: change("node-b", func(n *Node) { n.Interfaces, n.WithoutIPv6 = []string{"eth0", "eth1"}, []string{"eth1"} }),
			owner: "node-b",
		},
		{
			name: "a node without IPv6 and an address that does not need it", ads: []spec{{}},
			nodes: change("node-b", func(n *Node) { n.Interfaces, n.WithoutIPv6 = []string{"eth0"}, []string{"eth0"} }),
			owner: "node-b",
		},
		{name: "one advertisement for all interfaces", ads: []spec{{Interfaces: []string{"eth1"}}, {}}, owner: "node-b"},
		{
			name: "node without the interface is skipped", ads: []spec{{Interfaces: []string{"eth1"}}}, nodes: change("node-b", func(n *Node) { n.Interfaces = []string{"eth0"} }),
			owner: "node-a", interfaces: []string{"eth1"}, excluded: map[string]Exclusion{"node-b": ExcludedInterface},
		},
		{
			name: "node without any interface is skipped", ads: []spec{{}}, nodes: change("node-b", func(n *Node) { n.Interfaces = []string{} }),
			owner: "node-a", excluded: map[string]Exclusion{"node-b": ExcludedInterface},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			byName := map[string]*Node{}
			for _, name := range []string{"node-a", "node-b", "node-c"} {
				byName[name] = &Node{Name: name, Ready: true, Alive: true}
			}
			if tt.nodes != nil {
				tt.nodes(byName)
			}
			nodes := []Node{*byName["node-a"], *byName["node-b"], *byName["node-c"]}
			req := Request{Addr: netip.MustParseAddr("10.0.0.1"), Pool: poolWith(t, tt.ads...), Endpoints: everywhere}
			if tt.req != nil {
				tt.req(&req)
			}
			announcing := ""
			var e Electorate
			e.Set(nodes[1:], "node-c") // node-a comes later
			e.Elect(Request{Addr: req.Addr, Pool: poolWith(t, spec{}), Endpoints: everywhere})
			for _, n := range nodes {
				d := Decide(req, nodes, n.Name)
				e.Set(nodes, n.Name)
				if diff := cmp.Diff(verdict(d), e.Elect(req)); diff != "" {
					t.Errorf("electorate (-Decide +Elect):\n%s", diff)
				}
				if d.Announce {
					announcing += n.Name
					if diff := cmp.Diff(tt.interfaces, d.Interfaces); diff != "" {
						t.Errorf("interfaces (-want +got):\n%s", diff)
					}
				} else if tt.owner == "" && d.Reason != tt.reason {
					t.Errorf("reason %s, want %s", d.Reason, tt.reason)
				}
				excluded := d.Excluded
				if len(excluded) == 0 {
					excluded = nil
				}
				if diff := cmp.Diff(tt.excluded, excluded); diff != "" {
					t.Errorf("excluded (-want +got):\n%s", diff)
				}
			}
			if announcing != tt.owner {
				t.Errorf("announced by %q, want %q", announcing, tt.owner)
			}
		})
	}
}
