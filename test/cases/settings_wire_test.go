package cases

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestSettingsProxyProtocol: with it the address in the header is the
// client's, and without the header no client is served.
func TestSettingsProxyProtocol(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{
				Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{Protocol: operatorv1.ProxyProtocol},
			}
		})
		b.eventually("the client's address arrives", func() error {
			return b.raw("PROXY TCP4 203.0.113.7 203.0.113.8 4444 80\r\nGET / HTTP/1.1\r\nHost: plain.set.test\r\nConnection: close\r\n\r\n", `"X-Forwarded-For":["203.0.113.7"]`)
		})
		if err := b.raw("GET / HTTP/1.1\r\nHost: plain.set.test\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"); err == nil {
			t.Error("served without the header")
		}
		if b.reasons()["spec.endpointPublishingStrategy.protocol"] != 1 {
			t.Errorf("reloads %v", b.reasons())
		}
	})
}

// TestSettingsLogContainer: the access log goes to the socket of the container
// that prints it, one bare line for each request, also if that starts later.
func TestSettingsLogContainer(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		var socket string
		b := settingsBed(t, version, func(b *bed) {
			socket = filepath.Join(b.layout.Dir, "access.sock")
			b.flags.LogSocket = socket
			b.controller.Store(&operatorv1.IngressController{})
		})
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
				Destination:   operatorv1.LoggingDestination{Type: operatorv1.ContainerLoggingDestinationType},
				HttpLogFormat: "path=%HP status=%ST",
			}}
		})
		b.expectLine("GET http://plain.set.test/nobody-listens -> 200")
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socket})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		b.expectLine("GET http://plain.set.test/logged -> 200")
		line := make([]byte, 4096)
		n, err := conn.Read(line)
		if got := strings.TrimSpace(string(line[:n])); err != nil || got != "path=/logged status=200" {
			t.Errorf("logged %q, %v", got, err)
		}
	})
}

// TestListensOnIPv6: IPv6 clients are served like others, with their address.
func TestListensOnIPv6(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.flags.IPv6 = true })
		for _, ip := range []string{"127.0.0.1", "::1"} {
			b.eventually("an answer at "+ip, func() error {
				conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip, strconv.Itoa(b.http)), clientTimeout)
				if err != nil {
					return err
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(clientTimeout))
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: plain.set.test\r\nConnection: close\r\n\r\n"); err != nil {
					return err
				}
				text, err := io.ReadAll(conn)
				if want := `"X-Forwarded-For":["` + ip + `"]`; err == nil && !strings.Contains(string(text), want) {
					err = fmt.Errorf("no %s in %s", want, text)
				}
				return err
			})
		}
	})
}

// TestSettingsHeaderCase: listed header names keep their case toward clients,
// and toward the pods of routes that ask for it.
func TestSettingsHeaderCase(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
		address, requests := echo(t)
		b.configure(func(s *operatorv1.IngressControllerSpec) {
			s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{
				HeaderNameCaseAdjustments: []operatorv1.IngressControllerHTTPHeaderNameCaseAdjustment{"X-ODD", "Set-COOKIE"},
			}
		})
		b.apply(parseStep(t, map[string]string{"in.yaml": fmt.Sprintf(`
kind: Service
metadata: {namespace: s, name: odd}
spec: {ports: [{port: %[2]s}]}
---
kind: EndpointSlice
metadata: {namespace: s, name: odd-1, labels: {kubernetes.io/service-name: odd}}
addressType: IPv4
ports: [{name: "", port: %[2]s}]
endpoints: [{addresses: [%[1]s]}]
---
kind: Route
metadata: {namespace: s, name: odd, annotations: {haproxy.router.openshift.io/h1-adjust-case: "true"}}
spec: {host: odd.set.test, to: {kind: Service, name: odd}}
---
kind: Route
metadata: {namespace: s, name: even}
spec: {host: even.set.test, to: {kind: Service, name: odd}}
`, address.host, address.port)}))
		for host, want := range map[string]string{"odd.set.test": "\r\nX-ODD: 1\r\n", "even.set.test": "\r\nx-odd: 1\r\n"} {
			b.eventually(host, func() error {
				if err := b.raw("GET / HTTP/1.1\r\nHost: "+host+"\r\nx-Odd: 1\r\nConnection: close\r\n\r\n", "\r\nSet-COOKIE: "); err != nil {
					return err
				}
				if got := <-requests; !strings.Contains(got, want) {
					return fmt.Errorf("the pod got %q", got)
				}
				return nil
			})
		}
	})
}

// raw sends a text to the HTTP port and looks for another in the answer.
func (b *bed) raw(request, want string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.http)), clientTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	text, err := io.ReadAll(conn)
	if !strings.Contains(string(text), want) {
		return fmt.Errorf("%q lacks %q (%s)", text, want, fmt.Sprint(err))
	}
	return nil
}

type hostPort struct{ host, port string }

// echo is a pod that shows the requests it gets, byte for byte.
func echo(t *testing.T) (hostPort, <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "198.18.250.91:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	requests := make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				text := ""
				for !strings.HasSuffix(text, "\r\n\r\n") {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					text += line
				}
				requests <- text
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			}()
		}
	}()
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return hostPort{host, port}, requests
}
