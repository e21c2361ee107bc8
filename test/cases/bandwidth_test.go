package cases

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead/fairlead/test/tools/toolset"
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
		send := func(host string, tls bool, body int) time.Duration {
			t.Helper()
			began := time.Now()
			r := &request{method: http.MethodPost, host: host, sni: host, target: "/", body: body, tls: tls}
			if res := r.do(b.http, b.https); res.status != http.StatusOK {
				t.Fatalf("status %d, %v", res.status, res.err)
			}
			return time.Since(began)
		}
		upload := func(host string, tls bool) time.Duration { return send(host, tls, 250<<10) }
		// Less than a second's bytes have the same pace.
		if took := send("slow.bl.test", false, 80<<10); took < 400*time.Millisecond {
			t.Errorf("80 KiB at 100 KiB a second took %v", took)
		}
		for _, tls := range []bool{false, true} {
			// What the connection holds between comes on top.
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

// TestBandwidthOfAddresses: HAProxy takes no variable as the limit that requests share, which is
// why docs/decisions/bandwidth.md has none for addresses.
func TestBandwidthOfAddresses(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		binary, err := toolset.Path(version)
		if err != nil {
			t.Skip(err)
		}
		const form = `defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 1s
backend addresses
  stick-table type ipv6 size 1k expire 60s store bytes_out_rate(1s)
frontend f
  bind unix@%s
  filter bwlim-out shared limit 1m key src table addresses
  http-request set-bandwidth-limit shared%s
`
		dir := t.TempDir()
		for limit, want := range map[string]string{"": "", " limit var(txn.limit) period 1s": "cannot define a limit for a shared bwlim filter", " limit 1m": "cannot define a limit for a shared bwlim filter"} {
			file := filepath.Join(dir, "haproxy.cfg")
			if err := os.WriteFile(file, fmt.Appendf(nil, form, filepath.Join(dir, "s"), limit), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(binary, "-c", "-f", file).CombinedOutput()
			if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
				t.Errorf("set-bandwidth-limit shared%s: %v\n%s", limit, err, out)
			}
		}
	})
}
