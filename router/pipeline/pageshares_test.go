package pipeline

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

func pageClaim(namespace, name string, age int, texts ...string) *model.Claim {
	c := &model.Claim{Owner: model.Object{Kind: "Route", Namespace: namespace, Name: name}, Created: time.Unix(int64(age), 0)}
	if len(texts) > 0 {
		pages := &model.Pages{Pod: map[int]model.PageUse{}}
		for i, text := range texts {
			pages.Pod[400+i] = model.PageUse{Page: model.NewPage(text)}
		}
		c.Backend.Asks = &model.Policy{Pages: pages}
	}
	return c
}

// TestPageShares: the oldest routes show their pages, a shared page counts once, and what
// becomes free others get.
func TestPageShares(t *testing.T) {
	t.Parallel()
	p, limits := newPageShares(), door.Settings{NamespacePageBytes: 10, PageBytes: 25}
	put := func(c *model.Claim) { p.set(c.Owner, []*model.Claim{c}) }
	refused := func(want string) {
		t.Helper()
		p.settle(limits, false)
		var got []string
		for _, name := range []string{"a/1", "a/2", "a/3", "a/4", "b/1", "c/1"} {
			namespace, n, _ := strings.Cut(name, "/")
			if p.isRefused(model.Object{Kind: "Route", Namespace: namespace, Name: n}) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("refused %v, want %s", got, want)
		}
	}
	put(pageClaim("a", "1", 1, "12345678"))
	put(pageClaim("a", "2", 2, "abc"))
	put(pageClaim("a", "3", 3, "12345678", "zz"))
	put(pageClaim("a", "4", 4))
	refused("a/2")
	put(pageClaim("b", "1", 5, "0123456789"))
	put(pageClaim("c", "1", 6, "wwwwwwwwww"))
	refused("a/2 c/1")
	put(pageClaim("b", "1", 5))
	refused("a/2")
	put(pageClaim("a", "1", 1))
	put(pageClaim("a", "3", 3))
	refused("")
	put(pageClaim("a", "2", 2))
	put(pageClaim("c", "1", 6))
	if len(p.sums)+len(p.asking)+len(p.refused) > 0 {
		t.Errorf("something stays of nothing: %v", p)
	}
}

// TestPageSums: sums that changes add up to are those of what is there.
func TestPageSums(t *testing.T) {
	t.Parallel()
	g, p, now := rand.New(rand.NewPCG(1, 1)), newPageShares(), map[string]*model.Claim{}
	for i := range 500 {
		name := strconv.Itoa(g.IntN(10))
		var texts []string
		for range g.IntN(3) {
			texts = append(texts, strings.Repeat("x", 1+g.IntN(5)))
		}
		c := pageClaim("n"+strconv.Itoa(len(name)), name, i, texts...)
		p.set(c.Owner, []*model.Claim{c})
		now[name] = c
		fresh := newPageShares()
		for c := range maps.Values(now) {
			fresh.set(c.Owner, []*model.Claim{c})
		}
		for namespace, sum := range fresh.sums {
			if p.sums[namespace] == nil || p.sums[namespace].bytes != sum.bytes {
				t.Fatalf("%q adds up to %v, want %v", namespace, p.sums[namespace], sum)
			}
		}
		if len(p.sums) != len(fresh.sums) {
			t.Fatalf("%v, want %v", p.sums, fresh.sums)
		}
	}
}
