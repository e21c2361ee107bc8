package probe

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/test/closedport"
)

// outcome asks a server and returns "healthy", or a word of the error.
func outcome(t *testing.T, address string, change func(*pipeline.Probe)) string {
	t.Helper()
	p := &pipeline.Probe{ProbeTarget: model.ProbeTarget{
		Address: netip.MustParseAddrPort(address),
		Probe:   model.Probe{Type: model.ProbeHTTP, Method: "GET", Path: "/", Least: 200, Most: 399},
	}}
	change(p)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := ask(ctx, p); err != nil {
		return err.Error()
	}
	return "healthy"
}

func TestAskHTTP(t *testing.T) {
	var last *http.Request
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Clone(context.Background())
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "http://198.18.255.1/", http.StatusFound)
		case "/sick":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/large":
			w.Header().Set("X", strings.Repeat("a", 2*maxHeaders))
		case "/endless":
			for range 1 << 16 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := httptest.NewServer(handler)
	defer s.Close()
	address := s.Listener.Addr().String()
	for _, tt := range []struct {
		name   string
		change func(*pipeline.Probe)
		want   string
	}{
		{"a good answer", func(*pipeline.Probe) {}, "healthy"},
		{"a redirect is not followed", func(p *pipeline.Probe) { p.Probe.Path = "/moved" }, "healthy"},
		{"a redirect is not expected", func(p *pipeline.Probe) { p.Probe.Path, p.Probe.Most = "/moved", 299 }, "status 302, not 200-299"},
		{"a bad status", func(p *pipeline.Probe) { p.Probe.Path = "/sick" }, "status 503, not 200-399"},
		{"a status that is expected", func(p *pipeline.Probe) { p.Probe.Path, p.Probe.Least, p.Probe.Most = "/sick", 503, 503 }, "healthy"},
		{"an interim status does not count", func(p *pipeline.Probe) { p.Probe.Path = "/early" }, "status 503, not 200-399"},
		{"large headers", func(p *pipeline.Probe) { p.Probe.Path = "/large" }, "server response headers exceeded"},
		{"an endless body", func(p *pipeline.Probe) { p.Probe.Path = "/endless" }, "healthy"},
		{"HEAD", func(p *pipeline.Probe) { p.Probe.Method = "HEAD" }, "healthy"},
		{"TLS is not spoken there", func(p *pipeline.Probe) { p.TLS = true }, "first record does not look like a TLS handshake"},
		{"TCP", func(p *pipeline.Probe) { p.Probe.Type = model.ProbeTCP }, "healthy"},
	} {
		if got := outcome(t, address, tt.change); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// How it ends depends on which side sees first that the other speaks HTTP/1.
	if got := outcome(t, address, func(p *pipeline.Probe) { p.Probe.Type = model.ProbeGRPC }); got == "healthy" {
		t.Error("a server without gRPC is healthy")
	}
	outcome(t, address, func(p *pipeline.Probe) { p.Probe.Path, p.Probe.Host = "/a?b=c%20d", "shop.test" })
	if last.Host != "shop.test" || last.URL.RequestURI() != "/a?b=c%20d" || last.UserAgent() != userAgent {
		t.Errorf("the server got %s %s %s", last.Host, last.URL.RequestURI(), last.UserAgent())
	}
}

func TestAskSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, typ := range []model.ProbeType{model.ProbeHTTP, model.ProbeGRPC} {
		if got := outcome(t, l.Addr().String(), func(p *pipeline.Probe) { p.Probe.Type = typ }); !strings.Contains(got, "deadline exceeded") {
			t.Errorf("%s of a silent server: %s", typ, got)
		}
	}
	if got := outcome(t, l.Addr().String(), func(p *pipeline.Probe) { p.Probe.Type, p.TLS = model.ProbeTCP, true }); !strings.Contains(got, "deadline exceeded") {
		t.Errorf("TLS of a silent server: %s", got)
	}
	if got := outcome(t, closedport.Address(t), func(p *pipeline.Probe) { p.Probe.Type = model.ProbeTCP }); !strings.Contains(got, "connection refused") {
		t.Errorf("a closed port: %s", got)
	}
}

// TestAskTLS: a probe trusts what requests trust.
func TestAskTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	for _, typ := range []model.ProbeType{model.ProbeHTTP, model.ProbeTCP} {
		for _, tt := range []struct {
			name   string
			change func(*pipeline.Probe)
			want   string
		}{
			{"any certificate", func(*pipeline.Probe) {}, "healthy"},
			{"its CA, whatever the name", func(p *pipeline.Probe) { p.CAID, p.CA = "a", ca }, "healthy"},
			{"its CA and name", func(p *pipeline.Probe) { p.CAID, p.CA, p.VerifyHost = "a", ca, "example.com" }, "healthy"},
			{"its CA, another name", func(p *pipeline.Probe) { p.CAID, p.CA, p.VerifyHost = "a", ca, "example.org" }, "not example.org"},
			{"no CA that can be read", func(p *pipeline.Probe) { p.CAID, p.CA = "a", "x" }, "the CA has no certificate"},
		} {
			got := outcome(t, s.Listener.Addr().String(), func(p *pipeline.Probe) { p.TLS, p.Probe.Type = true, typ; tt.change(p) })
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s: %s, want %s", typ, tt.name, got, tt.want)
			}
		}
	}
}

// TestAskGRPC asks the health server of grpc-go.
func TestAskGRPC(t *testing.T) {
	cert := httptest.NewTLSServer(nil)
	defer cert.Close()
	for _, secure := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var options []grpc.ServerOption
		if secure {
			options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: cert.TLS.Certificates, MinVersion: tls.VersionTLS12})))
		}
		server, states := grpc.NewServer(options...), health.NewServer()
		healthv1.RegisterHealthServer(server, states)
		states.SetServingStatus("shop.Cart", healthv1.HealthCheckResponse_NOT_SERVING)
		go func() { _ = server.Serve(l) }()
		for service, want := range map[string]string{"": "healthy", "shop.Cart": "status 2, not SERVING", "shop.Unknown": `grpc-status "5"`} {
			got := outcome(t, l.Addr().String(), func(p *pipeline.Probe) {
				p.Probe = model.Probe{Type: model.ProbeGRPC, Service: service}
				p.TLS = secure
			})
			if !strings.Contains(got, want) {
				t.Errorf("TLS %t, service %q: %s, want %s", secure, service, got, want)
			}
		}
		server.Stop()
	}
}

// FuzzReadCheck reads what an endpoint may answer.
func FuzzReadCheck(f *testing.F) {
	for _, s := range []string{"", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x08\x01", "\x00\x00\x00\x00\x02\x08\x02", "\x01\x00\x00\x00\x02\x08\x01", "\x00\xff\xff\xff\xff\x08\x01", "\x00\x00\x00\x00\x02\x08\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := readCheck(text)
		if err == nil && !strings.Contains(fmt.Sprintf("% x", text), "08 ") {
			t.Errorf("%q is SERVING", text)
		}
	})
}
