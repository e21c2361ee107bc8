package health

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// firstByte bounds how long a client may take to begin.
const firstByte = 5 * time.Second

// tlsHandshake is the first byte of every TLS connection.
const tlsHandshake = 0x16

// either is a listener for HTTP and HTTPS on one port: probes speak the one,
// a client that sends a token should speak the other.
type either struct {
	net.Listener
	config *tls.Config
	ready  chan accepted
	ended  chan struct{}
	once   sync.Once
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// newEither begins to accept connections; without config they are all HTTP.
func newEither(l net.Listener, config *tls.Config) *either {
	e := &either{Listener: l, config: config, ready: make(chan accepted), ended: make(chan struct{})}
	go func() {
		for {
			c, err := e.Listener.Accept()
			if err == nil {
				go e.sort(c)
			} else if !e.deliver(accepted{err: err}) {
				return
			}
		}
	}()
	return e
}

// deliver hands over to Accept, whose caller decides what an error means. It
// reports false after the end.
func (e *either) deliver(a accepted) bool {
	select {
	case e.ready <- a:
		return !errors.Is(a.err, net.ErrClosed)
	case <-e.ended:
		return false
	}
}

// sort looks at the first byte, without the others having to wait.
func (e *either) sort(c net.Conn) {
	p := &peeked{Conn: c, from: bufio.NewReaderSize(c, 512)}
	_ = c.SetReadDeadline(time.Now().Add(firstByte))
	first, err := p.from.Peek(1)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	var conn net.Conn = p
	if first[0] == tlsHandshake && e.config != nil {
		conn = tls.Server(p, e.config)
	}
	if !e.deliver(accepted{conn: conn}) {
		_ = c.Close()
	}
}

// Accept returns the next connection that has said which protocol it speaks.
func (e *either) Accept() (net.Conn, error) {
	select {
	case a := <-e.ready:
		return a.conn, a.err
	case <-e.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (e *either) Close() error {
	e.once.Do(func() { close(e.ended) })
	return e.Listener.Close()
}

// peeked is a connection of which a byte has been looked at.
type peeked struct {
	net.Conn
	from *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.from.Read(b) }
