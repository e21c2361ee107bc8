package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/dialcheck"
)

// ErrForbidden is a connection to an address that no tenant may reach through the
// agent.
var ErrForbidden = errors.New("the address is forbidden")

// Special is snapshot.Special.
func Special(a netip.Addr) bool { return snapshot.Special(a) }

// dialer connects to other servers, after it has checked the address that a name
// was resolved to: a name that changes between a check and its use gains nothing.
type dialer struct {
	special func(netip.Addr) bool
	// networks are those of the snapshot. If byName is false, none but named endpoints are
	// connected to.
	networks atomic.Pointer[[]netip.Prefix]
	byName   atomic.Bool
}

func (d *dialer) check(a netip.Addr) error {
	if d.special(a) {
		return fmt.Errorf("%w: %s", ErrForbidden, a)
	}
	if networks := d.networks.Load(); networks != nil {
		for _, n := range *networks {
			if n.Contains(a.Unmap()) {
				return fmt.Errorf("%w: %s is in %s", ErrForbidden, a, n)
			}
		}
	}
	return nil
}

// errUnknownNodes is a server that might be a node.
var errUnknownNodes = fmt.Errorf("%w: the addresses of nodes are not known", ErrForbidden)

// errNoEndpoint is a Service without ready pods.
var errNoEndpoint = errors.New("no pod of the Service is ready")

// endpointsKey leads to the endpoints of a request in its context.
type endpointsKey struct{}

// endpoints are the pods of a Service, which take turns.
type endpoints struct {
	list []netip.AddrPort
	// only is set if the server is nowhere else.
	only bool
	turn *atomic.Uint32
}

// dial connects, to a pod of the Service if the router named some. The kernel is asked
// only after the check of the very address that is connected to.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nd := net.Dialer{Timeout: time.Second, Control: dialcheck.Each(d.check)}
	e, ok := ctx.Value(endpointsKey{}).(endpoints)
	if ok && e.only && len(e.list) == 0 {
		return nil, errNoEndpoint
	}
	if ok && len(e.list) > 0 {
		var errs error
		for range min(len(e.list), 2) {
			to := e.list[int(e.turn.Add(1))%len(e.list)]
			c, err := nd.DialContext(ctx, "tcp", to.String())
			if err == nil {
				return c, nil
			}
			errs = errors.Join(errs, err)
		}
		return nil, errs
	}
	if !d.byName.Load() {
		return nil, errUnknownNodes
	}
	return nd.DialContext(ctx, network, address)
}

// longestHeaders bounds the headers of another server's answer.
const longestHeaders = 32 << 10

// transportKey is what policies have in common that share connections: the CA, and whether
// HTTP/2 is spoken, without TLS too.
type transportKey struct {
	ca    string
	http2 bool
}

// transport makes connections for all policies with the same key.
func (d *dialer) transport(key transportKey) (*http.Transport, error) {
	ca := key.ca
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the CA has no certificate")
		}
	}
	t := &http.Transport{
		DialContext: d.dial, TLSClientConfig: config, Proxy: nil, DisableCompression: true,
		MaxResponseHeaderBytes: longestHeaders, MaxIdleConns: 256, MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 2 * time.Second, ResponseHeaderTimeout: 5 * time.Second,
	}
	if key.http2 {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP2(true)
		t.Protocols.SetUnencryptedHTTP2(true)
		// A server may not have more of an answer kept here than is read of it, and a connection on
		// which nothing comes back ends.
		t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 2 * mirrorAnswer, MaxReceiveBufferPerConnection: 1 << 20, SendPingTimeout: 5 * time.Second, PingTimeout: 2 * time.Second}
	}
	return t, nil
}

// noRedirects leaves a redirect to the one who asks.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// transport returns connections for a key, which policies share.
func (e *Engine) transport(key transportKey) (*http.Transport, error) {
	if t := e.transports[key]; t != nil {
		return t, nil
	}
	if len(e.transports) >= mostTransports {
		// Those of CAs that no policy has any more end with their idle connections.
		clear(e.transports)
	}
	t, err := e.dialer.transport(key)
	if err == nil {
		e.transports[key] = t
	}
	return t, err
}
