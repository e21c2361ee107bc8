package peers

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// link is what goes to a peer.
type link struct {
	out chan *share.Message
	end context.CancelFunc
	// missed says that there was no room for the end of a session: all of them are to be sent once more.
	missed atomic.Bool
}

// dial keeps a connection to a peer, to ask on.
func (m *Member) dial(ctx context.Context, id string, l *link) {
	for ctx.Err() == nil {
		m.speak(ctx, id, l)
		select {
		case <-ctx.Done():
		case <-time.After(redialTime):
		}
		for len(l.out) > 0 { // too old to be sent
			<-l.out
		}
	}
}

func (m *Member) speak(ctx context.Context, id string, l *link) {
	config := m.tlsConfig()
	if config == nil {
		return
	}
	shake, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	c, err := (&tls.Dialer{Config: config}).DialContext(shake, "tcp", id)
	if err != nil {
		return
	}
	if !m.open(c) {
		_ = c.Close()
		return
	}
	defer m.closed(c)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	m.mu.Lock()
	self := m.config.Self
	m.mu.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := c.Write(appendHello(nil, preamble, self)); err != nil {
		return
	}
	writing, done := context.WithCancel(ctx)
	defer done()
	l.missed.Store(true) // the other side may have just begun
	m.running.Go(func() { m.write(writing, c, l) })
	_ = m.read(c, bufio.NewReader(c), func(msg *share.Message) bool {
		if msg.Kind != share.Reply && msg.Kind != share.Give {
			return false
		}
		m.receive(id, msg)
		return true
	})
}

// write sends what there is to be sent, as many messages at once as there are.
func (m *Member) write(ctx context.Context, c net.Conn, l *link) {
	buf := make([]byte, 0, 16<<10)
	for {
		if l.missed.Swap(false) && m.writeEnds(c) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case msg := <-l.out:
			buf = appendFrame(buf[:0], msg)
		}
		for len(l.out) > 0 && len(buf) < cap(buf)-maxFrame-2 {
			buf = appendFrame(buf, <-l.out)
		}
		_ = c.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := c.Write(buf); err != nil {
			_ = c.Close()
			return
		}
	}
}

// accept takes connections of other members.
func (m *Member) accept(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			select { // out of descriptors: others may end soon
			case <-ctx.Done():
				return
			case <-time.After(bindTime):
			}
			continue
		}
		if !m.open(c) {
			_ = c.Close()
			continue
		}
		m.running.Go(func() {
			defer m.closed(c)
			m.serve(ctx, c)
		})
	}
}

// serve answers another member.
func (m *Member) serve(ctx context.Context, raw net.Conn) {
	config := m.tlsConfig()
	if config == nil {
		return
	}
	_ = raw.SetDeadline(time.Now().Add(handshakeTime))
	c := tls.Server(raw, config)
	in := bufio.NewReader(c)
	id, call, err := readHello(in)
	if err != nil || !m.knows(id) {
		return
	}
	if call {
		m.serveCall(ctx, c, in)
		return
	}
	_ = c.SetDeadline(time.Time{})
	l := &link{out: make(chan *share.Message, mostUnsent)}
	writing, done := context.WithCancel(ctx)
	defer done()
	m.running.Go(func() { m.write(writing, c, l) })
	var from origin
	defer func() { m.forget(from, l) }()
	_ = m.read(c, in, func(msg *share.Message) bool {
		if msg.Kind == share.Reply || msg.Kind == share.Give {
			return false
		}
		if from.id == "" {
			from = origin{id, msg.Process}
			m.remember(from, l)
		}
		if msg.Process != from.process {
			return false
		}
		if msg.Kind == share.End {
			m.takeEnd(msg)
		} else {
			m.receive(id, msg)
		}
		return true
	})
}

// knows reports whether an ID is that of another member. One that is not yet known comes
// again.
func (m *Member) knows(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return id != m.config.Self && slices.Contains(m.config.Members, id)
}

func (m *Member) remember(from origin, l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inbound != nil {
		m.inbound[from] = l
	}
}

func (m *Member) forget(from origin, l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inbound[from] == l {
		delete(m.inbound, from)
	}
}
