package cases

import (
	"context"
	"fmt"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/observe/feed"
)

// sampledBed is a router with a page of metrics and a feed, which samples as an annotation says.
func sampledBed(t *testing.T, version, share string) (b *bed, address string) {
	t.Helper()
	b = settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
	b.apply(parseStep(t, map[string]string{"services": "s/web http=8080 web@198.18.250.90", "in.yaml": "kind: Route\nmetadata: {namespace: s, name: slow, annotations: {fairlead.dev/slo: \"latency=100ms@99\"}}\nspec: {host: slow.set.test, to: {kind: Service, name: web}}\n"}))
	f := feed.New(b.newRuntime(), b.logger(), b.registry)
	t.Cleanup(background(func(ctx context.Context) { _ = f.Run(ctx) }))
	b.metrics.SampleBy(f)
	b.annotate(api.AnnotationLatencySample, share)
	return b, b.serveMetrics()
}

// TestLatency: the time of sampled requests is in the Route's buckets and in its objective, and nothing is written once no
// client reads the page.
func TestLatency(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b, address := sampledBed(t, version, "all")
		const plain, slow = `namespace="s",route="plain"`, `namespace="s",route="slow"`
		const bucket, within = "fairlead_route_request_duration_seconds_bucket", "fairlead_route_slo_sampled_requests_total"
		b.eventually("the page", func() error {
			return metricsHave(address+"/metrics", bucket+`{le="0.01",namespace="_other",route="_other"}`, "# TYPE fairlead_route_request_duration_seconds histogram", within+`{within="true",`+slow)
		})
		b.eventually("HAProxy samples", func() error { return b.samples(1) })
		for range 5 {
			b.expectLine("GET http://plain.set.test/ -> 200")
		}
		for range 3 {
			b.expectLine("GET http://slow.set.test/?sleep=400ms -> 200")
		}
		b.expectLine("GET http://nothing.set.test/ -> 404")
		expect := func(name, label string, want float64) {
			t.Helper()
			b.eventually(name+" "+label, func() error {
				lines, _, err := b.seriesPages(address)
				if err != nil {
					return err
				}
				if sum, series := sumOf(lines, name, label); sum != want || series == 0 {
					return fmt.Errorf("%s with %s is %v, want %v", name, label, sum, want)
				}
				return nil
			})
		}
		expect(bucket, `le="0.3",`+plain, 5)
		expect(bucket, `le="0.3",`+slow, 0)
		expect(bucket, `le="1",`+slow, 3)
		expect("fairlead_route_request_duration_seconds_count", slow, 3)
		expect(within, `within="false",`+slow, 3)
		expect(within, `within="true",`+slow, 0)
		expect("fairlead_route_request_duration_seconds_count", "", 8)
	})
}

// TestLatencyShare: of very many requests about the share is sampled, and of none without the annotation.
func TestLatencyShare(t *testing.T) {
	t.Parallel()
	b, address := sampledBed(t, "haproxy", "1/4")
	count := func() float64 {
		lines, _, err := b.seriesPages(address)
		if err != nil {
			t.Fatal(err)
		}
		sum, _ := sumOf(lines, "fairlead_route_request_duration_seconds_count", "")
		return sum
	}
	if err := b.samples(0); err != nil {
		t.Error("no client has read the page: ", err)
	}
	b.eventually("the page", func() error {
		return metricsHave(address+"/metrics", "# TYPE fairlead_route_request_duration_seconds histogram")
	})
	b.eventually("HAProxy samples", func() error { return b.samples(1) })
	const requests = 400
	for range requests {
		b.expectLine("GET http://plain.set.test/ -> 200")
	}
	b.eventually("a quarter", func() error { // 100, give or take six times 8.7
		if n := count(); n < 48 || n > 152 {
			return fmt.Errorf("%v of %d requests are sampled, want about a quarter", n, requests)
		}
		return nil
	})
	b.annotate(api.AnnotationLatencySample, "off")
	b.eventually("no series", func() error { return metricsHave(address+"/metrics", "!fairlead_route_request_duration_seconds") })
	b.annotate(api.AnnotationLatencySample, "1/0")
	b.eventually("a finding", func() error {
		if f := b.findings.Load(); f == nil || !strings.Contains(fmt.Sprint(*f), "must be off, all or 1/N") {
			return fmt.Errorf("findings %v", f)
		}
		return nil
	})
}

// samples reports whether HAProxy has so many keys of what it observes.
func (b *bed) samples(want int) error {
	text := (&observedBed{bed: b}).ask("show map " + b.layout.ObserveFile())
	if got := strings.Count(text, "0x"); got != want {
		return fmt.Errorf("%d keys: %s", got, text)
	}
	return nil
}

// annotate gives the bed's IngressController an annotation.
func (b *bed) annotate(key, value string) {
	b.t.Helper()
	ic := b.controller.Load().DeepCopy()
	ic.Annotations = map[string]string{key: value}
	b.controller.Store(ic)
	b.cluster.mu.Lock()
	b.cluster.changes.All = true
	b.cluster.mu.Unlock()
	b.apply(change{})
}
