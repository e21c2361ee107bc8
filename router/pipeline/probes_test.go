package pipeline

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// probedBackend is one with three servers of ten, in one of two namespaces.
func probedBackend(random *rand.Rand, n, interval int) *model.Backend {
	b := &model.Backend{
		Kind: model.KindHTTP, Owner: model.Object{Kind: route.Kind, Namespace: []string{"a", "b"}[n%2], Name: fmt.Sprint("r", n)},
		Health: &model.Health{PanicPercent: 50, Probe: model.Probe{Type: model.ProbeTCP, Interval: time.Duration(interval) * time.Second}},
	}
	for _, i := range random.Perm(10)[:3] {
		b.Servers = append(b.Servers, model.Server{ID: fmt.Sprint("s", i), Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}), 80), Weight: 1, Probed: i > 0})
	}
	return b
}

// TestProbesShared: whatever comes and goes, each endpoint is a target once, its health
// stays while any backend has it, and namespaces get what they would without a past.
func TestProbesShared(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
	s := door.Settings{NamespaceChecks: 3}
	p, backends, sick := newProbes(), map[int]*model.Backend{}, map[model.ProbeTarget]bool{}
	for n := range 2000 {
		for range 3 { // one update
			i := random.IntN(12)
			if b := backends[i]; b != nil {
				p.drop(b)
				delete(backends, i)
			}
			if random.IntN(3) > 0 {
				backends[i] = probedBackend(random, i, 1+random.IntN(2))
				p.add(backends[i])
			}
		}
		p.settle(s, false)
		fresh := newProbes()
		for _, b := range backends {
			fresh.add(b)
		}
		fresh.settle(s, false)
		if len(fresh.targets) != len(p.targets) || len(p.left) > 0 {
			t.Fatalf("after update %d: %d targets, %d without a past; left %v", n, len(p.targets), len(fresh.targets), p.left)
		}
		for target := range sick {
			if p.targets[target] == nil {
				delete(sick, target)
			}
		}
		for target, of := range p.targets {
			if fresh.targets[target] == nil || len(fresh.targets[target].backends) != len(of.backends) {
				t.Fatalf("after update %d: %v has backends %v", n, target, of.backends)
			}
			if of.sick != sick[target] || p.sick(target) != sick[target] {
				t.Fatalf("after update %d: %v is sick: %t", n, target, of.sick)
			}
			if random.IntN(20) == 0 {
				of.sick = !of.sick
				sick[target] = of.sick
			}
		}
		for name, of := range fresh.namespaces {
			if got := p.namespaces[name]; got == nil || *got != *of {
				t.Fatalf("after update %d: namespace %s has %+v, without a past %+v", n, name, got, of)
			}
		}
		if len(p.namespaces) != len(fresh.namespaces) {
			t.Fatalf("after update %d: namespaces are left over", n)
		}
	}
}

// TestProbeBudget: a namespace that asks for twice what it may has twice the interval, and
// others have theirs.
func TestProbeBudget(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	p := &Pipeline{probes: newProbes(), want: plan.NewState(), settings: door.Settings{NamespaceChecks: 2}}
	for i := range 40 {
		p.probes.add(probedBackend(random, 2*i, 2)) // nine targets in namespace a, 4.5 a second
	}
	p.probes.add(probedBackend(random, 1, 2))
	if turned := p.probes.settle(p.settings, false); !slices.Equal(turned, []string{"a"}) {
		t.Errorf("namespaces %v get less than they ask for", turned)
	}
	all, changed := p.Probes()
	if _, again := p.Probes(); !changed || again {
		t.Errorf("changed: %t, and again: %t", changed, again)
	}
	for _, probe := range all {
		if want := map[string]time.Duration{"a": 6 * time.Second, "b": 2 * time.Second}[probe.Namespace]; probe.Every != want {
			t.Errorf("%s is asked every %s, want %s", probe.Address, probe.Every, want)
		}
	}
	if n := len(all); n < 10 || n > 12 {
		t.Errorf("%d targets", n)
	}
}

// TestPanic: with fewer than half of the endpoints healthy none of them is down.
func TestPanic(t *testing.T) {
	t.Parallel()
	b := &model.Backend{Kind: model.KindHTTP, Health: &model.Health{PanicPercent: 50}}
	for i := range 5 {
		b.Servers = append(b.Servers, model.Server{ID: fmt.Sprint(i), Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}), 80), Probed: i > 0})
	}
	for _, tt := range []struct{ percent, sick, down int }{{50, 1, 1}, {50, 2, 2}, {50, 3, 0}, {50, 4, 0}, {0, 4, 4}, {100, 1, 0}, {30, 3, 0}, {25, 3, 3}} {
		b.Health.PanicPercent = tt.percent
		w := plan.WantBackend(b, func(_ *model.Server, t model.ProbeTarget) bool { return int(t.Address.Addr().As4()[3]) <= tt.sick })
		down := 0
		for _, s := range w.Servers {
			if s.Down {
				down++
			}
		}
		if down != tt.down {
			t.Errorf("%d of 4 sick at %d %%: %d are down, want %d", tt.sick, tt.percent, down, tt.down)
		}
	}
}
