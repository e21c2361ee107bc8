package haproxy

import (
	"bytes"
	"strconv"
)

// Refusal is how often one thread of HAProxy has refused requests of a Route by a group of
// its policies, since it started.
type Refusal struct {
	// Backend is empty for those for which the thread had no room.
	Backend, Group string
	Status         int
}

// Refusals calls each with the counts of all threads, in no order.
func (r *Runtime) Refusals(each func(thread int, of Refusal, count uint64)) error {
	return r.streamBytes("show map "+r.layout.RefusalsFile(), func(l []byte) {
		if thread, of, count, ok := parseRefusal(l); ok {
			each(thread, of, count)
		}
	})
}

// parseRefusal reads a line such as
//
//	0x7fff 2|be_http:demo:shop:1a2b|limits|429 17
func parseRefusal(l []byte) (thread int, r Refusal, count uint64, ok bool) {
	words := bytes.Fields(l)
	if len(words) != 3 {
		return 0, Refusal{}, 0, false
	}
	parts := bytes.Split(words[1], []byte("|"))
	count, err := strconv.ParseUint(string(words[2]), 10, 63)
	if len(parts) != 4 || err != nil {
		return 0, Refusal{}, 0, false
	}
	r = Refusal{Backend: string(parts[1]), Group: string(parts[2]), Status: number(parts[3])}
	return number(parts[0]), r, count, r.Status >= 400 && r.Status <= 599 || r.Status == 200 && r.Group == "unjudged"
}
