package liveness

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// memberTable holds the reachable speakers, as memberlist reports them. Its own list cannot be
// read while members change, because it hands out what it is writing to.
type memberTable struct {
	mu    sync.Mutex
	known map[string]memberRecord
	// dead is when speakers were lost that did not say that they stop.
	dead map[string]time.Time
}

type memberRecord struct {
	addr netip.Addr
	meta []byte
}

func (r *memberTable) put(n *memberlist.Node) {
	addr, _ := netip.AddrFromSlice(n.Addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[n.Name] = memberRecord{addr: addr.Unmap(), meta: bytes.Clone(n.Meta)}
	delete(r.dead, n.Name)
}

// remove returns how many are left, this one included.
func (r *memberTable) remove(n *memberlist.Node) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, n.Name)
	return len(r.known)
}

// markDead notes that a member is dead.
func (r *memberTable) markDead(name string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead[name] = now
}

func (r *memberTable) deadMembers() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.dead)
}

func (r *memberTable) list() map[string]memberRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// events keeps the table and wakes the loop. memberlist holds its lock during
// these calls, so they must be short.
type events struct{ g *Gossip }

func (e events) NotifyJoin(n *memberlist.Node) {
	// It settles before it sees the other one: between the two it would take addresses,
	// only to give them up again.
	if n.Name != e.g.opts.NodeName && e.g.isolated.CompareAndSwap(true, false) {
		e.g.settleAgain("this speaker was cut off; settling")
		e.g.spread()
	}
	e.g.table.put(n)
	e.g.signal()
}

func (e events) NotifyUpdate(n *memberlist.Node) {
	e.g.table.put(n)
	e.g.signal()
}

func (e events) NotifyLeave(n *memberlist.Node) {
	if last := e.g.table.list()[n.Name].meta; !bytes.Contains(last, []byte(Draining)) {
		now := time.Now()
		e.g.losses.add(n.Name, now)
		e.g.table.markDead(n.Name, now)
	}
	if e.g.table.remove(n) <= 1 {
		e.g.isolated.Store(e.g.losses.alone(time.Now()))
		e.g.spread()
	}
	e.g.signal()
}

// delegate says what this speaker says of itself; it sends no other data.
type delegate struct{ g *Gossip }

// NodeMeta returns this speaker's Member. If its interfaces do not fit, they
// are left out, and then what answers: the others then assume the best of it.
func (d delegate) NodeMeta(limit int) []byte {
	m := *d.g.self.Load()
	if m.Phase == Active && d.g.isolated.Load() {
		// The others see it again before it sees them: they would give up its addresses.
		m.Phase = Settling
	}
	for range 3 {
		data, err := json.Marshal(m)
		if err == nil && len(data) <= min(limit, metaLimit) {
			return data
		}
		if m.Interfaces == nil {
			m.Answering = nil
		}
		m.Interfaces, m.WithoutIPv6 = nil, nil
	}
	return nil
}

func (delegate) NotifyMsg([]byte)                {}
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }

// maxState is the longest state that is read, in bytes: that of 10,000 nodes.
const maxState = 1 << 20

// LocalState is what members send each other when they meet: how often which
// speaker was lost, so that one that comes back learns it of itself.
func (d delegate) LocalState(bool) []byte {
	data, err := json.Marshal(d.g.losses.list(time.Now()))
	if err != nil {
		return nil
	}
	return data
}

// MergeRemoteState takes what another member sends. Nothing is learnt from what cannot be read.
func (d delegate) MergeRemoteState(data []byte, _ bool) {
	if lost, ok := readLost(data, d.g.opts.NodeName); ok {
		d.g.noteReportedLosses(lost)
	}
}

// readLost reads how often a speaker lost the node, as LocalState writes it.
func readLost(data []byte, node string) (lost int, ok bool) {
	var told map[string]int
	if len(data) > maxState || json.Unmarshal(data, &told) != nil {
		return 0, false
	}
	return max(told[node], 0), true
}

// logWriter turns memberlist's lines into log records.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	switch {
	case bytes.Contains(line, []byte("[ERR]")), bytes.Contains(line, []byte("[WARN]")):
		w.log.Info("memberlist", "message", text)
	default:
		w.log.Debug("memberlist", "message", text)
	}
	return len(line), nil
}
