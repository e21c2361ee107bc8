package bgp

import (
	"fmt"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
)

// BenchmarkDecide decides about one Service among 100 nodes, which a speaker
// does for each Service when a node comes or goes.
func BenchmarkDecide(b *testing.B) {
	var all []election.Node
	for i := range 100 {
		all = append(all, election.Node{Name: fmt.Sprintf("node-%03d", i), Labels: labels.Set{"rack": "1"}, Ready: true, Alive: true})
	}
	req := Request{
		Addrs: []netip.Addr{netip.MustParseAddr("198.18.200.1")}, Ads: []*config.BGPAdvertisement{ad("x", nil)},
		Endpoints: map[string]bool{"node-001": true},
	}
	for _, gone := range []int{0, 1} {
		for i := range gone {
			all[50+i].Alive = false
		}
		b.Run(fmt.Sprintf("%d nodes gone", gone), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(req, all, "node-000"); !d.Announce || len(d.Nodes) != 100-gone {
					b.Fatalf("%+v", d)
				}
			}
		})
	}
}
