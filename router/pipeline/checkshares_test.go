package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// TestPaces: after random changes, a namespace gets no more health checks than
// half as many again as its budget and those of one route, the oldest get what
// they ask for, and what is shared out is what it would be without a past.
func TestPaces(t *testing.T) {
	t.Parallel()
	const most = 100 * 3600 // what one route asks for
	s := door.Settings{NamespaceChecks: 200}
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
	p := newCheckShares()
	claims := map[model.Object]*model.Claim{}
	for n := range 3000 {
		key := model.Object{Kind: route.Kind, Namespace: "a", Name: fmt.Sprint(random.IntN(400))}
		if random.IntN(4) == 0 {
			delete(claims, key)
		} else {
			claims[key] = &model.Claim{Owner: key, UID: key.Name, Created: time.Unix(int64(random.IntN(50)), 0), Checks: random.Int64N(most)}
		}
		p.set(key, list(claims[key]))
		if n%10 > 0 {
			continue
		}
		p.settle(s, false)
		fresh := newCheckShares()
		for key, c := range claims {
			fresh.set(key, list(c))
		}
		fresh.settle(s, false)
		got, asked := int64(0), int64(0)
		for key, c := range claims {
			if p.stretch(key) != fresh.stretch(key) {
				t.Fatalf("after change %d: %s is stretched %d times, without a past %d", n, key, p.stretch(key), fresh.stretch(key))
			}
			got += c.Checks / int64(p.stretch(key))
			asked += c.Checks
		}
		if budget := s.CheckBudget(); got > budget+budget/2+most || got < min(asked, budget)-most {
			t.Fatalf("after change %d: %d health checks of %d that are asked for; the budget is %d", n, got, asked, budget)
		}
	}
	for key := range claims {
		p.set(key, nil)
	}
	if again := p.settle(s, false); len(p.namespaces) > 0 || len(p.dirty) > 0 || len(again) == 0 {
		t.Errorf("left over: %d namespaces", len(p.namespaces))
	}
}

func list(c *model.Claim) []*model.Claim {
	if c == nil {
		return nil
	}
	return []*model.Claim{c}
}
