package main

import (
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	lb "github.com/fairlead/fairlead/lbprovider/election"
)

// election measures what a speaker computes when a node comes or goes: 5,000
// Services on 100 nodes.
func election() row {
	var nodes []lb.Node
	everywhere := map[string]bool{}
	for i := range 100 {
		name := fmt.Sprintf("node-%03d", i)
		nodes = append(nodes, lb.Node{Name: name, Labels: labels.Set{"kubernetes.io/hostname": name}, Ready: true, Alive: true, Interfaces: []string{"eth0"}})
		everywhere[name] = true
	}
	res := config.Resources{ProviderNamespace: "ns"}
	pool, ad := v1beta1.IPAddressPool{Spec: v1beta1.IPAddressPoolSpec{Addresses: []string{"198.18.0.0/15"}}}, v1beta1.L2Advertisement{}
	pool.Namespace, pool.Name, ad.Namespace, ad.Name = "ns", "p", "ns", "ad"
	res.Pools, res.L2Advertisements = append(res.Pools, pool), append(res.L2Advertisements, ad)
	cfg, _ := config.Parse(res, nil)
	var electorate lb.Electorate
	var times []time.Duration
	for i := range 21 {
		began := time.Now()
		nodes[i].Alive = false
		electorate.Set(nodes, "node-042")
		for n := range 5000 {
			addr := netip.AddrFrom4([4]byte{198, 18, byte(n / 256), byte(n)})
			electorate.Elect(lb.Request{Addr: addr, Pool: cfg.Pool("p"), Endpoints: everywhere, Local: n%2 == 0})
		}
		times = append(times, time.Since(began))
	}
	first, rest := times[0], sorted(times[1:])
	return row{
		"election for 5,000 Services on 100 nodes, a node goes",
		fmt.Sprintf("p50 %v, max %v (the very first time %v)", ms(percentile(rest, 0.5)), ms(rest[len(rest)-1]), ms(first)), "≤ 100 ms",
	}
}
