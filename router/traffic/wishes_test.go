package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// ask has other Routes ask for rows.
func (w *world) ask(names []string) {
	asking := map[string]model.Measure{}
	for _, name := range names {
		switch w.random.IntN(5) {
		case 0:
			asking[name] = model.Measure{Detail: true}
		case 1:
			asking[name] = model.Measure{Availability: 99_900}
		}
	}
	w.ledger.SetMeasures(asking)
}

// rows returns the Routes that have rows, and how many of them have an objective.
func (w *world) rows() (has map[Route]bool, objectives int) {
	has = map[Route]bool{}
	w.ledger.Rows(func(r Row) {
		if has[r.Route] = !r.Ended; r.Measure.Availability > 0 {
			objectives++
		}
	})
	return has, objectives
}

// TestDetailFirst: Routes that ask for rows have some before busier ones, also where these had requests in the last hour,
// and only while they ask. Of one namespace, and of all, there is a bound.
func TestDetailFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	const rows = 32
	w.ledger.SetSeries(reserved + (rows+1)*roomOfRow)
	asking, names := map[string]model.Measure{}, map[string][]string{}
	for i := range 40 {
		busy := w.add(fmt.Sprint("busy", i%8), fmt.Sprintf("b%02d", i))
		w.serve(busy, 1)
		names["busy"] = append(names["busy"], busy)
		for _, namespace := range []string{"greedy", "modest", "more", "most", "last", "none"} {
			names[namespace] = append(names[namespace], w.add(namespace, fmt.Sprintf("r%02d", i)))
		}
	}
	pass := func() {
		t.Helper()
		for range 3 {
			for i, name := range names["busy"] {
				w.serve(name, 1000+uint64(i))
			}
			w.take()
			w.now = w.now.Add(Settle)
		}
	}
	count := func(namespace string) (n int) {
		has, _ := w.rows()
		for key, is := range has {
			if is && strings.HasPrefix(key.Namespace, namespace) {
				n++
			}
		}
		return n
	}
	pass()
	if n := count("busy"); n != rows {
		t.Fatalf("%d of the busy Routes have rows, want all %d", n, rows)
	}
	asking[names["modest"][39]] = model.Measure{Availability: 99_900}
	w.ledger.SetMeasures(asking)
	pass()
	if has, objectives := w.rows(); !has[Route{"modest", "r39"}] || objectives != 1 || count("busy") != rows-1 {
		t.Errorf("a Route that asks has a row: %t, objectives: %d, busy ones: %d", has[Route{"modest", "r39"}], objectives, count("busy"))
	}
	for _, name := range names["greedy"] {
		asking[name] = model.Measure{Detail: true}
	}
	w.ledger.SetMeasures(asking)
	pass()
	if n := count("greedy"); n != rows/namespaceAskedShare || w.ledger.Asking() != (Asking{Granted: 5, LeftOut: 36}) {
		t.Errorf("a namespace that asks for 40 rows has %d, want %d; %+v", n, rows/namespaceAskedShare, w.ledger.Asking())
	}
	for _, namespace := range []string{"more", "most", "last"} {
		for _, name := range names[namespace] {
			asking[name] = model.Measure{Detail: true}
		}
	}
	w.ledger.SetMeasures(asking)
	pass()
	if n := count("busy"); n != rows-rows/askedShare {
		t.Errorf("%d busy Routes have rows beside 161 that ask, want %d", n, rows-rows/askedShare)
	}
	if has, _ := w.rows(); w.ledger.Asking().Granted != rows/askedShare || !has[Route{"busy7", "b39"}] {
		t.Errorf("%+v; the busiest has a row: %t", w.ledger.Asking(), has[Route{"busy7", "b39"}])
	}
	w.ledger.SetMeasures(nil)
	pass()
	if n := count("busy"); n != rows {
		t.Errorf("%d busy Routes have rows after none asks any more", n)
	}
	if _, objectives := w.rows(); objectives != 0 || w.ledger.Asking() != (Asking{}) {
		t.Errorf("%d objectives are left, %+v", objectives, w.ledger.Asking())
	}
}

// TestMeasuresOfBackends: all backends of a Route, its canary's too, are about one row.
func TestMeasuresOfBackends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.ledger.SetMeasures(map[string]model.Measure{
		"be_http:shop:web:1": {Detail: true}, "be_http:shop:web_canary_next:2": {Detail: true}, "be_http:shop:idle:3": {}, "other": {Detail: true},
	})
	w.take()
	w.backends["be_http:shop:web:1"] = &Reading{Backend: "be_http:shop:web:1"}
	w.now = w.now.Add(time.Second)
	w.take()
	if got := w.ledger.Asking(); got != (Asking{Granted: 1}) {
		t.Errorf("%+v", got)
	}
}
