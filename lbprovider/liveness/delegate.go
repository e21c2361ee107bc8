package liveness

import (
	"bytes"
	"encoding/json"
	"log/slog"

	"github.com/hashicorp/memberlist"
)

// events wakes the loop at every change of membership.
type events struct{ g *Gossip }

func (e events) NotifyJoin(*memberlist.Node)   { e.g.signal() }
func (e events) NotifyLeave(*memberlist.Node)  { e.g.signal() }
func (e events) NotifyUpdate(*memberlist.Node) { e.g.signal() }

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
