package cases

import (
	"context"
	"fmt"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/traffic"
)

// TestTotals: what HAProxy lists without gauges is what it counts, and the requests under way are those that have begun
// and not ended. A backend whose name is too long for an identifier is in whole readings only, and loses nothing.
func TestTotals(t *testing.T) {
	t.Parallel()
	b := settingsBed(t, "haproxy", nil)
	long := strings.Repeat("long-", 24) + "name"
	b.apply(change{put: []metav1.Object{&routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "s", Name: long, UID: "u", CreationTimestamp: metav1.Unix(1, 0)},
		Spec:       routev1.RouteSpec{Host: "long.set.test", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}},
	}}})
	address := b.serveMetrics()
	gauge := func(name, route string, want float64) {
		t.Helper()
		b.eventually(name+" of "+route, func() error {
			lines, _, err := b.seriesPages(address)
			if sum, _ := sumOf(lines, name, `namespace="s",route="`+route+`"`); err != nil || sum != want {
				return fmt.Errorf("%v, want %v: %w", sum, want, err)
			}
			return nil
		})
	}
	gauge("fairlead_route_connections", "plain", 0)
	for _, host := range []string{"http://plain.set.test", "https://edge.set.test", "http://long.set.test"} {
		b.expectLine("GET " + host + "/ -> 200")
	}
	stop := background(func(ctx context.Context) {
		for ctx.Err() == nil {
			(&request{method: "GET", host: "plain.set.test", target: "/?sleep=3s"}).do(b.http, b.https)
		}
	})
	gauge("fairlead_route_connections", "plain", 1)
	b.eventually("both readings say the same", func() error { return b.sameTotals("s:" + long) })
	stop()
	gauge("fairlead_route_connections", "plain", 0)
	gauge("fairlead_route_requests_total", long, 1)
	gauge("fairlead_route_endpoints", long, 1)
}

// sameTotals compares readings with and without gauges; of one backend there is none without.
func (b *bed) sameTotals(unnamed string) error {
	rt, whole, partial := b.newRuntime(), map[string]traffic.Reading{}, map[string]traffic.Reading{}
	if err := rt.Counters(func(_ int, r *traffic.Reading) { whole[r.Backend] = *r }); err != nil {
		return err
	}
	if known, err := rt.Totals(func(_ int, r *traffic.Reading) { partial[r.Backend] = *r }); err != nil || !known {
		return fmt.Errorf("no totals: %t, %w", known, err)
	}
	for name, want := range whole {
		got, known := partial[name]
		if strings.Contains(name, unnamed) {
			if known {
				return fmt.Errorf("%s has an identifier", name)
			}
			continue
		}
		under, _ := got.UnderWay()
		if !got.Partial || got.Counts != want.Counts || under != want.Connections {
			return fmt.Errorf("%s: %+v without gauges, %d under way; %+v with them", name, got, under, want)
		}
	}
	if len(whole) < 3 || len(partial) != len(whole)-1 {
		return fmt.Errorf("%d backends, and %d without gauges", len(whole), len(partial))
	}
	return nil
}
