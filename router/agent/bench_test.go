package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// BenchmarkKept measures a verdict from the worker's own cache.
func BenchmarkKept(b *testing.B) {
	registry := prometheus.NewRegistry()
	e := New(Options{Metrics: NewMetrics(registry), Now: time.Now})
	e.Swap(&snapshot.Snapshot{Policies: []snapshot.Policy{{ID: "p", Basic: &snapshot.Basic{Htpasswd: htpasswdAnn}}}})
	list, _ := spop.AppendHeader(nil, "Authorization", "Basic YW5uOng=")
	for _, n := range []string{"Accept", "User-Agent", "Cookie", "Accept-Encoding", "Accept-Language"} {
		list, _ = spop.AppendHeader(list, n, "some value of a header")
	}
	h, err := spop.ParseHeaders(spop.EndHeaders(list))
	if err != nil {
		b.Fatal(err)
	}
	q := &Question{Policy: "p", Method: "GET", Target: "/", Host: "a", Client: netip.MustParseAddr("192.0.2.1"), Headers: h}
	b.ReportAllocs()
	for b.Loop() {
		if a := e.Decide(b.Context(), q); !a.Allowed() {
			b.Fatal(a.Reason)
		}
	}
}
