package main

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	lb "github.com/fairlead/fairlead/lbprovider/election"
)

// elections are the times of the same election again and again, in milliseconds.
type elections struct {
	First       float64   `json:"first"`
	Times       []float64 `json:"times"`
	Allocations float64   `json:"allocations"`
}

// election measures what a speaker computes when nodes go, and every third time
// when a new one comes as well: 5,000 Services on 100 nodes.
func (b *bench) election(context.Context) error {
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
	elect := func() {
		electorate.Set(nodes, "node-042")
		for n := range 5000 {
			addr := netip.AddrFrom4([4]byte{198, 18, byte(n / 256), byte(n)})
			electorate.Elect(lb.Request{Addr: addr, Pool: cfg.Pool("p"), Endpoints: everywhere, Local: n%2 == 0})
		}
	}
	began := time.Now()
	elect()
	found := elections{First: milliseconds(time.Since(began))}
	for i := range 90 {
		if nodes[i].Alive = false; i%3 == 0 {
			name := fmt.Sprintf("new-%03d", i)
			nodes = append(nodes, lb.Node{Name: name, Labels: labels.Set{"kubernetes.io/hostname": name}, Ready: true, Alive: true})
		}
		began := time.Now()
		elect()
		found.Times = append(found.Times, milliseconds(time.Since(began)))
	}
	found.Allocations = testing.AllocsPerRun(1, elect)
	b.results.Election = &found
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
