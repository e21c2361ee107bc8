package admit

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// pairwise is what conflict means: the first winner that one by one comparison
// finds.
func pairwise(winners []*model.Claim, c *model.Claim, interNamespace bool) int {
	for i, w := range winners {
		otherOwner, same := w.Owner.Namespace != c.Owner.Namespace, rule(w).NormalKey() == rule(c).NormalKey()
		switch {
		case otherOwner && (!interNamespace || same || c.Termination == model.Passthrough),
			w.Path == c.Path && w.Exact == c.Exact,
			same && !rule(w).SameKey(rule(c)),
			secure(w) && secure(c) && (w.Termination == model.Passthrough || c.Termination == model.Passthrough):
			return i
		}
	}
	return -1
}

// TestHeld: looking conflicts up finds the same as comparing with each winner.
func TestHeld(t *testing.T) {
	t.Parallel()
	paths := []string{"", "/", "//", "/a", "/a/", "/%61", "/a;v=1", "/a/b", "/A", "/a%2fb", "/."}
	terminations := []model.Termination{model.Plain, model.Edge, model.Reencrypt, model.Passthrough}
	const seed = 11
	dice, conflicts := rand.New(rand.NewPCG(seed, seed)), 0
	for range 3000 {
		inter, h := dice.IntN(2) == 0, newHeld()
		var winners []*model.Claim
		for i := range 1 + dice.IntN(12) {
			c := &model.Claim{
				Owner: model.Object{Kind: "Route", Namespace: fmt.Sprint("n", dice.IntN(8)/7), Name: fmt.Sprint("r", i)},
				Host:  "h", Match: model.Match{Path: paths[dice.IntN(len(paths))], Exact: dice.IntN(5) == 0}, Created: time.Unix(int64(i), 0),
				Termination: terminations[dice.IntN(7)%4],
			}
			got, want := h.conflict(winners, c, inter), pairwise(winners, c, inter)
			if got != want {
				t.Fatalf("winner %d instead of %d is in the way of %+v", got, want, c)
			}
			if want >= 0 {
				conflicts++
				continue
			}
			winners = append(winners, c)
			h.add(c)
		}
	}
	t.Logf("%d conflicts", conflicts)
}

// TestManyClaims: a host with thousands of paths, below a wildcard host with as
// many, beside as many others, is decided without comparing each with each other,
// which took seconds of every change.
//
//nolint:paralleltest // it counts allocations
func TestManyClaims(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("198.18.0.0/24"), netip.MustParsePrefix("198.18.2.0/24")}
	decide := func(n int) float64 {
		claims := map[string][]*model.Claim{}
		add := func(host string, i int) {
			key := model.Object{Kind: "Route", Namespace: "n", Name: fmt.Sprint("r", host, i)}
			claims[host] = append(claims[host], &model.Claim{
				Owner: key, UID: key.Name, Host: host, Match: model.Match{Path: fmt.Sprintf("/p%d;v=1/", i)}, Created: time.Unix(int64(i), 0),
				Backend: model.Backend{Kind: model.KindHTTP, Owner: key, Asks: &model.Policy{Restricted: true, Allow: allow}},
			})
		}
		for i := range n {
			add("*.example", i)
			add("h.example", i)
			add(fmt.Sprint("h", i, ".example"), i)
		}
		return testing.AllocsPerRun(1, func() {
			if won := len(Decide(claims, false)["h.example"].Winners); won != n {
				t.Errorf("%d of %d paths won", won, n)
			}
		})
	}
	few, many := decide(100), decide(1000)
	t.Logf("%.0f allocations for 100 paths, %.0f for 1000", few, many)
	if many > 20*few {
		t.Errorf("ten times the paths take %.0f times the work", many/few)
	}
}
