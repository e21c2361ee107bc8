package soak

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// beat is how often a lasting connection says something, well within the
	// shortest timeout that a route may have.
	beat = 2 * time.Second
	// patience is how long its echo may take.
	patience = 15 * time.Second
)

// lasting are connections that must outlive every change.
type lasting struct {
	echoes           atomic.Int64
	sockets, streams int
	wg               sync.WaitGroup
	mu               sync.Mutex
	broken           []error
}

// open opens a connection to a route as it is now and talks over it until the
// context ends.
func (l *lasting) open(ctx context.Context, s *state, h2 bool) error {
	t := s.target(l.sockets%2 == 0)
	if h2 {
		t = s.target(false)
	}
	return l.openTo(ctx, t, h2, fmt.Sprintf("%s, opened as %q, %v", s.name, s.termination, s.annotations))
}

// openTo opens a connection for a target of something with a description.
func (l *lasting) openTo(ctx context.Context, t target, h2 bool, of string) error {
	connect, what := socket, "websocket"
	if h2 {
		connect, what = stream, "HTTP/2 stream"
	}
	conn, err := connect(t)
	if err != nil {
		return fmt.Errorf("open a %s to %s (%s): %w", what, t, of, err)
	}
	if h2 {
		l.streams++
	} else {
		l.sockets++
	}
	l.wg.Go(func() {
		if err := l.talk(ctx, conn); err != nil {
			l.mu.Lock()
			l.broken = append(l.broken, fmt.Errorf("%s to %s (%s): %w", what, t, of, err))
			l.mu.Unlock()
		}
	})
	return nil
}

// close waits for all connections and returns why some broke.
func (l *lasting) close() []error {
	l.wg.Wait()
	return l.broken
}

// duplex is a connection in whatever protocol.
type duplex struct {
	io.Reader
	io.Writer
	close func()
}

func (l *lasting) talk(ctx context.Context, d *duplex) error {
	lines := bufio.NewReader(d)
	defer d.close()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for n := 0; ; n++ {
		late := time.AfterFunc(patience, d.close)
		said := fmt.Sprintf("beat %d\n", n)
		if _, err := io.WriteString(d, said); err != nil {
			return fmt.Errorf("write after %d echoes: %w", n, err)
		}
		heard, err := lines.ReadString('\n')
		if !late.Stop() {
			err = errors.Join(fmt.Errorf("no echo within %s", patience), err)
		}
		if err != nil {
			return fmt.Errorf("read after %d echoes: %w", n, err)
		}
		if heard != said {
			return fmt.Errorf("said %q and heard %q", said, heard)
		}
		l.echoes.Add(1)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func dial(t target, protocols ...string) (net.Conn, error) {
	address := fmt.Sprintf("127.0.0.1:%d", t.at())
	if !t.secure {
		return net.DialTimeout("tcp", address, patience)
	}
	d := &net.Dialer{Timeout: patience}
	return tls.DialWithDialer(d, "tcp", address, &tls.Config{
		ServerName: t.host, InsecureSkipVerify: true, NextProtos: protocols,
	})
}

// socket upgrades a connection as a websocket does.
func socket(t target) (*duplex, error) {
	conn, err := dial(t)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience)) // without it the test's own timeout ends it
	_, err = fmt.Fprintf(conn, "GET %s/tunnel HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", t.path, t.host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("status %s", response.Status), conn.Close())
	}
	_ = conn.SetDeadline(time.Time{}) // talk has its own
	return &duplex{reader, conn, func() { _ = conn.Close() }}, nil
}

// stream opens a stream of HTTP/2 on a connection of its own.
func stream(t target) (*duplex, error) {
	body, writer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			conn, err := dial(t, "h2")
			if err == nil { // a stream that has just ended may still count as one that uses it
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		},
	}
	end := func() {
		cancel()
		_ = writer.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.String()+"/stream", body)
	if err != nil {
		end()
		return nil, err
	}
	late := time.AfterFunc(patience, cancel)
	response, err := transport.RoundTrip(request)
	if err != nil {
		end()
		return nil, err
	}
	late.Stop()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		end()
		return nil, fmt.Errorf("%s %s", response.Proto, response.Status)
	}
	return &duplex{response.Body, writer, end}, nil
}
