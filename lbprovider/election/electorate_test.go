package election

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// verdict is what an Electorate has to say where Decide says d.
func verdict(d Decision) Verdict {
	v := Verdict{Announce: d.Announce, Reason: d.Reason, Interfaces: d.Interfaces}
	if len(d.Order) > 0 {
		v.Owner = d.Order[0]
	}
	return v
}

// TestElectIsDecide lets nodes come, change and go at random: an Electorate
// that remembers everything agrees with Decide, which remembers nothing.
func TestElectIsDecide(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			maybe := func(n int) bool { return random.IntN(n) == 0 }
			var e Electorate
			pools := randomPools(t, random)
			owners := map[string]bool{}
			for round := range 40 {
				nodes := randomNodes(maybe, round)
				self := fmt.Sprintf("n%02d", random.IntN(30))
				e.Set(nodes, self)
				for range 20 {
					req := randomRequest(random, maybe, pools, nodes)
					want := verdict(Decide(req, nodes, self))
					if diff := cmp.Diff(want, e.Elect(req)); diff != "" {
						t.Fatalf("round %d, %s (-Decide +Elect):\n%s", round, req.Addr, diff)
					}
					owners[want.Owner] = true
				}
			}
			if len(owners) < 10 {
				t.Errorf("only %d nodes ever owned an address", len(owners))
			}
		})
	}
}

func randomPools(t *testing.T, random *rand.Rand) []*config.Pool {
	t.Helper()
	zone := func(n int) []metav1.LabelSelector { return byLabel("zone", fmt.Sprint(n)) }
	all := []*config.Pool{
		nil, poolWith(t), poolWith(t, v1beta1.L2AdvertisementSpec{}),
		poolWith(t, v1beta1.L2AdvertisementSpec{Interfaces: []string{"eth1"}}),
		poolWith(t, v1beta1.L2AdvertisementSpec{NodeSelectors: zone(0)}, v1beta1.L2AdvertisementSpec{NodeSelectors: zone(1), Interfaces: []string{"eth0"}}),
		poolWith(t, v1beta1.L2AdvertisementSpec{NodeSelectors: zone(2)}, v1beta1.L2AdvertisementSpec{ServiceSelectors: byLabel("app", "a")}),
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	preferred := v1beta1.PreferredNodeSelector{Weight: 5, Preference: zone(1)[0]}
	return append(all, poolWith(t, v1beta1.L2AdvertisementSpec{PreferredNodeSelectors: []v1beta1.PreferredNodeSelector{preferred}}))
}

func randomNodes(maybe func(int) bool, round int) []Node {
	var nodes []Node
	for i := range 10 + round/2 { // new ones come all the time
		if maybe(4) {
			continue
		}
		n := Node{
			Name: fmt.Sprintf("n%02d", i), Labels: labels.Set{"zone": fmt.Sprint(i % 3)},
			Alive: !maybe(5), Ready: !maybe(5), Drained: maybe(5), Draining: maybe(5), APILost: maybe(5), Settling: maybe(5),
			Excluded: maybe(9), NetworkUnavailable: maybe(9),
		}
		if !maybe(3) {
			n.Interfaces = []string{"eth0", "eth1"}
			if maybe(3) {
				n.WithoutIPv6 = []string{"eth1"}
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func randomRequest(random *rand.Rand, maybe func(int) bool, pools []*config.Pool, nodes []Node) Request {
	req := Request{
		Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(8))}), Pool: pools[random.IntN(len(pools))],
		Local: maybe(2), IPv6: maybe(3), Shared: maybe(4), Labels: labels.Set{"app": []string{"a", "b"}[random.IntN(2)]},
		Endpoints: map[string]bool{}, Doubts: map[string]Exclusion{},
	}
	for _, n := range nodes {
		if maybe(2) {
			req.Endpoints[n.Name] = true
		}
		if maybe(4) {
			req.Doubts[n.Name] = []Exclusion{ExcludedSilent, ExcludedLeaving}[random.IntN(2)]
		}
		if maybe(15) {
			req.Incumbents = append(req.Incumbents, n.Name)
		}
	}
	return req
}

// An election costs nothing but its time once an address is known.
func TestElectAllocatesNothing(t *testing.T) {
	var e Electorate
	nodes := randomNodes(func(int) bool { return false }, 100)
	for i := range nodes {
		nodes[i].Alive, nodes[i].Ready = true, true
	}
	e.Set(nodes, "nobody")
	req := Request{
		Addr: netip.MustParseAddr("10.0.0.1"), Pool: poolWith(t, v1beta1.L2AdvertisementSpec{}),
		Local: true, Endpoints: map[string]bool{nodes[7].Name: true},
	}
	if got := testing.AllocsPerRun(100, func() { e.Elect(req) }); got != 0 {
		t.Errorf("an election allocates %v times", got)
	}
}
