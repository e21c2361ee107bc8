package l2

import (
	"context"
	"net/netip"
	"time"
)

// Last returns when each address was last announced unasked; those that are
// not announced here are missing. It returns nil if Run has ended.
func (a *Announcer) Last(ctx context.Context) map[netip.Addr]time.Time {
	answer := make(chan map[netip.Addr]time.Time, 1)
	ask := func(s *state) {
		all := make(map[netip.Addr]time.Time, len(s.bursts))
		for addr, b := range s.bursts {
			all[addr] = b.last
		}
		answer <- all
	}
	select {
	case a.do <- ask:
	case <-ctx.Done():
		return nil
	}
	select {
	case all := <-answer:
		return all
	case <-ctx.Done():
		return nil
	}
}
