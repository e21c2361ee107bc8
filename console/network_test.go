package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// someNetwork has an address in each state.
func someNetwork() *Network {
	since := testNow.Add(-3 * time.Hour)
	return &Network{
		Addresses: []Address{
			{
				Addresses: []string{"192.0.2.10", "2001:db8::10"}, Service: "openshift-ingress/router-default", Pool: "public", State: Announced, Since: &since,
				Announcers: []Announcer{{Node: "node-a", Interfaces: []string{"eth0"}}}, Owner: "node-a", Next: []string{"node-b"},
				Excluded: []Excluded{{Node: "node-c", Why: "it is drained by annotation"}},
				BGP:      []Session{{Node: "node-a", Peer: "198.51.100.1", State: "Established", BFD: "up", Since: &since}},
			},
			{Addresses: []string{"192.0.2.12"}, Service: "web/b", Pool: "public", State: Doubtful, Why: "more than one node", Announcers: []Announcer{{Node: "node-a"}, {Node: "node-b"}}},
			{Addresses: []string{"192.0.2.11"}, Service: "web/a", Pool: "public", State: NotAnnounced, Why: "no node is eligible"},
		},
		Pools: []Pool{{Name: "public", Used: 4, Total: 16}},
		Notes: []string{"you have no right to read nodes"},
	}
}

func someEvents() *Events {
	old, young := testNow.Add(-2*time.Hour), testNow.Add(-time.Hour)
	return &Events{Items: []Event{
		{Time: &old, Count: 3, Type: "normal", Source: "fairlead-speaker", Kind: "service", Namespace: "web", Name: "a", Reason: "nodeAssigned", Message: "announcing from node-a"},
		{Time: &young, Count: 1, Type: "warning", Source: "router-default", Kind: "route", Namespace: "web", Name: "cart-copy", Reason: "HostAlreadyClaimed", Message: "route cart is older"},
	}}
}

// clusterBed is a console of a cluster with addresses and events.
func clusterBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t, snapshotOf(t, gatewayShop+shop), true)
	b.server.pages.options.Cluster = true
	b.source.network, b.source.events = someNetwork(), someEvents()
	return b
}

// TestNetworkPages: what the pages of addresses and events say.
func TestNetworkPages(t *testing.T) {
	t.Parallel()
	b := clusterBed(t)
	for _, test := range []struct {
		path string
		want []string
		not  []string
	}{
		{"addresses", []string{
			"1 to 3 of 3 Services with addresses", "not-announced 192.0.2.11 no node is eligible web/a public no node by ARP or NDP none none doubtful 192.0.2.12 more than one node",
			"announced 192.0.2.10", "2001:db8::10", "node-a at eth0 since 3 h ago", "node-b", "1 excluded", "node-c: it is drained by annotation", "node-a to 198.51.100.1: Established, BFD up",
			"public 4 16", "25 %", "you have no right to read nodes",
		}, nil},
		{"addresses?q=announced", []string{"1 to 1 of 1 Services", "192.0.2.10"}, []string{"192.0.2.11"}},
		{"addresses?q=not-announced", []string{"1 to 1 of 1 Services", "192.0.2.11"}, []string{"192.0.2.10"}},
		{"addresses?q=node-b+web/b", []string{"1 to 1 of 1 Services", "192.0.2.12"}, nil},
		{"addresses?q=none-like-this", []string{"No address is like that"}, nil},
		{"events", []string{"Findings hold now, and come first.", "warning 1 h ago route web/cart-copy HostAlreadyClaimed: route cart is older router-default normal 2 h ago 3 times service web/a nodeAssigned", "finding", "Remedy:"}, nil},
		{"events?q=source:fairlead-speaker", []string{"1 to 1 of 1 findings", "nodeAssigned"}, []string{"older router-default"}},
		{"events?q=type:error+kind:gateway", []string{"1 to 1 of 1 findings", "gateway infra/shop ListenerNotServed"}, nil},
		{"events?q=ns:web+name:cart-copy+-source:finding", []string{"1 to 1 of 1 findings"}, nil},
		{"events?q=older", []string{"HostAlreadyClaimed"}, nil},
		{"events?q=nothing-like-this", []string{"Nothing is like that"}, nil},
		{"events?q=tipe:error", []string{"Nothing was searched.", "type may be meant"}, nil},
	} {
		b.says(t, test.path, 200, test.want, test.not)
	}
	b.crawl(func(path string, root *html.Node) {
		wellFormed(t, path, root)
		harmless(t, path, root)
	})
}

// TestNetworkTrouble: what cannot be read is said, and the rest is shown; without a cluster the
// pages say so.
func TestNetworkTrouble(t *testing.T) {
	t.Parallel()
	b := clusterBed(t)
	b.source.network, b.source.events = nil, nil
	for path, want := range map[string]string{"addresses": "The addresses could not be read. read Services: no right <b>", "events": "The events could not be read. read events: no right <b>"} {
		if got := content(t, b.page(path, 200)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	b.server.pages.options.Cluster = false
	if got := content(t, b.page("addresses", 200)); !strings.Contains(got, "There is no cluster") {
		t.Error(got)
	}
	if got := content(t, b.page("events", 200)); strings.Contains(got, "could not be read") || !strings.Contains(got, "HostAlreadyClaimed") {
		t.Error(got)
	}
}

// TestManyAddresses: pages of thousands of addresses, nodes and events stay short.
func TestManyAddresses(t *testing.T) {
	t.Parallel()
	b := clusterBed(t)
	n, e := &Network{}, &Events{}
	var excluded []Excluded
	var sessions []Session
	for i := range 1000 {
		excluded = append(excluded, Excluded{Node: fmt.Sprintf("node-%d", i), Why: "its speaker is not reachable"})
		sessions = append(sessions, Session{Node: fmt.Sprintf("node-%d", i), Peer: "198.51.100.1", State: "Established"})
	}
	for i := range 5000 {
		n.Addresses = append(n.Addresses, Address{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/256, i%256)}, Service: fmt.Sprintf("n/s%d", i), State: Announced, Excluded: excluded[:100], BGP: sessions[:100]})
	}
	for i := range 30_000 {
		e.Items = append(e.Items, Event{Type: "normal", Source: "fairlead-speaker", Kind: "service", Namespace: "n", Name: fmt.Sprintf("s%d", i), Reason: "nodeAssigned"})
	}
	b.source.network, b.source.events = n, e
	for _, path := range []string{"addresses?page=25", "addresses?page=99", "events?page=3"} {
		code, _, body := b.get(path)
		if code != 200 || len(body) > pageBytes {
			t.Errorf("%s: code %d, %d bytes", path, code, len(body))
		}
	}
}
