package speaker

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/process"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// A session that BFD brought down comes back after bfdPause even without BFD:
// routers such as FRR run BFD only beside an established session. Over a path
// that is dead it cannot come back. If BFD loses it again within bfdMemory, the
// pause doubles, up to bfdPauseLimit.
const (
	bfdPause      = time.Second
	bfdPauseLimit = 30 * time.Second
	bfdMemory     = time.Minute
)

// Detector runs BFD sessions; bfd.Engine is one.
type Detector interface {
	Add(bfd.Config) (*bfd.Session, error)
	Close()
}

// bfdWatcher has peers watched by BFD, and brings their BGP sessions down as soon
// as BFD loses them, without waiting for a Reconcile.
type bfdWatcher struct {
	detector Detector
	routers  Routers
	changed  func()
	log      *slog.Logger

	mu      sync.Mutex
	watched map[string]*watchedPeer
	closed  bool
}

// watchedPeer is one peer's BFD session.
type watchedPeer struct {
	config  bfd.Config // without Profile and Changed: what it takes a new session to change
	profile bfd.Profile
	session *bfd.Session
	state   bfd.State
	// retry ends the pause after the last loss.
	retry  *time.Timer
	pause  time.Duration
	lostAt time.Time
}

func newBFDWatcher(detector Detector, routers Routers, changed func(), log *slog.Logger) *bfdWatcher {
	return &bfdWatcher{detector: detector, routers: routers, changed: changed, log: log, watched: map[string]*watchedPeer{}}
}

// apply starts, changes and ends BFD sessions so that they are those of the peers
// of the BGP sessions.
func (w *bfdWatcher) apply(cfg *config.Config, sessions []bgp.Status) {
	if w.detector == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	wanted := map[string]bool{}
	for _, st := range sessions {
		p := st.Peer
		p.Address = routerAt(st)
		c := cfg.Peer(p.Name)
		if c == nil || c.BFD == nil || !p.Address.IsValid() {
			continue
		}
		wanted[p.Name] = true
		w.watch(p, c.BFD)
	}
	for name, one := range w.watched {
		if !wanted[name] {
			w.end(name, one)
			w.routers.Resume(name)
		}
	}
}

// routerAt is the address of a session's router: the configured one or, by interface,
// what the session's process says that it found. That process meets the router's
// messages and is not to be believed further: another router's address would take
// over its BFD session.
func routerAt(st bgp.Status) netip.Addr {
	switch a := st.Address; {
	case st.Peer.Address.IsValid() || st.Peer.Interface == "":
		return st.Peer.Address
	case a.IsLinkLocalUnicast() && a.Zone() == st.Peer.Interface:
		return a
	}
	return netip.Addr{}
}

func (w *bfdWatcher) watch(p bgp.Peer, profile *config.BFDProfile) {
	want := bfd.Config{
		Peer: p.Address, Local: p.Source, VRF: p.VRF, Multihop: p.MultiHop || p.Internal() && !process.Direct(p.Address),
	}
	timers := bfd.Profile{
		ReceiveInterval: profile.Receive, TransmitInterval: profile.Transmit, DetectMultiplier: profile.Multiplier,
		PassiveMode: profile.Passive, MinimumTTL: profile.MinimumTTL,
	}
	old := w.watched[p.Name]
	if old != nil && old.session != nil && sameConfig(old.config, want) {
		if old.profile != timers {
			old.profile = timers
			w.logError(p, old.session.SetProfile(timers))
		}
		return
	}
	if old != nil {
		w.end(p.Name, old)
	}
	now := &watchedPeer{config: want, profile: timers, state: bfd.Down}
	w.watched[p.Name] = now
	want.Profile = timers
	want.Changed = func(c bfd.Change) { w.change(p, now, c) }
	var err error
	now.session, err = w.detector.Add(want)
	w.logError(p, err)
}

func (w *bfdWatcher) logError(p bgp.Peer, err error) {
	if err != nil {
		w.log.Error("watch a router by BFD", "peer", p.Name, "err", err)
	}
}

func sameConfig(a, b bfd.Config) bool {
	return a.Peer == b.Peer && a.Local == b.Local && a.VRF == b.VRF && a.Multihop == b.Multihop
}

// change is called by the BFD session.
func (w *bfdWatcher) change(p bgp.Peer, one *watchedPeer, c bfd.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[p.Name] != one {
		return // it was replaced
	}
	one.state = c.To
	switch {
	case c.Failed():
		w.routers.Suspend(p.Name, fmt.Sprintf("BFD lost %s: %s", p.Address, c.Diag))
		one.stopRetry()
		one.retry = time.AfterFunc(one.next(time.Now()), func() { w.routers.Resume(p.Name) })
	case c.To == bfd.Up || c.PeerAdminDown:
		one.stopRetry()
		w.routers.Resume(p.Name)
	}
	w.changed()
}

// next returns the pause after a loss at the given time.
func (o *watchedPeer) next(now time.Time) time.Duration {
	if o.lostAt.IsZero() || now.Sub(o.lostAt) > bfdMemory {
		o.pause = bfdPause
	} else {
		o.pause = min(2*o.pause, bfdPauseLimit)
	}
	o.lostAt = now
	return o.pause
}

func (o *watchedPeer) stopRetry() {
	if o.retry != nil {
		o.retry.Stop()
	}
}

// end ends and forgets a session.
func (w *bfdWatcher) end(name string, one *watchedPeer) {
	delete(w.watched, name)
	one.stopRetry()
	if one.session != nil {
		one.session.Close()
	}
}

// states returns the state of BFD by peer.
func (w *bfdWatcher) states() map[string]bfd.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bfd.State{}
	for name, one := range w.watched {
		out[name] = one.state
	}
	return out
}

// close ends all sessions and says so to the peers, so that they know that the
// silence is on purpose.
func (w *bfdWatcher) close() {
	w.mu.Lock()
	w.closed = true
	for _, one := range w.watched {
		one.stopRetry()
	}
	w.watched = map[string]*watchedPeer{}
	w.mu.Unlock()
	if w.detector != nil {
		w.detector.Close()
	}
}
