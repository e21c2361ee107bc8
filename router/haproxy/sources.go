package haproxy

import (
	"bytes"
	"strings"
)

// RefusedSource is where connections came from that were refused, because it had
// as many as one source may have (render.Clients).
type RefusedSource struct {
	// Address is an IPv4 address, or the first one of an IPv6 network of 64 bits.
	Address string
	// Refused counts refusals, Connections are those that it has.
	Refused, Connections int
}

// RefusedSources calls each with those that HAProxy has refused in the last half a
// minute, or that still have connections, in no order. During an attack there may be
// 100,000, so the answer is streamed: the typed call takes 16 MB and 180,000
// allocations for 10,000, instead of 0.2 MB and 10,000 (BenchmarkLibrary).
func (r *Runtime) RefusedSources(each func(RefusedSource)) error {
	return r.streamBytes("show table router_sources data.gpc1 gt 0", func(l []byte) {
		if s, ok := parseSource(l); ok {
			each(s)
		}
	})
}

// parseSource reads a line such as
//
//	0x7fff: key=::ffff:192.0.2.1 use=5 exp=29699 shard=0 gpc0=0 conn_cur=5 gpc1=7
func parseSource(l []byte) (s RefusedSource, ok bool) {
	for word := range bytes.FieldsSeq(l) {
		name, value, _ := bytes.Cut(word, []byte("="))
		switch string(name) {
		case "key":
			s.Address, ok = strings.TrimPrefix(string(value), "::ffff:"), true
		case "gpc1":
			s.Refused = number(value)
		case "conn_cur":
			s.Connections = number(value)
		}
	}
	return s, ok && s.Refused > 0
}
