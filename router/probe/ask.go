package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

const (
	// maxHeaders and maxBody bound what an endpoint can make the router read.
	maxHeaders, maxBody = 16 << 10, 1 << 10
	userAgent           = "fairlead-probe/1"
)

// ask asks an endpoint once, over a connection of its own, and returns why it is not
// healthy. Nothing of the answer but its status is used.
func ask(ctx context.Context, p *pipeline.Probe) error {
	secure, err := tlsConfig(p)
	if err != nil {
		return err
	}
	switch p.Probe.Type {
	case model.ProbeHTTP:
		return askHTTP(ctx, p, secure)
	case model.ProbeGRPC:
		return askGRPC(ctx, p, secure)
	case model.ProbeTCP:
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Address.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if secure == nil {
		return nil
	}
	return tls.Client(conn, secure).HandshakeContext(ctx)
}

// tlsConfig trusts what HAProxy trusts when it sends requests there: see
// render.ServerWords. It is nil without TLS.
func tlsConfig(p *pipeline.Probe) (*tls.Config, error) {
	if !p.TLS {
		return nil, nil
	}
	c := &tls.Config{ServerName: p.VerifyHost, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // verified below, where there is a CA
	if p.CAID == "" {
		return c, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(p.CA)) {
		return nil, errors.New("the CA has no certificate")
	}
	c.VerifyConnection = func(s tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: roots, DNSName: p.VerifyHost, Intermediates: x509.NewCertPool()} // any name without VerifyHost
		for _, cert := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(o)
		return err
	}
	return c, nil
}

// transport speaks to one endpoint, and does not keep the connection.
func transport(p *pipeline.Probe, secure *tls.Config, http2 bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && secure != nil)
	protocols.SetUnencryptedHTTP2(http2 && secure == nil)
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", p.Address.String())
		},
		TLSClientConfig: secure, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders, Protocols: &protocols,
	}
}

func address(p *pipeline.Probe, secure *tls.Config, path string) (*url.URL, error) {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	u.Scheme, u.Host = "http", p.Address.String()
	if secure != nil {
		u.Scheme = "https"
	}
	return u, nil
}

func askHTTP(ctx context.Context, p *pipeline.Probe, secure *tls.Config) error {
	u, err := address(p, secure, p.Probe.Path)
	if err != nil {
		return err
	}
	t := transport(p, secure, p.H2C)
	defer t.CloseIdleConnections()
	r := (&http.Request{Method: p.Probe.Method, URL: u, Host: p.Probe.Host, Header: http.Header{"User-Agent": {userAgent}}}).WithContext(ctx)
	answer, err := t.RoundTrip(r) // which follows no redirect
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < p.Probe.Least || answer.StatusCode > p.Probe.Most {
		return fmt.Errorf("status %d, not %d-%d", answer.StatusCode, p.Probe.Least, p.Probe.Most)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxBody) // lets most servers end the answer in peace
	return nil
}

const (
	// serving is the status SERVING of grpc.health.v1.HealthCheckResponse.
	serving = 1
	// frameHeader begins each message of gRPC: a flag for compression, and the length.
	frameHeader = 5
)

// askGRPC calls Check (gRPC health checking protocol, and PROTOCOL-HTTP2.md of gRPC).
func askGRPC(ctx context.Context, p *pipeline.Probe, secure *tls.Config) error {
	u, err := address(p, secure, "/grpc.health.v1.Health/Check")
	if err != nil {
		return err
	}
	t := transport(p, secure, true)
	defer t.CloseIdleConnections()
	body, sent := io.Pipe()
	go func() { _, err := sent.Write(checkRequest(p.Probe.Service)); sent.CloseWithError(err) }()
	defer body.Close()
	r := (&http.Request{Method: http.MethodPost, URL: u, Host: p.Probe.Host, Body: body, ContentLength: -1, Header: http.Header{
		"User-Agent": {userAgent}, "Content-Type": {"application/grpc"}, "Te": {"trailers"},
	}}).WithContext(ctx)
	answer, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return err
	}
	status := answer.Trailer.Get("Grpc-Status")
	if status == "" {
		status = answer.Header.Get("Grpc-Status") // an answer without a message
	}
	if answer.StatusCode != http.StatusOK || status != "0" {
		return fmt.Errorf("status %d, grpc-status %q", answer.StatusCode, status)
	}
	return readCheck(text)
}

// checkRequest is a HealthCheckRequest: its only field is the name of the service.
func checkRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), service)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// readCheck reads a HealthCheckResponse: its only field is the status.
func readCheck(text []byte) error {
	if len(text) < frameHeader || text[0] != 0 || int(binary.BigEndian.Uint32(text[1:])) != len(text)-frameHeader {
		return errors.New("no message of gRPC")
	}
	status := uint64(0)
	for text = text[frameHeader:]; len(text) > 0; {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == 1 && kind == protowire.VarintType {
			value, m := protowire.ConsumeVarint(text[n:])
			if m < 0 {
				return protowire.ParseError(m)
			}
			status = value
		}
		m := protowire.ConsumeFieldValue(number, kind, text[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		text = text[n+m:]
	}
	if status != serving {
		return fmt.Errorf("status %d, not SERVING", status)
	}
	return nil
}
