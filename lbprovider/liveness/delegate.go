package liveness

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/netip"
	"sync"

	"github.com/hashicorp/memberlist"
)

// roster is who is reachable, as memberlist tells it. Its own list cannot be
// read while members change, because it hands out what it is writing to.
type roster struct {
	mu    sync.Mutex
	known map[string]entry
}

type entry struct {
	addr netip.Addr
	meta []byte
}

func (r *roster) put(n *memberlist.Node) {
	addr, _ := netip.AddrFromSlice(n.Addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[n.Name] = entry{addr: addr.Unmap(), meta: bytes.Clone(n.Meta)}
}

func (r *roster) remove(n *memberlist.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, n.Name)
}

func (r *roster) list() map[string]entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// events keeps the roster and wakes the loop. memberlist holds its lock during
// these calls, so they must be short.
type events struct{ g *Gossip }

func (e events) NotifyJoin(n *memberlist.Node) {
	e.g.roster.put(n)
	e.g.signal()
}

func (e events) NotifyUpdate(n *memberlist.Node) {
	e.g.roster.put(n)
	e.g.signal()
}

func (e events) NotifyLeave(n *memberlist.Node) {
	e.g.roster.remove(n)
	e.g.signal()
}

// delegate says what this speaker says of itself; it sends no other data.
type delegate struct{ g *Gossip }

// NodeMeta returns this speaker's Member. If its interfaces do not fit, they
// are left out: the others then assume that it has what is needed.
func (d delegate) NodeMeta(limit int) []byte {
	m := *d.g.self.Load()
	data, err := json.Marshal(m)
	if err != nil || len(data) > min(limit, metaLimit) {
		data, _ = json.Marshal(Member{Phase: m.Phase})
	}
	return data
}

func (delegate) NotifyMsg([]byte)                {}
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (delegate) LocalState(bool) []byte          { return nil }
func (delegate) MergeRemoteState([]byte, bool)   {}

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
