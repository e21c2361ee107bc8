package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// Client is the router's side of the agent whose sockets are in Dir.
type Client struct{ Dir string }

// Send hands the agent an encoded snapshot, and returns what it says when its workers
// decide by it.
func (c Client) Send(ctx context.Context, whole []byte) (Reply, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", filepath.Join(c.Dir, StateSocket))
	if err != nil {
		return Reply{}, fmt.Errorf("reach the policy agent: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(whole); err != nil {
		return Reply{}, fmt.Errorf("send the snapshot: %w", err)
	}
	var r Reply
	if err := json.NewDecoder(io.LimitReader(conn, 8<<20)).Decode(&r); err != nil {
		return Reply{}, fmt.Errorf("read the policy agent's answer: %w", err)
	}
	return r, nil
}

// Ask returns what the workers decide by now.
func (c Client) Ask(ctx context.Context) (Reply, error) { return c.Send(ctx, snapshot.Question()) }

// Decides reports whether both workers decide by a generation.
func (r Reply) Decides(generation uint64) bool {
	for _, w := range Workers() {
		if g, alive := r.Generations[w]; !alive || g != generation {
			return false
		}
	}
	return true
}
