package observe

// Path is where a router serves its stream.
const Path = "/inspect/v1/log"

// Schema is that of the lines of a stream.
const Schema = "fairlead.dev/log/v1"

// Line is what a stream has in a line: a record, or how the stream is.
type Line struct {
	Record *Record `json:"record,omitempty"`
	State  *Stream `json:"state,omitempty"`
}

// Stream is what became of the records of a stream, since it began.
type Stream struct {
	Schema string `json:"schema"`
	// Observing is true once HAProxy writes what was asked for.
	Observing bool `json:"observing"`
	// Seen are those that the filter takes, Left those of them that were left out because
	// there were more in a second than a stream has, and Lost those that HAProxy or the
	// router had no room for, of all streams.
	Seen int64 `json:"seen"`
	Left int64 `json:"leftOut"`
	Lost int64 `json:"lost"`
	// Problem is why nothing can be observed, or not now.
	Problem string `json:"problem,omitempty"`
}
