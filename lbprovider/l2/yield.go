package l2

import (
	"net/netip"
	"time"
)

const (
	// yieldTime bounds how long an address that another node takes over is still
	// answered for here. The other usually announces itself within a few
	// milliseconds; it may have to ask its router first, and it may learn later than
	// this node that the address is its own. Until then no other node answers.
	yieldTime = 10 * time.Second
	// leaveTime is yieldTime for a process that ends.
	leaveTime = 2 * time.Second
	// takenTime is how long ago another may have claimed an address to count as its new
	// owner: it knew of the move before this node.
	takenTime = 3 * time.Second
)

// Yield gives up every address: requests are answered until others announce
// themselves. The channel is closed when none is left, leaveTime later at most.
func (a *Announcer) Yield() <-chan struct{} {
	done := make(chan struct{})
	a.do <- func(s *state) {
		next := make(map[netip.Addr]Claim)
		for addr, c := range *s.claims.Load() {
			c.Yield = true
			next[addr] = c
		}
		s.replace(next)
		for addr, end := range s.yields {
			if last := time.Now().Add(leaveTime); end.After(last) {
				s.yields[addr] = last
			}
		}
		s.drained = append(s.drained, done)
	}
	return done
}

// yield goes on answering for an address that is announced here, for a while.
// It returns false if there is nothing to give up, or the other was seen already.
func (s *state) yield(addr netip.Addr, old map[netip.Addr]Claim, now time.Time) bool {
	was, known := old[addr]
	if !known {
		return false
	}
	if !was.Yield {
		if at, claimed := s.claimed[addr]; claimed && now.Sub(at) < takenTime {
			s.log.Info("giving up an address that another has taken over", "address", addr)
			return false
		}
		s.log.Info("giving up an address", "address", addr)
		s.yields[addr] = now.Add(yieldTime)
		delete(s.bursts, addr)
	}
	return true
}

// endYields ends the answers for addresses whose time is over.
func (s *state) endYields(now time.Time) {
	for addr, end := range s.yields {
		if !end.After(now) {
			s.release(addr, "no node was seen to take it over in time")
		}
	}
	if len(*s.claims.Load()) == 0 {
		for _, done := range s.drained {
			close(done)
		}
		s.drained = nil
	}
}

// release ends the answers for a yielded address.
func (s *state) release(addr netip.Addr, why string) {
	claims := *s.claims.Load()
	next := make(map[netip.Addr]Claim, len(claims))
	for a, c := range claims {
		if a != addr {
			next[a] = c
		}
	}
	s.claims.Store(&next)
	s.log.Info("no longer announcing", "address", addr, "reason", why)
	s.forget(addr)
}

// forget drops what is known of an address that is not announced any more.
func (s *state) forget(addr netip.Addr) {
	delete(s.bursts, addr)
	delete(s.lastConflict, addr)
	delete(s.claimed, addr)
	delete(s.yields, addr)
	s.opts.Metrics.forget(addr)
}
