package cases

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/observe/export"
	"github.com/fairlead/fairlead/router/observe/feed"
	"github.com/fairlead/fairlead/router/observe/trace"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/test/collector"
	"github.com/fairlead/fairlead/test/wait"
)

const tracedRoutes = `
kind: Route
metadata: {namespace: tr, name: web}
spec: {host: web.tr.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
kind: Route
metadata: {namespace: tr, name: busy, annotations: {haproxy.router.openshift.io/timeout: 30s}}
spec: {host: busy.tr.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: tr, name: closed, annotations: {haproxy.router.openshift.io/ip_whitelist: 192.0.2.1}}
spec: {host: closed.tr.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: tr, name: silent, annotations: {haproxy.router.openshift.io/timeout: 200ms}}
spec: {host: silent.tr.test, to: {kind: Service, name: silent}}
---
kind: Route
metadata: {namespace: tr, name: two, annotations: {fairlead.dev/retry-on: failure}}
spec: {host: two.tr.test, to: {kind: Service, name: two}}
---
kind: Route
metadata: {namespace: tr, name: narrow, annotations: {haproxy.router.openshift.io/pod-concurrent-connections: "1"}}
spec: {host: narrow.tr.test, to: {kind: Service, name: narrow}}
---
kind: Route
metadata: {namespace: tr, name: trusting, labels: {trace: trusting}}
spec: {host: trusting.tr.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: tr, name: all, labels: {trace: all}}
spec: {host: all.tr.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: tr, name: none, labels: {trace: none}}
spec: {host: none.tr.test, to: {kind: Service, name: web}}
---
apiVersion: fairlead.dev/v1alpha1
kind: RoutePolicy
metadata: {namespace: tr, name: trusting}
spec: {targetSelector: {kind: Route, matchLabels: {trace: trusting}}, tracing: {trustIncoming: true}}
---
apiVersion: fairlead.dev/v1alpha1
kind: RoutePolicy
metadata: {namespace: tr, name: all}
spec: {targetSelector: {kind: Route, matchLabels: {trace: all}}, tracing: {trustIncoming: true, sampling: 100%}}
---
apiVersion: fairlead.dev/v1alpha1
kind: RoutePolicy
metadata: {namespace: tr, name: none}
spec: {targetSelector: {kind: Route, matchLabels: {trace: none}}, tracing: {enabled: false}}
`

// tracedBed is a router that sends spans to a collector.
type tracedBed struct {
	*bed
	collector *collector.Collector
	address   string
	feed      *feed.Feed
	exporter  *export.Exporter
}

func newTracedBed(t *testing.T, version string) *tracedBed {
	t.Helper()
	b := &tracedBed{bed: newBed(t, version, newMemory())}
	b.collector, b.address = collector.GRPC(t, nil, nil)
	b.controller.Store(&operatorv1.IngressController{})
	b.start()
	b.feed = feed.New(b.newRuntime(), b.logger(), prometheus.NewRegistry())
	b.exporter = export.New(export.Options{Source: trace.Source{Router: "cases"}, CA: func() string { return "" }, Log: b.logger()}, prometheus.NewRegistry())
	for _, run := range []func(context.Context) error{b.feed.Run, b.exporter.Run} {
		t.Cleanup(background(func(ctx context.Context) { _ = run(ctx) }))
	}
	port := fmt.Sprint(freePort(t))
	for address, serve := range map[string]func(net.Listener){
		"198.18.250.240": accepted(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"198.18.250.241": func(l net.Listener) { _ = http.Serve(l, http.NotFoundHandler()) },
		"198.18.250.242": accepted(func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }),
	} {
		l, err := net.Listen("tcp", address+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go serve(l)
	}
	b.apply(parseStep(t, map[string]string{"services": "tr/web http=8080 web-a@198.18.250.243\ntr/narrow http=8080 narrow-a@198.18.250.244\ntr/silent http=" + port + " silent-a@198.18.250.240\ntr/two http=" + port +
		" two-a@198.18.250.241 two-b@198.18.250.242", "in.yaml": tracedRoutes}))
	return b
}

// accepted does something with each connection, and closes it.
func accepted(with func(net.Conn)) func(net.Listener) {
	return func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				with(c)
			}()
		}
	}
}

// trace sets the annotation of the IngressController, or removes it.
func (b *tracedBed) trace(text string) {
	b.t.Helper()
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "cases"}}
	if text != "" {
		ic.Annotations = map[string]string{api.AnnotationTracing: "endpoint=http://" + b.address + ", " + text}
	}
	b.controller.Store(ic)
	b.cluster.mu.Lock()
	b.cluster.changes.All = true
	b.cluster.mu.Unlock()
	b.apply(change{})
	s := b.settings()
	b.exporter.Want(s.Collector)
	b.feed.Trace(nil)
	if (s.Collector != settings.Collector{}) {
		b.feed.Trace(b.exporter.Take)
	}
}

// pod returns the headers that the pod got, of a name.
func (b *tracedBed) pod(host, name string, header ...string) []string {
	b.t.Helper()
	res := b.get(host, header...)
	if res.err != nil || res.pod == nil {
		b.t.Fatalf("%s: status %d, %v", host, res.status, res.err)
	}
	return res.pod.Header.Values(name)
}

// spans returns those of the request to a path, once they are there.
func (b *tracedBed) spans(path string, n int) []*tracepb.Span {
	b.t.Helper()
	var found []*tracepb.Span
	b.eventually("the spans of "+path, func() error {
		found = nil
		for _, s := range b.collector.Spans() {
			if a := collector.Attributes(s.Attributes); a["url.path"] == path || strings.HasSuffix(a["url.full"], path) {
				found = append(found, s)
			}
		}
		if len(found) != n {
			return fmt.Errorf("%d spans, not %d; problem %q", len(found), n, b.exporter.Problem())
		}
		return nil
	})
	return found
}

var validTrace = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`)

const clientTrace, clientSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

// TestTraceparent: pods get a valid traceparent where requests are traced, and what the client sent
// elsewhere. Only a valid one of a trusted client goes on. All of it changes without a reload.
func TestTraceparent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newTracedBed(t, version)
		reloads := b.reloads()
		const sent = "00-" + clientTrace + "-" + clientSpan + "-01"
		untouched := func(host, when string) {
			t.Helper()
			if got := b.pod(host, "Traceparent"); len(got) != 0 {
				t.Errorf("%s: a traceparent %q without one of the client", when, got)
			}
			if got := b.pod(host, "Traceparent", "traceparent: odd", "traceparent: "+sent); fmt.Sprint(got) != "[odd "+sent+"]" {
				t.Errorf("%s: the client's header reaches the pod as %q", when, got)
			}
		}
		untouched("web.tr.test", "off")
		untouched("trusting.tr.test", "off, with a policy")

		b.trace("ratio=1")
		one := func(host string, header ...string) string {
			t.Helper()
			got := b.pod(host, "Traceparent", header...)
			if len(got) != 1 || !validTrace.MatchString(got[0]) {
				t.Fatalf("%s %q: the pod gets %q", host, header, got)
			}
			return got[0]
		}
		b.eventually("requests are traced", func() error {
			if len(b.pod("web.tr.test", "Traceparent")) != 1 {
				return fmt.Errorf("not yet")
			}
			return nil
		})
		first, second := one("web.tr.test"), one("web.tr.test")
		if first[3:35] == second[3:35] || first[36:52] == second[36:52] || !strings.HasSuffix(first, "-01") {
			t.Errorf("two requests have %s and %s", first, second)
		}
		if got := one("web.tr.test", "traceparent: "+sent, "tracestate: a=b"); strings.Contains(got, clientTrace) || strings.Contains(got, clientSpan) {
			t.Errorf("the trace of a client that is not trusted goes on: %s", got)
		}
		if got := b.pod("web.tr.test", "Tracestate", "traceparent: "+sent, "tracestate: a=b"); len(got) != 0 {
			t.Errorf("the tracestate of another trace reaches the pod: %q", got)
		}
		if got := b.pod("trusting.tr.test", "Tracestate", "traceparent: "+sent, "tracestate: a=b"); fmt.Sprint(got) != "[a=b]" {
			t.Errorf("the tracestate of the trace reaches the pod as %q", got)
		}
		untouched("none.tr.test", "a policy that traces nothing")
		goesOn(t, one)

		b.trace("ratio=0")
		b.eventually("nothing is sampled", func() error {
			if got := one("web.tr.test"); !strings.HasSuffix(got, "-00") {
				return fmt.Errorf("%s", got)
			}
			return nil
		})
		for range 20 {
			if got := one("web.tr.test"); !strings.HasSuffix(got, "-00") {
				t.Errorf("of a share of 0 %s is sampled", got)
			}
			if got := one("all.tr.test", "traceparent: "+strings.TrimSuffix(sent, "1")+"0"); !strings.HasSuffix(got, "-01") || !strings.Contains(got, clientTrace) {
				t.Errorf("of a share of 100%% %s is not sampled", got)
			}
		}
		if got := one("trusting.tr.test", "traceparent: "+sent); !strings.HasSuffix(got, "-01") {
			t.Errorf("the client's trace is sampled, and the pod gets %s", got)
		}

		b.trace("")
		b.eventually("tracing is off", func() error {
			if got := b.pod("web.tr.test", "Traceparent"); len(got) != 0 {
				return fmt.Errorf("%q", got)
			}
			return nil
		})
		untouched("web.tr.test", "off again")
		if n := b.reloads() - reloads; n != 0 {
			t.Errorf("%d reloads", n)
		}
	})
}

// goesOn checks which headers of a trusted client go on. one returns what the pod gets.
func goesOn(t *testing.T, one func(host string, header ...string) string) {
	t.Helper()
	const ids = clientTrace + "-" + clientSpan
	for header, want := range map[string]bool{
		"00-" + ids + "-01":                               true,
		"00-" + ids + "-00":                               true,
		"00-" + ids + "-ff":                               true, // flags of a later version
		"01-" + ids + "-01":                               true,
		"cc-" + ids + "-01-what-comes-next":               true,
		"fe-" + ids + "-01-":                              true,
		"ff-" + ids + "-01":                               false,
		"00-" + ids + "-01-more":                          false,
		"01-" + ids + "-01more":                           false,
		"00-" + ids + "-1":                                false,
		"00-" + ids:                                       false,
		"0-" + ids + "-01":                                false,
		"00-" + strings.ToUpper(ids) + "-01":              false,
		"00-" + strings.Replace(ids, "a", "g", 1) + "-01": false,
		"00-" + strings.Repeat("0", 32) + "-" + clientSpan + "-01":  false,
		"00-" + clientTrace + "-" + strings.Repeat("0", 16) + "-01": false,
		"00-" + ids + "-01, 00-" + ids + "-01":                      false,
		"00-" + ids + "-01\r\ntraceparent: 00-" + ids + "-01":       false,
		"00_" + ids + "_01": false,
		"":                  false,
		"%[uuid]":           false,
		"00-" + ids + "-01\r\nTRACEPARENT: 00-" + strings.Repeat("1", 32) + "-" + clientSpan + "-01": false,
		strings.Repeat("00-"+ids+"-01-", 60):             false,
		"cc-" + ids + "-01-" + strings.Repeat("x", 4000): true,
	} {
		got := one("trusting.tr.test", "traceparent: "+header)
		if kept := strings.Contains(got, clientTrace); kept != want || strings.Contains(got, clientSpan) || kept && strings.HasSuffix(header, "00") != strings.HasSuffix(got, "00") {
			t.Errorf("the client sends %q, and the pod gets %s", header, got)
		}
	}
}

// TestSpans: requests have the spans that HAProxy's record says, with parents and times that fit, also
// where a policy refuses, a pod is dead, silent or busy. Nothing is written of requests that are not
// sampled.
func TestSpans(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newTracedBed(t, version)
		b.trace("ratio=1, trustIncoming=true")
		b.eventually("spans arrive", func() error {
			b.get("web.tr.test")
			if len(b.collector.Spans()) == 0 {
				return fmt.Errorf("none; problem %q", b.exporter.Problem())
			}
			return nil
		})
		ask := func(host, path string, header ...string) response {
			r := request{method: "GET", host: host, target: path, header: header}
			return r.do(b.http, b.https)
		}
		res := ask("web.tr.test", "/kept?token=secret", "traceparent: 00-"+clientTrace+"-"+clientSpan+"-01")
		server, client := pair(t, b.spans("/kept", 2))
		if res.pod == nil || res.pod.Header.Get("Traceparent") != "00-"+clientTrace+"-"+hex.EncodeToString(client.SpanId)+"-01" || hex.EncodeToString(server.ParentSpanId) != clientSpan {
			t.Errorf("the pod got %+v, spans %v, %v", res.pod, server, client)
		}
		for key, want := range map[string]string{"http.response.status_code": "200", "k8s.namespace.name": "tr", "k8s.pod.name": "web-a", "k8s.service.name": "web", "server.address": "198.18.250.243", "server.port": "8080", "url.full": "http://198.18.250.243:8080/kept"} {
			if got := collector.Attributes(client.Attributes)[key]; got != want {
				t.Errorf("the CLIENT span has %s=%q, want %q", key, got, want)
			}
		}
		(&request{method: "GET", tls: true, host: "web.tr.test", sni: "web.tr.test", target: "/tls"}).do(b.http, b.https)
		server, _ = pair(t, b.spans("/tls", 2))
		if a := collector.Attributes(server.Attributes); a["url.scheme"] != "https" || len(server.ParentSpanId) != 0 || server.Status != nil {
			t.Errorf("%v", server)
		}
		ask("closed.tr.test", "/refused")
		if s := b.spans("/refused", 1)[0]; s.Status != nil || collector.Attributes(s.Attributes)["http.response.status_code"] != "403" {
			t.Errorf("%v", s)
		}
		ask("silent.tr.test", "/silent")
		server, client = pair(t, b.spans("/silent", 2))
		for _, s := range []*tracepb.Span{server, client} {
			if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Status.GetMessage() != "the pod did not answer within the timeout" {
				t.Errorf("%v", s)
			}
		}
		b.redispatched(ask)
		b.queued(ask)

		ask("web.tr.test", "/unsampled", "traceparent: 00-"+clientTrace+"-"+clientSpan+"-00")
		ask("web.tr.test", "/last")
		b.spans("/last", 2)
		b.spans("/unsampled", 0)
		for _, s := range b.collector.Spans() {
			if strings.Contains(s.String(), "secret") {
				t.Errorf("the query is in a span: %v", s)
			}
		}
	})
}

// pair parts the spans of a request, and checks how they fit.
func pair(t testing.TB, spans []*tracepb.Span) (server, client *tracepb.Span) {
	t.Helper()
	server, client = spans[0], spans[1]
	if server.Kind != tracepb.Span_SPAN_KIND_SERVER || client.Kind != tracepb.Span_SPAN_KIND_CLIENT || string(client.ParentSpanId) != string(server.SpanId) || string(client.TraceId) != string(server.TraceId) {
		t.Errorf("%v\n%v", server, client)
	}
	if client.StartTimeUnixNano < server.StartTimeUnixNano || client.EndTimeUnixNano > server.EndTimeUnixNano || client.StartTimeUnixNano > client.EndTimeUnixNano {
		t.Errorf("times do not fit: %v\n%v", server, client)
	}
	return server, client
}

// redispatched asks a Service of which a pod closes connections without an answer until a request
// had to go to the other one.
func (b *tracedBed) redispatched(ask func(host, path string, header ...string) response) {
	b.t.Helper()
	const each = 8 // of which half go to that pod first, one time with another
	n := 0
	b.eventually("a request goes to another pod", func() error {
		n += each
		for i := range each {
			ask("two.tr.test", fmt.Sprint("/moved-", n+i, "."))
		}
		moved := 0
		for i := range each {
			_, client := pair(b.t, b.spans(fmt.Sprint("/moved-", n+i, "."), 2))
			a := collector.Attributes(client.Attributes)
			if a["fairlead.redispatched"] != "true" {
				continue
			}
			moved++
			if a["k8s.pod.name"] != "two-a" || a["http.request.resend_count"] != "1" || a["http.response.status_code"] != "404" {
				b.t.Errorf("%v", a)
			}
		}
		return wait.True(moved > 0)
	})
}

// queued asks a pod that takes one connection twice at a time until a request had to wait.
func (b *tracedBed) queued(ask func(host, path string, header ...string) response) {
	b.t.Helper()
	n := 0
	b.eventually("a request waits for the pod", func() error {
		n++
		paths := []string{fmt.Sprint("/first-", n, "."), fmt.Sprint("/second-", n, ".")}
		var all sync.WaitGroup
		for _, path := range paths {
			all.Go(func() { ask("narrow.tr.test", path+"?sleep=300ms") })
		}
		all.Wait()
		for _, path := range paths {
			server, client := pair(b.t, b.spans(path, 2))
			for _, e := range server.Events {
				if e.Name == "left the queue" && e.TimeUnixNano == client.StartTimeUnixNano && client.StartTimeUnixNano > server.StartTimeUnixNano {
					return nil
				}
			}
		}
		return fmt.Errorf("neither of %q did", paths)
	})
}

// TestSpansOff: without the annotation, and where nothing is sampled, HAProxy writes no record; beside an
// access log HAProxy 3.0 makes no spans, and the IngressController says so.
func TestSpansOff(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		b := newTracedBed(t, version)
		o := &observedBed{bed: b.bed}
		b.get("web.tr.test", "traceparent: 00-"+clientTrace+"-"+clientSpan+"-01")
		b.trace("ratio=0")
		b.eventually("requests are traced", func() error {
			if len(b.pod("web.tr.test", "Traceparent")) != 1 {
				return fmt.Errorf("not yet")
			}
			return nil
		})
		if written := strings.TrimSpace(o.ring()); strings.Contains(written, "|") {
			t.Errorf("HAProxy has written %q", written)
		}
		if b.caps.LogProfiles {
			return
		}
		b.controller.Load().Spec.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{Destination: operatorv1.LoggingDestination{
			Type: operatorv1.SyslogLoggingDestinationType, Syslog: &operatorv1.SyslogLoggingDestinationParameters{Address: "127.0.0.1", Port: 514},
		}}}
		s := b.settings()
		findings := *b.findings.Load()
		if (s.Collector != settings.Collector{}) || !s.Ingest.Tracing.On || len(findings) != 1 || findings[0].Reason != api.ReasonSpansNotSent {
			t.Errorf("%+v, findings %v", s.Collector, findings)
		}
	})
}
