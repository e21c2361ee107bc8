package trace

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/fairlead/fairlead/router/observe"
)

// times are when the phases of a request ended. One that was not reached has the time of the
// one before.
type times struct{ begin, received, chosen, connected, answered, end time.Time }

func timesOf(r *observe.Record) times {
	t := times{end: r.Time, begin: r.Time.Add(-seconds(r.Timers.Total))}
	at := t.begin
	for _, phase := range []struct {
		lasted float64
		ended  *time.Time
	}{{r.Timers.Request, &t.received}, {r.Timers.Queue, &t.chosen}, {r.Timers.Connect, &t.connected}, {r.Timers.Response, &t.answered}} {
		if at = at.Add(seconds(phase.lasted)); at.After(t.end) {
			at = t.end // timers are rounded
		}
		*phase.ended = at
	}
	return t
}

// longest bounds a phase, in seconds: a hundred days.
const longest = 100 * 24 * 3600

// seconds is how long a phase lasted; one that was not reached lasted no time.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), longest) * float64(time.Second)).Round(time.Millisecond)
}

// nano is a time as spans have it, from 1970 to 2286.
func nano(t time.Time) uint64 {
	const latest = 10_000_000_000
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case s >= latest:
		return latest * uint64(time.Second)
	default:
		return uint64(s)*uint64(time.Second) + uint64(t.Nanosecond())
	}
}

// serverSpan is the request as the client sees it.
func serverSpan(r *observe.Record) *tracepb.Span {
	t := timesOf(r)
	scheme := "http"
	if r.TLS != "" {
		scheme = "https"
	}
	host, port := authority(r.Host)
	s := &tracepb.Span{
		Kind: tracepb.Span_SPAN_KIND_SERVER, Name: spanName(r, r.Route), StartTimeUnixNano: nano(t.begin), EndTimeUnixNano: nano(t.end),
		Attributes: append(shared(r), present(
			text("url.scheme", scheme), text("url.path", r.Path), text("server.address", host), number("server.port", port), text("client.address", r.Client),
			text("tls.protocol.version", strings.TrimPrefix(r.TLS, "TLSv")), text("fairlead.request.id", r.ID), number("http.response.status_code", int64(r.Status)),
		)...),
	}
	if r.Timers.Handshake > 0 { // which is over before the first request of a connection begins
		s.Events = append(s.Events, event(t.begin.Add(-seconds(r.Timers.Idle)), "TLS handshake ended", r.Timers.Handshake))
	}
	if r.Timers.Request >= 0 {
		s.Events = append(s.Events, event(t.received, "request received", r.Timers.Request))
	}
	if r.Timers.Queue > 0 {
		s.Events = append(s.Events, event(t.chosen, "left the queue", r.Timers.Queue))
	}
	switch {
	case r.Status >= 500:
		fail(s, r, strconv.Itoa(r.Status))
	case r.Status < 100 || strings.HasSuffix(r.Ended, "D"): // no answer, or a part of one
		fail(s, r, r.Ended)
	}
	return s
}

// clientSpan is the request to the pod, with the last attempt to connect to it.
func clientSpan(r *observe.Record) *tracepb.Span {
	t := timesOf(r)
	s := &tracepb.Span{
		Kind: tracepb.Span_SPAN_KIND_CLIENT, Name: spanName(r, r.Service), StartTimeUnixNano: nano(t.chosen), EndTimeUnixNano: nano(t.end),
		Attributes: append(shared(r), present(
			text("url.full", podURL(r)), text("k8s.pod.name", r.Pod), text("k8s.service.name", r.Service), number("http.request.resend_count", int64(r.Retries)),
		)...),
	}
	if r.Endpoint.IsValid() {
		address := r.Endpoint.Addr().String()
		s.Attributes = append(s.Attributes, text("server.address", address), number("server.port", int64(r.Endpoint.Port())), text("network.peer.address", address))
	}
	if r.Moved {
		s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: "fairlead.redispatched", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}})
	}
	if r.Timers.Connect >= 0 {
		s.Events = append(s.Events, event(t.connected, "connected", r.Timers.Connect))
	}
	answered := r.Timers.Response >= 0
	if answered {
		s.Events = append(s.Events, event(t.answered, "answer began", r.Timers.Response))
		s.Attributes = append(s.Attributes, present(number("http.response.status_code", int64(r.Status)))...)
	}
	switch {
	case !answered || strings.HasSuffix(r.Ended, "D"):
		fail(s, r, r.Ended)
	case r.Status >= 400:
		fail(s, r, strconv.Itoa(r.Status))
	}
	return s
}

// fail says that a span ended as it should not, in words where there are some.
func fail(s *tracepb.Span, r *observe.Record, kind string) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: observe.Words(r)}
	s.Attributes = append(s.Attributes, present(text("error.type", kind))...)
}

// methods are those that the semantic conventions know. Clients choose others at will.
var methods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"}

// spanName is of few values: the path, which clients choose, is not in it.
func spanName(r *observe.Record, of string) string {
	method := "HTTP"
	if slices.Contains(methods, r.Method) {
		method = r.Method
	}
	if of == "" {
		return method
	}
	return method + " " + r.Namespace + "/" + of
}

// shared are the attributes that both spans have.
func shared(r *observe.Record) []*commonpb.KeyValue {
	method, original := r.Method, ""
	if !slices.Contains(methods, method) {
		method, original = "_OTHER", r.Method
	}
	return present(
		text("http.request.method", method), text("http.request.method_original", original), text("network.protocol.name", "http"), text("network.protocol.version", strings.TrimPrefix(r.Protocol, "HTTP/")),
		text("k8s.namespace.name", r.Namespace), text("fairlead.route.kind", r.Kind), text("fairlead.route.name", r.Route),
		text("fairlead.ended", r.Ended),
	)
}

// podURL is the address of the request to the pod, as far as the record has it.
func podURL(r *observe.Record) string {
	if !r.Endpoint.IsValid() {
		return ""
	}
	scheme := "http://"
	if r.Secure {
		scheme = "https://"
	}
	return scheme + r.Endpoint.String() + r.Path
}

// authority parts a Host header into name and port; the port is 0 if there is none.
func authority(host string) (name string, port int64) {
	if a, err := netip.ParseAddrPort(host); err == nil {
		return a.Addr().String(), int64(a.Port())
	}
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		if n, err := strconv.ParseUint(host[at+1:], 10, 16); err == nil {
			return host[:at], int64(n)
		}
	}
	return host, 0
}

// event says that a phase ended, and how long it had lasted, in seconds.
func event(at time.Time, name string, lasted float64) *tracepb.Span_Event {
	duration := &commonpb.KeyValue{Key: "fairlead.duration", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: lasted}}}
	return &tracepb.Span_Event{TimeUnixNano: nano(at), Name: name, Attributes: []*commonpb.KeyValue{duration}}
}

// text is an attribute, or nil for an empty one. Clients send any bytes, of which messages of
// protobuf hold UTF-8 only.
func text(key, value string) *commonpb.KeyValue {
	if value == "" {
		return nil
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\uFFFD")}}}
}

// number is an attribute, or nil for none.
func number(key string, value int64) *commonpb.KeyValue {
	if value <= 0 {
		return nil
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

// present leaves out what is nil.
func present(all ...*commonpb.KeyValue) []*commonpb.KeyValue {
	return slices.DeleteFunc(all, func(kv *commonpb.KeyValue) bool { return kv == nil })
}
