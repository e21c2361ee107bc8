package hostile

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// neighbour is the host on the network that the client and the neighbour attack
// from; the victim's client is another one.
const neighbour = "tor"

func (a *attacker) networkHarms() []*harm {
	held := &held{a: a}
	return []*harm{
		{name: "idle sessions", every: 20 * time.Millisecond, try: held.open},
		{name: "handshakes", every: 50 * time.Millisecond, try: a.handshake},
		{name: "requests", every: 20 * time.Millisecond, try: a.request},
		{name: "paths", every: 50 * time.Millisecond, try: a.respelled},
		{name: "BGP", every: time.Millisecond, try: a.session},
		{name: "gossip", every: 50 * time.Millisecond, try: a.datagram("7946")},
		{name: "gossip stream", every: 200 * time.Millisecond, try: a.stream("7946")},
		{name: "BFD", every: 50 * time.Millisecond, try: a.datagram("3784")},
		{name: "statistics", every: 200 * time.Millisecond, try: a.stream("1936")},
	}
}

// held are connections that say nothing, or half a request, or half a
// handshake, and stay.
type held struct {
	a     *attacker
	conns []net.Conn
}

// maxHeld bounds what the neighbour holds at a time.
const maxHeld = 1000

func (h *held) open(ctx context.Context, n int) error {
	port, words := "80", "GET / HTTP/1.1\r\nHost: v0."+domain+"\r\nX-Slow: "
	switch n % 4 {
	case 0:
		words = ""
	case 1:
		port, words = "443", ""
	case 2:
		port, words = "443", "\x16\x03\x01\x02\x00\x01"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := h.a.p.Cluster.Dial(neighbour)(ctx, "tcp", net.JoinHostPort(h.a.p.Address, port))
	if err != nil {
		return err
	}
	if len(h.conns) == maxHeld {
		_ = h.conns[0].Close()
		h.conns = h.conns[1:]
	}
	h.conns = append(h.conns, c)
	_, err = c.Write([]byte(words))
	return err
}

// handshake makes a new TLS session with the slow key's name.
func (a *attacker) handshake(ctx context.Context, _ int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := a.p.Cluster.Dial(neighbour)(ctx, "tcp", net.JoinHostPort(a.p.Address, "443"))
	if err != nil {
		return err
	}
	defer c.Close()
	return tls.Client(c, &tls.Config{ServerName: "slow.tenant.example.com", InsecureSkipVerify: true}).HandshakeContext(ctx)
}

// request asks the victim's hosts with requests that mean to confuse.
func (a *attacker) request(ctx context.Context, n int) error {
	lines := []string{
		"GET //text HTTP/1.1\r\nHost: v1." + domain + "\r\n\r\n",
		"GET /%2e%2e/text HTTP/1.1\r\nHost: \"v1." + domain + "\"\r\n\r\n",
		"GET /text HTTP/1.1\r\nHost: v1." + domain + "\r\nConnection: X-Forwarded-For, close\r\nX_Forwarded_For: 1\r\n\r\n",
		"POST /text HTTP/1.1\r\nHost: v1." + domain + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
		"\x00\x01\x02\r\n\r\n",
	}
	_, err := a.exchange(ctx, lines[n%len(lines)])
	return err
}

// respelled asks for a path of the victim that has an allow-list, on a host whose other
// paths have none, in other spellings.
func (a *attacker) respelled(ctx context.Context, n int) error {
	paths := []string{
		"/text", "//text", "/./text", "/x/../text", "/%74ext", "/%2ftext", "/%2Ftext", "/text/", "/text%00", "/text;x=1", "/%2e/text", "/x/%2e%2e/text",
		"/..;/text", "\\text", "/%5ctext", "/text%0a", "/%252ftext", "http://" + guarded + "/text", "/text?x=/../", "/text#", "/TEXT/../text",
	}
	answer, err := a.exchange(ctx, "GET "+paths[n%len(paths)]+" HTTP/1.1\r\nHost: "+guarded+"\r\nConnection: close\r\n\r\n")
	if strings.Contains(answer, "demo v1 ") {
		return fmt.Errorf("%w: by GET %s: %.80q", errReached, paths[n%len(paths)], answer)
	}
	return err
}

// exchange sends a request and returns the beginning of what comes back.
func (a *attacker) exchange(ctx context.Context, request string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := a.p.Cluster.Dial(neighbour)(ctx, "tcp", net.JoinHostPort(a.p.Address, "80"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	answer := make([]byte, 2048)
	got, err := c.Read(answer)
	return string(answer[:got]), err
}

// datagram sends noise to a port of every node.
func (a *attacker) datagram(port string) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		return a.noise(ctx, "udp", port, n)
	}
}

// stream opens a connection to a port of every node and sends noise.
func (a *attacker) stream(port string) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		err := a.noise(ctx, "tcp", port, n)
		if opError := (*net.OpError)(nil); errors.As(err, &opError) {
			return nil // closed or refused: it was sent
		}
		return err
	}
}

func (a *attacker) noise(ctx context.Context, network, port string, n int) error {
	nodes := a.p.Cluster.Nodes()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := a.p.Cluster.Dial(neighbour)(ctx, network, net.JoinHostPort(a.p.Cluster.Address(nodes[n%len(nodes)]), port))
	if err != nil {
		return err
	}
	defer c.Close()
	noise := make([]byte, 1+n%1200)
	if _, err := rand.Read(noise); err != nil {
		return err
	}
	// The first byte of each is a kind of message that its protocol knows.
	noise[0] = byte(n % 32)
	if _, err := c.Write(noise); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}
