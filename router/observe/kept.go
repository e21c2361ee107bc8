package observe

import (
	"bytes"
	"time"
)

// KeptPath is where a router serves what it keeps of one request: the ID follows, escaped.
const KeptPath = "/inspect/v1/trace/"

// SchemaKept is that of the answer.
const SchemaKept = "fairlead.dev/trace/v1"

// Kept is what a router has of one ID.
type Kept struct {
	Schema string `json:"schema"`
	// On is true while the router keeps requests that fail.
	On bool `json:"on"`
	// Found are those with the ID, or with it as the ID of their trace, the newest first, and at most KeptAnswers: clients may
	// send the same ID again.
	Found []Record `json:"found"`
	// Requests are how many are kept of all IDs, and Since is the time from which on none is missing that was not left out.
	Requests int       `json:"requests"`
	Since    time.Time `json:"since,omitzero"`
	// LeftOut are those that were more than are kept in a second.
	LeftOut int64 `json:"leftOut"`
	// Problem is why none can be kept now.
	Problem string `json:"problem,omitempty"`
}

const (
	// KeptAnswers bounds the requests of one ID.
	KeptAnswers = 10
	// KeptFor is how long a request is kept.
	KeptFor = 15 * time.Minute
)

// Failed reports whether a line of the ring is of a request that failed: its answer is an error that came from the router, or a pod's
// from 500 on. It is for each of very many: it copies nothing.
func Failed(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("h|")) {
		return false
	}
	var server, status []byte
	rest := line
	for i := fieldKind; i <= fieldStatus; i++ {
		server = status
		status, rest, _ = bytes.Cut(rest, []byte("|"))
	}
	if len(status) != len("503") || status[0] < '4' {
		return false
	}
	reached := bytes.HasPrefix(server, []byte("pod:")) || bytes.HasPrefix(server, []byte("ept:"))
	return status[0] >= '5' || !reached
}
