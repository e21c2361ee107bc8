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
	for {
		missing := g.missing(peers)
		met := 0
		if len(missing) > 0 {
			met, _ = g.list.Join(missing) // memberlist logs each failure
		}
		if !g.synced.Load() && (known && met == len(missing) || time.Since(started) > syncTime) {
			g.settle()
		}
		if left, known := g.left(); known && left <= 0 && g.self.Load().Phase == Settling {
			g.updateSelf(func(m *Member) { m.Phase = Active })
		}
		select {
		case <-g.done:
			return
		case peers = <-g.peers:
			known = true
		case <-g.again:
		case <-time.After(g.pause()):
		}
	}
}

// left returns how long this speaker still settles, if that is known.
func (g *Gossip) left() (time.Duration, bool) {
	at := g.activeAt.Load()
	return time.Until(time.Unix(0, at)), at != 0
}

func (g *Gossip) pause() time.Duration {
	if g.self.Load().Phase != Settling {
		return joinRetry
	}
	left, known := g.left()
	if !known {
		return 500 * time.Millisecond
	}
	return min(joinRetry, max(left, time.Millisecond))
}

// settle ends the first phase: the others are met, or not there. Where no other
// speaker is active there is nothing to take away, and no need to wait.
func (g *Gossip) settle() {
	wait := time.Duration(0)
	for name, m := range g.members() {
		if name != g.opts.NodeName && m.Phase == Active {
			wait = g.losses.settle()
		}
	}
	g.activeAt.Store(time.Now().Add(wait).UnixNano())
	g.synced.Store(true)
	if wait > 0 {
		g.opts.Log.Info("settling beside other speakers", "dur", wait.String())
		g.signal()
	} else {
		g.updateSelf(func(m *Member) { m.Phase = Active })
	}
}

// missing returns the peers that are neither this speaker nor a member.
func (g *Gossip) missing(peers []string) []string {
	var have []netip.Addr
	for _, e := range g.table.list() {
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
