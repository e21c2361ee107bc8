package cases

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	native "github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// sourcePorts hands out ports below those that freePort gets, again and again: a held
// connection would keep a HAProxy of another test from listening there.
var sourcePorts atomic.Uint32

// dialFrom connects with a source address of the test's choice: all of
// 127.0.0.0/8 is local.
func (b *bed) dialFrom(source string, port int) (net.Conn, error) {
	const first = 3000
	from := &net.TCPAddr{IP: net.ParseIP(source), Port: first + int(sourcePorts.Add(1)%(firstPort-first))}
	d := &net.Dialer{Timeout: clientTimeout, LocalAddr: from}
	to := "127.0.0.1"
	if strings.Contains(source, ":") {
		to = "::1"
	}
	return d.DialContext(b.t.Context(), "tcp", net.JoinHostPort(to, strconv.Itoa(port)))
}

// ask sends one request on a connection of its own and returns the connection,
// which stays open.
func (b *bed) ask(source string, secure bool) (net.Conn, error) {
	port, host := b.http, "plain.set.test"
	if secure {
		port, host = b.https, "edge.set.test"
	}
	conn, err := b.dialFrom(source, port)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	over := conn
	if secure {
		over = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host})
	}
	if _, err = fmt.Fprintf(over, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err == nil {
		var r *http.Response
		if r, err = http.ReadResponse(bufio.NewReader(over), nil); err == nil {
			_ = r.Body.Close()
			if r.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", r.StatusCode)
			}
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, conn.SetDeadline(time.Time{})
}

// override sets fields of spec.unsupportedConfigOverrides.
func override(text string) func(*operatorv1.IngressControllerSpec) {
	return func(s *operatorv1.IngressControllerSpec) {
		s.UnsupportedConfigOverrides = runtime.RawExtension{Raw: []byte(text)}
	}
}

// TestSourcesIdle: one source that opens connections and says nothing takes a
// fifth of the slots here, a tenth in production, and TLS counts once. Another
// source is served at once, on both ports.
func TestSourcesIdle(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		for _, secure := range []bool{false, true} {
			b := settingsBed(t, version, func(b *bed) { b.driftCheck = time.Second })
			port := b.http
			if secure {
				port = b.https
			}
			b.holds("127.0.0.2", port, 500, 100)
			for _, other := range []bool{false, true} {
				began := time.Now()
				c, err := b.ask("127.0.0.3", other)
				if err != nil {
					t.Fatalf("TLS %t: another source, TLS %t: %v", secure, other, err)
				}
				_ = c.Close()
				if took := time.Since(began); took > time.Second {
					t.Errorf("TLS %t: another source, TLS %t, waited %s", secure, other, took)
				}
			}
			if c, err := b.ask("127.0.0.2", secure); err == nil {
				_ = c.Close()
				t.Errorf("TLS %t: the source gets one more", secure)
			}
			b.eventually("the source is told", func() error {
				if n := strings.Count(b.log.String(), "sources=\"127.0.0.2 ("); n != 1 {
					return fmt.Errorf("%d times", n)
				}
				return nil
			})
		}
	})
}

// TestSourcesCrowd: where half of all slots are taken, a source gets a tenth of
// its limit, so a handful of sources cannot take all. Connections that idle after
// their answer are closed before that.
func TestSourcesCrowd(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		total := 0
		for i := range 2 {
			total += b.hold("127.0.1."+strconv.Itoa(i+1), b.http, 100)
		}
		if answer := b.answer("127.0.0.4"); !strings.Contains(strings.ToLower(answer), "connection: close") {
			t.Errorf("the answer does not end the connection: %q", answer)
		}
		for i := range 20 {
			total += b.hold("127.0.2."+strconv.Itoa(i+1), b.https, 100)
		}
		if total < 300 || total > 490 {
			t.Errorf("22 sources hold %d of 500 slots", total)
		}
		for _, secure := range []bool{false, true} {
			c, err := b.ask("127.0.0.5", secure)
			if err != nil {
				t.Fatalf("another source, TLS %t: %v", secure, err)
			}
			_ = c.Close()
		}
	})
}

// TestConnectionsToPodsAreReused: clients whose TLS ends here take three files each while they wait.
// With a third of all clients there, the connections to pods are still kept.
func TestConnectionsToPodsAreReused(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			ic := &operatorv1.IngressController{}
			override(`{"unlimitedSources": "127.0.2.0/24"}`)(&ic.Spec)
			b.controller.Store(ic)
		})
		for i := range 165 {
			c, err := b.ask("127.0.2.1", true)
			if err != nil {
				t.Fatalf("client %d: %v", i, err)
			}
			defer c.Close()
		}
		before := b.connects(t)
		const clients, requests = 20, 100
		var asking sync.WaitGroup
		for range clients {
			asking.Go(func() {
				if err := b.askOften("127.0.0.5", requests); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if n := b.connects(t) - before; n > 5*clients {
			t.Errorf("%d requests of %d clients opened %d connections to their pod, want at most %d", clients*requests, clients, n, 5*clients)
		}
	})
}

// askOften sends plain requests over one connection.
func (b *bed) askOften(source string, requests int) error {
	client := &http.Client{Timeout: clientTimeout, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return b.dialFrom(source, b.http) },
	}}
	defer client.CloseIdleConnections()
	for range requests {
		r, err := client.Get("http://plain.set.test/")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}

// connects returns how many connections to pods of the plain Route there were.
func (b *bed) connects(t *testing.T) (n int) {
	t.Helper()
	var socket native.SingleRuntime
	if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		t.Fatal(err)
	}
	text, err := socket.ExecuteWithResponse("show stat -1 2 -1")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(text), "# "))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], "connect")
	for _, row := range rows[1:] {
		if strings.Contains(row[0], ":plain:") {
			c, err := strconv.Atoi(row[at])
			if err != nil {
				t.Fatal(err)
			}
			n += c
		}
	}
	return n
}

// answer returns the text of one answer.
func (b *bed) answer(source string) string {
	b.t.Helper()
	c, err := b.dialFrom(source, b.http)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(clientTimeout))
	text := make([]byte, 4096)
	if _, err = c.Write([]byte("GET / HTTP/1.1\r\nHost: plain.set.test\r\n\r\n")); err != nil {
		b.t.Fatal(err)
	}
	n, err := c.Read(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text[:n])
}

// TestSourcesTLSRate: a source gets so many new TLS connections in ten seconds,
// an IPv6 network of 64 bits is one source, and listed networks have no limit.
func TestSourcesTLSRate(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			ic := &operatorv1.IngressController{}
			override(`{"maxTLSConnectionRatePerSource": "5", "maxConnectionsPerSource": "0", "unlimitedSources": "127.0.0.64/27, fd00:1::/64"}`)(&ic.Spec)
			b.controller.Store(ic)
			b.flags.IPv6 = true
		})
		if f := *b.findings.Load(); len(f) != 0 {
			t.Errorf("findings %v", f)
		}
		served := func(n int, secure bool, sources ...string) (ok int) {
			for i := range n {
				if c, err := b.ask(sources[i%len(sources)], secure); err == nil {
					ok++
					_ = c.Close()
				}
			}
			return ok
		}
		if n := served(20, true, "127.0.0.2"); n != 5 {
			t.Errorf("%d new TLS connections of 20, want 5", n)
		}
		if n := served(20, false, "127.0.0.2"); n != 20 {
			t.Errorf("%d plain connections of 20", n)
		}
		if n := served(20, true, "127.0.0.70"); n != 20 {
			t.Errorf("%d of 20 from a listed network", n)
		}
		if n := served(1, true, "127.0.0.3"); n != 1 {
			t.Error("another source is refused")
		}
		if n := served(20, true, "fd00:198:18::1", "fd00:198:18::2"); n != 5 {
			t.Errorf("%d of 20 from one IPv6 network, want 5", n)
		}
	})
}

// TestSourcesProxyProtocol: behind a load balancer the client counts, and only
// listed load balancers may say who it is.
func TestSourcesProxyProtocol(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			ic := &operatorv1.IngressController{}
			override(`{"maxConnectionsPerSource": "3", "proxyProtocolSources": "127.0.0.7"}`)(&ic.Spec)
			ic.Spec.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.NodePortServiceStrategyType, NodePort: &operatorv1.NodePortStrategy{Protocol: operatorv1.ProxyProtocol},
			}
			b.controller.Store(ic)
		})
		ask := func(balancer, client string) error {
			c, err := b.dialFrom(balancer, b.http)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = c.Close() })
			_ = c.SetDeadline(time.Now().Add(clientTimeout))
			if _, err := fmt.Fprintf(c, "PROXY TCP4 %s 203.0.113.1 4444 80\r\nGET / HTTP/1.1\r\nHost: plain.set.test\r\n\r\n", client); err != nil {
				return err
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil {
				_ = r.Body.Close()
			}
			return err
		}
		for i := range 3 {
			if err := ask("127.0.0.7", "203.0.113.7"); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
		if err := ask("127.0.0.7", "203.0.113.7"); err == nil {
			t.Error("a fourth connection of one client is served")
		}
		if err := ask("127.0.0.7", "203.0.113.8"); err != nil {
			t.Errorf("another client: %v", err)
		}
		if err := ask("127.0.0.8", "203.0.113.9"); err == nil {
			t.Error("a client that is no load balancer may claim an address")
		}
	})
}

// TestSourcesAllPorts: the limit of connections is one for all ports, those of Gateways
// included. What else there is of the process's limit is for the way of TLS connections.
func TestSourcesAllPorts(t *testing.T) {
	t.Parallel()
	b := settingsBed(t, "haproxy", func(b *bed) {
		b.slots = freeSlots(t)
		b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	})
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": gatewayObjects}))
	b.expectAtListener(t, "80 GET http://any.test/ -> 200 pod=one")
	b.configure(override(`{"unlimitedSources": "127.0.2.0/24"}`))
	b.expectAtListener(t, "80 GET http://any.test/ -> 200 pod=one")
	for i, port := range []int{b.http, b.slots.First, b.https} {
		if n := b.hold("127.0.2."+strconv.Itoa(i+1), port, 160); n != 160 {
			t.Fatalf("%d of 160 connections", n)
		}
	}
	more, refused := 0, false
	for ; more < 30 && !refused; more++ {
		c, err := b.dialFrom("127.0.2.4", b.slots.First)
		if refused = errors.Is(err, syscall.ECONNRESET); refused {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		refused = !errors.Is(err, os.ErrDeadlineExceeded)
	}
	if more < 15 || !refused {
		t.Errorf("of 500 connections there are 480 and %d, the last one refused: %t", more, refused)
	}
}
