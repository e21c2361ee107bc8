package liveness

import (
	"net/netip"
	"slices"
	"time"
)

// joinLoop looks for the speakers that should be there. It has its own
// goroutine because an attempt blocks for up to a second per missing speaker.
func (g *Gossip) joinLoop() {
	var peers []string
	known := false
	started := time.Now()
	activeAt := time.Time{}
	for {
		missing := g.missing(peers)
		met := 0
		if len(missing) > 0 {
			met, _ = g.list.Join(missing) // memberlist logs each failure
		}
		if !g.synced.Load() && (known && met == len(missing) || time.Since(started) > syncTime) {
			g.settle(&activeAt)
		}
		if !activeAt.IsZero() && !time.Now().Before(activeAt) && g.self.Load().Phase == Settling {
			g.say(func(m *Member) { m.Phase = Active })
		}
		select {
		case <-g.done:
			return
		case peers = <-g.peers:
			known = true
		case <-g.again:
			if g.synced.Load() && g.self.Load().Phase != Draining {
				activeAt = time.Now().Add(g.flaps.settle())
				g.opts.Log.Info("other speakers had lost this one; settling", "dur", time.Until(activeAt).Round(time.Second).String())
				g.say(func(m *Member) { m.Phase = Settling })
			}
		case <-time.After(g.pause(activeAt)):
		}
	}
}

func (g *Gossip) pause(activeAt time.Time) time.Duration {
	if g.self.Load().Phase != Settling {
		return joinRetry
	}
	if activeAt.IsZero() {
		return 500 * time.Millisecond
	}
	return min(joinRetry, max(time.Until(activeAt), time.Millisecond))
}

// settle ends the first phase: the others are met, or not there. Where no other
// speaker is active there is nothing to take away, and no need to wait.
func (g *Gossip) settle(activeAt *time.Time) {
	*activeAt = time.Now()
	for name, m := range g.members() {
		if name != g.opts.NodeName && m.Phase == Active {
			*activeAt = time.Now().Add(g.flaps.settle())
		}
	}
	g.synced.Store(true)
	if activeAt.After(time.Now()) {
		g.opts.Log.Info("settling beside other speakers", "dur", time.Until(*activeAt).Round(time.Second).String())
		g.signal()
	} else {
		g.say(func(m *Member) { m.Phase = Active })
	}
}

// missing returns the peers that are neither this speaker nor a member.
func (g *Gossip) missing(peers []string) []string {
	var have []netip.Addr
	for _, e := range g.roster.list() {
		have = append(have, e.addr)
	}
	var out []string
	for _, p := range peers {
		addr, err := netip.ParseAddr(p)
		if err != nil || slices.Contains(have, addr.Unmap()) {
			continue
		}
		out = append(out, netip.AddrPortFrom(addr, uint16(g.opts.BindPort)).String())
	}
	return out
}
