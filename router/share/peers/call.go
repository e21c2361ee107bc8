package peers

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// Bounds of calls.
const (
	// mostCalls is how many calls of others are answered at a time. The connections over which
	// requests are counted have room beside them.
	mostCalls = 128
	// LongestCall bounds what is asked and what is answered.
	LongestCall = 64 << 10
	// callBegins is how long a member that is asked may take to say that it listens.
	callBegins = 500 * time.Millisecond
	// lastCalls is how long a member that ends goes on with calls.
	lastCalls = 1500 * time.Millisecond
	// callTakes bounds a whole call.
	callTakes = 6 * time.Second
)

// callPreamble are the first bytes of a connection for one call.
var callPreamble = []byte("fairlead-calls 1\n")

// accepted is what a member says before it is told what it is asked for.
const accepted = 1

// Call errors.
var (
	// ErrNotAsked says that the other member knows nothing of the question, and never will.
	ErrNotAsked = errors.New("the other router was not asked")
	// ErrNoAnswer says that the other member may have begun to do what it was asked for.
	ErrNoAnswer = errors.New("the other router did not answer")
)

// Answer has this member answer the calls of others. It is to be called before Set.
func (m *Member) Answer(f func(ctx context.Context, question []byte) []byte) { m.answers = f }

// Owner returns which member does what has a name, the same for all that know the same members, or
// an empty text for this one.
func (m *Member) Owner(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node == nil || !slices.Contains(m.config.Members, m.config.Self) {
		return ""
	}
	if owner := share.Owner(m.config.Members, share.Key{Name: name}); owner != m.config.Self {
		return owner
	}
	return ""
}

// Call asks another member, and returns its answer. The error is ErrNotAsked or ErrNoAnswer.
func (m *Member) Call(ctx context.Context, id string, question []byte) ([]byte, error) {
	config := m.tlsConfig()
	m.mu.Lock()
	self := m.config.Self
	m.mu.Unlock()
	if config == nil || self == "" || len(question) > LongestCall {
		return nil, ErrNotAsked
	}
	ctx, cancel := context.WithTimeout(ctx, callTakes)
	defer cancel()
	begin, begun := context.WithTimeout(ctx, callBegins)
	defer begun()
	c, err := (&tls.Dialer{Config: config}).DialContext(begin, "tcp", id)
	if err != nil {
		return nil, ErrNotAsked
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_ = c.SetDeadline(time.Now().Add(callBegins))
	var said [1]byte
	if _, err := c.Write(appendHello(nil, callPreamble, self)); err != nil {
		return nil, ErrNotAsked
	}
	if _, err := io.ReadFull(c, said[:]); err != nil || said[0] != accepted {
		return nil, ErrNotAsked
	}
	_ = c.SetDeadline(time.Now().Add(callTakes))
	if err := writeText(c, question); err != nil {
		return nil, ErrNoAnswer
	}
	answer, err := readText(c)
	if err != nil {
		return nil, ErrNoAnswer
	}
	return answer, nil
}

// serveCall answers one call.
func (m *Member) serveCall(ctx context.Context, c net.Conn, in *bufio.Reader) {
	select {
	case m.calls <- struct{}{}:
		defer func() { <-m.calls }()
	default:
		return // the other one does it by itself
	}
	m.mu.Lock()
	leaving := m.leaving
	m.mu.Unlock()
	if m.answers == nil || leaving {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTakes)
	defer cancel()
	_ = c.SetDeadline(time.Now().Add(callTakes))
	if _, err := c.Write([]byte{accepted}); err != nil {
		return
	}
	question, err := readText(in)
	if err != nil {
		return
	}
	_ = writeText(c, m.answers(ctx, question))
}

// writeText writes a text with its length in four bytes, by one call.
func writeText(w io.Writer, text []byte) error {
	b := make([]byte, 4, 4+len(text))
	binary.BigEndian.PutUint32(b, uint32(min(len(text), LongestCall+1))) // one that is too long is refused
	_, err := w.Write(append(b, text...))
	return err
}

func readText(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > LongestCall {
		return nil, errFrame
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}
