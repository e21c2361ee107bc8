package admit_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// TestGuardsFollow: whatever comes and goes in a scope, a host is guarded where its own paths or
// those of hosts that share requests with it protect different things, and each host whose
// answer changes is named.
func TestGuardsFollow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	hosts := []string{"*", "*.test", "*.a.test", "a.test", "b.test", "x.a.test", "y.x.a.test", "other"}
	g, all := admit.NewGuards(), map[string][]*model.Claim{}
	guarded := map[string]bool{}
	for range 5000 {
		host := model.ScopedHost("L00000001", hosts[r.IntN(len(hosts))])
		var claims []*model.Claim
		for n := range r.IntN(3) {
			c := &model.Claim{Host: host, Rule: fmt.Sprint(n)}
			if r.IntN(4) == 0 {
				c.Backend.Asks = &model.Policy{Deny: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(r.IntN(2))}), 32)}}
			}
			claims = append(claims, c)
		}
		delete(all, host)
		if len(claims) > 0 {
			all[host] = claims
		}
		named := map[string]bool{host: true}
		for _, again := range g.Note(host, claims) {
			named[again] = true
		}
		for host := range all {
			want, got := mixed(host, all), g.Guarded(host)
			if got != want {
				t.Fatalf("%s: guarded is %t, want %t", host, got, want)
			}
			if got != guarded[host] && !named[host] {
				t.Fatalf("%s changes, and is not named", host)
			}
			guarded[host] = got
		}
	}
}

// mixed is what guarded means, host by host.
func mixed(host string, all map[string][]*model.Claim) bool {
	below := func(outer, inner string) bool {
		_, o := model.SplitHost(outer)
		_, i := model.SplitHost(inner)
		return outer == inner || o == match.Any || strings.HasPrefix(o, "*.") && strings.HasSuffix(i, o[1:])
	}
	differ := func(lists ...[]*model.Claim) bool {
		seen := map[string]bool{}
		for _, list := range lists {
			for _, c := range list {
				seen[c.Guard()] = true
			}
		}
		return len(seen) > 1
	}
	covering := [][]*model.Claim{all[host]}
	for other, claims := range all {
		if other != host && below(other, host) {
			covering = append(covering, claims)
		}
	}
	if differ(covering...) {
		return true
	}
	for other, claims := range all {
		if below(host, other) && differ(all[host], claims) {
			return true
		}
	}
	return false
}
