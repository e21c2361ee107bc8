package console

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/test/browser"
)

// corpus are texts that would run a script if a page forgot to escape them: as text, as an
// attribute, as a URL, in a style, by an entity, and by what a browser repairs.
var corpus = []string{
	`<script>window.xss=1</script>`, `"><img src=x onerror=window.xss=1>`, `'><svg onload=window.xss=1>`, `javascript:window.xss=1`, `</code></pre></title><script>window.xss=1</script>`,
	`--><script>window.xss=1</script>`, `<iframe srcdoc="<script>parent.xss=1</script>">`, `<details open ontoggle=window.xss=1>`, `<math><mi//xlink:href="data:x,<script>window.xss=1</script>">`,
	`<style>@import'//evil'</style><img src=x: onerror=window.xss=1>`, `&lt;img src=x onerror=window.xss=1&gt;`, `<svg><animate onbegin=window.xss=1 attributeName=x dur=1s>`,
	"\u2028<img src=x onerror=window.xss=1>\u202e", `{{constructor.constructor('window.xss=1')()}}`, `<noscript><p title="</noscript><img src=x onerror=window.xss=1>">`, `<base href="//evil/"><a href=x autofocus onfocus=window.xss=1>`,
}

// hostile is a source whose every text is one of the corpus.
type hostile struct{ round atomic.Int32 }

func (h *hostile) Read(context.Context, *explain.Snapshot) (*explain.Snapshot, error) {
	o := explain.NewObjects()
	o.Add(&gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gw", Name: "gw"},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: "fairlead", Listeners: []gatewayv1.Listener{{Name: gatewayv1.SectionName(corpus[0]), Port: 80, Protocol: gatewayv1.HTTPProtocolType}}},
	})
	for i, evil := range corpus {
		meta := metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("r%d-%d", i, h.round.Load()), Annotations: map[string]string{"haproxy.router.openshift.io/timeout": evil, evil: evil}}
		o.Add(&routev1.Route{ObjectMeta: meta, Spec: routev1.RouteSpec{Host: fmt.Sprintf("h%d.test", i), Path: "/" + evil, To: routev1.RouteTargetReference{Kind: "Service", Name: evil}}})
		path, kind := "/"+evil, gatewayv1.PathMatchPathPrefix
		meta.Namespace = "gw"
		o.Add(&gatewayv1.HTTPRoute{ObjectMeta: meta, Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}}, Hostnames: []gatewayv1.Hostname{gatewayv1.Hostname(evil), "h.test"},
			Rules: []gatewayv1.HTTPRouteRule{{
				Matches:     []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &kind, Value: &path}}},
				BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(evil)}}}},
			}},
		}})
	}
	return explain.NewSnapshot(o, explain.Options{Now: time.Now()})
}

func (h *hostile) Health(context.Context) (*check.Report, error) { return nil, errors.New(corpus[1]) }

func (h *hostile) Network(context.Context) (*console.Network, error) {
	n := &console.Network{Notes: corpus}
	for _, evil := range corpus {
		n.Addresses = append(n.Addresses, console.Address{
			Addresses: []string{evil}, Service: evil, Pool: evil, State: console.Doubtful, Why: evil, Announcers: []console.Announcer{{Node: evil, Interfaces: corpus}}, Next: corpus,
			Excluded: []console.Excluded{{Node: evil, Why: evil}}, BGP: []console.Session{{Node: evil, Peer: evil, State: evil, BFD: evil, Error: evil}},
		})
		n.Pools = append(n.Pools, console.Pool{Name: evil, Total: 1})
	}
	return n, nil
}

func (h *hostile) Events(context.Context) (*console.Events, error) {
	e := &console.Events{Notes: corpus}
	for _, evil := range corpus {
		e.Items = append(e.Items, console.Event{Type: evil, Source: evil, Kind: evil, Namespace: evil, Name: evil, Reason: evil, Message: evil})
	}
	return e, nil
}

// TestCorpus: no text of a tenant runs a script or becomes an element, when a page is loaded
// and when its content is renewed.
func TestCorpus(t *testing.T) {
	b := browser.Start(t)
	source := &hostile{}
	page, base := startWith(t, b, source)
	paths := []string{"", "routes", "gateways", "gateways/gw/gw", "addresses", "events", "certs", "settings", "hosts/h.test", "ask?url=http://h3.test/", "ask?gateway=gw/gw&url=http://h.test/"}
	for i := range corpus {
		paths = append(paths, fmt.Sprintf("routes/ns/r%d-0", i), fmt.Sprintf("httproutes/gw/r%d-0", i))
	}
	harmless := func(where string) {
		t.Helper()
		page.Eval(t, `(document.querySelectorAll("details").forEach(d => d.open = true), true)`)
		if got := page.Eval(t, `window.xss === undefined && document.querySelectorAll("img, svg, iframe, math, style, base, main script, [onerror], [onload], [onfocus], a[href^='javascript:' i]").length === 0`); got != "true" {
			t.Errorf("%s: %s: %.300s", where, got, page.Eval(t, "document.querySelector('main').innerHTML"))
		}
	}
	for _, path := range paths {
		page.Open(t, base+path)
		harmless(path)
	}
	page.Open(t, base+"routes")
	page.Await(t, "the script runs", runs)
	source.round.Store(1)
	page.Await(t, "new content", `document.querySelector("tbody").textContent.includes("r0-1")`)
	harmless("renewed")
	for _, evil := range corpus {
		page.Eval(t, fmt.Sprintf(`(location.hash = %q, true)`, evil))
		page.Open(t, base+"routes?q="+strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B", " ", "+").Replace(evil))
		harmless("search " + evil)
	}
}

// crowd has 8,000 Routes, and 2,000 HTTPRoutes of one Gateway.
type crowd struct {
	hostile

	snapshot *explain.Snapshot
}

func (c *crowd) Read(context.Context, *explain.Snapshot) (*explain.Snapshot, error) {
	if c.snapshot != nil {
		return c.snapshot, nil
	}
	o := explain.NewObjects()
	o.Add(&gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gw", Name: "gw"},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: "fairlead", Listeners: []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}},
	})
	for i := range 8000 {
		o.Add(&routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("n%d", i%100), Name: fmt.Sprintf("r%05d", i)},
			Spec:       routev1.RouteSpec{Host: fmt.Sprintf("h%d.test", i), To: routev1.RouteTargetReference{Kind: "Service", Name: "s"}, TLS: &routev1.TLSConfig{Termination: "edge"}},
		})
	}
	for i := range 2000 {
		o.Add(&gatewayv1.HTTPRoute{
			ObjectMeta: metav1.ObjectMeta{Namespace: "gw", Name: fmt.Sprintf("r%05d", i)},
			Spec:       gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}}, Hostnames: []gatewayv1.Hostname{gatewayv1.Hostname(fmt.Sprintf("g%d.test", i))}},
		})
	}
	var err error
	c.snapshot, err = explain.NewSnapshot(o, explain.Options{Now: time.Now()})
	return c.snapshot, err
}

// TestCrowd: 10,000 routes do not make pages large or slow. The bars of time are wide, for busy
// machines; the log has what was seen.
func TestCrowd(t *testing.T) {
	b := browser.Start(t)
	page, base := startWith(t, b, &crowd{})
	for _, path := range []string{"routes", "routes?q=kind:httproute", "routes?q=host:h7+-ns:n7&sort=-host&page=3", "gateways/gw/gw"} {
		page.Open(t, base+path)
		page.Await(t, "it is painted", `performance.getEntriesByType("paint").length > 0`)
		number := func(expression string) float64 {
			t.Helper()
			n, err := strconv.ParseFloat(page.Eval(t, expression), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		nodes, paint := number(`document.querySelectorAll("*").length`), number(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)
		ready, heap := number(`performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`), number(`performance.memory.usedJSHeapSize / 1e6`)
		t.Logf("%s: %.0f elements, first paint %.0f ms, usable %.0f ms, heap %.1f MB", path, nodes, paint, ready, heap)
		if nodes > 1500 || paint > 3000 || ready > 5000 || heap > 30 {
			t.Errorf("%s: too much", path)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("heap of the test, which is also the server: %d MB", m.HeapAlloc/1e6)
	if m.HeapAlloc > 250e6 {
		t.Error("too much")
	}
}
