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
	"syscall"
	"time"
)

// ErrForbidden is a connection to an address that no tenant may reach through the
// agent.
var ErrForbidden = errors.New("the address is forbidden")

// Special reports whether an address is never a server of a tenant's: loopback,
// link-local (where clouds have their metadata), unspecified, multicast, or an IPv4
// address in disguise.
func Special(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsValid() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() ||
		a.IsInterfaceLocalMulticast() || a.Zone() != "" || disguised(a)
}

// disguised reports whether a is an IPv6 address that a gateway translates to IPv4
// (NAT64, 6to4), is IPv4-compatible, or is the limited broadcast or "this network" of IPv4.
func disguised(a netip.Addr) bool {
	if a.Is4() {
		b := a.As4()
		return b[0] == 0 || b[0] >= 240
	}
	b := a.As16()
	return b[0] == 0x00 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b || b[0] == 0x20 && b[1] == 0x02 ||
		[12]byte(b[:12]) == [12]byte{}
}

// dialer connects to other servers, after it has checked the address that a name
// was resolved to: a name that changes between a check and its use gains nothing.
type dialer struct {
	special func(netip.Addr) bool
	// networks are those of the snapshot.
	networks atomic.Pointer[[]netip.Prefix]
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
	nd := net.Dialer{Timeout: time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrForbidden, address)
		}
		return d.check(at.Addr())
	}}
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
	return nd.DialContext(ctx, network, address)
}

// longestHeaders bounds the headers of another server's answer.
const longestHeaders = 32 << 10

// transport makes connections for all policies with the same CA.
func (d *dialer) transport(ca string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the CA has no certificate")
		}
	}
	return &http.Transport{
		DialContext: d.dial, TLSClientConfig: config, Proxy: nil, DisableCompression: true,
		MaxResponseHeaderBytes: longestHeaders, MaxIdleConns: 256, MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: 2 * time.Second, ResponseHeaderTimeout: 5 * time.Second,
	}, nil
}

// noRedirects leaves a redirect to the one who asks.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
