package allocator

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/service"
)

type poolOption func(*v1beta1.IPAddressPoolSpec)

func manual(s *v1beta1.IPAddressPoolSpec)       { no := false; s.AutoAssign = &no }
func withoutBuggy(s *v1beta1.IPAddressPoolSpec) { s.AvoidBuggyIPs = true }

func pinned(priority int, namespaces ...string) poolOption {
	return func(s *v1beta1.IPAddressPoolSpec) {
		s.AllocateTo = &v1beta1.ServiceAllocation{Priority: priority, Namespaces: namespaces}
	}
}

func forLabel(key, value string) poolOption {
	return func(s *v1beta1.IPAddressPoolSpec) {
		s.AllocateTo = &v1beta1.ServiceAllocation{ServiceSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{key: value}}}}
	}
}

func pool(name, addresses string, options ...poolOption) v1beta1.IPAddressPool {
	p := v1beta1.IPAddressPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	p.Spec.Addresses = strings.Fields(addresses)
	for _, o := range options {
		o(&p.Spec)
	}
	return p
}

func pools(t *testing.T, list ...v1beta1.IPAddressPool) *config.Config {
	t.Helper()
	cfg, findings := config.Parse(config.Resources{ProviderNamespace: "ns", Pools: list}, nil)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return cfg
}

func with(t *testing.T, list ...v1beta1.IPAddressPool) *Allocator {
	t.Helper()
	a := New()
	a.SetConfig(pools(t, list...))
	return a
}

func want(key string, change ...func(*service.Request)) service.Request {
	r := service.Request{
		Key: "default/" + key, Namespace: "default", Families: []service.Family{service.IPv4},
		Ports: []service.Port{{Protocol: "TCP", Number: 80}},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func asks(addrs ...string) func(*service.Request) {
	return func(r *service.Request) { r.Addresses = parse(addrs...) }
}

func dual(policy string) func(*service.Request) {
	return func(r *service.Request) {
		r.Families = []service.Family{service.IPv4, service.IPv6}
		r.Require, r.Prefer = policy == "require", policy == "prefer"
	}
}

func shares(key string, port int32) func(*service.Request) {
	return func(r *service.Request) {
		r.SharingKey, r.Ports = key, []service.Port{{Protocol: "TCP", Number: port}}
	}
}

func parse(addrs ...string) (out []netip.Addr) {
	for _, s := range addrs {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func text(o Outcome) string {
	var parts []string
	for _, addr := range o.Addresses {
		parts = append(parts, addr.String())
	}
	return strings.Join(parts, " ")
}

func TestChoice(t *testing.T) {
	t.Parallel()
	const p1, p2 = "198.18.1.0/30", "198.18.2.0/30"
	for _, tt := range []struct {
		name  string
		pools []v1beta1.IPAddressPool
		// taken are Services that come before.
		taken  []service.Request
		req    service.Request
		want   string
		reason string // a piece of the message if there is no address
	}{
		{name: "lowest address of the first pool by name", pools: []v1beta1.IPAddressPool{pool("b", p2), pool("a", p1)}, req: want("x"), want: "198.18.1.0"},
		{name: "entries in their order", pools: []v1beta1.IPAddressPool{pool("a", "198.18.9.0/30 198.18.1.0/30")}, req: want("x"), want: "198.18.9.0"},
		{name: "next free", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1"), want("2")}, req: want("x"), want: "198.18.1.2"},
		{name: "next pool", pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/32"), pool("b", p2)}, taken: []service.Request{want("1")}, req: want("x"), want: "198.18.2.0"},
		{name: "no .0 and no .255", pools: []v1beta1.IPAddressPool{pool("a", "198.18.0.255-198.18.1.9", withoutBuggy)}, req: want("x"), want: "198.18.1.1"},
		{name: "no pool at all", req: want("x"), reason: "there is no IPAddressPool"},
		{name: "full", pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/32")}, taken: []service.Request{want("1")}, req: want("x"), reason: `pool "a": IPv4 full (1/1)`},
		{name: "no such family", pools: []v1beta1.IPAddressPool{pool("a", "fd00::/126")}, req: want("x"), reason: `pool "a": no IPv4 addresses`},
		{name: "not auto-assigned", pools: []v1beta1.IPAddressPool{pool("a", p1, manual)}, req: want("x"), reason: "autoAssign: false"},
		{name: "asked for by name although not auto-assigned", pools: []v1beta1.IPAddressPool{pool("a", p1, manual)}, req: want("x", func(r *service.Request) { r.Pool = "a" }), want: "198.18.1.0"},
		{name: "unknown pool", pools: []v1beta1.IPAddressPool{pool("a", p1)}, req: want("x", func(r *service.Request) { r.Pool = "z" }), reason: `unknown pool "z"`},
		{name: "requested address", pools: []v1beta1.IPAddressPool{pool("a", p1)}, req: want("x", asks("198.18.1.2")), want: "198.18.1.2"},
		{name: "requested address of a manual pool", pools: []v1beta1.IPAddressPool{pool("a", p1, manual)}, req: want("x", asks("198.18.1.2")), want: "198.18.1.2"},
		{name: "requested address in no pool", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", "198.19.0.0/24")}, req: want("x", asks("198.18.1.9")), reason: `nearest is "a" with 198.18.1.0-198.18.1.3`},
		{name: "requested address that the pool avoids", pools: []v1beta1.IPAddressPool{pool("a", p1, withoutBuggy)}, req: want("x", asks("198.18.1.0")), reason: "avoids addresses that end in .0"},
		{name: "requested address in use", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1")}, req: want("x", asks("198.18.1.0")), reason: "in use by another service"},
		{name: "requested address of another family", pools: []v1beta1.IPAddressPool{pool("a", "fd00::/126")}, req: want("x", asks("fd00::1")), reason: "does not match the ipFamily"},
		{name: "requested address outside of the requested pool", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", p2)}, req: want("x", asks("198.18.1.1"), func(r *service.Request) { r.Pool = "b" }), reason: `not compatible with requested address pool "b"`},
		{name: "no cluster IP", pools: []v1beta1.IPAddressPool{pool("a", p1)}, req: want("x", func(r *service.Request) { r.Families = nil }), reason: "no cluster IP"},

		{name: "pinned before general", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", p2, pinned(0, "default"))}, req: want("x"), want: "198.18.2.0"},
		{name: "priority 1 before 2 before none", pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/32", pinned(0, "default")), pool("b", p2, pinned(2, "default")), pool("c", "198.18.3.0/30", pinned(1, "default"))}, req: want("x"), want: "198.18.3.0"},
		{name: "from a full pinned pool to a general one", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", "198.18.2.0/32", pinned(0, "default"))}, taken: []service.Request{want("1")}, req: want("x"), want: "198.18.1.0"},
		{name: "pinned to another namespace", pools: []v1beta1.IPAddressPool{pool("a", p1, pinned(0, "other"))}, req: want("x"), reason: `pool "a": not for namespace "default"`},
		{name: "pinned to another namespace, asked for by address", pools: []v1beta1.IPAddressPool{pool("a", p1, pinned(0, "other"))}, req: want("x", asks("198.18.1.1")), reason: `not for namespace "default"`},
		{name: "pinned to a label", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", p2, forLabel("app", "x"))}, req: want("x", func(r *service.Request) { r.Labels = labels.Set{"app": "x"} }), want: "198.18.2.0"},
		{name: "pinned to another label", pools: []v1beta1.IPAddressPool{pool("b", p2, forLabel("app", "x"))}, req: want("x"), reason: "not for services with these labels"},

		{name: "dual from one pool", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", "198.18.2.0/30 fd00::/126")}, req: want("x", dual("prefer")), want: "198.18.2.0 fd00::"},
		{name: "dual never from two pools", pools: []v1beta1.IPAddressPool{pool("a", p1), pool("b", "fd00::/126")}, req: want("x", dual("require")), reason: "no available IPs"},
		{name: "prefers dual, gets the primary family", pools: []v1beta1.IPAddressPool{pool("a", "fd00::/126"), pool("b", p2)}, req: want("x", dual("prefer")), want: "198.18.2.0"},
		{name: "single stack in a dual pool", pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30 fd00::/126")}, req: want("x"), want: "198.18.1.0"},

		{name: "shares the lowest address", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1"), want("2", shares("k", 80))}, req: want("x", shares("k", 81)), want: "198.18.1.1"},
		{name: "another key", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1", shares("k", 80))}, req: want("x", shares("l", 81)), want: "198.18.1.1"},
		{name: "same port", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1", shares("k", 80))}, req: want("x", shares("k", 80)), want: "198.18.1.1"},
		{name: "same port, asked for", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1", shares("k", 80))}, req: want("x", shares("k", 80), asks("198.18.1.0")), reason: "port TCP/80 is already in use"},
		{name: "other pods with policy Local", pools: []v1beta1.IPAddressPool{pool("a", p1)}, taken: []service.Request{want("1", shares("k", 80))}, req: want("x", shares("k", 81), func(r *service.Request) { r.BackendKey = "app=x" }, asks("198.18.1.0")), reason: "another externalTrafficPolicy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := with(t, tt.pools...)
			for _, r := range tt.taken {
				a.Converge(r, Held{}, nil)
			}
			out := a.Converge(tt.req, Held{}, nil)
			if got := text(out); got != tt.want {
				t.Fatalf("addresses %q, want %q (%s)", got, tt.want, out.Message)
			}
			if tt.want == "" && (out.Reason != api.ReasonAllocationFailed || !strings.Contains(out.Message, tt.reason)) {
				t.Errorf("%s %q does not say %q", out.Reason, out.Message, tt.reason)
			}
			if again := a.Converge(tt.req, Held{}, nil); text(again) != tt.want || again.Reason != out.Reason || again.Message != out.Message || again.Released {
				t.Errorf("the second answer differs: %+v, %+v", out, again)
			}
		})
	}
}

func TestKeepOrMove(t *testing.T) {
	t.Parallel()
	before := []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30"), pool("b", "198.18.2.0/30")}
	for _, tt := range []struct {
		name    string
		first   service.Request
		change  func(*service.Request)
		pools   []v1beta1.IPAddressPool // nil: as before
		problem *api.Finding
		want    string
		// moved says that others may now succeed.
		moved bool
	}{
		{name: "nothing changes", first: want("x"), want: "198.18.1.0"},
		{name: "another pool is asked for", first: want("x"), change: func(r *service.Request) { r.Pool = "b" }, want: "198.18.2.0", moved: true},
		{name: "its own pool is asked for", first: want("x"), change: func(r *service.Request) { r.Pool = "a" }, want: "198.18.1.0"},
		{name: "another address is asked for", first: want("x"), change: asks("198.18.2.3"), want: "198.18.2.3", moved: true},
		{name: "a request that cannot be read keeps the address", first: want("x"), problem: &api.Finding{Reason: api.ReasonLoadBalancerFailed}, want: "198.18.1.0"},
		{name: "its pool shrinks", first: want("x"), pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.2/31")}, want: "198.18.1.2", moved: true},
		{name: "its pool is renamed", first: want("x"), pools: []v1beta1.IPAddressPool{pool("z", "198.18.1.0/30")}, want: "198.18.1.0"},
		{name: "its pool is no longer auto-assigned", first: want("x"), pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30", manual)}, want: "198.18.1.0"},
		{name: "its pool is pinned to others", first: want("x"), pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30", pinned(0, "other")), pool("b", "198.18.2.0/30")}, want: "198.18.2.0", moved: true},
		{name: "all pools are gone", first: want("x"), pools: []v1beta1.IPAddressPool{}, moved: true},
		{name: "its family changes", first: want("x"), change: func(r *service.Request) { r.Families = []service.Family{service.IPv6} }, moved: true},
		{name: "its sharing key changes", first: want("x"), change: shares("k", 80), want: "198.18.1.0", moved: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := with(t, before...)
			a.Converge(tt.first, Held{}, nil)
			if tt.pools != nil {
				a.SetConfig(pools(t, tt.pools...))
			}
			req := tt.first
			if tt.change != nil {
				tt.change(&req)
			}
			out := a.Converge(req, Held{}, tt.problem)
			if got := text(out); got != tt.want || out.Released != tt.moved {
				t.Errorf("addresses %q, released %v; want %q, %v (%+v)", got, out.Released, tt.want, tt.moved, out.Notes)
			}
		})
	}
}

func TestSecondFamilyIsAdded(t *testing.T) {
	t.Parallel()
	a := with(t, pool("a", "198.18.1.0/30"))
	req := want("x", dual("prefer"))
	if got := text(a.Converge(req, Held{}, nil)); got != "198.18.1.0" {
		t.Fatal(got)
	}
	a.SetConfig(pools(t, pool("a", "198.18.1.0/30 fd00::/126")))
	if got := text(a.Converge(req, Held{}, nil)); got != "198.18.1.0 fd00::" {
		t.Fatal(got)
	}
}

func TestRestartRenumbersNobody(t *testing.T) {
	t.Parallel()
	cfg := []v1beta1.IPAddressPool{pool("a", "198.18.1.0/28")}
	a := with(t, cfg...)
	status := map[string]Held{}
	for i := range 10 {
		key := fmt.Sprint(i)
		status[key] = Held{Addresses: a.Converge(want(key), Held{}, nil).Addresses, Ours: true}
	}
	for _, gone := range []string{"0", "4", "7"} { // deleted while nobody watched
		delete(status, gone)
	}
	b := with(t, cfg...)
	for key, held := range status { // in any order
		if out := b.Converge(want(key), held, nil); !cmp.Equal(out.Addresses, held.Addresses, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })) || len(out.Notes) > 0 {
			t.Errorf("service %s: %v became %v: %v", key, held.Addresses, out.Addresses, out.Notes)
		}
	}
	if got := text(b.Converge(want("new"), Held{}, nil)); got != "198.18.1.0" {
		t.Errorf("a new service got %s", got)
	}
}

func TestAddressesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	a := with(t, pool("a", "198.18.1.0/30"))
	held := Held{Addresses: parse("198.19.0.1")}
	if out := a.Converge(want("x"), held, nil); !out.Foreign || out.Reason != api.ReasonNotOurAddress {
		t.Errorf("foreign address: %+v", out)
	}
	held.Ours = true
	if out := a.Converge(want("x"), held, nil); out.Foreign || text(out) != "198.18.1.0" {
		t.Errorf("own address of a pool that is gone: %+v", out)
	}
	if out := a.Converge(want("y"), Held{Addresses: parse("198.18.1.2")}, nil); text(out) != "198.18.1.2" {
		t.Errorf("address in a pool, whoever wrote it: %+v", out)
	}
}

func TestTwoHoldersOfOneAddress(t *testing.T) {
	t.Parallel()
	a := with(t, pool("a", "198.18.1.0/30"))
	held := Held{Addresses: parse("198.18.1.0"), Ours: true}
	first, second := a.Converge(want("old"), held, nil), a.Converge(want("young"), held, nil)
	if text(first) != "198.18.1.0" || text(second) != "198.18.1.1" {
		t.Errorf("first %v, second %v", first, second)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	a := with(t, pool("a", "198.18.1.0/24 198.18.2.0/25", withoutBuggy), pool("b", "198.18.3.0/30 fd00::/126"), pool("c", "fc00::/8 fd00:1::/126"))
	a.Converge(want("1"), Held{}, nil)
	a.Converge(want("2", asks("198.18.3.1"), shares("k", 80)), Held{}, nil)
	a.Converge(want("3", asks("198.18.3.1"), shares("k", 81)), Held{}, nil)
	got := a.Usage()
	if diff := cmp.Diff(map[string]Usage{
		"a": {AssignedIPv4: 1, AvailableIPv4: 380, Services: 1},
		"b": {AssignedIPv4: 1, AvailableIPv4: 3, AvailableIPv6: 4, Services: 2},
	}, map[string]Usage{"a": got["a"], "b": got["b"]}); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func TestManyServicesStayFast(t *testing.T) {
	t.Parallel()
	a := with(t, pool("a", "198.18.0.0/16"))
	// Quadratic work would exceed the limit that the race detector allows as well.
	timer := time.AfterFunc(5*time.Second, func() { t.Error("10,000 services took more than 5 s") })
	defer timer.Stop()
	for i := range 10_000 {
		key := fmt.Sprint(i)
		if out := a.Converge(want(key), Held{}, nil); len(out.Addresses) != 1 {
			t.Fatal(out)
		}
		a.Converge(want(key), Held{}, nil) // as the write of its status does
	}
}
