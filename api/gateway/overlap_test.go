package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

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
