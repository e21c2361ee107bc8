package agent

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// errBusy is work that is not begun, because there is too much of it.
var errBusy = errors.New("too much work")

// slots bounds how many questions wait for other servers, and how many of them are of
// one namespace: a quarter.
type slots struct {
	most int
	mu   sync.Mutex
	used map[string]int
	all  int
}

func newSlots(most int) *slots { return &slots{most: most, used: map[string]int{}} }

func (s *slots) take(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.used[namespace] >= max(s.most/4, 1) {
		return false
	}
	s.all++
	s.used[namespace]++
	return true
}

func (s *slots) give(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.used[namespace]--; s.used[namespace] == 0 {
		delete(s.used, namespace)
	}
}

// Bounds of the hash pool.
const (
	mostQueued = 64
	// longestQueue is how much work may wait.
	longestQueue = time.Second
)

// hashPool runs what costs much processor time, a few at a time. Namespaces take
// turns, and one of them has at most a quarter of the queue.
type hashPool struct {
	now     func() time.Time
	metrics *Metrics

	mu      sync.Mutex
	free    int
	workers int
	queues  map[string][]*task
	turns   []string
	queued  int
	// each is how long one took lately.
	each time.Duration
}

type task struct {
	run  func()
	done chan struct{}
	// gone is set if the one who asked no longer waits.
	gone bool
}

func newHashPool(workers int, now func() time.Time, m *Metrics) *hashPool {
	return &hashPool{now: now, metrics: m, free: workers, workers: workers, queues: map[string][]*task{}}
}

// do runs f and waits for its end.
func (p *hashPool) do(ctx context.Context, namespace string, f func()) error {
	t := &task{run: f, done: make(chan struct{})}
	p.mu.Lock()
	switch {
	case p.free > 0:
		p.free--
		go p.work(t)
	case p.queued >= mostQueued || len(p.queues[namespace]) >= mostQueued/4 ||
		p.each*time.Duration(p.queued+1)/time.Duration(p.workers) > longestQueue:
		p.mu.Unlock()
		return errBusy
	default:
		if len(p.queues[namespace]) == 0 {
			p.turns = append(p.turns, namespace)
		}
		p.queues[namespace] = append(p.queues[namespace], t)
		p.queued++
		p.tell()
	}
	p.mu.Unlock()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		t.gone = true
		p.mu.Unlock()
		return ctx.Err()
	}
}

// work runs a task and then those that wait.
func (p *hashPool) work(t *task) {
	for t != nil {
		began := p.now()
		t.safely()
		took := p.now().Sub(began)
		p.mu.Lock()
		p.each += (took - p.each) / 4
		if t = p.next(); t == nil {
			p.free++
		}
		p.mu.Unlock()
	}
}

func (t *task) safely() {
	defer close(t.done)
	defer func() { _ = recover() }() // what f was to set stays as it was: a refusal
	t.run()
}

// next takes the first task of the namespace whose turn it is.
func (p *hashPool) next() *task {
	for len(p.turns) > 0 {
		namespace := p.turns[0]
		p.turns = p.turns[1:]
		queue := p.queues[namespace]
		t := queue[0]
		if len(queue) == 1 {
			delete(p.queues, namespace)
		} else {
			p.queues[namespace] = queue[1:]
			p.turns = append(p.turns, namespace)
		}
		p.queued--
		p.tell()
		if !t.gone {
			return t
		}
		close(t.done)
	}
	return nil
}

func (p *hashPool) tell() {
	if p.metrics != nil {
		p.metrics.queue.Set((p.each * time.Duration(p.queued) / time.Duration(p.workers)).Seconds())
	}
}

// mostAddresses bounds the addresses whose failures are counted.
const mostAddresses = 20_000

// failures counts wrong passwords by policy and address.
type failures struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[failureKey]*failureCount
}

type failureKey struct {
	policy string
	client netip.Prefix
}

type failureCount struct {
	until time.Time
	n     int
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, of: map[failureKey]*failureCount{}}
}

// client is an IPv4 address, or the /64 of an IPv6 address.
func client(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits)
	return p
}

// over returns for how long the address may not try again; 0 if it may.
func (f *failures) over(policy string, a netip.Addr, most int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.of[failureKey{policy, client(a)}]
	if c == nil || c.n < most {
		return 0
	}
	return max(c.until.Sub(f.now()), 0)
}

// add counts a failure. If there is no room, and nothing has ended, any count is
// dropped.
func (f *failures) add(policy string, a netip.Addr, per time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, now := failureKey{policy, client(a)}, f.now()
	c := f.of[k]
	if c == nil || !now.Before(c.until) {
		c = &failureCount{until: now.Add(per)}
		if f.of[k] == nil && len(f.of) >= mostAddresses {
			f.makeRoom(now)
		}
		f.of[k] = c
	}
	c.n++
}

func (f *failures) makeRoom(now time.Time) {
	looked := 0
	for k, c := range f.of {
		if looked++; !now.Before(c.until) || looked > 32 {
			delete(f.of, k)
			if looked > 32 {
				return
			}
		}
	}
}
