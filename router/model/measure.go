package model

import "time"

// Whole is the share of all requests in Measure: shares are in thousandths of a percent, so that their decimal text is exact.
const Whole = 100_000

// Measure is how the requests of an object are to be counted. HAProxy knows nothing of it.
type Measure struct {
	// Detail asks for series of the object's own.
	Detail bool
	// Availability is the share of requests that are to be answered without an error of a server, or 0 for no objective.
	Availability int32
	// Latency is how long requests may take of which LatencyShare is the share, or 0 for no objective.
	LatencyShare int32
	Latency      time.Duration
}

// Asks reports whether the object is to have series of its own: an objective cannot be judged without.
func (m *Measure) Asks() bool { return m.Detail || m.Availability > 0 || m.LatencyShare > 0 }
