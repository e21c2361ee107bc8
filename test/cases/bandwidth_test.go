package cases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestBandwidth: bodies of requests and answers are slowed down where the IngressController
// has the filters, and other routes are not. Bodies arrive whole. A change of a limit is
// no reload.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		ic := &operatorv1.IngressController{}
		ic.Spec.UnsupportedConfigOverrides = runtime.RawExtension{Raw: []byte(`{"bandwidthLimits":"Enabled"}`)}
		b.controller.Store(ic)
		route := func(name, annotation string) string {
			return "kind: Route\nmetadata: {namespace: bl, name: " + name + ", annotations: {" + annotation + "}}\nspec: {host: " + name + ".bl.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}\n"
		}
		c := parseStep(t, map[string]string{
			"services": "bl/web http=8080 web@198.18.250.133",
			"in.yaml":  route("slow", "fairlead.dev/bandwidth-upload: 100Ki") + "---\n" + route("fast", ""),
		})
		for _, o := range c.put {
			ensurePods(t, o)
		}
		b.cluster.apply(c)
		b.start()
		b.expectStatus(func() int { return b.ask1("slow.bl.test") }, http.StatusOK)
		before := b.reloads()
		upload := func(host string, tls bool) time.Duration {
			t.Helper()
			began := time.Now()
			r := &request{method: http.MethodPost, host: host, sni: host, target: "/", body: 250 << 10, tls: tls}
			if res := r.do(b.http, b.https); res.status != http.StatusOK {
				t.Fatalf("status %d, %v", res.status, res.err)
			}
			return time.Since(began)
		}
		for _, tls := range []bool{false, true} {
			// The first second's bytes pass at once, so the rest takes a second at least.
			if took := upload("slow.bl.test", tls); took < time.Second {
				t.Errorf("250 KiB at 100 KiB a second (TLS %v) took %v", tls, took)
			}
			fast := time.Hour
			for range 5 {
				fast = min(fast, upload("fast.bl.test", tls))
			}
			if fast > 900*time.Millisecond {
				t.Errorf("250 KiB without a limit (TLS %v) took %v", tls, fast)
			}
		}
		b.apply(parseStep(t, map[string]string{"in.yaml": route("slow", "fairlead.dev/bandwidth-download: 10Ki")}))
		// The pod's answer repeats the header.
		began := time.Now()
		if res := b.get("slow.bl.test", "X-Long: "+strings.Repeat("x", 20_000)); res.status != http.StatusOK || res.pod == nil || len(res.pod.Header.Get("X-Long")) != 20_000 {
			t.Errorf("a slow answer: status %d, %v", res.status, res.err)
		}
		if took := time.Since(began); took < 500*time.Millisecond {
			t.Errorf("20 kB at 10 KiB a second took %v", took)
		}
		if took := upload("slow.bl.test", false); took > 900*time.Millisecond {
			t.Errorf("250 KiB without a limit of uploads took %v", took)
		}
		if n := b.reloads(); version == "haproxy" && n != before {
			t.Errorf("%d reloads", n-before)
		}
	})
}
