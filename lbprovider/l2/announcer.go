package l2

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// portRetry is how soon an interface that could not be opened is tried again.
	portRetry = time.Second
	// conflictPause bounds how often a foreign claim leads to a new burst.
	conflictPause = 5 * time.Second
	// conflictDelay is the time between such a claim and the burst. The other
	// may be the new owner of which this node is about to learn.
	conflictDelay = 500 * time.Millisecond
	// DefaultRefresh keeps switches from forgetting where an idle address is.
	DefaultRefresh = time.Minute
)

// Claim says where an address is announced.
type Claim struct {
	// Interfaces are the names of those to use; nil means all.
	Interfaces []string
	// Yield says that another node takes the address over. If it is announced
	// here, requests are answered until the other announces itself or has just done so,
	// or for yieldTime; unasked, nothing is sent.
	Yield bool
	// OwnerDiedAt is when the node that announced the address before was found dead;
	// zero if that is not why it is announced here. The time that passes until the
	// first frame goes out is measured.
	OwnerDiedAt time.Time
	// counts is set by the Announcer.
	counts *counts
}

func (c Claim) on(name string) bool {
	return c.Interfaces == nil || slices.Contains(c.Interfaces, name)
}

// Options configure an Announcer.
type Options struct {
	// Excluded are patterns of interface names never to use; nil means
	// DefaultExcludedInterfaces.
	Excluded []string
	// Refresh is the pause between unasked announcements after the first
	// seconds; 0 means that there are none.
	Refresh time.Duration
	// LinksChanged is called with the names of usable interfaces, and of those
	// among them without IPv6, at start and after each change.
	LinksChanged func(all, withoutIPv6 []string)
	// Conflict is called when another host goes on to claim an address that was
	// taken over some time ago: at most every 5 seconds for an address. It must
	// not block and may be nil.
	Conflict func(Conflict)
	Metrics  *Metrics
	Log      *slog.Logger
}

// Conflict is a claim of another host for an address that is announced here.
type Conflict struct {
	Address   netip.Addr
	MAC       net.HardwareAddr
	Interface string
}

// Announcer answers for addresses. Its methods may be called from any goroutine.
type Announcer struct {
	opts     Options
	log      *slog.Logger
	excluded []*regexp.Regexp
	// claims is the whole set of announced addresses, read by the receivers.
	claims atomic.Pointer[map[netip.Addr]Claim]
	// own are the hardware addresses of this node's interfaces. What they claim
	// is no conflict: with two interfaces on one segment each hears the other.
	own atomic.Pointer[map[mac]bool]
	do  chan func(*state)
}

// state belongs to Run.
type state struct {
	*Announcer
	ports  map[string]*port
	bursts map[netip.Addr]*burst
	// lastConflict is when a claim of another was last answered, and claimed when the
	// last one was seen.
	lastConflict, claimed map[netip.Addr]time.Time
	// yields are the addresses being given up, and when to stop at the latest.
	yields map[netip.Addr]time.Time
	// drained is closed when nothing is announced any more.
	drained []chan struct{}
	// names and without are what LinksChanged was called with.
	names, without []string

	retry bool
	// kernel says that the kernel answers for what it should not.
	kernel bool
}

// New returns an Announcer that announces nothing yet. It fails if a pattern of
// opts.Excluded is no regular expression.
func New(opts Options) (*Announcer, error) {
	if opts.Excluded == nil {
		opts.Excluded = DefaultExcludedInterfaces()
	}
	a := &Announcer{opts: opts, log: opts.Log.With("part", "l2"), do: make(chan func(*state), 64)}
	for _, p := range opts.Excluded {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern of excluded interfaces %q: %w", p, err)
		}
		a.excluded = append(a.excluded, re)
	}
	a.claims.Store(&map[netip.Addr]Claim{})
	a.own.Store(&map[mac]bool{})
	return a, nil
}

// Announce replaces the set of announced addresses. Those that are new, or on
// other interfaces than before, are announced at once; for those that are gone
// nothing is sent.
func (a *Announcer) Announce(claims map[netip.Addr]Claim) {
	next := make(map[netip.Addr]Claim, len(claims))
	for addr, c := range claims {
		next[addr.Unmap().WithZone("")] = c
	}
	a.do <- func(s *state) { s.replace(next) }
}

// Refresh announces every address again, as after a partition of the network.
func (a *Announcer) Refresh() { a.do <- func(s *state) { s.restartBursts() } }

// ours says whether a hardware address is one of this node's.
func (a *Announcer) ours(m mac) bool { return (*a.own.Load())[m] }

// conflict notes that another host claims addr.
func (a *Announcer) conflict(addr netip.Addr, by mac, on string) {
	select {
	case a.do <- func(s *state) { s.contested(addr, by, on) }:
	default: // a storm of claims: this one may be missed
	}
}

// Run works until ctx ends; then it closes everything. It returns no error:
// interfaces that cannot be used are tried again forever.
func (a *Announcer) Run(ctx context.Context) {
	s := &state{Announcer: a, ports: map[string]*port{}, bursts: map[netip.Addr]*burst{}, lastConflict: map[netip.Addr]time.Time{}, claimed: map[netip.Addr]time.Time{}, yields: map[netip.Addr]time.Time{}}
	defer s.close()
	changed := make(chan struct{}, 1)
	go watchLinks(ctx, a.log, changed)
	for {
		timer := time.NewTimer(s.pause(time.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case f := <-a.do:
			f(s)
		case <-changed:
			s.scan()
		case <-timer.C:
			if s.retry {
				s.scan()
			}
		}
		timer.Stop()
		s.endYields(time.Now())
		s.sendDue(time.Now())
	}
}

// pause returns how long nothing is to be done.
func (s *state) pause(now time.Time) time.Duration {
	wait := time.Hour
	if s.retry {
		wait = portRetry
	}
	for _, end := range s.yields {
		wait = min(wait, max(end.Sub(now), 0))
	}
	if len(s.ports) == 0 {
		return wait
	}
	for _, b := range s.bursts {
		if at, ok := b.due(); ok {
			wait = min(wait, max(at.Sub(now), 0))
		}
	}
	return wait
}

func (s *state) replace(next map[netip.Addr]Claim) {
	old := *s.claims.Load()
	now := time.Now()
	for addr, c := range next {
		if c.Yield {
			if !s.yield(addr, old, now) {
				delete(next, addr)
				continue
			}
			was := old[addr]
			was.Yield = true
			next[addr] = was
			continue
		}
		was, known := old[addr]
		if c.counts = was.counts; !known {
			c.counts = s.opts.Metrics.add(addr)
		}
		next[addr] = c
		if known && !was.Yield && slices.Equal(was.Interfaces, c.Interfaces) && (was.Interfaces == nil) == (c.Interfaces == nil) {
			continue
		}
		delete(s.yields, addr)
		s.log.Info("announcing", "address", addr, "interfaces", c.Interfaces)
		s.bursts[addr] = &burst{start: now, refresh: s.opts.Refresh, ownerDiedAt: c.OwnerDiedAt}
	}
	s.claims.Store(&next)
	for _, p := range s.ports {
		s.join(p)
	}
	for addr := range old {
		if _, still := next[addr]; !still {
			s.log.Info("no longer announcing", "address", addr)
			s.forget(addr)
		}
	}
}

func (s *state) restartBursts() {
	now := time.Now()
	for _, b := range s.bursts {
		b.restart(now)
	}
}

// contested answers the claim of another host with a new burst, but neither at
// once nor often: while an address moves, two nodes may claim it for a moment. A
// burst that is under way pauses for that moment.
func (s *state) contested(addr netip.Addr, by mac, on string) {
	if _, leaving := s.yields[addr]; leaving {
		s.release(addr, "taken over by "+by.addr().String())
		return
	}
	b := s.bursts[addr]
	if b == nil {
		return
	}
	(*s.claims.Load())[addr].counts.conflicts.Add(1)
	now := time.Now()
	s.claimed[addr] = now
	b.hold(now.Add(conflictDelay))
	if !b.over() || now.Sub(s.lastConflict[addr]) < conflictPause {
		return
	}
	s.lastConflict[addr] = now
	s.log.Info("another host claims an address that is announced here", "address", addr, "mac", by.addr().String(), "interface", on)
	b.restart(now.Add(conflictDelay))
	if s.opts.Conflict != nil {
		s.opts.Conflict(Conflict{Address: addr, MAC: by.addr(), Interface: on})
	}
}

// sendDue sends what is due.
func (s *state) sendDue(now time.Time) {
	if len(s.ports) == 0 {
		return
	}
	claims := *s.claims.Load()
	for addr, b := range s.bursts {
		at, ok := b.due()
		if !ok || at.After(now) {
			continue
		}
		first := b.sent == 0
		b.mark(now)
		switch told := s.announceOn(addr, claims[addr]); {
		case told && !b.ownerDiedAt.IsZero():
			s.opts.Metrics.failover.Observe(time.Since(b.ownerDiedAt).Seconds())
			b.ownerDiedAt = time.Time{}
		case !told && first:
			s.log.Error("no interface can announce the address; for IPv6 it needs some IPv6 address", "address", addr, "interfaces", claims[addr].Interfaces)
		}
	}
}

// announceOn announces an address by all interfaces of its claim, and says whether
// there was one.
func (s *state) announceOn(addr netip.Addr, c Claim) (told bool) {
	for _, p := range s.ports {
		if !c.on(p.name) {
			continue
		}
		sent, err := p.announce(addr)
		if err != nil {
			s.log.Debug("unasked announcement", "address", addr, "err", err)
		}
		if sent {
			told = true
			c.counts.unasked.Add(1)
		}
	}
	return told
}
