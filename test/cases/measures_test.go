package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/traffic"
)

// quiet are Routes in several namespaces, more than have series of their own with the smallest budget; %s is where the
// last one has annotations.
func quiet(annotations string) map[string]string {
	var services, routes strings.Builder
	const namespaces, each = 8, 8
	for n := range namespaces {
		fmt.Fprintf(&services, "me%d/web http=8080 web@198.18.250.90\n", n)
		for i := range each {
			more := ""
			if n == namespaces-1 && i == each-1 {
				more = annotations
			}
			fmt.Fprintf(&routes, "---\nkind: Route\nmetadata: {namespace: me%[1]d, name: r%[2]d, annotations: {%[3]s}}\nspec: {host: r%[2]d.me%[1]d.test, to: {kind: Service, name: web}}\n", n, i, more)
		}
	}
	return map[string]string{"services": services.String(), "in.yaml": strings.TrimPrefix(routes.String(), "---\n")}
}

// TestMeasures: a Route without a request has series of its own because it asks for them, with its objectives, beside
// others that have none; the annotations come and go at run time, and nothing reloads.
func TestMeasures(t *testing.T) {
	t.Parallel()
	b := settingsBed(t, "haproxy", func(b *bed) {
		b.adjust = func(s *settings.Settings) { s.Series = traffic.LeastSeries }
	})
	address := b.serveMetrics()
	const last = `namespace="me7",route="r7"`
	b.apply(parseStep(t, quiet("")))
	page := func(what string, texts ...string) {
		t.Helper()
		b.eventually(what, func() error { return metricsHave(address+"/metrics", texts...) })
	}
	page("the budget is too small", `fairlead_router_detail_routes{state="granted"} 0`, "!"+last, "!fairlead_route_slo_ratio{", `namespace="me0",route="r0"`)
	b.apply(parseStep(t, quiet(`fairlead.dev/slo: "availability=99.95, latency=300ms@99"`)))
	page("the Route asks", `fairlead_router_detail_routes{state="granted"} 1`, `fairlead_router_detail_routes{state="left_out"} 0`)
	b.apply(parseStep(t, quiet("")))
	page("the Route does not ask", `fairlead_router_detail_routes{state="granted"} 0`)
}

// TestObjectives: with room for all, a Route's objectives are on the page at once.
func TestObjectives(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, nil)
		address := b.serveMetrics()
		put := func(slo string) {
			b.apply(parseStep(t, map[string]string{"services": "s/web http=8080 web@198.18.250.90", "in.yaml": "kind: Route\nmetadata: {namespace: s, name: plain, annotations: {fairlead.dev/slo: \"" + slo + "\"}}\nspec: {host: plain.set.test, to: {kind: Service, name: web}}\n"}))
		}
		page := func(texts ...string) {
			t.Helper()
			b.eventually(fmt.Sprint(texts), func() error { return metricsHave(address+"/metrics", texts...) })
		}
		page("!fairlead_route_slo_ratio{")
		put("availability=99.95, latency=300ms@99")
		page(`fairlead_route_slo_ratio{slo="availability",namespace="s",route="plain"} 0.9995`+"\n", `fairlead_route_slo_ratio{slo="latency",namespace="s",route="plain"} 0.99`+"\n", `!slo="availability",namespace="s",route="edge"`)
		put("availability=99")
		page(`fairlead_route_slo_ratio{slo="availability",namespace="s",route="plain"} 0.99`+"\n", `!slo="latency"`)
		put("availability=all")
		page("!fairlead_route_slo_ratio{")
	})
}

// TestGatewayObjectives: an HTTPRoute has objectives, each of its rules in series of its own, and a wrong one is a finding
// that changes nothing else.
func TestGatewayObjectives(t *testing.T) {
	t.Parallel()
	const route = "kind: HTTPRoute\nmetadata: {namespace: gw, name: r, uid: r, annotations: {fairlead.dev/slo: \"%s\"}}\nspec: {parentRefs: [{name: gw}], hostnames: [r.test], rules: [{backendRefs: [{name: one, port: 8080}]}]}\n"
	b := policedBed(t, fmt.Sprintf(route, "availability=99.5"))
	address := b.serveMetrics()
	b.expectAtListener(t, "80 GET http://r.test/ -> 200 pod=one")
	b.eventually("the objective", func() error {
		return metricsHave(address+"/metrics", `fairlead_route_slo_ratio{slo="availability",namespace="gw",route="HTTPRoute_r`, "} 0.995\n")
	})
	b.put(t, fmt.Sprintf(route, "availability=99,5"))
	b.eventually("no objective", func() error { return metricsHave(address+"/metrics", "!fairlead_route_slo_ratio{") })
	b.expectAtListener(t, "80 GET http://r.test/ -> 200 pod=one")
	st, _ := b.statusOf(model.Object{Kind: gateway.KindHTTPRoute, Namespace: "gw", Name: "r"})
	if !strings.Contains(fmt.Sprint(st.Findings), "fairlead.dev/slo") {
		t.Errorf("findings %v", st.Findings)
	}
}
