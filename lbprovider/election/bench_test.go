package election

import (
	"fmt"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// BenchmarkElect decides about 5,000 Services on 100 nodes: what a speaker
// does when a node comes or goes.
func BenchmarkElect(b *testing.B) {
	var nodes []Node
	everywhere := map[string]bool{}
	for i := range 100 {
		name := fmt.Sprintf("node-%03d", i)
		nodes = append(nodes, Node{Name: name, Labels: labels.Set{"kubernetes.io/hostname": name}, Ready: true, Alive: true, Interfaces: []string{"eth0"}})
		everywhere[name] = true
	}
	pool := poolWith(b, v1beta1.L2AdvertisementSpec{})
	var requests []Request
	for i := range 5000 {
		requests = append(requests, Request{
			Addr: netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}), Pool: pool, Endpoints: everywhere, Local: i%2 == 0,
		})
	}
	var e Electorate
	decide := func() int {
		e.Set(nodes, "node-042")
		owned := 0
		for _, r := range requests {
			if e.Elect(r).Announce {
				owned++
			}
		}
		return owned
	}
	all := decide()
	b.ReportAllocs()
	for b.Loop() {
		nodes[17].Alive = !nodes[17].Alive
		if owned := decide(); owned < all {
			b.Fatalf("node-042 owns %d, before %d", owned, all)
		}
	}
}
