package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/explain"
)

// evil would be markup wherever a page forgot to escape it: in text, in an attribute with
// either quote, in a URL, in a script, and in a comment.
func evil(mark string) string {
	return `"'><svg/onload=alert(1)><script>` + mark + `</script><img src=x onerror=alert(1)>--><a href="javascript:alert(1)">x</a>{{.}}` + "\u202e\x00\x1b[2J"
}

// hostileObjects have it in each field that a tenant controls. The API server would refuse
// some of them; the console does not rely on that.
func hostileObjects() *explain.Objects {
	o := explain.NewObjects()
	created := metav1.NewTime(testNow.AddDate(0, -1, 0))
	route := func(name string, edit func(*routev1.Route)) {
		r := &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: created},
			Spec:       routev1.RouteSpec{Host: "www.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}},
		}
		edit(r)
		o.Add(r)
	}
	route("plain", func(*routev1.Route) {})
	route(evil("name"), func(r *routev1.Route) { r.Namespace = evil("namespace") })
	route("host", func(r *routev1.Route) { r.Spec.Host = evil("host") })
	route("path", func(r *routev1.Route) { r.Spec.Path = "/" + evil("path") })
	route("label", func(r *routev1.Route) { r.Labels = map[string]string{evil("label"): evil("labelvalue")} })
	route("to", func(r *routev1.Route) { r.Spec.To.Name = evil("service") })
	route("annotation", func(r *routev1.Route) {
		r.Annotations = map[string]string{evil("annotation"): evil("value"), "haproxy.router.openshift.io/timeout": evil("timeout"), "haproxy.router.openshift.io/balance": evil("balance")}
	})
	route("tls", func(r *routev1.Route) {
		r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationType(evil("termination")), Certificate: evil("certificate"), Key: evil("key")}
	})
	route("status", func(r *routev1.Route) {
		r.Status.Ingress = []routev1.RouteIngress{{RouterName: evil("router"), Conditions: []routev1.RouteIngressCondition{
			{Type: routev1.RouteAdmitted, Status: corev1.ConditionFalse, Reason: evil("reason"), Message: evil("message")},
		}}, {RouterName: "default", Conditions: []routev1.RouteIngressCondition{
			{Type: routev1.RouteAdmitted, Status: corev1.ConditionFalse, Reason: evil("reason"), Message: evil("message")},
		}}}
	})
	route("owner", func(r *routev1.Route) {
		r.OwnerReferences = []metav1.OwnerReference{{Kind: "Ingress", Name: evil("ingress"), Controller: new(true)}}
	})
	hostileGateways(o)
	return o
}

// TestHostileTexts: what is markup in the texts of tenants is shown as text, on every page.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	b := newBed(t, decided(t, hostileObjects()), true)
	b.server.pages.options.Cluster = true
	b.source.network, b.source.events = hostileNetwork(), hostileEvents()
	found := map[string]bool{}
	pages := b.crawl(func(path string, root *html.Node) {
		harmless(t, path, root)
		text := textOf(root)
		if strings.ContainsAny(text, "\u202e\x00\x1b") {
			t.Errorf("%s: characters that cannot be seen are not escaped", path)
		}
		for _, m := range strings.Split(text, "<script>")[1:] {
			mark, _, _ := strings.Cut(m, "</script>")
			found[mark] = true
		}
	})
	if pages < 20 {
		t.Errorf("only %d pages", pages)
	}
	for mark := range strings.FieldsSeq("name namespace host path label labelvalue service annotation value timeout balance termination router reason message ingress gwname gwhost gwclass gwstatus gwlistener gwaddress rname rhost rpath rheader rservice rparent rsection rstatus rannotation setname lname aaddress aservice apool awhy anode aiface anext axnode axwhy apeer abgp abfd aerror pool anote esource ekind ens ename ereason emessage etype enote") {
		if !found[mark] {
			t.Errorf("the hostile %s is on no page: the test proves nothing of it", mark)
		}
	}
	if found["key"] {
		t.Error("the key of a Route is shown")
	}
	for _, path := range []string{"routes?q=", "routes?sort=", "ask?url=", "ask?url=http://x/&headers=A:", "ask?url=http://x/&client=", "ask?url=https://x/&sni=", "hosts/", "routes/x/", "routes?page="} {
		_, _, body := b.get(path + url.QueryEscape(evil("url")))
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(body, "<!DOCTYPE") {
			harmless(t, path, root)
		}
	}
}

// TestKeysAreNotShown: no page has a private key, wherever a user pasted it.
func TestKeysAreNotShown(t *testing.T) {
	t.Parallel()
	key := func(mark string) string {
		return "-----BEGIN RSA PRIVATE KEY-----\n" + mark + "\n-----END RSA PRIVATE KEY-----\n"
	}
	const gatewayKeys = 3
	const cut = "-----BEGIN EC PRIVATE KEY-----\\nSECRET" // as JSON in an annotation has it, without end
	o := explain.NewObjects()
	o.Add(&routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"key":"SECRET"}`, "note": cut, "more": "before " + key("SECRET") + " after",
		}},
		Spec: routev1.RouteSpec{
			Host: "www.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"},
			TLS: &routev1.TLSConfig{Termination: "edge", Key: "SECRET, and not even PEM", Certificate: key("SECRET"), CACertificate: key("SECRET"), DestinationCACertificate: key("SECRET")},
		},
	})
	o.Add(&gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"key":"SECRET"}`, "note": cut, "more": "before " + key("SECRET") + " after",
		}},
		Spec: gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{{Filters: []gatewayv1.HTTPRouteFilter{{
			Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{{Name: "key", Value: key("SECRET")}}},
		}}}}},
	})
	b := newBed(t, decided(t, o), true)
	if text := content(t, b.page("httproutes/ns/r", 200)); strings.Count(text, "(a private key, which is not shown)") != gatewayKeys || !strings.Contains(text, "before ") {
		t.Errorf("HTTPRoute: %s", text)
	}
	b.crawl(func(path string, root *html.Node) {
		if strings.Contains(textOf(root), "SECRET") {
			t.Errorf("%s: a key is shown", path)
		}
	})
	text := content(t, b.page("routes/ns/r", 200))
	if n := strings.Count(text, "(a private key, which is not shown)"); n != 6 || !strings.Contains(text, "before ") || !strings.Contains(text, " after") {
		t.Errorf("%d keys left out: %s", n, text)
	}
}

// TestLongTexts: annotations of a megabyte and lists of thousands do not make long pages.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	o := explain.NewObjects()
	long := strings.Repeat("ä", 500_000)
	annotations := map[string]string{"haproxy.router.openshift.io/balance": long}
	for i := range 2000 {
		annotations[fmt.Sprintf("haproxy.router.openshift.io/x%d", i)] = "y"
	}
	o.Add(&routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Annotations: annotations},
		Spec:       routev1.RouteSpec{Host: "www.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}},
	})
	b := newBed(t, decided(t, o), true)
	for _, path := range []string{"routes", "routes/ns/r", "hosts/www.example.com", "ask?url=http://www.example.com/"} {
		code, _, body := b.get(path)
		if code != 200 || len(body) > 400_000 {
			t.Errorf("%s: code %d, %d bytes", path, code, len(body))
		}
		if !strings.HasPrefix(path, "ro") {
			continue
		}
		if text := content(t, b.page(path, 200)); strings.Count(text, "ä") > 10*textBytes {
			t.Errorf("%s: too much of the annotation is shown", path)
		}
	}
	if text := content(t, b.page("routes/ns/r", 200)); !strings.Contains(text, "more bytes)") || !strings.Contains(text, "more are not shown") {
		t.Error("the page does not say that something is left out")
	}
}

// TestShort: texts are cut between characters, and what cannot be seen is escaped.
func TestShort(t *testing.T) {
	t.Parallel()
	got := short("a" + strings.Repeat("ä", 4000))
	if !strings.HasSuffix(got, "ä… (3906 more bytes)") || strings.Contains(got, `\x`) {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-40:])
	}
	if got := short("a\nb\u2028"); got != `a\u000ab\u2028` {
		t.Error(got)
	}
	if !slices.Equal(first([]int{1, 2}, 3), []int{1, 2}) {
		t.Error("first cuts what is short")
	}
}
