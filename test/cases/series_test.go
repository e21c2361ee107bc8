package cases

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/health"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/traffic"
)

// seriesPages are what Prometheus reads of one router: its two pages.
func (b *bed) seriesPages(server string) (lines []string, size int, err error) {
	for _, page := range []string{"/metrics", "/metrics/haproxy"} {
		answer, err := http.Get(server + page)
		if err != nil {
			return nil, 0, err
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return nil, 0, fmt.Errorf("%s: %s: %w", page, answer.Status, err)
		}
		size += len(text)
		for l := range strings.Lines(string(text)) {
			if !strings.HasPrefix(l, "#") && strings.TrimSpace(l) != "" {
				lines = append(lines, strings.TrimSpace(l))
			}
		}
	}
	return lines, size, nil
}

// sumOf adds up the series that begin with a text and have another in their labels.
func sumOf(lines []string, name, label string) (sum float64, series int) {
	for _, l := range lines {
		if strings.HasPrefix(l, name+"{") && strings.Contains(l, label) {
			at := strings.LastIndexByte(l, ' ')
			n, err := strconv.ParseFloat(l[at+1:], 64)
			if err != nil {
				continue
			}
			sum, series = sum+n, series+1
		}
	}
	return sum, series
}

// serveMetrics runs the pages of a bed's router.
func (b *bed) serveMetrics() (address string) {
	port := freePort(b.t)
	server := &health.Server{Ready: b.engine.Ready, Metrics: b.registry, Routes: b.metrics.WriteRoutes, StatsSocket: b.layout.RunDir() + "/stats.sock"}
	stop := background(func(ctx context.Context) {
		if err := server.Run(ctx, port); err != nil {
			b.logger().Error("health", "err", err)
		}
	})
	b.t.Cleanup(stop)
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// TestRouteSeries: a new Route has all its requests in its own series, by class; what removed Routes have had stays in
// the total, whatever HAProxy forgets with their backends.
func TestRouteSeries(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		address := b.serveMetrics()
		for range 7 {
			b.expectLine("GET http://plain.set.test/ -> 200")
		}
		b.expectLine("GET https://edge.set.test/ -> 200")
		expect := func(name, label string, atLeast, atMost float64) {
			t.Helper()
			b.eventually(name+" "+label, func() error {
				lines, _, err := b.seriesPages(address)
				if err != nil {
					return err
				}
				if sum, _ := sumOf(lines, name, label); sum < atLeast || sum > atMost {
					return fmt.Errorf("%s with %s is %v, want %v to %v", name, label, sum, atLeast, atMost)
				}
				return nil
			})
		}
		const requests, plain = "fairlead_route_requests_total", `namespace="s",route="plain"`
		expect(requests, `class="2xx",`+plain, 7, 7)
		expect(requests, `class="2xx",namespace="s",route="edge"`, 1, 1)
		expect(requests, `class="5xx",`+plain, 0, 0)
		expect("fairlead_route_endpoints", plain, 1, 1)
		expect("fairlead_route_sent_bytes_total", plain, 100, 1e6)
		expect("fairlead_router_requests_total", `class="2xx"`, 8, 8)
		b.cluster.apply(change{del: []model.Object{{Kind: "Route", Namespace: "s", Name: "plain"}}})
		b.expectLine("GET http://plain.set.test/ -> 404")
		if b.caps.DynamicBackends {
			b.eventually("the backend is gone", func() error {
				return metricsHave(address+"/metrics/haproxy?scope=backend&metrics=haproxy_backend_active_servers", `!route="plain"`)
			})
		}
		// Some more may have got through before the Route was gone.
		expect("fairlead_router_requests_total", `class="2xx"`, 8, 50)
		expect(requests, `class="2xx",`+plain, 7, 49) // it stands still for a while
	})
}

// TestSeriesBudget: with 10,000 Routes the two pages of a router have no more series and bytes than promised, and what
// has no series of its own is in the rest.
func TestSeriesBudget(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts HAProxy with 10,000 Routes")
	}
	const routes, mostBytes = 10_000, 3_000_000
	b := newBed(t, "haproxy", newMemory())
	b.settingsRoutes(t)
	var c change
	name := func(i int) string { return fmt.Sprintf("route-of-a-usual-name-%d", i) }
	for i := range routes {
		c.put = append(c.put, &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "s", Name: name(i), UID: "u", CreationTimestamp: metav1.Unix(int64(i+1), 0)},
			Spec:       routev1.RouteSpec{Host: fmt.Sprintf("r%d.set.test", i), To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}},
		})
	}
	b.cluster.apply(c)
	b.start()
	address := b.serveMetrics()
	var size int
	look := func() (lines []string) {
		t.Helper()
		b.eventually("the pages", func() (err error) {
			lines, size, err = b.seriesPages(address)
			return err
		})
		return lines
	}
	look()
	const sent = 300
	for i := range sent {
		b.expectLine(fmt.Sprintf("GET http://r%d.set.test/ -> 200", i*routes/sent))
	}
	var lines []string
	var series int
	b.eventually("all requests are counted", func() error {
		lines = look()
		total, _ := sumOf(lines, "fairlead_router_requests_total", `class="2xx"`)
		var sum float64
		if sum, series = sumOf(lines, "fairlead_route_requests_total", `class="2xx"`); total != sent || sum != sent {
			return fmt.Errorf("%d requests were sent; the total is %v, the sum of all series %v", sent, total, sum)
		}
		return nil
	})
	t.Logf("%d series, %d bytes, %d Routes in detail", len(lines), size, series-1)
	if len(lines) > traffic.Series || size > mostBytes {
		t.Errorf("the pages have %d series and %d bytes, at most %d and %d are promised", len(lines), size, traffic.Series, mostBytes)
	}
	if series-1 < 1500 {
		t.Errorf("only %d Routes have series of their own", series-1)
	}
	endpoints, _ := sumOf(lines, "fairlead_route_endpoints", "")
	if endpoints != routes+2 {
		t.Errorf("all series together have %v endpoints, want one for each of %d Routes", endpoints, routes+2)
	}
	if _, busy := sumOf(lines, "fairlead_route_requests_total", `class="2xx",namespace="s",route="`+name(routes/sent*100)+`"`); busy != 1 {
		t.Error("a Route with requests has no series of its own beside 9,700 without any")
	}
}
