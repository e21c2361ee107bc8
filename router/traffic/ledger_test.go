package traffic

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// world is a HAProxy whose backends come, count and go, and what was really counted since the ledger began.
type world struct {
	t        *testing.T
	random   *rand.Rand
	ledger   *Ledger
	now      time.Time
	pid      int
	backends map[string]*Reading
	truth    Counts
	// sampled are the requests whose time was taken in, by bucket, and sampledSum is how long they took.
	sampled Latency
	next    int
	// hidden backends have no identifier, and so no part in partial readings; blind hides all.
	hidden map[string]bool
	blind  bool
	// born is when the ledger first heard of Routes.
	born         map[Route]time.Time
	whole, parts int
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), ledger: New(), now: time.Unix(1_000_000, 0), pid: 7, backends: map[string]*Reading{}, hidden: map[string]bool{}, born: map[Route]time.Time{},
	}
}

// add makes a backend of a route.
func (w *world) add(namespace, route string) string {
	w.next++
	kind := []string{"be_http", "be_secure", "be_tcp"}[w.next%3]
	name := fmt.Sprintf("%s:%s:%s:%x", kind, namespace, route, w.next)
	if w.next%5 == 0 {
		name = fmt.Sprintf("be_http:%s:%s_canary_next:%x", namespace, route, w.next)
	}
	w.backends[name] = &Reading{Backend: name, Gauges: Gauges{Endpoints: 1}}
	w.hidden[name] = w.next%37 == 0
	return name
}

// fill gives a backend another number of endpoints, as the router does.
func (w *world) fill(name string) {
	w.backends[name].Endpoints = uint64(w.random.IntN(9))
	w.ledger.Touch(name)
}

// serve lets a backend count.
func (w *world) serve(name string, requests uint64) {
	c := &w.backends[name].Counts
	for _, d := range []struct {
		at int
		n  uint64
	}{{Status2xx, requests}, {w.random.IntN(counters), 1}, {BytesSent, 1000 * requests}} {
		c[d.at] += d.n
		w.truth[d.at] += d.n
	}
	w.begin(name, uint64(w.random.IntN(4)))
	w.sample(name)
}

// sample has some requests of a backend sampled, which the ledger is told of at once.
func (w *world) sample(name string) {
	if !w.ledger.Timed() {
		return
	}
	for range w.random.IntN(4) {
		took := time.Duration(w.random.IntN(20_000)) * time.Millisecond >> w.random.IntN(12)
		w.ledger.Observe([]byte(name), took)
		w.sampled.add(took)
	}
}

// begin has so many requests of a backend under way.
func (w *world) begin(name string, requests uint64) {
	r := w.backends[name]
	r.Connections = requests
	r.Sessions = r.Counts.requests() + requests
}

func (w *world) readings() (all []Reading) {
	for _, r := range w.backends {
		all = append(all, *r)
	}
	return all
}

// take reads all as the engine does.
func (w *world) take() {
	if w.ledger.NeedsWhole(w.now) {
		w.takeWhole()
		return
	}
	defer w.discover()()
	if w.partial() {
		w.parts++
		return
	}
	w.takeWhole()
}

func (w *world) takeWhole() {
	defer w.discover()()
	w.whole++
	w.ledger.Begin(w.now, false)
	w.end(w.readings())
}

// discover notes Routes that a reading is the first to tell of.
func (w *world) discover() func() {
	var unknown []Route
	for name := range w.backends {
		if key, _ := routeOf(name); w.ledger.routes[key] == nil {
			unknown = append(unknown, key)
		}
	}
	return func() {
		for _, key := range unknown {
			if w.ledger.routes[key] != nil {
				w.born[key] = w.now.Add(time.Nanosecond)
			}
		}
	}
}

func (w *world) partial() bool {
	w.ledger.Begin(w.now, true)
	for _, r := range w.readings() {
		if r.Gauges, r.Partial = (Gauges{}), true; !w.blind && !w.hidden[r.Backend] {
			w.ledger.Take(w.pid, &r)
		}
	}
	ask, ok := w.ledger.Ask()
	if !ok {
		return false
	}
	var asked []Reading
	for _, name := range ask {
		if r := w.backends[name]; r != nil {
			asked = append(asked, *r)
		}
	}
	w.end(asked)
	return true
}

// end ends a reading of all.
func (w *world) end(all []Reading) {
	for i := range all {
		w.ledger.Take(w.pid, &all[i])
	}
	w.ledger.End(w.now)
}

// remove reads a backend for the last time, as the engine does.
func (w *world) remove(name string) {
	w.ledger.TakeLast(w.pid, w.backends[name])
	delete(w.backends, name)
	w.ledger.Gone(name)
}

// restart replaces the process after everything was read.
func (w *world) restart() {
	w.takeWhole()
	w.pid++
	for name, r := range w.backends {
		r.Counts = Counts{}
		w.begin(name, 0)
	}
	w.blind = w.random.IntN(4) == 0
}

// scraper is a Prometheus: it sums up by how much each series has grown.
type scraper struct {
	last  map[Route]Counts
	grown Counts
	began Counts
	// The same of latencies.
	lastTimes              map[Route]Latency
	grownTimes, beganTimes Latency
	at                     time.Time
}

func timesOf(w *world) map[Route]Latency {
	now := map[Route]Latency{restRow: w.ledger.RestLatency()}
	w.ledger.Rows(func(r Row) { now[r.Route] = r.Latency })
	return now
}

// times holds the same of histograms: no bucket falls, and all together grow by what was sampled.
func (s *scraper) times(w *world) {
	w.t.Helper()
	now := timesOf(w)
	for key, l := range now {
		before := s.lastTimes[key]
		for i, n := range l.Buckets {
			if n < before.Buckets[i] {
				w.t.Fatalf("bucket %d of %v falls from %d to %d", i, key, before.Buckets[i], n)
			}
			s.grownTimes.Buckets[i] += n - before.Buckets[i]
		}
		s.grownTimes.Sum += l.Sum - before.Sum
	}
	s.lastTimes = now
	for i, n := range w.sampled.Buckets {
		if s.grownTimes.Buckets[i] != n-s.beganTimes.Buckets[i] {
			w.t.Fatalf("bucket %d: the series have grown by %d, sampled were %d", i, s.grownTimes.Buckets[i], n-s.beganTimes.Buckets[i])
		}
	}
	if s.grownTimes.Sum != w.sampled.Sum-s.beganTimes.Sum {
		w.t.Fatalf("the sums have grown by %s, sampled were %s", s.grownTimes.Sum, w.sampled.Sum-s.beganTimes.Sum)
	}
}

var restRow = Route{"_other", "_other"}

func (s *scraper) scrape(w *world) {
	w.t.Helper()
	now := map[Route]Counts{}
	w.ledger.Rows(func(r Row) { now[r.Route] = r.Counts })
	now[restRow], _ = w.ledger.Rest()
	if s.last == nil {
		s.last, s.began = now, w.ledger.Total()
		s.lastTimes, s.beganTimes = timesOf(w), w.sampled
		s.at = w.now
		return
	}
	for key, c := range now {
		before, known := s.last[key]
		if !known && c != (Counts{}) && !w.born[key].After(s.at) {
			w.t.Fatalf("the row of %v, which is not new, begins with %v", key, c)
		}
		for i := range c {
			if c[i] < before[i] {
				w.t.Fatalf("counter %d of %v falls from %d to %d", i, key, before[i], c[i])
			}
			s.grown[i] += c[i] - before[i]
		}
	}
	s.last, s.at = now, w.now
	s.times(w)
	for i, n := range w.ledger.Total() {
		if s.grown[i] != n-s.began[i] {
			w.t.Fatalf("counter %d: the series have grown by %d, the total by %d", i, s.grown[i], n-s.began[i])
		}
	}
}

// TestSumsAreExact: for random histories of Routes that come, go, get requests and change places, with restarts and
// other budgets, each scraper that looks often enough sees counters that never fall and whose growth is what was
// counted. Rows never are more than the budget has.
func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	moved, whole, parts, objectives := 0, 0, 0, 0
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		rows := 3 + w.random.IntN(6)
		w.ledger.SetLatency(true)
		w.ledger.SetSeries(reserved + (rows+1)*(roomOfRow+roomOfLatency))
		for i := range 20 {
			w.add(fmt.Sprint("ns", i%4), fmt.Sprint("r", i))
		}
		w.take()
		scrapers := []*scraper{{}, {}, {}}
		seen := map[Route]int{}
		for range 400 {
			w.step()
			w.now = w.now.Add(time.Duration(w.random.IntN(80)) * time.Second)
			for i, s := range scrapers {
				const longestStep = 140 * time.Second
				if s.last != nil && w.now.Sub(s.at) < Settle-longestStep && i > 0 && w.random.IntN(3) > 0 {
					continue
				}
				w.take()
				s.scrape(w)
				w.gauges()
			}
			n := 0
			w.ledger.Rows(func(r Row) {
				n++
				seen[r.Route]++
				if r.Measure.Availability > 0 {
					objectives++
				}
			})
			if n > rows {
				t.Fatalf("seed %d: %d rows, the budget has %d", seed, n, rows)
			}
		}
		w.takeWhole()
		if got := w.ledger.Total(); got != w.truth {
			t.Fatalf("seed %d: the total is %v, counted was %v", seed, got, w.truth)
		}
		w.identity()
		moved, whole, parts = moved+len(seen), whole+w.whole, parts+w.parts
	}
	if parts < whole/4 || whole < 60 {
		t.Errorf("%d whole and %d partial readings: the test proves little", whole, parts)
	}
	if objectives < 1000 {
		t.Errorf("only %d rows had objectives: the test proves little", objectives)
	}
	if moved < 60*10 {
		t.Errorf("only %d Routes had rows: the test proves little", moved)
	}
}

// step does something to the backends.
func (w *world) step() {
	defer w.discover()()
	names := make([]string, 0, len(w.backends))
	for name := range w.backends {
		names = append(names, name)
	}
	switch w.random.IntN(13) {
	case 0:
		key := Route{fmt.Sprint("ns", w.random.IntN(4)), fmt.Sprint("r", w.random.IntN(40))}
		if w.ledger.routes[key] == nil {
			w.born[key] = w.now.Add(time.Nanosecond)
		}
		w.add(key.Namespace, key.Name)
	case 1:
		if len(names) > 5 {
			w.remove(names[w.random.IntN(len(names))])
		}
	case 2:
		if w.random.IntN(10) == 0 {
			w.restart()
		}
	case 3: // a removal overtakes a reading
		if len(names) <= 5 {
			break
		}
		w.ledger.Begin(w.now, false)
		old := w.readings()
		name := names[w.random.IntN(len(names))]
		w.serve(name, 3)
		w.remove(name)
		w.end(old)
	case 4: // a reading breaks off
		w.ledger.Begin(w.now, w.random.IntN(2) == 0)
		for _, r := range w.readings()[:w.random.IntN(len(names)+1)] {
			w.ledger.Take(w.pid, &r)
		}
	case 12:
		w.ask(names)
	case 6:
		w.fill(names[w.random.IntN(len(names))])
	case 5:
		w.now = w.now.Add(time.Duration(w.random.IntN(60)) * time.Second)
	default:
		for range 3 {
			w.serve(names[w.random.IntN(len(names))], uint64(w.random.IntN(1+w.random.IntN(2000))))
		}
	}
}

// gauges holds, after a reading, that the requests under way and the endpoints are those of now, but for connections
// of TCP and what has no identifier, which may be as old as the last whole reading.
func (w *world) gauges() {
	w.t.Helper()
	var want, got Gauges
	_, got = w.ledger.Rest()
	w.ledger.Rows(func(r Row) {
		if !r.Ended {
			got.add(r.Gauges)
		}
	})
	for name, r := range w.backends {
		b := w.ledger.backends[name]
		switch {
		case b == nil && (w.blind || w.hidden[name]): // the next whole reading finds it
			continue
		case b != nil && isTCP(name):
			r.Connections = uint64(b.gauges.connections)
		}
		want.add(r.Gauges)
	}
	if got != want {
		w.t.Fatalf("gauges are %v in all, want %v", got, want)
	}
}

// identity: everything that was counted is in a row, in the rest, or in a row that has gone.
func (w *world) identity() {
	w.t.Helper()
	sum, _ := w.ledger.Rest()
	sum.add(&w.ledger.retired)
	w.ledger.Rows(func(r Row) { sum.add(&r.Counts) })
	if total := w.ledger.Total(); sum != total {
		w.t.Fatalf("rows, rest and former rows are %v, the total is %v", sum, total)
	}
}

// TestBusyRoutesHaveRows: Routes with requests take rows from those without, keep them for an hour, and a namespace with
// very many does not take all.
func TestBusyRoutesHaveRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.ledger.SetSeries(reserved + 9*roomOfRow) // 8 rows
	quiet := map[string]string{}
	for i := range 30 {
		name := fmt.Sprintf("r%02d", i)
		quiet[name] = w.add("many", name)
	}
	w.take()
	busy := w.add("few", "busy")
	for _, name := range []string{"r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29"} {
		w.serve(quiet[name], 1000)
	}
	w.serve(busy, 10)
	w.take()
	has := func(want map[string]bool) {
		t.Helper()
		got := map[string]bool{}
		w.ledger.Rows(func(r Row) { got[r.Name] = true })
		for name, row := range want {
			if got[name] != row {
				t.Errorf("%s has a row: %t, want %t; rows are %v", name, got[name], row, got)
			}
		}
	}
	has(map[string]bool{"busy": true, "r20": true, "r00": false})
	w.now = w.now.Add(Settle)
	w.serve(busy, 5)
	w.take()
	w.ledger.Rows(func(r Row) {
		if r.Name == "busy" && r.Counts[Status2xx] < 5 {
			t.Errorf("the row of busy has %d requests, want those since it settled", r.Counts[Status2xx])
		}
	})
	// Others become busier: busy is within its namespace's share, and stays.
	for name, backend := range quiet {
		if name < "r20" {
			w.serve(backend, 100_000)
		}
	}
	w.now = w.now.Add(time.Minute)
	w.take()
	has(map[string]bool{"busy": true})
}

// TestOneRouteCountsFromTheStart: with room for all, a new Route has all its requests in its own row.
func TestOneRouteCountsFromTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.take()
	w.serve(w.add("shop", "web"), 10)
	w.serve(w.add("shop", "web"), 5)
	w.take()
	got := map[Route]Row{}
	w.ledger.Rows(func(r Row) { got[r.Route] = r })
	if row := got[Route{"shop", "web"}]; row.Counts[Status2xx] < 15 || row.Endpoints != 2 || len(got) != 1 {
		t.Errorf("rows are %v, want one with 15 requests and 2 endpoints", got)
	}
	if rest, _ := w.ledger.Rest(); rest != (Counts{}) {
		t.Errorf("the rest has %v", rest)
	}
}

// TestFirstReadingIsTheBeginning: what HAProxy has counted before the router looks first is not a burst of requests.
func TestFirstReadingIsTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.serve(w.add("shop", "web"), 1000)
	w.take()
	if total := w.ledger.Total(); total != (Counts{}) {
		t.Errorf("the total begins with %v", total)
	}
}

// TestAStartedProcessCountsFromZero: of a process that the router has seen start, the first reading counts.
func TestAStartedProcessCountsFromZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.ledger.Started(w.pid)
	if !w.ledger.NeedsWhole(w.now) {
		t.Error("its first reading may be a partial one")
	}
	w.serve(w.add("shop", "web"), 25)
	w.take()
	if total := w.ledger.Total(); total != w.truth {
		t.Errorf("the total is %v, counted was %v", total, w.truth)
	}
}

// TestANewProcessCountsFromZero: also where it has counted more than the one before, when it is read first.
func TestANewProcessCountsFromZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	name := w.add("shop", "web")
	w.take()
	w.serve(name, 10)
	w.restart()
	w.serve(name, 25)
	w.take()
	if total := w.ledger.Total(); total != w.truth {
		t.Errorf("the total is %v, counted was %v", total, w.truth)
	}
}

// TestTouchedMeanwhile: what changes while it is read is read again with the next reading.
func TestTouchedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	name := w.add("shop", "web")
	w.take()
	w.ledger.Begin(w.now, true)
	r := *w.backends[name]
	r.Partial = true
	w.ledger.Take(w.pid, &r)
	w.ledger.Touch(name)
	if ask, ok := w.ledger.Ask(); !ok || len(ask) != 1 {
		t.Fatalf("asks for %v, %v", ask, ok)
	}
	w.end([]Reading{*w.backends[name]}) // the answer may be from before the change
	w.backends[name].Endpoints = 5
	w.take()
	var got uint64
	w.ledger.Rows(func(r Row) { got = r.Endpoints })
	if w.parts != 1 || got != 5 {
		t.Errorf("%d endpoints after %d partial readings, want 5 after 1", got, w.parts)
	}
	w.take()
	if len(w.ledger.asked) > 0 {
		t.Errorf("still asks for %v", w.ledger.asked)
	}
	// One that a reading is the first to tell of, with a line from before the change.
	fresh := w.add("shop", "fresh")
	w.ledger.Begin(w.now, false)
	w.ledger.Touch(fresh)
	w.end(w.readings())
	if w.ledger.asked[fresh] == 0 {
		t.Error("a new backend that changed while all was read is not read again")
	}
}

func BenchmarkTake(b *testing.B) {
	w := newWorld(nil, 1)
	for i := range 10_000 {
		w.serve(w.add(fmt.Sprint("ns", i%50), fmt.Sprint("r", i)), uint64(i%7))
	}
	all := w.readings()
	for b.Loop() {
		for i := range all {
			all[i].Counts[Status2xx]++
		}
		w.now = w.now.Add(time.Minute)
		w.ledger.Begin(w.now, false)
		w.end(all)
	}
}
