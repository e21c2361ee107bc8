package trace

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fairlead/fairlead/router/observe"
)

const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

var end = time.UnixMilli(1_796_000_000_500).UTC()

// answered is a request that a pod has answered: 2 ms to receive, 10 in the queue, 3 to connect,
// 80 until the answer, and 5 for its body.
func answered() *observe.Record {
	return &observe.Record{
		Time: end, Kind: "Route", Namespace: "web", Route: "cart", Pod: "cart-b", Service: "next", Endpoint: netip.MustParseAddrPort("198.18.0.7:8080"),
		Protocol: "HTTP/2", Method: "POST", Host: "www.example.com:8443", Path: "/cart", Status: 200, Ended: "--", Client: "203.0.113.9", TLS: "TLSv1.3",
		Timers:      observe.Timers{Handshake: 0.004, Idle: 0.001, Request: 0.002, Queue: 0.010, Connect: 0.003, Response: 0.080, Data: 0.005, Total: 0.100},
		Traceparent: header, ParentSpan: "00f067aa0ba902b7",
	}
}

// attributes are those of a span, as text.
func attributes(of []*commonpb.KeyValue) string {
	var b strings.Builder
	for _, kv := range of {
		b.WriteString(" " + kv.Key + "=" + strings.NewReplacer("string_value:", "", "int_value:", "", "bool_value:", "", `"`, "", " ", "").Replace(kv.Value.String()))
	}
	return b.String() + " "
}

func at(s *tracepb.Span) string {
	var b strings.Builder
	for _, e := range s.Events {
		b.WriteString(e.Name + " " + time.Unix(0, int64(e.TimeUnixNano)).Sub(end).String() + "; ")
	}
	return b.String()
}

// TestSpans: parents and times of both spans are those that the record says.
func TestSpans(t *testing.T) {
	t.Parallel()
	spans := Spans(answered())
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	server, client := spans[0], spans[1]
	if !bytes.Equal(server.TraceId, client.TraceId) || !bytes.Equal(client.ParentSpanId, server.SpanId) || bytes.Equal(client.SpanId, server.SpanId) {
		t.Errorf("%v\n%v", server, client)
	}
	if !bytes.Equal(server.ParentSpanId, id("00f067aa0ba902b7")) || !bytes.Equal(client.SpanId, id("b7ad6b7169203331")) || server.Flags != 0x301 || client.Flags != 0x101 {
		t.Errorf("%v\n%v", server, client)
	}
	since := func(nano uint64) time.Duration { return time.Unix(0, int64(nano)).Sub(end) }
	if since(server.StartTimeUnixNano) != -100*time.Millisecond || since(server.EndTimeUnixNano) != 0 || since(client.StartTimeUnixNano) != -88*time.Millisecond || since(client.EndTimeUnixNano) != 0 {
		t.Errorf("server %s to %s, client %s to %s", since(server.StartTimeUnixNano), since(server.EndTimeUnixNano), since(client.StartTimeUnixNano), since(client.EndTimeUnixNano))
	}
	if got, want := at(server), "TLS handshake ended -101ms; request received -98ms; left the queue -88ms; "; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if got, want := at(client), "connected -85ms; answer began -5ms; "; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	for _, want := range []string{"http.request.method=POST", "url.scheme=https", "url.path=/cart", "server.address=www.example.com", "server.port=8443", "client.address=203.0.113.9", "http.response.status_code=200", "k8s.namespace.name=web", "fairlead.route.name=cart", "network.protocol.version=2", "tls.protocol.version=1.3"} {
		if !strings.Contains(attributes(server.Attributes), " "+want+" ") {
			t.Errorf("the SERVER span lacks %s: %s", want, attributes(server.Attributes))
		}
	}
	for _, want := range []string{"k8s.pod.name=cart-b", "k8s.service.name=next", "server.address=198.18.0.7", "server.port=8080", "url.full=http://198.18.0.7:8080/cart"} {
		if !strings.Contains(attributes(client.Attributes), " "+want+" ") {
			t.Errorf("the CLIENT span lacks %s: %s", want, attributes(client.Attributes))
		}
	}
	if server.Status != nil || client.Status != nil || server.Name != "POST web/cart" || client.Name != "POST web/next" {
		t.Errorf("%v %v %q %q", server.Status, client.Status, server.Name, client.Name)
	}
}

// TestSpansOfFailures: what was not reached has no span, and what failed says so in words.
func TestSpansOfFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit           func(*observe.Record)
		spans          int
		server, client string
		attribute      string
	}{
		"not sampled":           {func(r *observe.Record) { r.Traceparent = strings.TrimSuffix(header, "1") + "0" }, 0, "", "", ""},
		"no trace":              {func(r *observe.Record) { r.Traceparent = "" }, 0, "", "", ""},
		"refused by the router": {func(r *observe.Record) { *r = withoutPod(r); r.Status, r.Ended = 403, "PR" }, 1, "", "", "fairlead.ended=PR"},
		"no pod":                {func(r *observe.Record) { *r = withoutPod(r); r.Status, r.Ended = 503, "SC" }, 1, "no pod was ready", "", "error.type=503"},
		"timeout of the queue":  {func(r *observe.Record) { r.Status, r.Ended = 503, "sQ"; r.Timers.Connect = -1; r.Timers.Response = -1 }, 1, "no pod was free within the timeout of the queue", "", "error.type=503"},
		"connection refused": {func(r *observe.Record) {
			r.Status, r.Ended, r.Retries = 503, "SC", 3
			r.Timers.Connect = -1
			r.Timers.Response = -1
		}, 2, "the pod refused the connection (4 attempts)", "the pod refused the connection (4 attempts)", "error.type=503"},
		"another pod":             {func(r *observe.Record) { r.Retries, r.Moved = 1, true }, 2, "", "", ""},
		"timeout of the answer":   {func(r *observe.Record) { r.Status, r.Ended = 504, "sH"; r.Timers.Response = -1 }, 2, "the pod did not answer within the timeout", "the pod did not answer within the timeout", "error.type=504"},
		"the pod says 404":        {func(r *observe.Record) { r.Status = 404 }, 2, "", "error", ""},
		"the pod says 500":        {func(r *observe.Record) { r.Status = 500 }, 2, "error", "error", "error.type=500"},
		"the client left":         {func(r *observe.Record) { r.Status, r.Ended = -1, "CH"; r.Timers.Response = -1 }, 2, "the client left before the pod answered", "the client left before the pod answered", "error.type=CH"},
		"a part of an answer":     {func(r *observe.Record) { r.Ended = "SD" }, 2, "the pod closed the connection during the answer", "the pod closed the connection during the answer", "error.type=SD"},
		"a method of the client":  {func(r *observe.Record) { r.Method = "X-Y" }, 2, "", "", "http.request.method_original=X-Y"},
		"bytes that are no UTF-8": {func(r *observe.Record) { r.Path, r.Host = "/\xff\xfe", "\xc3\x28" }, 2, "", "", "url.path=/\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answered()
			test.edit(r)
			spans := Spans(r)
			if len(spans) != test.spans {
				t.Fatalf("%d spans: %v", len(spans), spans)
			}
			if _, err := (Source{}).Message(spans); err != nil {
				t.Error(err)
			}
			for i, want := range []string{test.server, test.client}[:len(spans)] {
				got := spans[i].Status.GetMessage()
				if spans[i].Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR && got == "" {
					got = "error"
				}
				if got != want {
					t.Errorf("%s: %q, want %q", spans[i].Kind, got, want)
				}
				if spans[i].StartTimeUnixNano > spans[i].EndTimeUnixNano || spans[i].StartTimeUnixNano < spans[0].StartTimeUnixNano {
					t.Errorf("%s is from %d to %d", spans[i].Kind, spans[i].StartTimeUnixNano, spans[i].EndTimeUnixNano)
				}
			}
			if test.attribute != "" && !strings.Contains(attributes(spans[0].Attributes), " "+test.attribute+" ") {
				t.Errorf("the SERVER span lacks %s: %s", test.attribute, attributes(spans[0].Attributes))
			}
		})
	}
	moved := answered()
	moved.Retries, moved.Moved = 2, true
	if got := attributes(Spans(moved)[1].Attributes); !strings.Contains(got, " http.request.resend_count=2 ") || !strings.Contains(got, " fairlead.redispatched=true ") {
		t.Error(got)
	}
}

func withoutPod(r *observe.Record) observe.Record {
	out := *r
	out.Pod, out.Service, out.Endpoint = "", "", netip.AddrPort{}
	out.Timers.Queue, out.Timers.Connect, out.Timers.Response = -1, -1, -1
	return out
}

// FuzzSpans: whatever the ring has, spans can be sent, and neither begins after its end.
func FuzzSpans(f *testing.F) {
	f.Add("h|1796000000123456|be_edge_http:web:cart:1a2b3c4d|pod:cart-b:next:http:198.18.0.7:8080|504|sH--|+2|1/0/2/12/0/-1/-1/30014|312|0|203.0.113.9||POST|2|TLSv1.3||a%FFb:8443|14|%2F%00%0A%0D%09%0C%FF|" + header + "|00f067aa0ba902b7|-")
	f.Add("h|-9223372036854775808|!302||-1|CR|-3|9223372036854775807/0/0/0/0/0/0/9223372036854775807|||||\n||||:99999||%zz|" + header + "|x|-")
	f.Fuzz(func(t *testing.T, line string) {
		r, ok := observe.Parse([]byte(line))
		if !ok {
			return
		}
		spans := Spans(&r)
		message, err := (Source{Router: "default"}).Message(spans)
		if err != nil {
			t.Fatal(err)
		}
		var read tracepb.TracesData
		if err := proto.Unmarshal(message, &read); err != nil {
			t.Fatal(err)
		}
		for _, s := range spans {
			if s.StartTimeUnixNano > s.EndTimeUnixNano || len(s.SpanId) != 8 || len(s.TraceId) != 16 {
				t.Fatalf("%v", s)
			}
		}
	})
}
