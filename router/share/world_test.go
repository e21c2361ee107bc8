package share_test

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// world is a network of members with a clock of its own.
type world struct {
	t     *testing.T
	r     *rand.Rand
	now   time.Duration
	queue events
	order int

	machines map[string]*machine
	cut      map[[2]string]bool
	loss     float64
	// late is the share of messages that come up to two seconds late, twice that of those
	// that come twice.
	late     float64
	admitted map[share.Key][]time.Duration
	verdicts map[share.Reason]int
	asked    int
	process  uint64
	// tickets are the keys of requests that wait.
	tickets map[uint64]share.Key
	ticket  uint64
}

// machine is where one process after the other has an ID. A former one may live on for a
// while: it serves requests and gets answers, but no longer questions.
type machine struct {
	id     string
	node   *share.Node
	number uint64
	former map[uint64]*share.Node
	// offset and speed are those of its clock.
	offset time.Duration
	speed  float64
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), machines: map[string]*machine{}, cut: map[[2]string]bool{},
		admitted: map[share.Key][]time.Duration{}, verdicts: map[share.Reason]int{}, tickets: map[uint64]share.Key{},
	}
}

func (w *world) at(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, event{w.now + d, w.order, do})
}

// run carries out what happens until a time.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

func (w *world) every(d time.Duration, do func()) {
	w.at(d, func() { do(); w.every(d, do) })
}

func (m *machine) clock(now time.Duration) time.Duration {
	return m.offset + time.Duration(float64(now)*m.speed)
}

// start starts a process for an ID.
func (w *world) start(id string) {
	m := w.machines[id]
	if m == nil {
		m = &machine{id: id, former: map[uint64]*share.Node{}, offset: time.Duration(w.r.Int64N(int64(time.Hour))), speed: 0.98 + 0.04*w.r.Float64()}
		w.machines[id] = m
		w.every(share.Tick, func() {
			for _, n := range m.nodes() {
				n.Tick(m.clock(w.now))
			}
		})
	}
	w.process++
	number := w.process
	node := share.New(share.Options{
		ID: id, Process: number,
		Send: func(to string, msg *share.Message) { w.send(id, to, *msg) },
		Answer: func(ticket uint64, v share.Verdict) {
			k, waits := w.tickets[ticket]
			if !waits {
				w.t.Errorf("a second verdict about a request")
			}
			delete(w.tickets, ticket)
			w.verdict(k, v)
		},
	}, m.clock(w.now))
	m.node, m.number = node, number
}

// nodes are the processes that live, in an order.
func (m *machine) nodes() (all []*share.Node) {
	for _, number := range slices.Sorted(maps.Keys(m.former)) {
		all = append(all, m.former[number])
	}
	if m.node != nil {
		all = append(all, m.node)
	}
	return all
}

// replace starts another process for an ID, beside the former one.
func (w *world) replace(id string, lives time.Duration) {
	m := w.machines[id]
	if number := m.number; m.node != nil {
		m.former[number] = m.node
		w.at(lives, func() { delete(m.former, number) })
	}
	w.start(id)
}

func (w *world) send(from, to string, m share.Message) {
	if w.cut[[2]string{from, to}] || w.cut[[2]string{to, from}] || w.r.Float64() < w.loss {
		return
	}
	delay := time.Duration(w.r.Int64N(int64(800 * time.Microsecond)))
	if w.r.Float64() < w.late {
		delay = time.Duration(w.r.Int64N(int64(2 * time.Second)))
	}
	arrive := func() {
		d := w.machines[to]
		if d == nil || w.cut[[2]string{from, to}] {
			return
		}
		node := d.node
		if former := d.former[m.Process]; former != nil && (m.Kind == share.Reply || m.Kind == share.Give) {
			node = former
		}
		if node != nil {
			copied := m
			node.Receive(d.clock(w.now), from, &copied)
		}
	}
	w.at(delay, arrive)
	if w.r.Float64() < 2*w.late {
		w.at(delay+time.Duration(w.r.Int64N(int64(2*time.Second))), arrive)
	}
}

func (w *world) verdict(k share.Key, v share.Verdict) {
	if v.Admitted {
		w.admitted[k] = append(w.admitted[k], w.now)
	}
	w.verdicts[v.Reason]++
}

func (w *world) request(id string, k share.Key, l share.Limit) {
	m := w.machines[id]
	if m == nil {
		return
	}
	nodes := m.nodes()
	if len(nodes) == 0 {
		return
	}
	w.asked++
	w.ticket++
	ticket := w.ticket
	w.tickets[ticket] = k
	if v, waits := nodes[w.r.IntN(len(nodes))].Take(m.clock(w.now), k, l, ticket); !waits {
		delete(w.tickets, ticket)
		w.verdict(k, v)
	}
}

// view has members learn who the members are, each at its own time.
func (w *world) view(within time.Duration, ids ...string) {
	for _, id := range names(10) {
		m := w.machines[id]
		if m == nil {
			continue
		}
		for _, node := range m.nodes() {
			w.at(time.Duration(w.r.Int64N(int64(within)+1)), func() { node.Members(m.clock(w.now), ids) })
		}
	}
}

// check fails if more was admitted in any window than the limit.
func (w *world) check(k share.Key, l share.Limit) {
	w.t.Helper()
	times := w.admitted[k]
	if !slices.IsSorted(times) {
		w.t.Fatal("times are not in order")
	}
	// Clocks that are 2 % too fast fill 2 % too fast.
	rate := 1.0201 * float64(l.Requests) / l.Per.Seconds()
	level, last := 0.0, time.Duration(0)
	for _, at := range times {
		level = max(level-rate*(at-last).Seconds(), 0) + 1
		if last = at; level > float64(l.Burst)+0.01 {
			w.t.Fatalf("key %v, limit %+v: %.2f over the burst at %s", k, l, level-float64(l.Burst), at)
		}
	}
}

func names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("192.0.2.%d:9443", i+1))
	}
	return out
}
