package filesource

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// manyText is a file with so many Routes, each with a Service and an EndpointSlice.
func manyText(first, n int) string {
	var b strings.Builder
	for i := first; i < first+n; i++ {
		fmt.Fprintf(&b, `---
kind: Route
apiVersion: route.openshift.io/v1
metadata: {name: shop-%[1]d, namespace: demo}
spec: {host: shop-%[1]d.apps.localhost, to: {kind: Service, name: shop-%[1]d}}
---
kind: Service
apiVersion: v1
metadata: {name: shop-%[1]d, namespace: demo}
spec: {ports: [{name: http, port: 80, targetPort: 3000}]}
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {name: shop-%[1]d, namespace: demo, labels: {kubernetes.io/service-name: shop-%[1]d}}
addressType: IPv4
ports: [{name: http, port: 3000}]
endpoints: [{addresses: [127.0.%[2]d.%[3]d], conditions: {ready: true}}]
`, i, i/250%250+1, i%250+1)
	}
	return b.String()
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestMemory: what is kept of a Route with its Service and EndpointSlice is bounded, and so not
// their text, or a second copy.
func TestMemory(t *testing.T) {
	const files, each = 20, 100
	dir := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.yaml", i)), []byte(manyText(i*each, each)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	s, err := New(Options{Paths: []string{dir}, Router: "default", Domain: "apps.localhost"})
	if err != nil {
		t.Fatal(err)
	}
	per := (heap() - before) / (files * each)
	t.Logf("%.0f bytes for each Route", per)
	if most := 5000.0; per > most {
		t.Errorf("%.0f bytes for each Route, more than %.0f", per, most)
	}
	runtime.KeepAlive(s)
}
