package allocator

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// turn is one step of a history: new pools, or a Service as it is now.
type turn struct {
	pools []v1beta1.IPAddressPool
	req   *service.Request
	gone  string
	// want is what the Service has then; reason is the outcome's, if it matters.
	want   string
	reason api.Reason
	says   string
}

func asked(key string, change ...func(*service.Request)) *service.Request {
	r := want(key, change...)
	return &r
}

func v6only(r *service.Request)  { r.Families = []service.Family{service.IPv6} }
func v6first(r *service.Request) { r.Families = []service.Family{service.IPv6, service.IPv4} }
func prefersAlone(r *service.Request) {
	r.Prefer = true
}

func local(backend string) func(*service.Request) {
	return func(r *service.Request) { r.BackendKey = backend }
}

func in(namespace string) func(*service.Request) {
	return func(r *service.Request) {
		r.Key, r.Namespace = namespace+strings.TrimPrefix(r.Key, r.Namespace), namespace
	}
}

func play(t *testing.T, history []turn) {
	t.Helper()
	a := New()
	for i, turn := range history {
		if turn.pools != nil {
			a.SetConfig(pools(t, turn.pools...))
		}
		if turn.gone != "" {
			a.Release(turn.gone)
		}
		if turn.req == nil {
			continue
		}
		out := a.Converge(*turn.req, Held{}, nil)
		if got := text(out); got != turn.want || turn.reason != "" && out.Reason != turn.reason || !says(out, turn.says) {
			t.Fatalf("turn %d: %q, %s %q; want %q, %s %q\nnotes: %+v", i, got, out.Reason, out.Message, turn.want, turn.reason, turn.says, out.Notes)
		}
		consistent(t, a)
	}
}

func says(out Outcome, text string) bool {
	for _, n := range out.Notes {
		if strings.Contains(n.Message, text) {
			return true
		}
	}
	return strings.Contains(out.Message, text)
}

// consistent checks what must always hold: counts equal what they count, and
// who shares an address agrees on the terms.
func consistent(t *testing.T, a *Allocator) {
	t.Helper()
	fresh := New()
	fresh.slots, fresh.holdings = a.slots, a.holdings
	fresh.SetConfig(a.cfg)
	for pool, u := range fresh.usage {
		if a.usage[pool] != u {
			t.Fatalf("usage of %q is %+v, should be %+v", pool, a.usage[pool], u)
		}
	}
	users := 0
	for addr, s := range a.slots {
		users += len(s.users)
		if len(s.users) > 1 && s.sharingKey == "" {
			t.Fatalf("%s is used by %v without a key", addr, s.users)
		}
		for user := range s.users {
			if h := a.holdings[user]; h == nil || h.sharingKey != s.sharingKey || h.backend != s.backend {
				t.Fatalf("%s: %s has other terms", addr, user)
			}
		}
		if a.shared[s.sharingKey][addr] != (s.sharingKey != "") {
			t.Fatalf("%s is not found by its key", addr)
		}
	}
	for _, h := range a.holdings {
		users -= len(h.addrs)
	}
	if users != 0 {
		t.Fatalf("holders and addresses differ by %d", users)
	}
}

func TestDualStack(t *testing.T) {
	t.Parallel()
	both := pool("both", "198.18.3.0/30 fd00:3::/126")
	four, six := pool("four", "198.18.4.0/30"), pool("six", "fd00:6::/126")
	list := func(p ...v1beta1.IPAddressPool) []v1beta1.IPAddressPool { return p }
	for name, history := range map[string][]turn{
		"v4, single":               {{pools: list(both), req: asked("x"), want: "198.18.3.0"}},
		"v4, prefers dual":         {{pools: list(both), req: asked("x", prefersAlone), want: "198.18.3.0"}},
		"v6, single":               {{pools: list(both), req: asked("x", v6only), want: "fd00:3::"}},
		"requires, dual pool":      {{pools: list(both), req: asked("x", dual("require")), want: "198.18.3.0 fd00:3::"}},
		"requires, never two":      {{pools: list(four, six), req: asked("x", dual("require")), reason: api.ReasonAllocationFailed, says: `pool "four": no IPv6 addresses; pool "six": no IPv4 addresses`}},
		"requires, one cluster IP": {{pools: list(both), req: asked("x", func(r *service.Request) { r.Require = true }), reason: api.ReasonNotEnoughClusterIPs}},
		"prefers, dual pool sorts later": {
			{pools: list(pool("a", "198.18.1.0/30"), both), req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
		},
		"prefers, two single pools":            {{pools: list(four, six), req: asked("x", dual("prefer")), want: "198.18.4.0"}},
		"prefers, two single pools, v6 first":  {{pools: list(four, six), req: asked("x", dual("prefer"), v6first), want: "fd00:6::"}},
		"prefers, only the other family there": {{pools: list(six), req: asked("x", dual("prefer")), want: "fd00:6::"}},
		"prefers, the pool gains v6": {
			{pools: list(four), req: asked("x", dual("prefer")), want: "198.18.4.0"},
			{pools: list(pool("four", "198.18.4.0/30 fd00:4::/126")), req: asked("x", dual("prefer")), want: "198.18.4.0 fd00:4::", says: `Assigned additional IP "fd00:4::"`},
		},
		"prefers, another dual pool appears": {
			{pools: list(four), req: asked("x", dual("prefer")), want: "198.18.4.0"},
			{pools: list(four, both), req: asked("x", dual("prefer")), want: "198.18.4.0", says: `no IPv6 address beside "198.18.4.0"`},
		},
		"prefers, the pool loses v6": {
			{pools: list(both), req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
			{pools: list(pool("both", "198.18.3.0/30"), pool("other", "198.18.5.0/30 fd00:5::/126")), req: asked("x", dual("prefer")), want: "198.18.5.0 fd00:5::"},
		},
		"prefers, the pool loses v6, no other": {
			{pools: list(both), req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
			{pools: list(pool("both", "198.18.3.0/30")), req: asked("x", dual("prefer")), want: "198.18.3.0"},
		},
		"requires, the pool loses v6": {
			{pools: list(both), req: asked("x", dual("require")), want: "198.18.3.0 fd00:3::"},
			{pools: list(pool("both", "198.18.3.0/30")), req: asked("x", dual("require")), reason: api.ReasonAllocationFailed},
		},
		"requires becomes prefers": {
			{pools: list(both), req: asked("x", dual("require")), want: "198.18.3.0 fd00:3::"},
			{req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
		},
		"single becomes prefers": {
			{pools: list(both), req: asked("x"), want: "198.18.3.0"},
			{req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
		},
		"single becomes requires": {
			{pools: list(both), req: asked("x"), want: "198.18.3.0"},
			{req: asked("x", dual("require")), want: "198.18.3.0 fd00:3::"},
		},
		"prefers becomes single": {
			{pools: list(both), req: asked("x", dual("prefer")), want: "198.18.3.0 fd00:3::"},
			{req: asked("x"), want: "198.18.3.0", reason: api.ReasonIPAllocated},
		},
		"a dual service asks for one address": {
			{pools: list(both), req: asked("x", dual("prefer"), asks("198.18.3.1")), reason: api.ReasonAllocationFailed, says: "does not match the ipFamily of the service"},
		},
		"a dual service asks for both": {
			{pools: list(both), req: asked("x", dual("require"), asks("198.18.3.1", "fd00:3::2")), want: "198.18.3.1 fd00:3::2"},
		},
		"a dual service asks for addresses of two pools": {
			{pools: list(four, six), req: asked("x", dual("prefer"), asks("198.18.4.1", "fd00:6::1")), reason: api.ReasonAllocationFailed, says: "the addresses are not all in one pool"},
		},
		"no cluster IP with a family": {
			{pools: list(both), req: asked("x"), want: "198.18.3.0"},
			{req: asked("x", func(r *service.Request) { r.Families, r.Headless = nil, true }), want: "198.18.3.0", reason: api.ReasonClusterFamily},
			{req: asked("y", func(r *service.Request) { r.Families, r.Headless = nil, true }), reason: api.ReasonClusterFamily},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, history)
		})
	}
}

func TestSharing(t *testing.T) {
	t.Parallel()
	one := []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30")}
	scoped := pool("a", "198.18.1.0/30")
	scoped.Annotations = map[string]string{api.AnnotationSharingScope: "namespace"}
	const low, next = "198.18.1.0", "198.18.1.1"
	for name, history := range map[string][]turn{
		"same key, other ports":      {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", shares("k", 81)), want: low}},
		"same key, same port":        {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", shares("k", 80)), want: next}},
		"no key":                     {{pools: one, req: asked("1"), want: low}, {req: asked("2", shares("k", 81)), want: next}},
		"Local with the same pods":   {{pools: one, req: asked("1", shares("k", 80), local("app=x")), want: low}, {req: asked("2", shares("k", 81), local("app=x")), want: low}},
		"Local with other pods":      {{pools: one, req: asked("1", shares("k", 80), local("app=x")), want: low}, {req: asked("2", shares("k", 81), local("app=y")), want: next}},
		"Local and Cluster":          {{pools: one, req: asked("1", shares("k", 80), local("app=x")), want: low}, {req: asked("2", shares("k", 81)), want: next}},
		"Local without a selector":   {{pools: one, req: asked("1", shares("k", 80), local("")), want: low}, {req: asked("2", shares("k", 81)), want: low}},
		"requested, without the key": {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", asks(low)), reason: api.ReasonAllocationFailed, says: "not both of them have the annotation"}},
		"requested, another key":     {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", shares("l", 81), asks(low)), reason: api.ReasonAllocationFailed, says: "another value of"}},
		"requested, same port":       {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", shares("k", 80), asks(low)), reason: api.ReasonAllocationFailed, says: "port TCP/80 is already in use"}},
		"the sole user changes its key": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("1", shares("l", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: next},
			{req: asked("3", shares("l", 82)), want: low},
		},
		"one of two changes its key": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: low},
			{req: asked("1", shares("l", 80)), want: next, reason: api.ReasonIPAllocated, says: "is taken back"},
			{req: asked("2", shares("k", 81)), want: low},
		},
		"one of two takes a port of the other": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: low},
			{req: asked("2", shares("k", 80)), want: next},
		},
		"one of two becomes Local": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: low},
			{req: asked("2", shares("k", 81), local("app=x")), want: next},
		},
		"a port that is free again": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: low},
			{req: asked("1", shares("k", 90)), want: low},
			{req: asked("3", shares("k", 80)), want: low},
		},
		"the last user goes": {
			{pools: one, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81)), want: low},
			{gone: "default/1"},
			{req: asked("3"), want: next},
			{gone: "default/2"},
			{req: asked("4"), want: low},
		},
		"another namespace": {{pools: one, req: asked("1", shares("k", 80)), want: low}, {req: asked("2", shares("k", 81), in("other")), want: low}},
		"another namespace, with which the pool does not share": {
			{pools: []v1beta1.IPAddressPool{scoped}, req: asked("1", shares("k", 80)), want: low},
			{req: asked("2", shares("k", 81), in("other")), want: next},
			{req: asked("3", shares("k", 82), in("other"), asks(low)), reason: api.ReasonAllocationFailed, says: "of another namespace"},
			{req: asked("4", shares("k", 83)), want: low},
		},
		"both families are shared": {
			{pools: []v1beta1.IPAddressPool{pool("a", "198.18.1.0/30 fd00::/126")}, req: asked("1", shares("k", 80), dual("require")), want: "198.18.1.0 fd00::"},
			{req: asked("2", shares("k", 81), dual("require")), want: "198.18.1.0 fd00::"},
			{req: asked("3", shares("k", 81), dual("require")), want: "198.18.1.1 fd00::1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, history)
		})
	}
}

func TestPoolsOverTime(t *testing.T) {
	t.Parallel()
	one := func(p ...v1beta1.IPAddressPool) []v1beta1.IPAddressPool { return p }
	favourite := pool("z", "198.18.9.0/30")
	favourite.Annotations = map[string]string{api.AnnotationDefaultPool: "true"}
	for name, history := range map[string][]turn{
		"split": {
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("1"), want: "198.18.1.0"},
			{req: asked("2"), want: "198.18.1.1"},
			{pools: one(pool("b", "198.18.1.0/32"), pool("c", "198.18.1.1-198.18.1.3")), req: asked("2"), want: "198.18.1.1", says: `from pool "c"`},
			{req: asked("1"), want: "198.18.1.0", says: `from pool "b"`},
		},
		"merge": {
			{pools: one(pool("b", "198.18.1.0/32"), pool("c", "198.18.1.1/32")), req: asked("1"), want: "198.18.1.0"},
			{req: asked("2"), want: "198.18.1.1"},
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("2"), want: "198.18.1.1"},
			{req: asked("1"), want: "198.18.1.0"},
		},
		"removed, another is there": {
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("1"), want: "198.18.1.0"},
			{pools: one(pool("b", "198.18.2.0/30")), req: asked("1"), want: "198.18.2.0", says: "is taken back"},
		},
		"removed and back again": {
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("1"), want: "198.18.1.0"},
			{pools: []v1beta1.IPAddressPool{}, req: asked("1"), reason: api.ReasonAllocationFailed},
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("1"), want: "198.18.1.0"},
		},
		"avoids .0 from now on": {
			{pools: one(pool("a", "198.18.1.0/30")), req: asked("1"), want: "198.18.1.0"},
			{pools: one(pool("a", "198.18.1.0/30", withoutBuggy)), req: asked("1"), want: "198.18.1.1"},
		},
		"priority changes": {
			{pools: one(pool("a", "198.18.1.0/30", pinned(1, "default")), pool("b", "198.18.2.0/30", pinned(2, "default"))), req: asked("1"), want: "198.18.1.0"},
			{pools: one(pool("a", "198.18.1.0/30", pinned(2, "default")), pool("b", "198.18.2.0/30", pinned(1, "default"))), req: asked("1"), want: "198.18.1.0"},
			{req: asked("2"), want: "198.18.2.0"},
		},
		"equal priorities, by name": {
			{pools: one(pool("b", "198.18.2.0/30", pinned(1, "default")), pool("a", "198.18.1.0/30", pinned(1, "default"))), req: asked("1"), want: "198.18.1.0"},
		},
		"the default pool comes first": {
			{pools: one(pool("a", "198.18.1.0/30"), favourite), req: asked("1"), want: "198.18.9.0"},
		},
		"a pinned pool comes before the default one": {
			{pools: one(pool("a", "198.18.1.0/30", pinned(0, "default")), favourite), req: asked("1"), want: "198.18.1.0"},
		},
		"pinned pools never serve others": {
			{pools: one(pool("a", "198.18.1.0/32"), pool("b", "198.18.2.0/30", pinned(0, "shop"))), req: asked("1"), want: "198.18.1.0"},
			{req: asked("2"), reason: api.ReasonAllocationFailed, says: `pool "b": not for namespace "default"; pool "a": IPv4 full (1/1)`},
			{req: asked("3", in("shop")), want: "198.18.2.0"},
		},
		"a freed address is given again": {
			{pools: one(pool("a", "198.18.1.0/31")), req: asked("1"), want: "198.18.1.0"},
			{req: asked("2"), want: "198.18.1.1"},
			{req: asked("3"), reason: api.ReasonAllocationFailed},
			{gone: "default/1"},
			{req: asked("3"), want: "198.18.1.0"},
		},
		"the pool annotation with an address of another pool": {
			{pools: one(pool("a", "198.18.1.0/30"), pool("b", "198.18.2.0/30")), req: asked("1", asks("198.18.1.1"), func(r *service.Request) { r.Pool = "b" }), reason: api.ReasonAllocationFailed, says: `not compatible with requested address pool "b"`},
		},
		"the pool annotation and a pool for others": {
			{pools: one(pool("a", "198.18.1.0/30", pinned(0, "shop"))), req: asked("1", func(r *service.Request) { r.Pool = "a" }), reason: api.ReasonAllocationFailed, says: `not for namespace "default"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, history)
		})
	}
}

func TestStatusOfOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		status  Held
		foreign bool
		want    string
		reason  api.Reason
	}{
		{name: "in a pool, whoever wrote it", status: Held{Addresses: parse("198.18.1.2")}, want: "198.18.1.2"},
		{name: "in no pool, not ours", status: Held{Addresses: parse("198.19.0.1")}, foreign: true, reason: api.ReasonNotOurAddress},
		{name: "in no pool, ours", status: Held{Addresses: parse("198.19.0.1"), Ours: true}, want: "198.18.1.0"},
		{name: "a cloud's host name", status: Held{Names: true}, foreign: true, reason: api.ReasonNotOurAddress},
		{name: "a host name over our annotation", status: Held{Names: true, Ours: true}, want: "198.18.1.0"},
		{name: "two addresses of one family", status: Held{Addresses: parse("198.18.1.1", "198.18.1.2")}, want: "198.18.1.0", reason: api.ReasonStatusFamily},
		{name: "one address in a pool, one in none", status: Held{Addresses: parse("198.18.1.1", "fd00::1")}, want: "198.18.1.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := with(t, pool("a", "198.18.1.0/30")).Converge(want("x"), tt.status, nil)
			noted := tt.reason == ""
			for _, n := range out.Notes {
				noted = noted || n.Reason == tt.reason
			}
			if text(out) != tt.want || out.Foreign != tt.foreign || !noted {
				t.Errorf("%q, foreign %v, notes %+v; want %q, %v, %s", text(out), out.Foreign, out.Notes, tt.want, tt.foreign, tt.reason)
			}
		})
	}
}

// FuzzHistory plays random histories: whatever happens, two Services that do
// not share never have one address, counts are right, and a holder that still
// fits never moves.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252, 253, 254, 255})
	f.Add([]byte("the quick brown fox jumps over the lazy dog"))
	configs := [][]v1beta1.IPAddressPool{
		{pool("a", "198.18.1.0/30")},
		{pool("a", "198.18.1.0/31 fd00::/127"), pool("b", "198.18.2.0/30", pinned(1, "default"))},
		{pool("c", "198.18.1.0-198.18.1.2 fd00::/126", withoutBuggy)},
		{},
		{pool("a", "198.18.1.0/30", manual)},
	}
	f.Fuzz(func(t *testing.T, history []byte) {
		a := New()
		for i := 0; i+1 < len(history) && i < 200; i += 2 {
			what, how := history[i], history[i+1]
			key := string(rune('a' + what%6))
			switch {
			case what >= 250:
				a.SetConfig(pools(t, configs[int(how)%len(configs)]...))
			case what >= 240:
				a.Release("default/" + key)
			default:
				req := want(key)
				if how&1 != 0 {
					shares("k", int32(80+how>>5))(&req)
				}
				if how&2 != 0 {
					dual([]string{"prefer", "require"}[how>>2&1])(&req)
				}
				if how&8 != 0 {
					asks("198.18.1.1")(&req)
				}
				out := a.Converge(req, Held{}, nil)
				again := a.Converge(req, Held{}, nil)
				if text(out) != text(again) || again.Released {
					t.Fatalf("%+v, then %+v", out, again)
				}
			}
			consistent(t, a)
		}
	})
}
