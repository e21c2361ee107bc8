// Package podport opens connections to ports of pods through the API server, as kubectl
// port-forward does. Ports on a pod's loopback can be reached that way, too. It takes the
// right to create pods/portforward.
package podport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go returns its types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
)

const (
	// protocol is that of port forwarding.
	protocol = "portforward.k8s.io"
	// dialTime bounds the request to the API server.
	dialTime = 5 * time.Second
	// whyBytes bounds what the kubelet says of a port that it cannot reach.
	whyBytes = 300
)

// Conn is a connection to a port of a pod. It has no addresses and no deadlines: Close ends
// what waits.
type Conn struct {
	httpstream.Stream
	failed httpstream.Stream
	conn   httpstream.Connection
}

var _ net.Conn = (*Conn)(nil)

// Dial connects to a port of a pod. The connection ends with ctx.
func Dial(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Conn, error) {
	own := rest.CopyConfig(config)
	own.Timeout = dialTime
	transport, upgrader, err := spdy.RoundTripperFor(own)
	if err != nil {
		return nil, fmt.Errorf("prepare port forwarding: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(own)
	if err != nil {
		return nil, fmt.Errorf("prepare port forwarding: %w", err)
	}
	url := base.JoinPath("api/v1/namespaces", namespace, "pods", pod, "portforward")
	conn, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url).Dial(protocol)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	c := &Conn{conn: conn}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	if c.failed, err = conn.CreateStream(headers); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	_ = c.failed.Close() // this side says nothing on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if c.Stream, err = conn.CreateStream(headers); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return c, nil
}

// Read implements net.Conn. Where the port could not be reached, the error says why.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if n == 0 && err != nil {
		if why, _ := io.ReadAll(io.LimitReader(c.failed, whyBytes)); len(why) > 0 {
			return 0, errors.New(strings.TrimSpace(string(why)))
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error { return c.conn.Close() }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }
