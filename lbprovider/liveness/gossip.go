// Package liveness knows which speakers are reachable, within one to two
// seconds, by gossip among them (hashicorp/memberlist) and without the API
// server. Speakers also send each other on which interfaces they can announce
// and whether they are starting or stopping.
//
// It decides nothing; package election does.
package liveness

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// Phase is what a speaker says of itself.
type Phase string

const (
	// Settling means that the speaker has just started; it takes nothing from others yet.
	Settling Phase = "settling"
	// Active means that the speaker takes part in every election.
	Active Phase = "active"
	// Draining means that the speaker is about to stop; others take over before it does.
	Draining Phase = "draining"
)

const (
	// settleTime is how long a speaker that joins others waits before it takes
	// addresses from them, so that a node that flaps does less harm.
	settleTime = 5 * time.Second
	// syncTime is how long a speaker waits for others before it acts on its own.
	syncTime = 3 * time.Second
	// joinRetry is how often speakers that are known but missing are tried.
	joinRetry = 2 * time.Second
	// leaveTime bounds the farewell.
	leaveTime = time.Second
	// metaLimit is memberlist's limit for what a member says of itself, in bytes.
	metaLimit = memberlist.MetaMaxSize
)

// Member is a reachable speaker.
type Member struct {
	Phase Phase `json:"phase"`
	// Interfaces are those on which it can announce; nil if it does not say,
	// which is not the same as none.
	Interfaces []string `json:"interfaces"`
	// WithoutIPv6 are those of them that can announce IPv4 addresses only.
	WithoutIPv6 []string `json:"without6,omitempty"`
	// Answering are the Marks of the Services whose pods on its node answer
	// their probes; nil if it does not say.
	Answering []string `json:"answering"`
	APIReach
}

// APIReach is how a speaker reaches the API server.
type APIReach struct {
	// APILost says that it cannot.
	APILost bool `json:"lost,omitempty"`
	// APISteady says that it has done so for SteadyTime. All speakers learn it from the
	// one that it is about, so that they agree on it also where they met at different times.
	APISteady bool `json:"steady,omitempty"`
	// APISilent says that the API server did not answer the last time that it was
	// asked. It is not sent to others.
	APISilent bool `json:"-"`
}

// SteadyTime is how long a speaker must have reached the API server for the
// others to rely on what it decides. After a time without the API server for
// all, some notice later than others that it is back: each believes it after
// ten seconds without a failure, and there are failures while it starts.
const SteadyTime = 30 * time.Second

func (m Member) equal(o Member) bool {
	return m.Phase == o.Phase && m.APIReach == o.APIReach && equalLists(m.Interfaces, o.Interfaces) && slices.Equal(m.WithoutIPv6, o.WithoutIPv6) && equalLists(m.Answering, o.Answering)
}

func equalLists(a, b []string) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) }

// Mark is a short form of a Service's name, for Member.Answering.
func Mark(service string) string {
	sum := sha256.Sum256([]byte(service))
	return base64.RawURLEncoding.EncodeToString(sum[:4])
}

// Snapshot is what is known at one time. It is never changed.
type Snapshot struct {
	// Synced says that this speaker has met the others, or waited long enough.
	Synced bool
	// Members are the reachable speakers by node name, this one included.
	Members map[string]Member
	// Dead is when speakers were lost that have neither said that they stop nor
	// come back.
	Dead map[string]time.Time
}

// Options configure a Gossip.
type Options struct {
	// NodeName is this speaker's name among the others.
	NodeName string
	// BindAddress is the node's address; other speakers must reach it.
	BindAddress string
	// BindPort is used for UDP and TCP; all speakers must use the same.
	BindPort int
	// Secret encrypts the gossip if it is not empty. All speakers need the same.
	Secret []byte
	// Profile is how fast dead speakers are noticed. Speakers of different
	// profiles understand each other.
	Profile Profile
	// Changed is called, from one goroutine, after each change of the Snapshot.
	Changed func()
	Log     *slog.Logger
}

// Gossip is this speaker's membership.
type Gossip struct {
	opts     Options
	list     *memberlist.Memberlist
	table    memberTable
	keys     *memberlist.Keyring // nil without encryption
	snapshot atomic.Pointer[Snapshot]
	self     atomic.Pointer[Member]
	synced   atomic.Bool
	losses   lossHistory
	// isolated says that this speaker lost all others, of which there were several.
	isolated atomic.Bool
	// activeAt is when this speaker has settled, in nanoseconds; 0: not known yet.
	activeAt atomic.Int64
	// again wakes the loop that watches over it.
	again chan struct{}
	// metaChanged wakes the goroutine that spreads what this speaker says of itself.
	metaChanged chan struct{}
	wake        chan struct{}
	peers       chan []string
	done        chan struct{}
}

// Start opens the port and takes part in the gossip until Stop. It fails if the
// address or port cannot be used.
func Start(opts Options) (*Gossip, error) {
	g := &Gossip{
		opts: opts, table: memberTable{known: map[string]memberRecord{}, dead: map[string]time.Time{}}, wake: make(chan struct{}, 1), again: make(chan struct{}, 1), metaChanged: make(chan struct{}, 1),
		peers: make(chan []string, 1), done: make(chan struct{}),
	}
	g.self.Store(&Member{Phase: Settling})
	g.snapshot.Store(&Snapshot{Members: map[string]Member{opts.NodeName: {Phase: Settling}}})
	cfg, err := g.config()
	if err != nil {
		return nil, err
	}
	if g.list, err = memberlist.Create(cfg); err != nil {
		return nil, fmt.Errorf("listen for other speakers on %s:%d: %w", opts.BindAddress, opts.BindPort, err)
	}
	go g.joinLoop()
	go g.publish()
	go g.loop()
	return g, nil
}

// config is that of the profile and what all have in common.
func (g *Gossip) config() (*memberlist.Config, error) {
	cfg := g.opts.Profile.config()
	cfg.Name = g.opts.NodeName
	cfg.BindAddr, cfg.BindPort = g.opts.BindAddress, g.opts.BindPort
	cfg.AdvertisePort = g.opts.BindPort
	// A TCP probe would hide that UDP does not get through, and delays the verdict.
	cfg.DisableTcpPings = true
	// A node that comes back with another address is welcome at once.
	cfg.DeadNodeReclaimTime = time.Second
	cfg.Events, cfg.Delegate = events{g}, delegate{g}
	cfg.LogOutput = logWriter{g.opts.Log}
	if len(g.opts.Secret) > 0 {
		key, err := keyOf(g.opts.Secret)
		if err != nil {
			return nil, err
		}
		if g.keys, err = memberlist.NewKeyring(nil, key); err != nil {
			return nil, fmt.Errorf("use the gossip key: %w", err)
		}
		cfg.Keyring = g.keys
	}
	return cfg, nil
}

// Snapshot returns what is known now.
func (g *Gossip) Snapshot() *Snapshot { return g.snapshot.Load() }

// SetPeers says where the other speakers should be. Unreachable ones are tried
// again until they answer or the list changes.
func (g *Gossip) SetPeers(addresses []string) {
	select {
	case <-g.peers: // only the newest list matters
	default:
	}
	select {
	case g.peers <- addresses:
	default:
	}
}

// SetInterfaces sends the others on which interfaces this speaker can announce,
// and on which of them no IPv6 addresses.
func (g *Gossip) SetInterfaces(names, withoutIPv6 []string) {
	g.updateSelf(func(m *Member) {
		m.Interfaces = append([]string{}, slices.Sorted(slices.Values(names))...)
		m.WithoutIPv6 = slices.Sorted(slices.Values(withoutIPv6))
	})
}

// SetAnswering sends the others which Services' pods on this node answer their probes.
func (g *Gossip) SetAnswering(services []string) {
	marks := make([]string, 0, len(services))
	for _, name := range services {
		marks = append(marks, Mark(name))
	}
	slices.Sort(marks)
	g.updateSelf(func(m *Member) { m.Answering = marks })
}

// noteReportedLosses notes how often another speaker has lost this one. One that is lost
// while it runs on, as by a bad cable, settles again, like one that starts.
func (g *Gossip) noteReportedLosses(lost int) {
	if g.losses.noteReported(lost, time.Now()) {
		g.settleAgain("other speakers had lost this one; settling")
	}
}

// settleAgain keeps this speaker out of elections for a while. Waiting for others
// happens elsewhere: memberlist's callbacks must not.
func (g *Gossip) settleAgain(why string) {
	if !g.synced.Load() || g.self.Load().Phase == Draining {
		return
	}
	d := g.losses.settle()
	g.activeAt.Store(time.Now().Add(d).UnixNano())
	g.opts.Log.Info(why, "dur", d.String())
	g.updateSelf(func(m *Member) { m.Phase = Settling })
	select {
	case g.again <- struct{}{}:
	default:
	}
}

// SetAPIReach sends the others how this speaker reaches the API server.
func (g *Gossip) SetAPIReach(r APIReach) { g.updateSelf(func(m *Member) { m.APIReach = r }) }

// updateSelf changes what this speaker says of itself, and spreads it.
func (g *Gossip) updateSelf(change func(*Member)) {
	for {
		old := g.self.Load()
		next := *old
		change(&next)
		if next.equal(*old) {
			return
		}
		if g.self.CompareAndSwap(old, &next) {
			break
		}
	}
	g.signal()
	g.spread()
}

// spread has the others told what this speaker says of itself.
func (g *Gossip) spread() {
	select {
	case g.metaChanged <- struct{}{}:
	default:
	}
}

// Drain announces to the others that this speaker is about to stop, so that they take
// over while it still answers. It says whether there are others.
func (g *Gossip) Drain() bool {
	g.updateSelf(func(m *Member) { m.Phase = Draining })
	return len(g.Snapshot().Members) > 1
}

// Stop leaves the group of speakers and ends the gossip.
func (g *Gossip) Stop() error {
	close(g.done)
	if err := g.list.Leave(leaveTime); err != nil {
		g.opts.Log.Info("leave the gossip", "err", err)
	}
	if err := g.list.Shutdown(); err != nil {
		return fmt.Errorf("stop listening for other speakers: %w", err)
	}
	return nil
}

func (g *Gossip) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// loop makes the snapshots. It must not run inside memberlist's callbacks,
// which hold its lock.
func (g *Gossip) loop() {
	for {
		select {
		case <-g.done:
			return
		case <-g.wake:
		}
		g.refresh()
	}
}

// members reads what the reachable speakers say of themselves.
func (g *Gossip) members() map[string]Member {
	out := map[string]Member{}
	for name, e := range g.table.list() {
		m, err := readMember(e.meta)
		if err != nil {
			g.opts.Log.Info("cannot read what a speaker says of itself", "node", name, "err", err)
		}
		out[name] = m
	}
	out[g.opts.NodeName] = *g.self.Load()
	return out
}

// readMember reads what a speaker says of itself. Of one that says nothing, or
// nothing that can be read, the best is assumed.
func readMember(meta []byte) (Member, error) {
	if len(meta) == 0 {
		return Member{Phase: Active}, nil
	}
	m := Member{Phase: Active}
	if err := json.Unmarshal(meta, &m); err != nil {
		return Member{Phase: Active}, fmt.Errorf("read it: %w", err)
	}
	if m.Phase != Active && m.Phase != Settling && m.Phase != Draining {
		return Member{Phase: Active}, fmt.Errorf("unknown phase %q", m.Phase)
	}
	for _, name := range slices.Concat(m.Interfaces, m.WithoutIPv6, m.Answering) {
		// Longer or other ones are no interface's name and no Mark.
		if len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return Member{Phase: Active}, fmt.Errorf("impossible name %q", name)
		}
	}
	return m, nil
}

// maxName is the length of an interface's name at most; a Mark is shorter.
const maxName = 15

func (g *Gossip) refresh() {
	old := g.Snapshot()
	next := &Snapshot{Synced: g.synced.Load(), Members: g.members(), Dead: g.table.deadMembers()}
	if next.Synced == old.Synced && maps.EqualFunc(next.Members, old.Members, Member.equal) {
		return
	}
	g.snapshot.Store(next)
	if len(next.Members) != len(old.Members) {
		g.opts.Log.Info("reachable speakers", "nodes", slices.Sorted(maps.Keys(next.Members)))
	}
	g.opts.Changed()
}
