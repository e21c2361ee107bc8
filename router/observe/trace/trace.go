// Package trace makes spans of records of requests, for the OpenTelemetry protocol. It is pure.
//
//	record ─ Spans ─▶ SERVER span: from the first byte of the request to the last one of the answer
//	                  └─ CLIENT span: from when a pod was chosen; the pod's own span is below it
//
// HAProxy says how many attempts to connect to pods there were, and nothing else of those before
// the last one. So a request has one CLIENT span, which has their number and not their times.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fairlead/fairlead/router/observe"
)

// Source is the router that the spans are of.
type Source struct {
	// Router is the name of the IngressController.
	Router string
	// Namespace and Pod are where the router runs, or empty.
	Namespace, Pod string
	Version        string
}

// Message is what an export of spans sends: an ExportTraceServiceRequest, whose bytes are those
// of TracesData (opentelemetry-proto has both for that).
func (s Source) Message(spans []*tracepb.Span) ([]byte, error) {
	attributes := present(
		text("service.name", "fairlead-router"), text("service.version", s.Version), text("service.instance.id", s.Pod),
		text("k8s.namespace.name", s.Namespace), text("k8s.pod.name", s.Pod), text("fairlead.ingresscontroller", s.Router),
	)
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: attributes},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "fairlead", Version: s.Version}, Spans: spans}},
	}}})
	if err != nil {
		return nil, fmt.Errorf("encode spans: %w", err)
	}
	return message, nil
}

// Flags of a span beside those of its traceparent (opentelemetry-proto, SpanFlags).
const (
	flagSampled  = 0x001
	flagKnown    = 0x100 // whether the parent is remote is known
	flagIsRemote = 0x200
)

// Spans returns the spans of a request: none unless its trace is recorded, one if no pod was
// chosen, else two.
func Spans(r *observe.Record) []*tracepb.Span {
	if !r.Sampled() {
		return nil
	}
	trace, client := id(r.Traceparent[3:35]), id(r.Traceparent[36:52])
	server := serverSpan(r)
	server.TraceId, server.SpanId, server.Flags = trace, serverID(r.Traceparent), flagSampled|flagKnown
	if r.ParentSpan != "" {
		server.ParentSpanId = id(r.ParentSpan)
		server.Flags |= flagIsRemote
	}
	if !reached(r) {
		return []*tracepb.Span{server}
	}
	below := clientSpan(r)
	below.TraceId, below.SpanId, below.ParentSpanId, below.Flags = trace, client, server.SpanId, flagSampled|flagKnown
	return []*tracepb.Span{server, below}
}

// id reads hexadecimal digits, which package observe has checked.
func id(digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return b
}

// serverID is made of the ID of the CLIENT span: HAProxy makes one only, and nothing else names
// the other. It is never zero.
func serverID(traceparent string) []byte {
	sum := sha256.Sum256([]byte("server span of " + traceparent))
	sum[0] |= 1
	return sum[:8]
}

// reached reports whether a pod was chosen, and at least an attempt made to connect to it.
func reached(r *observe.Record) bool {
	return r.Pod != "" && (r.Timers.Connect >= 0 || strings.HasSuffix(r.Ended, "C"))
}
