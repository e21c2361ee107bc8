package lb6

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/bgprouter"
)

// TestDualStack walks docs/lb/dual-stack.md. Its steps build on each other; the
// last one takes a node away.
func TestDualStack(t *testing.T) {
	if shared == nil {
		t.Skip(skipped)
	}
	if why := bgprouter.Missing(); why != "" {
		t.Skip(why)
	}
	b := newBed(t, shared)
	page := b.page("docs/lb/dual-stack.md")
	b.apply(page["yaml"][0] + echo)
	b.kubectl("-n", "demo", "rollout", "status", "daemonset/web", "--timeout=90s")

	b.step(t, "addresses", b.addresses)
	b.step(t, "neighbour discovery", b.neighbours)
	b.step(t, "handover", b.handover)
	b.startRouter(page["frr"][0])
	b.apply(page["yaml"][1])
	b.apply(service("routed", "annotations: {metallb.io/address-pool: routed}", "ipFamilyPolicy: RequireDualStack"))
	b.step(t, "BGP over IPv6", b.twoSessions)
	b.step(t, "BGP of IPv6 over IPv4", b.oneSession)
	b.step(t, "power", b.power)
}

// addresses: Services get addresses of the families that they have, and those
// that they ask for.
func (b *bed) addresses() {
	lan4, lan6 := b.free()
	b.apply(service("asking", fmt.Sprintf("annotations: {metallb.io/loadBalancerIPs: '%s, %s'}", lan4[1], lan6[1]), "ipFamilyPolicy: RequireDualStack"))
	b.apply(service("six", "", "ipFamilies: [IPv6]"))
	b.apply(service("four", "", "ipFamilies: [IPv4]"))
	b.apply(service("half", fmt.Sprintf("annotations: {metallb.io/loadBalancerIPs: '%s'}", lan6[0]), "ipFamilyPolicy: RequireDualStack"))
	for _, tt := range []struct {
		name, families string
	}{{"web", "46"}, {"asking", "46"}, {"six", "6"}, {"four", "4"}} {
		addrs := b.addressesOf(tt.name)
		got := ""
		for _, a := range addrs {
			got += map[bool]string{true: "4", false: "6"}[a.Is4()]
		}
		if got != tt.families {
			b.t.Errorf("service %s has %v, want families %s", tt.name, addrs, tt.families)
		}
		for _, a := range addrs {
			b.served(a)
		}
	}
	if got := b.addressesOf("asking"); got[0] != lan4[1] || got[1] != lan6[1] {
		b.t.Errorf("service asking has %v, want %v %v", got, lan4[1], lan6[1])
	}
	b.eventually(func() error {
		out, err := b.Kubectl(b.t.Context(), "-n", "demo", "describe", "service", "half")
		if err == nil && !strings.Contains(out, "does not match the ipFamily of the service") {
			err = errors.New("service half does not say that it asks for one family of two:\n" + out)
		}
		return err
	})
	b.kubectl("-n", "demo", "delete", "service", "half", "four", "six", "asking")
}

// neighbours: one node answers for both addresses of a Service, by what ndisc6
// hears and by what the client's own table says after a connection.
func (b *bed) neighbours() {
	addrs := b.addressesOf("web")
	owner := b.ownerOf(addrs[0])
	b.owns(owner, addrs[1])
	b.eventually(func() error { return b.alone(addrs[1], owner) })
	b.said(owner)
}

// handover: a node that is drained hands both addresses over, and gets them back
// unless they are to stay. No request is lost by that.
func (b *bed) handover() {
	addrs := b.addressesOf("web")
	owner := b.ownerOf(addrs[1])
	b.watched(addrs, 2, func() { b.awayAndBack(addrs, owner) })
}

func (b *bed) awayAndBack(addrs []netip.Addr, owner string) {
	b.kubectl("annotate", "node", owner, "lb.fairlead.dev/drain=new memory")
	for _, a := range addrs {
		b.owns(b.other(owner), a)
	}
	b.eventually(func() error { return b.alone(addrs[1], b.other(owner)) })
	b.said(b.other(owner)) // what stays goes by what all nodes can read
	b.kubectl("-n", "metallb-system", "annotate", "l2advertisement", "office", "fairlead.dev/preempt=false")
	b.kubectl("annotate", "node", owner, "lb.fairlead.dev/drain-")
	for start := time.Now(); time.Since(start) < 2*time.Second; { // long enough to move, were it not to stay
		for _, a := range addrs {
			b.owns(b.other(owner), a)
		}
	}
	b.kubectl("-n", "metallb-system", "annotate", "l2advertisement", "office", "fairlead.dev/preempt-")
	for _, a := range addrs {
		b.owns(owner, a)
	}
}

// twoSessions: a session for each family, both watched by BFD.
func (b *bed) twoSessions() {
	addrs := b.addressesOf("routed")
	b.sessions(map[string]string{"tor-v4": "Established/Up", "tor-v6": "Established/Up"})
	b.paths(addrs[0], b.Address)
	b.paths(addrs[1], b.Address6)
	for _, a := range addrs {
		b.leadsTo(a, b.Nodes()...)
		b.spread(a)
	}
}

// oneSession: the session over IPv4 carries IPv6 as well, when the other is gone.
func (b *bed) oneSession() {
	b.kubectl("-n", "metallb-system", "delete", "bgppeer", "tor-v6")
	b.kubectl("-n", "metallb-system", "patch", "bgppeer", "tor-v4", "--type=merge", "-p", `{"spec":{"dualStackAddressFamily":true}}`)
	b.sessions(map[string]string{"tor-v4": "Established/Up"})
	addrs := b.addressesOf("routed")
	for _, a := range addrs {
		b.paths(a, b.Address) // the neighbour's address, not the next hop's
		b.leadsTo(a, b.Nodes()...)
		b.spread(a)
	}
}

// power: after a node has died, the other answers for everything.
func (b *bed) power() {
	web, routed := b.addressesOf("web"), b.addressesOf("routed")
	dead := b.ownerOf(web[1])
	alive := b.other(dead)
	if err := b.StopNode(b.t.Context(), dead); err != nil {
		b.t.Fatal(err)
	}
	for _, a := range web {
		b.owns(alive, a)
	}
	for _, a := range routed {
		b.leadsTo(a, alive)
	}
	for _, a := range append(web, routed...) {
		b.served(a)
	}
}

// other returns the other node.
func (b *bed) other(node string) string {
	for _, n := range b.Nodes() {
		if n != node {
			return n
		}
	}
	b.t.Fatal("there is one node only")
	return ""
}

// free returns two addresses of each family that Services may ask for.
func (b *bed) free() (v4, v6 [2]netip.Addr) {
	last := func(span string) [2]netip.Addr {
		_, end, _ := strings.Cut(span, "-")
		a := netip.MustParseAddr(end)
		return [2]netip.Addr{a.Prev(), a}
	}
	return last(b.AddressRange()), last(b.AddressRange6())
}
