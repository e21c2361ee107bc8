package cases

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const movingGateway = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: wild, port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
  - {name: any, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: any}]}}
%s---
kind: HTTPRoute
metadata: {namespace: gw, name: web}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: one, port: 8080}]}]}
---
kind: TLSRoute
metadata: {namespace: gw, name: pass}
spec: {parentRefs: [{name: gw}], hostnames: [pass.example.com], rules: [{backendRefs: [{name: tls1, port: 80}]}]}
`

const passListener = "  - {name: pass, port: 443, protocol: TLS, hostname: pass.example.com, tls: {mode: Passthrough}}\n"

// movingLoad is clients of a port, which is led to a slot of now.
type movingLoad struct {
	slot         atomic.Int64
	asked, wrong atomic.Int64
	first        atomic.Pointer[string] // of what went wrong
	// at is the slot of the newest connection of each client of HTTP/1.
	at      []*atomic.Int64
	clients sync.WaitGroup
}

// fails notes what a client did not get.
func (l *movingLoad) fails(text string) {
	l.wrong.Add(1)
	l.first.CompareAndSwap(nil, &text)
}

// client asks all the time until ctx ends, over HTTP/2 or HTTP/1.1, with a connection for each
// request or for as long as HAProxy keeps it.
func (l *movingLoad) client(ctx context.Context, http2, each bool) {
	at := &atomic.Int64{}
	if !http2 {
		l.at = append(l.at, at)
	}
	name := fmt.Sprintf("HTTP/2 %t, a connection for each request %t", http2, each)
	t := &http.Transport{
		DisableKeepAlives: each, ForceAttemptHTTP2: http2,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			slot := l.slot.Load()
			at.Store(slot)
			return (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", slot))
		},
	}
	if !http2 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	l.clients.Go(func() {
		defer t.CloseIdleConnections()
		for ctx.Err() == nil {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://a.example.com/", http.NoBody)
			res, err := t.RoundTrip(req)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			if ctx.Err() != nil {
				return
			}
			l.asked.Add(1)
			switch {
			case err != nil:
				l.fails(name + ": " + err.Error())
			case res.StatusCode != http.StatusOK:
				l.fails(fmt.Sprintf("%s: status %d", name, res.StatusCode))
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
}

// websocket opens one that stays open.
func (l *movingLoad) websocket(t *testing.T) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", l.slot.Load()), &tls.Config{InsecureSkipVerify: true, ServerName: "a.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	r := request{method: "GET", tls: true, host: "a.example.com", target: "/", ws: true}
	if _, err := io.WriteString(conn, r.text()); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1024)
	if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 101") {
		t.Fatalf("%q, %v", answer[:n], err)
	}
	return conn
}

// isOpen reports whether a websocket that says nothing is still there.
func isOpen(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	_, wrote := conn.Write([]byte("x"))
	_, err := conn.Read(make([]byte, 1))
	timeout := net.Error(nil)
	return wrote == nil && errors.As(err, &timeout) && timeout.Timeout()
}

// TestGatewayPortMoves: a port of HTTPS that gets its first listener of TLS moves to a slot that
// sorts, and no client loses a request or a connection that lasts.
func TestGatewayPortMoves(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.slots, b.secureSlots, b.tlsSlots = freeSlots(t), freeSlots(t), freeSlots(t)
		from, to := int32(b.secureSlots.First), int32(b.tlsSlots.First)
		b.cluster.slots = map[int32]int32{443: from}
		b.start()
		b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices}))
		b.applyStreams(t, "gw", map[string]streamService{"tls1": {"198.18.250.231", 80, true}}, strings.Join([]string{
			fmt.Sprintf(movingGateway, ""), tlsSecret(t, "gw", "wild", "wild"), tlsSecret(t, "gw", "any", "any"),
		}, "---\n"))
		b.expectWeb(443, "a.example.com", "a.example.com", "wild", 200)
		l := &movingLoad{}
		l.slot.Store(int64(from))
		var sockets []net.Conn
		for range 4 {
			sockets = append(sockets, l.websocket(t))
		}
		ctx, stop := context.WithCancel(t.Context())
		lasting, stopLasting := context.WithCancel(t.Context())
		for range 3 {
			l.client(lasting, true, false)
		}
		for _, http2 := range []bool{false, true} {
			l.client(ctx, http2, true)
		}
		for range 3 {
			l.client(ctx, false, false)
		}
		before := b.reloads()
		time.Sleep(500 * time.Millisecond)

		// As the operator does: both slots, then clients are led to the new one, then it alone.
		b.cluster.moveSlots(map[int32]int32{443: to}, map[int32]int32{443: from})
		b.apply(objectsChange(t, fmt.Sprintf(movingGateway, passListener)))
		b.expectStream(int(to), "pass.example.com", stream{"tls1", "tls1"})
		b.expectListener(t, "pass", "Programmed", "True Programmed")
		time.Sleep(500 * time.Millisecond)
		l.slot.Store(int64(to))
		b.eventually("all clients of HTTP/1 have new connections", func() error {
			for _, at := range l.at {
				if at.Load() != int64(to) {
					return fmt.Errorf("one is still at %d", at.Load())
				}
			}
			return nil
		})
		time.Sleep(500 * time.Millisecond)
		stopLasting() // those of HTTP/2 stay, and with them the slot (desired.Drain)
		b.cluster.moveSlots(map[int32]int32{443: to}, nil)
		b.apply(change{})
		b.expectStream(int(from), "a.example.com", stream{})
		time.Sleep(500 * time.Millisecond)
		stop()
		l.clients.Wait()
		broken := 0
		for _, conn := range sockets {
			if !isOpen(conn) {
				broken++
			}
		}
		t.Logf("%d requests, %d failed; %d of %d websockets broke; %d reloads", l.asked.Load(), l.wrong.Load(), broken, len(sockets), b.reloads()-before)
		if first := l.first.Load(); first != nil || broken > 0 {
			t.Errorf("%d of %d requests failed, %d websockets broke; first: %s", l.wrong.Load(), l.asked.Load(), broken, valueOr(first))
		}
		if b.caps.DynamicBackends && b.reloads() != before {
			t.Errorf("%d reloads", b.reloads()-before)
		}
		// The last listener of TLS goes, and the port stays where it is.
		b.apply(objectsChange(t, fmt.Sprintf(movingGateway, "")))
		b.expectWeb(443, "pass.example.com", "pass.example.com", "wild", 200)
	})
}

func valueOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
