// Package feed has HAProxy write records of requests while clients look, and hands the
// records on.
//
//	client ─ GET /inspect/v1/log ─▶ Feed ─ keys of a map ─▶ HAProxy
//	client ◀─ lines of JSON ─────── Feed ◀─ its ring ────── HAProxy
//
// Nothing but traces is written while no client looks: the keys of a client go with its connection, a
// client that takes nothing for Lease is cut off, and a process that starts clears all keys.
// A client that is too slow loses records, and gets their number; HAProxy never waits.
package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/render"
)

const (
	// Lease is how long a client may take nothing.
	Lease = 15 * time.Second
	// MaxReaders bounds the clients at one time.
	MaxReaders = 8
	// perSecond is how many records a client gets in a second.
	perSecond = 1000
	// waiting is how many records wait for a client: 2 s at that rate.
	waiting = 2 * perSecond
	// check is how often HAProxy's keys are compared with those of the clients: another
	// process may have taken over.
	check = time.Second
	// pause is the time between tries to reach HAProxy.
	pause = 200 * time.Millisecond
)

// HAProxy writes the records. Its methods are those of haproxy.Runtime; Records is called
// beside the others.
type HAProxy interface {
	Observe(keys []string) (pid int, err error)
	Records(ctx context.Context, ready func(pid int), each func(line []byte)) error
}

// Feed has any number of readers, up to MaxReaders.
type Feed struct {
	haproxy HAProxy
	log     *slog.Logger
	// changed rings when readers come or go.
	changed chan struct{}
	lost    prometheus.Counter

	mu      sync.Mutex
	readers map[*reader]struct{}
	// trace gets each record, whichever readers there are; nil is none.
	trace func(*observe.Record)
	// sample gets how long each request of the sampled share took, until sampleUntil.
	sample      func(backend []byte, took time.Duration)
	sampleUntil time.Time
	kept        store
	// problem is why nothing can be read now.
	problem error
	// missed counts records that HAProxy had no room for.
	missed int64
}

// New returns a feed, and registers its metrics. Run has to run.
func New(h HAProxy, log *slog.Logger, registry prometheus.Registerer) *Feed {
	f := &Feed{haproxy: h, log: log, changed: make(chan struct{}, 1), readers: map[*reader]struct{}{}}
	f.lost = prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_router_observed_records_lost_total", Help: "Records of observed requests that HAProxy or the router had no room for."})
	registry.MustRegister(f.lost, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fairlead_router_observers", Help: "Clients that read records of requests now."}, func() float64 { return float64(f.count()) }))
	return f
}

func (f *Feed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.readers)
}

// reader is one client.
type reader struct {
	filter  *observe.Filter
	records chan observe.Record
	// began is closed once HAProxy writes what the reader wants.
	began chan struct{}
	once  sync.Once

	// The rest is the feed's, under its mutex.
	second int64
	taken  int
	state  observe.Stream
	// missed is the feed's count when the reader came.
	missed int64
}

var errBusy = errors.New("this router has as many readers of requests as it serves")

// open adds a reader; close takes it away.
func (f *Feed) open(filter *observe.Filter) (*reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) >= MaxReaders {
		return nil, errBusy
	}
	r := &reader{filter: filter, records: make(chan observe.Record, waiting), began: make(chan struct{}), missed: f.missed, state: observe.Stream{Schema: observe.Schema}}
	f.readers[r] = struct{}{}
	f.ring()
	return r, nil
}

func (f *Feed) close(r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, r)
	f.ring()
}

func (f *Feed) ring() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// state returns what became of a reader's records.
func (f *Feed) state(r *reader) observe.Stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := r.state
	s.Lost += f.missed - r.missed
	select {
	case <-r.began:
		s.Observing = true
	default:
	}
	if f.problem != nil {
		s.Observing, s.Problem = false, f.problem.Error()
	}
	return s
}

// Trace hands each record that HAProxy writes to a function, which must not wait, whether or not
// there are readers. Rules of HAProxy have it write those of traces; nil ends it.
func (f *Feed) Trace(take func(*observe.Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trace = take
	f.ring()
}

// Sample has a share of all requests measured for a while from now on, and each handed to a function, which must not wait
// for anything. HAProxy's settings say which share that is. Nothing is written, and nothing read, once the while is over.
func (f *Feed) Sample(take func(backend []byte, took time.Duration), until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := !time.Now().Before(f.sampleUntil)
	f.sample, f.sampleUntil = take, until
	if began {
		f.ring()
	}
}

// wanted are the keys of all readers, and the readers that they are for, and whether records
// are wanted at all.
func (f *Feed) wanted() (keys []string, readers []*reader, wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		keys, readers = append(keys, r.filter.Keys()...), append(readers, r)
	}
	if time.Now().Before(f.sampleUntil) {
		keys = append(keys, render.SampleKey)
	}
	keys = append(keys, f.keptKeys(time.Now())...)
	slices.Sort(keys)
	return slices.Compact(keys), readers, len(keys) > 0 || f.trace != nil || f.kept.on
}

// Run serves readers until the context ends. Then nothing is observed any more.
func (f *Feed) Run(ctx context.Context) error {
	session := newSession(ctx, f)
	defer session.end()
	ticker := time.NewTicker(check)
	defer ticker.Stop()
	for settled := false; ; {
		keys, readers, wanted := f.wanted()
		if wanted {
			session.begin()
		} else {
			session.end()
		}
		// Keys come once HAProxy's ring is being read, so that nothing is missed.
		if pid := session.process(); pid != 0 || !wanted {
			if settled = f.settle(keys, readers, pid); !settled {
				session.end() // another process has taken over, or none answers
			}
		}
		quiet := settled && !wanted
		var again <-chan time.Time
		if !quiet {
			again = ticker.C
		}
		select {
		case <-ctx.Done():
			f.clear()
			return nil
		case <-f.changed:
		case <-session.changed:
		case <-again:
		}
	}
}

// settle makes HAProxy's keys those that are wanted, and reports whether that is the process
// whose ring is read, if any is.
func (f *Feed) settle(keys []string, readers []*reader, reading int) bool {
	pid, err := f.haproxy.Observe(keys)
	if err != nil {
		f.fail(err)
		return false
	}
	if reading != 0 && pid != reading {
		return false
	}
	for _, r := range readers {
		r.once.Do(func() { close(r.began) })
	}
	return true
}

func (f *Feed) clear() {
	if _, err := f.haproxy.Observe(nil); err != nil {
		f.log.Info("requests may be observed until a router starts", "err", err)
	}
}

// fail says why there are no records.
func (f *Feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problem = err
}

// take hands a line of the ring on.
func (f *Feed) take(line []byte, now time.Time) {
	f.mu.Lock()
	sample, keeps := f.sample, f.kept.takes(line, now)
	whole := keeps || f.trace != nil || len(f.readers) > 0
	f.mu.Unlock()
	if backend, took, ok := observe.Sampled(line); ok && sample != nil {
		if sample(backend, took); !whole {
			return
		}
	}
	var record observe.Record
	isRecord := false
	if whole { // which takes many times as long as a sample
		record, isRecord = observe.Parse(line)
	}
	dropped, _ := observe.Dropped(line)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missed += int64(dropped)
	f.lost.Add(float64(dropped))
	if !isRecord {
		return
	}
	if keeps && record.ID != "" {
		f.kept.add(&record, line, now)
	}
	if f.trace != nil {
		f.trace(&record)
	}
	for r := range f.readers {
		if r.filter.Takes(&record) {
			f.offer(r, &record, now.Unix())
		}
	}
}

// offer gives a record to a reader, if it has room, and has not had too many in this second.
func (f *Feed) offer(r *reader, record *observe.Record, second int64) {
	if r.second != second {
		r.second, r.taken = second, 0
	}
	r.state.Seen++
	if r.taken++; r.taken > perSecond {
		r.state.Left++
		return
	}
	select {
	case r.records <- *record:
	default:
		r.state.Lost++
		f.lost.Inc()
	}
}

var _ HAProxy = (*haproxy.Runtime)(nil)
