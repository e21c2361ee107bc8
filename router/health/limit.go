package health

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// Limits of connections at a time. Prometheus needs one or two, a probe one for
// a millisecond, a browser six.
const (
	maxConns          = 200
	maxConnsPerSource = 20
)

// limited bounds the connections of a listener: so many of one source (an IPv4
// address, or an IPv6 network of 64 bits), and so many of all. One more of a
// source is closed; one more of all closes the oldest instead, so a probe is
// answered however many sources hold connections. Loopback is not counted: on the
// network of a node the kubelet's probes come from there.
type limited struct {
	net.Listener
	most, perSource int

	mu      sync.Mutex
	oldest  *list.List // of *counted
	sources map[netip.Prefix]int
}

func newLimited(l net.Listener) *limited {
	return &limited{Listener: l, most: maxConns, perSource: maxConnsPerSource, oldest: list.New(), sources: map[netip.Prefix]int{}}
}

// Accept returns the next connection that is within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source, ok := sourceOf(c.RemoteAddr())
		if !ok {
			return c, nil
		}
		if conn := l.admit(c, source); conn != nil {
			return conn, nil
		}
		_ = c.Close()
	}
}

func (l *limited) admit(c net.Conn, source netip.Prefix) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources[source] >= l.perSource {
		return nil
	}
	if l.oldest.Len() >= l.most {
		old, _ := l.oldest.Front().Value.(*counted)
		l.drop(old)
		_ = old.Conn.Close()
	}
	conn := &counted{Conn: c, of: l, source: source}
	conn.element = l.oldest.PushBack(conn)
	l.sources[source]++
	return conn
}

// drop forgets a connection; the lock is held.
func (l *limited) drop(c *counted) {
	if c.element == nil {
		return
	}
	l.oldest.Remove(c.element)
	c.element = nil
	if l.sources[c.source]--; l.sources[c.source] == 0 {
		delete(l.sources, c.source)
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	of      *limited
	source  netip.Prefix
	element *list.Element
}

// Close closes the connection, which no longer counts.
func (c *counted) Close() error {
	c.of.mu.Lock()
	c.of.drop(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// sourceOf returns where a connection comes from; false for loopback.
func sourceOf(a net.Addr) (netip.Prefix, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	if addr.IsLoopback() {
		return netip.Prefix{}, false
	}
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}
