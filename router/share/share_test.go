package share_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// TestNeverMore has members start, die, come and go, lose and delay messages, and be cut
// off from each other, under loads of several times the limits. No window ever has more
// requests than its limit.
func TestNeverMore(t *testing.T) {
	t.Parallel()
	admitted := 0
	for seed := range uint64(150) {
		w := newWorld(t, seed)
		chaos(w)
		limits := map[share.Key]share.Limit{}
		for i := range 6 {
			per := []time.Duration{time.Second, time.Second, 10 * time.Second, time.Minute}[w.r.IntN(4)]
			l := share.Limit{Requests: 1 + w.r.Int64N(200), Per: per}
			l.Burst = 1 + w.r.Int64N(1+l.Requests/[]int64{1, 5, 20, 50}[w.r.IntN(4)])
			if l.Check() != nil {
				l.Burst = 1
			}
			k := share.Key{Namespace: fmt.Sprintf("ns%d", i%2), Name: fmt.Sprintf("limit%d/client", i)}
			limits[k] = l
			w.load(k, l)
		}
		w.run(25 * time.Second)
		for k, l := range limits {
			w.check(k, l)
			admitted += len(w.admitted[k])
		}
	}
	if admitted < 10_000 {
		t.Errorf("only %d requests were admitted at all", admitted)
	}
	t.Logf("%d requests admitted", admitted)
}

// load asks for a key at random members, a part or several times of what the limit
// admits, at times for all of a burst and more at once.
func (w *world) load(k share.Key, l share.Limit) {
	mean := l.Per.Seconds() / float64(l.Requests) / []float64{0.05, 0.5, 1, 3}[w.r.IntN(4)]
	var next func()
	next = func() {
		n := 1
		if w.r.IntN(5) == 0 {
			n = 1 + w.r.IntN(int(min(2*l.Burst, 300)))
		}
		ids := w.live()
		for range n {
			if len(ids) > 0 {
				// The first one has half of the load.
				i := max(w.r.IntN(2*len(ids))-len(ids), 0)
				w.request(ids[i], k, l)
			}
		}
		pause := time.Duration(w.r.ExpFloat64() * mean * float64(n) * float64(time.Second))
		w.at(max(min(pause, 2*time.Second), time.Microsecond), next)
	}
	w.at(0, next)
}

func (w *world) live() (ids []string) {
	for _, id := range names(10) {
		if m := w.machines[id]; m != nil && len(m.nodes()) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// chaos is what happens to the members in a test.
func chaos(w *world) {
	all := names(10)
	members := all[:1+w.r.IntN(4)]
	for _, id := range members {
		w.start(id)
	}
	w.view(0, members...)
	if w.r.IntN(3) != 0 {
		w.loss, w.late = 0.1*w.r.Float64(), 0.05*w.r.Float64()
	}
	pause := time.Duration(300+w.r.IntN(4000)) * time.Millisecond
	again := func(id string) {
		members := members
		if m := w.machines[id]; m.node != nil {
			node := m.node
			w.at(time.Duration(w.r.Int64N(int64(300*time.Millisecond))), func() { node.Members(m.clock(w.now), members) })
		}
	}
	var next func()
	next = func() {
		w.at(time.Duration(w.r.ExpFloat64()*float64(pause)), next)
		switch w.r.IntN(6) {
		case 0: // one dies, and starts again
			id := members[w.r.IntN(len(members))]
			w.machines[id].node = nil
			w.at(time.Duration(w.r.Int64N(int64(time.Second))), func() {
				if w.machines[id].node == nil && slices.Contains(members, id) {
					w.start(id)
					again(id)
				}
			})
		case 1: // one is replaced
			id := members[w.r.IntN(len(members))]
			w.replace(id, time.Duration(w.r.Int64N(int64(share.Term*9/10))))
			again(id)
		case 2: // one more, of those that were never there
			if i := slices.IndexFunc(all, func(id string) bool { return w.machines[id] == nil }); i >= 0 {
				members = append(slices.Clone(members), all[i])
				w.start(all[i])
				w.view(time.Second, members...)
			}
		case 3: // one leaves or dies, and is seen to be gone
			if len(members) > 1 {
				i := w.r.IntN(len(members))
				gone := w.machines[members[i]]
				end := func() {
					gone.node = nil
					clear(gone.former)
				}
				if w.r.IntN(3) == 0 {
					end()
				}
				w.at(2*time.Second, end)
				members = slices.Delete(slices.Clone(members), i, i+1)
				for _, node := range gone.nodes() { // it knows first
					node.Members(gone.clock(w.now), members)
				}
				w.view(time.Second, members...)
			}
		case 4: // two cannot talk to each other
			w.cut[[2]string{members[w.r.IntN(len(members))], members[w.r.IntN(len(members))]}] = true
		case 5:
			clear(w.cut)
		}
	}
	w.at(pause, next)
}

// TestUsed has most of the load at one of several members: what the limit gives is used.
func TestUsed(t *testing.T) {
	t.Parallel()
	for _, l := range []share.Limit{
		{Requests: 20, Per: time.Second, Burst: 40},
		{Requests: 1000, Per: time.Second, Burst: 1000},
		{Requests: 100, Per: time.Second, Burst: 10},
		{Requests: 50, Per: time.Second, Burst: 2},
		{Requests: 60, Per: time.Minute, Burst: 5},
	} {
		for _, members := range []int{1, 2, 5, 10} {
			t.Run(fmt.Sprintf("%d per %s burst %d, %d members", l.Requests, l.Per, l.Burst, members), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uint64(members))
				ids := names(members)
				for _, id := range ids {
					w.start(id)
				}
				w.view(0, ids...)
				const begin = 2 * time.Second
				w.run(begin)
				for i := range 4 {
					k := share.Key{Namespace: "demo", Name: fmt.Sprintf("limit/%d", i)}
					interval := time.Duration(float64(l.Per) / float64(l.Requests) / 4)
					w.every(interval, func() {
						id := ids[0]
						if w.r.IntN(10) >= 7 {
							id = ids[w.r.IntN(len(ids))]
						}
						w.request(id, k, l)
					})
				}
				const took = 20 * time.Second
				w.run(begin + took)
				for k := range w.admitted {
					w.check(k, l)
				}
				// Owners have begun with empty buckets, after two thirds of a second at the latest.
				rate := float64(l.Requests) / l.Per.Seconds()
				want := 4 * (min(float64(l.Burst), rate*(begin-700*time.Millisecond).Seconds()) + rate*took.Seconds())
				got := 0
				for _, times := range w.admitted {
					got += len(times)
				}
				if share := float64(got) / want; share < 0.9 {
					t.Errorf("%.3f of the limit was used; refusals: %v", share, w.verdicts)
				} else {
					t.Logf("%.3f of the limit was used; refusals: %v", share, w.verdicts)
				}
			})
		}
	}
}
