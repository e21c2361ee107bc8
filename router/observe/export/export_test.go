package export

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/trace"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/test/closedport"
	"github.com/fairlead/fairlead/test/collector"
	"github.com/fairlead/fairlead/test/wait"
)

// request is one whose trace is recorded, with two spans.
func request(path string) *observe.Record {
	return &observe.Record{
		Time: time.Now(), Kind: "Route", Namespace: "web", Route: "cart", Pod: "cart-a", Service: "cart", Protocol: "HTTP/1", Method: "GET", Path: path, Status: 200, Ended: "--",
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

type bed struct {
	*Exporter
	changed atomic.Int32
}

func newBed(t *testing.T, ca string, limit time.Duration) *bed {
	t.Helper()
	b := &bed{}
	b.Exporter = New(Options{
		Source: trace.Source{Router: "default", Pod: "router-x", Namespace: "openshift-ingress", Version: "v1"}, CA: func() string { return ca },
		Changed: func() { b.changed.Add(1) }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Pause: time.Millisecond, Timeout: limit,
	}, prometheus.NewRegistry())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return b
}

func (b *bed) expect(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait.Poll{}.For(t, what, func() error {
		if !holds() {
			return fmt.Errorf("sent %v, dropped %v and %v, problem %q", value(b.sent), value(b.overflow), value(b.failed), b.Problem())
		}
		return nil
	})
}

// TestExport: spans reach a collector by gRPC and over HTTP, with and without TLS.
func TestExport(t *testing.T) {
	t.Parallel()
	certificate, ca := selfSigned(t)
	for name, start := range map[string]func(*testing.T) (*collector.Collector, settings.Collector){
		"gRPC": func(t *testing.T) (*collector.Collector, settings.Collector) {
			c, address := collector.GRPC(t, nil, nil)
			return c, settings.Collector{URL: "http://" + address}
		},
		"gRPC with TLS": func(t *testing.T) (*collector.Collector, settings.Collector) {
			c, address := collector.GRPC(t, certificate, nil)
			return c, settings.Collector{URL: "https://" + address}
		},
		"HTTP below a path": func(t *testing.T) (*collector.Collector, settings.Collector) {
			c, url := collector.HTTP(t, nil)
			return c, settings.Collector{URL: url + "/otlp", HTTP: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, at := start(t)
			b := newBed(t, ca, 0)
			b.Want(at)
			for i := range 3 {
				b.Take(request(fmt.Sprint("/", i)))
			}
			unsampled := request("/unsampled")
			unsampled.Traceparent = strings.TrimSuffix(unsampled.Traceparent, "1") + "0"
			b.Take(unsampled)
			b.expect(t, "all spans are sent", func() bool { return value(b.sent) == 6 })
			spans := c.Spans()
			if len(spans) != 6 || string(spans[1].ParentSpanId) != string(spans[0].SpanId) || collector.Attributes(spans[4].Attributes)["url.path"] != "/2" {
				t.Errorf("%v", spans)
			}
			if r := c.Resource(); r["k8s.pod.name"] != "router-x" || r["service.name"] != "fairlead-router" || r["fairlead.ingresscontroller"] != "default" {
				t.Errorf("%v", r)
			}
			if b.Problem() != "" || b.changed.Load() != 0 {
				t.Errorf("problem %q", b.Problem())
			}
		})
	}
}

// TestFailures: what a collector does wrong is said in words that stay the same, spans are counted, and
// nothing is asked for again that cannot succeed.
func TestFailures(t *testing.T) {
	t.Parallel()
	certificate, ca := selfSigned(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never says a word
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	_, secure := collector.GRPC(t, certificate, nil)
	_, plain := collector.GRPC(t, nil, nil)
	_, busy := collector.GRPC(t, nil, func(int) ([]byte, error) { return nil, status.Error(codes.Unavailable, "text of the collector\n") })
	_, denied := collector.GRPC(t, nil, func(int) ([]byte, error) { return nil, status.Error(codes.PermissionDenied, "no") })
	_, wrong := collector.HTTP(t, func(int) int { return http.StatusFound })
	for name, test := range map[string]struct {
		at   settings.Collector
		ca   string
		want string
	}{
		"nothing listens":      {settings.Collector{URL: "http://" + closedport.Address(t)}, "", "refuses connections"},
		"it says nothing":      {settings.Collector{URL: "http://" + silent.Addr().String()}, "", "does not answer in time"},
		"no such name":         {settings.Collector{URL: "http://collector.invalid:4317"}, "", "has a name that cannot be resolved"},
		"foreign authority":    {settings.Collector{URL: "https://" + secure}, "", "authority that the router does not trust"},
		"another name":         {settings.Collector{URL: "https://localhost:" + secure[strings.LastIndex(secure, ":")+1:]}, ca, "certificate for another name"},
		"no TLS":               {settings.Collector{URL: "https://" + plain}, ca, "does not speak TLS"},
		"no gRPC":              {settings.Collector{URL: web.URL}, "", "the collector " + strings.TrimPrefix(web.URL, "http://") + " "},
		"metadata service":     {settings.Collector{URL: "http://169.254.169.254:80", HTTP: true}, "", "cloud's metadata service"},
		"unavailable":          {settings.Collector{URL: "http://" + busy}, "", "answers with the status 14 of gRPC"},
		"denied":               {settings.Collector{URL: "http://" + denied}, "", "answers with the status 7 of gRPC"},
		"it leads elsewhere":   {settings.Collector{URL: wrong, HTTP: true}, "", "answers with status 302"},
		"no path of collector": {settings.Collector{URL: web.URL, HTTP: true}, "", "answers with status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 20 * time.Second // a name may take some to be not found
			if name == "it says nothing" {
				limit = 50 * time.Millisecond
			}
			b := newBed(t, test.ca, limit)
			b.Want(test.at)
			b.Take(request("/"))
			b.expect(t, "the spans are dropped", func() bool { return value(b.failed) == 2 })
			if p := b.Problem(); !strings.Contains(p, test.want) || strings.Contains(p, "text of the collector") || b.changed.Load() != 1 {
				t.Errorf("problem %q, %d changes", p, b.changed.Load())
			}
			if value(b.sent) != 0 {
				t.Error("spans count as sent")
			}
		})
	}
}

// TestRecovery: a collector that is away for a while gets the spans, and the problem ends; of what
// it takes in part the rest is counted.
func TestRecovery(t *testing.T) {
	t.Parallel()
	c, address := collector.GRPC(t, nil, func(n int) ([]byte, error) {
		switch n {
		case 0, 1:
			return nil, status.Error(codes.Unavailable, "soon")
		case 2:
			return nil, nil
		}
		return []byte{0x0a, 0x02, 0x08, 0x01}, nil // partial_success {rejected_spans: 1}
	})
	b := newBed(t, "", 0)
	b.Want(settings.Collector{URL: "http://" + address})
	b.Take(request("/late"))
	b.expect(t, "the spans are sent", func() bool { return value(b.sent) == 2 })
	if c.Messages() != 3 || b.Problem() != "" || b.changed.Load() != 2 {
		t.Errorf("%d messages, problem %q, %d changes", c.Messages(), b.Problem(), b.changed.Load())
	}
	b.Take(request("/part"))
	b.expect(t, "a span is refused", func() bool { return value(b.sent) == 3 && value(b.failed) == 1 })
	b.Want(settings.Collector{})
	if b.On() {
		t.Error("there is a collector")
	}
}

// TestQueue: what the queue has no room for is counted, and nothing waits.
func TestQueue(t *testing.T) {
	t.Parallel()
	e := New(Options{CA: func() string { return "" }, Log: slog.New(slog.DiscardHandler)}, prometheus.NewRegistry())
	for range Queue + 3 {
		e.Take(request("/"))
	}
	if n := value(e.overflow); n != 6 || len(e.queue) != Queue {
		t.Errorf("%v spans dropped, %d requests wait", n, len(e.queue))
	}
}

// FuzzRejected: whatever a collector answers, the router survives it.
func FuzzRejected(f *testing.F) {
	f.Add([]byte{0x0a, 0x02, 0x08, 0x01})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x08, 0x01})
	f.Add([]byte("\n\t\r\x00\f"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if n := rejected(answer); n != 0 && len(answer) < 4 {
			t.Errorf("%q rejects %d", answer, n)
		}
	})
}

// selfSigned is a certificate for 127.0.0.1 only, and its own authority as PEM text.
func selfSigned(t *testing.T) (*tls.Certificate, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return &s.TLS.Certificates[0], string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// value is what a counter stands at.
func value(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return -1
	}
	return m.GetCounter().GetValue()
}
