package cases

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// proxyListener takes connections that begin with a PROXY header.
type proxyListener struct{ net.Listener }

func (l proxyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &proxyConn{Conn: c, r: bufio.NewReader(c)}, nil
}

// proxyConn reads the header before anything else.
type proxyConn struct {
	net.Conn
	r    *bufio.Reader
	once sync.Once
	// version is V1, V2 or none, and source the client.
	version, source string
	err             error
}

func (c *proxyConn) Read(p []byte) (int, error) {
	if c.once.Do(c.header); c.err != nil {
		return 0, c.err
	}
	return c.r.Read(p)
}

// header reads both forms (proxy-protocol.txt of HAProxy).
func (c *proxyConn) header() {
	c.version = "none"
	start, err := c.r.Peek(5)
	switch {
	case err != nil:
		c.err = err
	case string(start) == "PROXY":
		line, err := c.r.ReadString('\n')
		if fields := strings.Fields(line); err == nil && len(fields) > 2 {
			c.version, c.source = "V1", fields[2]
		}
	case string(start) == "\r\n\r\n\x00":
		head := make([]byte, 16)
		if _, c.err = io.ReadFull(c.r, head); c.err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint16(head[14:]))
		if _, c.err = io.ReadFull(c.r, rest); c.err != nil {
			return
		}
		if c.version = "V2"; head[13] == 0x11 && len(rest) >= 12 {
			a, _ := netip.AddrFromSlice(rest[:4])
			c.source = a.String()
		}
	default:
		c.err = io.ErrUnexpectedEOF
	}
}

type connectionKey struct{}

// withConnection lets a handler see the connection of its request.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// proxyHeader is the version of the PROXY header of a request's connection, or empty if
// there is none. It says so if the client is another one than the router names.
func proxyHeader(r *http.Request) string {
	c, ok := r.Context().Value(connectionKey{}).(*proxyConn)
	if !ok {
		return ""
	}
	if client := r.Header.Get("X-Forwarded-For"); client != "" && client != c.source {
		return c.version + " of " + c.source
	}
	return c.version
}
