// Package collector is a collector of spans for tests: OTLP by gRPC, with the library of the gRPC
// project, and over HTTP.
package collector

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Collector keeps the spans that it is sent.
type Collector struct {
	mu       sync.Mutex
	spans    []*tracepb.Span
	resource []*commonpb.KeyValue
	messages int
	answer   func(message int) ([]byte, error)
}

// GRPC starts a collector and returns its address. certificate is nil for one without TLS. answer
// returns what it answers to its n-th message, counted from 0, and whether that is a success; nil
// takes all.
func GRPC(t testing.TB, certificate *tls.Certificate, answer func(n int) ([]byte, error)) (c *Collector, address string) {
	t.Helper()
	c = &Collector{answer: answer}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var options []grpc.ServerOption
	if certificate != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(certificate)))
	}
	s := grpc.NewServer(options...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			// An ExportTraceServiceRequest has the same form.
			var in tracepb.TracesData
			if err := decode(&in); err != nil {
				return nil, err
			}
			reply, err := c.take(&in)
			if err != nil {
				return nil, err
			}
			out := &emptypb.Empty{}
			out.ProtoReflect().SetUnknown(reply)
			return out, nil
		}}},
	}, nil)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return c, l.Addr().String()
}

// HTTP starts a collector that takes OTLP over HTTP, and returns its URL. status is what it
// answers to its n-th message; nil takes all.
func HTTP(t testing.TB, status func(n int) int) (c *Collector, url string) {
	t.Helper()
	c = &Collector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in tracepb.TracesData
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/traces") || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &in) != nil {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		n := c.messages
		c.mu.Unlock()
		if status != nil && status(n) != http.StatusOK {
			c.mu.Lock()
			c.messages++
			c.mu.Unlock()
			w.WriteHeader(status(n))
			return
		}
		_, _ = c.take(&in)
	}))
	t.Cleanup(s.Close)
	return c, s.URL
}

func (c *Collector) take(in *tracepb.TracesData) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.messages
	c.messages++
	var reply []byte
	if c.answer != nil {
		var err error
		if reply, err = c.answer(n); err != nil {
			return nil, err
		}
	}
	for _, of := range in.ResourceSpans {
		c.resource = of.Resource.GetAttributes()
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return reply, nil
}

// Spans are those that it has taken, in that order.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Messages is how many messages it was sent.
func (c *Collector) Messages() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages
}

// Resource are the attributes of the resource that spans were last of.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Attributes(c.resource)
}

// Attributes are attributes by their key; numbers are written in decimals.
func Attributes(of []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range of {
		out[kv.Key] = kv.Value.GetStringValue()
		if _, isText := kv.Value.GetValue().(*commonpb.AnyValue_StringValue); !isText {
			_, out[kv.Key], _ = strings.Cut(kv.Value.String(), ":")
		}
	}
	return out
}
