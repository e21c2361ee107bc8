package export

import (
	"bytes"
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
	"strconv"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fairlead/fairlead/router/dialcheck"
	"github.com/fairlead/fairlead/router/settings"
)

const (
	// timeout bounds one attempt.
	timeout = 10 * time.Second
	// maxAnswer and maxHeaders bound what a collector can make the router read.
	maxAnswer, maxHeaders = 64 << 10, 16 << 10
	userAgent             = "fairlead-router/1"
	// grpcPath is Export of opentelemetry.proto.collector.trace.v1.TraceService, and httpPath
	// what OTLP over HTTP has for it.
	grpcPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	httpPath = "/v1/traces"
	// frameHeader begins each message of gRPC: a flag for compression, and the length.
	frameHeader = 5
)

// client speaks to one collector, by one connection of HTTP/2 or some of HTTP/1.1. gRPC is a
// request of HTTP/2 with the message in a frame, and its status in a trailer.
type client struct {
	// url is nil if there is no collector.
	url       *url.URL
	grpc      bool
	transport *http.Transport
	// limit bounds each attempt.
	limit time.Duration
}

func newClient(c settings.Collector, ca string, limit time.Duration) *client {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return &client{transport: &http.Transport{}}
	}
	path := httpPath
	if !c.HTTP {
		path = grpcPath
	}
	u.Path += path
	var protocols http.Protocols
	protocols.SetHTTP1(c.HTTP)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(!c.HTTP)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	dialer := &net.Dialer{Timeout: limit, Control: dialcheck.NoMetadata}
	return &client{url: u, grpc: !c.HTTP, limit: limit, transport: &http.Transport{
		DialContext: dialer.DialContext, Protocols: &protocols, TLSHandshakeTimeout: limit, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout}, // a collector may go without a word
	}}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// statusError is an answer that is no success.
type statusError struct {
	// http is the status, and grpc that of gRPC: -1 for none.
	http, grpc int
}

func (s statusError) Error() string {
	if s.grpc >= 0 {
		return fmt.Sprintf("answers with the status %d of gRPC", s.grpc)
	}
	return fmt.Sprintf("answers with status %d", s.http)
}

// send sends a message once, and returns how many spans of it the collector did not take.
func (c *client) send(ctx context.Context, message []byte) (refused int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	header, body := http.Header{"User-Agent": {userAgent}, "Content-Type": {"application/x-protobuf"}}, message
	if c.grpc {
		header.Set("Content-Type", "application/grpc")
		header.Set("Te", "trailers")
		body = binary.BigEndian.AppendUint32(make([]byte, 1, frameHeader+len(message)), uint32(len(message)))
		body = append(body, message...)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("ask the collector: %w", err)
	}
	r.Header = header
	answer, err := c.transport.RoundTrip(r) // which follows no redirect
	if err != nil {
		c.transport.CloseIdleConnections()
		return 0, fmt.Errorf("ask the collector: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("read the collector's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return 0, statusError{answer.StatusCode, -1}
	}
	if !c.grpc {
		return rejected(text), nil
	}
	status := answer.Trailer.Get("Grpc-Status")
	if status == "" {
		status = answer.Header.Get("Grpc-Status") // an answer without a message
	}
	switch code, err := strconv.ParseUint(status, 10, 16); {
	case err != nil:
		return 0, errNoGRPC
	case code != 0:
		return 0, statusError{answer.StatusCode, int(code)}
	}
	if len(text) < frameHeader {
		return 0, nil
	}
	return rejected(text[frameHeader:]), nil
}

var errNoGRPC = errors.New("answers without a status of gRPC")

// rejected reads ExportTraceServiceResponse.partial_success.rejected_spans. What cannot be read
// rejects nothing: the status says that the message was taken.
func rejected(answer []byte) int {
	const partialSuccess, rejectedSpans = 1, 1
	n := int64(0)
	eachField(answer, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number != partialSuccess || kind != protowire.BytesType {
			return
		}
		inner, _ := protowire.ConsumeBytes(value)
		eachField(inner, func(number protowire.Number, kind protowire.Type, value []byte) {
			if v, ok := protowire.ConsumeVarint(value); number == rejectedSpans && kind == protowire.VarintType && ok > 0 {
				n = int64(v) // which deliver bounds
			}
		})
	})
	return int(n)
}

// eachField calls a function with the fields of a message, up to one that cannot be read.
func eachField(message []byte, each func(number protowire.Number, kind protowire.Type, value []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return
		}
		each(number, kind, message[:size])
		message = message[size:]
	}
}

// again reports whether another attempt may succeed (OTLP, "Failures").
func again(err error) bool {
	var s statusError
	switch {
	case errors.Is(err, dialcheck.ErrMetadata) || errors.Is(err, errNoGRPC):
		return false
	case !errors.As(err, &s):
		return true
	case s.grpc >= 0:
		switch s.grpc {
		case 1, 4, 8, 10, 11, 14, 15: // cancelled, deadline, exhausted, aborted, range, unavailable, data loss
			return true
		}
		return false
	}
	switch s.http {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// words say what is wrong for the IngressController's condition. They stay the same while the
// fault does, and none of them is the collector's.
func words(err error) string {
	var (
		name      *net.DNSError
		status    statusError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		network   net.Error
	)
	switch {
	case errors.As(err, &name):
		return "has a name that cannot be resolved"
	case errors.Is(err, dialcheck.ErrMetadata):
		return "has an address that is link-local or a cloud's metadata service"
	case errors.Is(err, errNoGRPC):
		return "does not speak gRPC; write protocol=http if it takes OTLP over HTTP"
	case errors.As(err, &status):
		return status.Error()
	case errors.As(err, &authority):
		return "shows a certificate of an authority that the router does not trust"
	case errors.As(err, &host):
		return "shows a certificate for another name"
	case errors.As(err, &invalid):
		return "shows a certificate that is not valid"
	case errors.As(err, &record):
		return "does not speak TLS; write http:// if it has none"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refuses connections"
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout():
		return "does not answer in time"
	}
	return "ends connections"
}
