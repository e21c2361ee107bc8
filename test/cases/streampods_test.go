package cases

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/explain"
)

// explainer is what kubectl fairlead would see.
func (b *streamBed) explainer(t *testing.T) *explain.Snapshot {
	t.Helper()
	return explainerOf(t, b.core.cluster)
}

// explainerOf is explain for the objects of a cluster.
func explainerOf(t *testing.T, m *memory) *explain.Snapshot {
	t.Helper()
	o := explain.NewObjects()
	o.Add(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayapi.ControllerName}})
	for _, all := range m.gateways {
		o.Add(all)
	}
	for _, s := range m.services {
		o.Add(s)
	}
	for _, s := range m.slices {
		o.Add(s)
	}
	for _, s := range m.secrets {
		o.Add(s)
	}
	w, err := explain.NewSnapshot(o, explain.Options{Router: "default", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// anyPod answers requests with its name, over TLS, with a certificate of its name, if the client
// begins it.
func anyPod(t *testing.T, name, address string) int {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	secure := &tls.Config{Certificates: []tls.Certificate{pki().leaf(t, name).servable}}
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go answerAny(conn, name, secure)
			}
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// begun is a connection of which some bytes have been read.
type begun struct {
	net.Conn
	r *bufio.Reader
}

func (c begun) Read(p []byte) (int, error) { return c.r.Read(p) }

func answerAny(raw net.Conn, name string, secure *tls.Config) {
	defer raw.Close()
	conn := net.Conn(begun{raw, bufio.NewReader(raw)})
	const handshake = 0x16
	if first, err := conn.(begun).r.Peek(1); err != nil {
		return
	} else if first[0] == handshake {
		conn = tls.Server(conn, secure)
	}
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-Any-Pod: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", name)
	}
}

// text writes down what decides about a port.
func (w *world) text(g *worldGateway, port int32) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Gateway %s, with ListenerSets of %s\n", g.ns, g.sets)
	for _, j := range w.listeners(g) {
		if j.port != port {
			continue
		}
		fmt.Fprintf(&s, "  %s %s/%s %+v accepted %v\n", j.kind, j.ns, j.owner, *j.worldListener, j.accepted)
		for _, r := range w.routes {
			if r.attached(j) {
				fmt.Fprintf(&s, "    %s %s/%s of %d: hosts %v, path %s, to %v\n", r.kind, r.ns, r.name, r.created, r.hosts, r.path, r.refs)
			}
		}
	}
	return s.String()
}
