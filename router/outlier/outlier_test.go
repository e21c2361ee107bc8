package outlier

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// backend has so many servers, which are watched as p says.
func backend(servers int, p model.Passive) *model.Backend {
	b := &model.Backend{Kind: model.KindHTTP, Health: &model.Health{Passive: &p}}
	for i := range servers {
		b.Servers = append(b.Servers, model.Server{ID: fmt.Sprint(i), Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}), 80), Probed: true})
	}
	return b
}

var usual = model.Passive{Errors: 5, Within: 10 * time.Second, Connections: true, Answers: true, Statuses: true, Ejection: 30 * time.Second, MostPercent: 50}

// world counts errors and time.
type world struct {
	t       *testing.T
	b       *model.Backend
	l       *Ledger
	now     time.Time
	counted map[string]Errors
}

func newWorld(t *testing.T, servers int, p model.Passive) *world {
	t.Helper()
	w := &world{t: t, b: backend(servers, p), l: New(), now: time.Unix(1_800_000_000, 0), counted: map[string]Errors{}}
	for i := range w.b.Servers {
		w.counted[w.b.Servers[i].Name()] = Errors{Statuses: 1000} // of before anything was watched
	}
	w.look(0)
	return w
}

func (w *world) look(after time.Duration) bool {
	w.now = w.now.Add(after)
	return w.l.Take(w.b, w.counted, w.now)
}

func (w *world) fail(server int, e Errors) {
	name := w.b.Servers[server].Name()
	c := w.counted[name]
	w.counted[name] = Errors{c.Connections + e.Connections, c.Answers + e.Answers, c.Statuses + e.Statuses}
}

func (w *world) out(want string) {
	w.t.Helper()
	got := ""
	for i := range w.b.Servers {
		if w.l.Ejected(w.b.Name(), w.b.Servers[i].Name()) {
			got += fmt.Sprint(i)
		}
	}
	if got != want || w.l.Count() != len(want) {
		w.t.Errorf("ejected are %q (%d), want %q", got, w.l.Count(), want)
	}
}

// TestWindow: errors within the time count together, wherever it begins, and older ones
// do not.
func TestWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, usual)
	w.out("")
	for range 4 {
		w.fail(0, Errors{Statuses: 1})
		w.look(4 * time.Second)
	}
	w.out("") // never five within ten seconds
	w.fail(1, Errors{Statuses: 2, Connections: 1})
	w.look(time.Second)
	w.fail(1, Errors{Answers: 2})
	if !w.look(6 * time.Second) {
		t.Error("nothing has changed")
	}
	w.out("1")
	if w.look(time.Second) {
		t.Error("something has changed")
	}
}

// TestEjections get longer in a row, and end.
func TestEjections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, usual)
	for n := 1; n <= 3; n++ {
		w.fail(2, Errors{Connections: 5})
		w.look(time.Second)
		w.out("2")
		w.look(time.Duration(n)*usual.Ejection - time.Second)
		w.out("2")
		if !w.look(time.Second) {
			t.Errorf("ejection %d does not end", n)
		}
		w.out("")
	}
	w.look(calmFor*usual.Ejection + time.Second)
	w.fail(2, Errors{Connections: 5})
	w.look(time.Second)
	w.look(usual.Ejection)
	w.out("")
}

// TestMost: not more than some of the servers are ejected at once, and one that is alone
// never is.
func TestMost(t *testing.T) {
	t.Parallel()
	for servers, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 9: 4} {
		w := newWorld(t, servers, usual)
		for i := range servers {
			w.fail(i, Errors{Connections: 100})
		}
		w.look(time.Second)
		if n := w.l.Count(); n != want {
			t.Errorf("%d of %d are ejected, want %d", n, servers, want)
		}
	}
}

// TestCounts: only what the policy names counts; a HAProxy that starts counts from zero;
// servers that go are forgotten.
func TestCounts(t *testing.T) {
	t.Parallel()
	p := usual
	p.Statuses = false
	w := newWorld(t, 4, p)
	w.fail(0, Errors{Statuses: 50, Answers: 4})
	w.look(time.Second)
	w.out("")
	for name := range w.counted {
		w.counted[name] = Errors{}
	}
	w.look(time.Second)
	w.fail(0, Errors{Answers: 1})
	w.look(time.Second)
	w.out("0")
	delete(w.counted, w.b.Servers[0].Name())
	w.b.Servers = w.b.Servers[1:]
	w.look(time.Second)
	w.out("")
	w.l.Forget(w.b.Name())
	w.out("")
}
