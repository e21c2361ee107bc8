package lb6

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/bgprouter"
	"github.com/fairlead/fairlead/test/netmonitor"
)

// ownerOf waits until a node answers for the address, and returns its name.
func (b *bed) ownerOf(addr netip.Addr) (owner string) {
	b.t.Helper()
	b.eventually(func() error {
		var err error
		owner, err = b.neighbour(addr)
		return err
	})
	return owner
}

// owns waits until the client's own table says that the node has the address,
// and the node serves it.
func (b *bed) owns(node string, addr netip.Addr) {
	b.t.Helper()
	b.eventually(func() error {
		owner, err := b.neighbour(addr)
		if err == nil && owner != node {
			err = fmt.Errorf("%s is at %s, want %s", addr, owner, node)
		}
		return err
	})
}

// neighbour makes a request and then looks up in the client's table of
// neighbours which node the address is at.
func (b *bed) neighbour(addr netip.Addr) (node string, err error) {
	if _, err := b.ask(addr); err != nil {
		return "", err
	}
	out, err := b.Exec(b.t.Context(), "client", "ip", "-json", "neigh", "show", addr.String())
	if err != nil {
		return "", err
	}
	var table []struct {
		Card string `json:"lladdr"`
	}
	if err := json.Unmarshal([]byte(out), &table); err != nil || len(table) != 1 {
		return "", fmt.Errorf("the client's neighbours: %w: %s", err, out)
	}
	return b.nodeWith(table[0].Card)
}

// alone asks for the address as a client would that has never heard of it, and
// checks that this node answers and no other.
func (b *bed) alone(addr netip.Addr, node string) error {
	out, err := b.Exec(b.t.Context(), "client", "ndisc6", "-q", "-m", "-r", "1", "-w", "1000", addr.String(), "eth0")
	if err != nil {
		return err
	}
	cards := strings.Fields(strings.ToLower(out))
	if len(cards) != 1 {
		return fmt.Errorf("%s is answered for by %q, want one card", addr, cards)
	}
	if owner, err := b.nodeWith(cards[0]); err != nil || owner != node {
		return fmt.Errorf("%s is answered for by %s, want %s: %w", addr, owner, node, err)
	}
	return nil
}

// said waits until the node, and no other, is said to announce the Service web.
func (b *bed) said(node string) {
	b.t.Helper()
	b.eventually(func() error {
		out, err := b.Kubectl(b.t.Context(), "-n", "metallb-system", "get", "servicel2statuses", "-l", "metallb.io/service-name=web",
			"-o", "jsonpath={.items[*].status.node}")
		if err == nil && out != node {
			err = fmt.Errorf("%q is said to announce, want %s", out, node)
		}
		return err
	})
}

// nodeWith returns the node that has the card.
func (b *bed) nodeWith(card string) (string, error) {
	for _, node := range b.Nodes() {
		out, err := b.Exec(b.t.Context(), node, "ip", "-json", "link", "show", "eth0")
		if err != nil {
			continue // off
		}
		var links []struct {
			Card string `json:"address"`
		}
		if err := json.Unmarshal([]byte(out), &links); err != nil {
			return "", fmt.Errorf("the card of %s: %w", node, err)
		}
		if len(links) == 1 && links[0].Card == card {
			return node, nil
		}
	}
	return "", fmt.Errorf("the card %q is of no node that runs", card)
}

// leadsTo waits until the router's kernel sends packets for the address to
// exactly these nodes.
func (b *bed) leadsTo(addr netip.Addr, nodes ...string) {
	b.t.Helper()
	of := b.Address
	if addr.Is6() {
		of = b.Address6
	}
	var want []string
	for _, n := range nodes {
		want = append(want, of(n))
	}
	slices.Sort(want)
	b.eventually(func() error {
		got, err := bgprouter.NextHops(b.t.Context(), b.Name()+"-tor", addr)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s leads to %v, want %v", addr, got, want)
		}
		return nil
	})
}

// watched sends requests to the addresses while do runs. None may be lost, but
// for those in whose midst an address moves, and each moves so many times at most.
func (b *bed) watched(addrs []netip.Addr, moves int, do func()) {
	b.t.Helper()
	var all []*netmonitor.Monitor
	for _, a := range addrs {
		w, err := netmonitor.Start(b.t.Context(), b.Cluster, netmonitor.Options{
			Target: netip.AddrPortFrom(a, 80).String(), Path: "/text", Hosts: b.Hosts(),
		})
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { _, _ = w.Stop() })
		all = append(all, w)
	}
	do()
	for i, w := range all {
		r, err := w.Stop()
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Logf("%s: %s", addrs[i], r)
		if bad := slices.Concat(r.Lost(), r.Slow()); len(bad) > 0 || len(r.Requests) == 0 {
			b.t.Errorf("of %d requests to %s, %d were lost and %d answered late", len(r.Requests), addrs[i], len(r.Lost()), len(r.Slow()))
			for _, q := range bad[:min(len(bad), 5)] {
				b.t.Logf("request at %s, after %v: %s\n%s", q.At.Format(time.StampMicro), q.Took, q.Error, strings.Join(q.Path, "\n"))
			}
			b.t.Log(strings.Join(r.Counters, "\n"))
		}
		if n := r.Moves(); n > moves {
			b.t.Errorf("the client turned to another host %d times for %s, allowed are %d: %v", n, addrs[i], moves, r.Sent)
		}
	}
}
