// Package process runs the policy agent: two workers, and a supervisor that starts them
// again and hands them snapshots.
//
//	router ──agent-state.sock──▶ supervisor ──file──▶ worker A ◀──decide-a.sock── HAProxy
//	                                 │  "load 7"  ──▶ worker B ◀──decide-b.sock──
//	                                 ◀── a beat each 200 ms, with the generation
//
// Either worker is enough. A worker that ends, or whose beat stops for a second, is
// replaced within a tenth of a second, and reads its snapshot from the file, without the
// router. A supervisor that ends leaves its workers serving until those of the next
// supervisor have taken their sockets over.
package process

import (
	"encoding/json"
	"os"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// Names of sockets in the agent's folder.
const (
	StateSocket   = "agent-state.sock"
	MetricsSocket = "agent-metrics.sock"
)

// DecideSocket is where HAProxy asks a worker.
func DecideSocket(worker string) string { return "decide-" + worker + ".sock" }

// SideSocket is where HAProxy hands a worker copies of requests. It is apart from
// DecideSocket, so that no copy waits before a question.
func SideSocket(worker string) string { return "side-" + worker + ".sock" }

func workerMetrics(worker string) string { return "agent-metrics-" + worker + ".sock" }

// Workers are the names of the workers.
func Workers() []string { return []string{"a", "b"} }

// beat is what a worker reports, in one line of JSON.
type beat struct {
	// Load is the number of the last order to load that was followed.
	Load int `json:"load"`
	// Generation is that of the snapshot in use.
	Generation uint64 `json:"generation"`
	// Error is why the last snapshot is not used.
	Error string `json:"error,omitempty"`
	// Closed are policies that refuse everything, with the reason.
	Closed map[string]string `json:"closed,omitempty"`
	// Troubles are what policies cannot have read, if that is not what the beat before said.
	Troubles *snapshot.Troubles `json:"troubles,omitempty"`
	// Connections are open now; Accepted is how many there were.
	Connections int    `json:"connections"`
	Accepted    uint64 `json:"accepted"`
}

// Reply is what the router gets for a snapshot.
type Reply struct {
	// Generations are those that the workers decide by.
	Generations map[string]uint64 `json:"generations"`
	// Closed are policies of the snapshot that refuse everything, with the reason.
	Closed map[string]string `json:"closed,omitempty"`
	// Troubles are what policies need of other servers and the workers cannot read, by ID.
	Troubles snapshot.Troubles `json:"troubles,omitempty"`
	// Error is why the snapshot is not used, or not by all workers.
	Error string `json:"error,omitempty"`
}

// same returns a function that reports whether a socket is still the one that was
// made.
func same(path string) func() bool {
	made, err := os.Stat(path)
	return func() bool {
		now, err2 := os.Stat(path)
		return err == nil && err2 == nil && os.SameFile(made, now)
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("{}") // there is nothing in these types that has no JSON
	}
	return append(b, '\n')
}

const (
	beatEvery = 200 * time.Millisecond
	// mostClosed bounds the closed policies in a beat.
	mostClosed = 1000
)
