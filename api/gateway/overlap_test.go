package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// TestOverlaps: random listeners of a Gateway and of ListenerSets overlap with those of other
// objects as a look at each pair says.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	hosts := []string{"", "a.test", "b.a.test", "c.b.a.test", "*.test", "*.a.test", "*.b.a.test", "other", "*.other"}
	meet := func(a, b string) bool {
		covers := func(pattern, host string) bool {
			return pattern == "" || pattern == host || strings.HasPrefix(pattern, "*.") && strings.HasSuffix(host, pattern[1:])
		}
		return covers(a, b) || covers(b, a)
	}
	some := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		listeners := func() string {
			var all []string
			for i := range 1 + r.IntN(3) {
				protocol := []string{"HTTPS", "HTTPS", "HTTPS", "HTTP", "TLS"}[r.IntN(5)]
				all = append(all, fmt.Sprintf("{name: l%d, port: %d, protocol: %s, hostname: %q}", i, 443+r.IntN(2), protocol, hosts[r.IntN(len(hosts))]))
			}
			return "[" + strings.Join(all, ", ") + "]"
		}
		g := gatewayOf(t, allowing+listeners())
		var sets []*gatewayv1.ListenerSet
		for i := range r.IntN(4) {
			sets = append(sets, setOf(t, "b", fmt.Sprintf("s%d", i), i, listeners()))
		}
		j := gateway.Join(g, sets, namespaceLabels)
		type one struct {
			object string
			l      gatewayv1.Listener
			is     bool
		}
		var all []one
		note := func(object string, specs []gatewayv1.Listener, verdicts []gateway.ListenerVerdict, overlaps []bool) {
			for i, l := range specs {
				is := overlaps != nil && overlaps[i]
				if l.Protocol == gatewayv1.HTTPSProtocolType && verdicts[i].Accepted() {
					all = append(all, one{object, l, is})
				} else if is {
					t.Errorf("seed %d: %s of %s, which is not served by HTTPS, overlaps", seed, l.Name, object)
				}
			}
		}
		note("", g.Spec.Listeners, j.Own, j.OwnOverlaps)
		for i := range j.Sets {
			note(j.Sets[i].Set.Name, j.Sets[i].Entries, j.Sets[i].Listeners, j.Sets[i].Overlaps)
		}
		for _, a := range all {
			want := false
			for _, b := range all {
				want = want || a.object != b.object && a.l.Port == b.l.Port && meet(string(*a.l.Hostname), string(*b.l.Hostname))
			}
			if want {
				some++
			}
			if a.is != want {
				t.Errorf("seed %d: listener %s of %q (%s at %d) overlaps: %t, want %t of %+v", seed, a.l.Name, a.object, *a.l.Hostname, a.l.Port, a.is, want, all)
			}
		}
	}
	if some == 0 {
		t.Error("none of the listeners overlap")
	}
}

// TestAgain: verdicts with the help of earlier ones are those without, whatever has changed.
func TestAgain(t *testing.T) {
	t.Parallel()
	host := func(r *rand.Rand) string { return []string{"a.test", "b.test", "*.test", "A.test", "x y"}[r.IntN(5)] }
	set := func(r *rand.Rand, name string) *gatewayv1.ListenerSet {
		return setOf(t, []string{"a", "b"}[r.IntN(2)], name, r.IntN(3), fmt.Sprintf("[{name: l, port: %d, protocol: %s, hostname: %q}]", 443+r.IntN(2), []string{"HTTPS", "HTTP"}[r.IntN(2)], host(r)))
	}
	listener := func(r *rand.Rand) *gatewayv1.Gateway {
		return gatewayOf(t, allowing+fmt.Sprintf("[{name: x, port: 443, protocol: HTTPS, hostname: %q}]", host(r)))
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		g, sets := listener(r), []*gatewayv1.ListenerSet{set(r, "s0"), set(r, "s1"), set(r, "s2")}
		var j *gateway.Joint
		for range 10 {
			j = j.Again(g, sets, namespaceLabels)
			fresh := gateway.Join(g, sets, namespaceLabels)
			if diff := cmp.Diff(verdictsOf(fresh), verdictsOf(j)); diff != "" || len(j.Changed(fresh)) > 0 || j.OwnChanged(fresh) {
				t.Fatalf("seed %d: %s", seed, diff)
			}
			switch r.IntN(3) {
			case 0:
				g = listener(r)
			default:
				n := r.IntN(len(sets))
				sets[n] = set(r, fmt.Sprintf("s%d", n))
			}
		}
	}
}
