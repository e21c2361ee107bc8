package agent

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/spop"
)

// LongestMirrorMessage bounds what HAProxy hands over: the headers and the body fit into
// its buffers.
const LongestMirrorMessage = 256 << 10

// errMirrorMessage is a message that does not have the form of templates/mirror.lua.
var errMirrorMessage = errors.New("not a message about a copy")

// mirrorMessage is what HAProxy hands over: counts of what was not copied, and perhaps a
// copy.
type mirrorMessage struct {
	missed map[string]uint64
	// copied is false if there are only counts.
	copied  bool
	policy  string
	targets []mirrorChoice
	method  string
	// target is the path with the query.
	target  string
	host    string
	client  netip.Addr
	tls     bool
	headers spop.Headers
	body    []byte
}

// mirrorChoice is a target of the policy, counted from 0, and whether it gets the body.
type mirrorChoice struct {
	number   int
	withBody bool
}

// mirrorReasons are those for which HAProxy hands no copy over.
func mirrorReasons() []string { return []string{"agent", "body", "upgrade"} }

// mirrorReader reads a message: numbers are big-endian, and texts have their length before
// them.
type mirrorReader struct {
	rest []byte
	bad  bool
}

func (r *mirrorReader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *mirrorReader) short() []byte {
	b := r.bytes(2)
	if b == nil {
		return nil
	}
	return r.bytes(int(binary.BigEndian.Uint16(b)))
}

func (r *mirrorReader) long() []byte {
	b := r.bytes(4)
	if b == nil {
		return nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > LongestMirrorMessage {
		r.bad = true
		return nil
	}
	return r.bytes(int(n))
}

// readMirrorMessage reads what HAProxy hands over. The result points into the message.
func readMirrorMessage(whole []byte) (*mirrorMessage, error) {
	r := &mirrorReader{rest: whole}
	if version := r.bytes(1); version == nil || version[0] != 1 {
		return nil, errMirrorMessage
	}
	m := &mirrorMessage{missed: map[string]uint64{}}
	for item := range strings.FieldsSeq(string(r.short())) {
		reason, text, _ := strings.Cut(item, "=")
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || !slices.Contains(mirrorReasons(), reason) {
			return nil, errMirrorMessage
		}
		m.missed[reason] += n
	}
	if !r.bad && len(r.rest) == 0 {
		return m, nil
	}
	m.copied = true
	m.policy = string(r.short())
	for item := range strings.FieldsSeq(string(r.short())) {
		digits, withBody := strings.CutSuffix(item, "b")
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || n == 0 || len(m.targets) >= MostMirrorTargets {
			return nil, errMirrorMessage
		}
		m.targets = append(m.targets, mirrorChoice{int(n) - 1, withBody})
	}
	m.method, m.target = string(r.short()), string(r.long())
	m.host = string(r.short())
	m.client, _ = netip.ParseAddr(string(r.short()))
	secure := r.bytes(1)
	headers := r.long()
	m.body = r.long()
	if r.bad || len(r.rest) > 0 || len(secure) == 0 {
		return nil, errMirrorMessage
	}
	m.tls = secure[0] == 1
	var err error
	if m.headers, err = spop.ParseHeaders(headers); err != nil || !strings.HasPrefix(m.target, "/") || !spop.ValidName(m.method) {
		return nil, errMirrorMessage
	}
	return m, nil
}
