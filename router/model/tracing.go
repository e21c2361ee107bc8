package model

import (
	"fmt"
	"strconv"
)

// Tracing gives requests a trace: pods get a header traceparent (W3C Trace Context), and
// requests that are sampled become spans. The zero value leaves the header as clients send it.
type Tracing struct {
	On bool
	// Trust goes on with the trace of a client's header, if that is valid; otherwise each
	// request begins a trace. Parent has such requests sampled if the client's were.
	Trust, Parent bool
	// Sampled is how many of a million of all other requests are sampled.
	Sampled int32
}

// AllSampled is Tracing.Sampled of all requests.
const AllSampled = 1_000_000

// The letters that the field of a record begins with, before the number of Tracing.Sampled.
const (
	TraceOwn    = "n"
	TraceTrust  = "t"
	TraceParent = "p"
)

// tracing writes the field of a record.
func tracing(p *Policy) string {
	t := p.Tracing
	if !t.On {
		return ""
	}
	letter := TraceOwn
	switch {
	case t.Trust && t.Parent:
		letter = TraceParent
	case t.Trust:
		letter = TraceTrust
	}
	return letter + strconv.FormatInt(int64(t.Sampled), 10)
}

// String says which requests are sampled, for people.
func (t Tracing) String() string {
	share := fmt.Sprintf("%s%% sampled", strconv.FormatFloat(float64(t.Sampled)*100/AllSampled, 'f', -1, 64))
	switch {
	case t.Trust && t.Parent:
		return "sampled as the client's trace says, and of others " + share
	case t.Trust:
		return share + ", in the traces of clients"
	}
	return share + ", in traces that begin here"
}
