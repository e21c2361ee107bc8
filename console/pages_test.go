package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/tools/txtar"

	"github.com/fairlead/fairlead/check"
)

// shop has a Route that is served, one in parts by weight, one that loses its path, and one
// that no pod serves.
const shop = `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: web, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {host: www.example.com, to: {kind: Service, name: shop}, tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata:
  name: cart
  namespace: web
  creationTimestamp: "2026-01-02T00:00:00Z"
  annotations: {haproxy.router.openshift.io/timeout: 5s}
spec:
  host: www.example.com
  path: /cart
  to: {kind: Service, name: cart, weight: 90}
  alternateBackends: [{kind: Service, name: cart-new, weight: 10}]
  tls: {termination: edge}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: cart-copy, namespace: web, creationTimestamp: "2026-02-01T00:00:00Z"}
spec: {host: www.example.com, path: /cart, to: {kind: Service, name: cart-new}, tls: {termination: edge}}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart-new, namespace: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: web, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.1], targetRef: {kind: Pod, name: cart-a, namespace: web}}
- {addresses: [10.1.0.2], conditions: {ready: false}, targetRef: {kind: Pod, name: cart-b, namespace: web}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-new-1, namespace: web, labels: {kubernetes.io/service-name: cart-new}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.3], targetRef: {kind: Pod, name: cart-c, namespace: web}}
`

// TestPages: what each page says.
func TestPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	for _, test := range []struct {
		path string
		code int
		want []string
		not  []string
	}{
		{"routes", 200, []string{"1 to 3 of 3 Routes", "refused 1", "HostAlreadyClaimed: route cart already exposes"}, nil},
		{"routes?q=state:refused", 200, []string{"1 to 1 of 1 Routes", "web/cart-copy"}, []string{"web/shop"}},
		{"routes?q=nothing-like-this", 200, []string{"No Route is like that"}, []string{"web/shop"}},
		{"routes?q=stat:refused", 200, []string{"Nothing was searched.", "state may be meant"}, []string{"web/shop"}},
		{"routes/web/cart", 200, []string{
			"served www.example.com/cart, edge", "https://www.example.com/cart and all below yes served by the route's endpoints", "cart-a cart 10.1.0.1:8080 ready",
			"cart-b cart 10.1.0.2 not ready 0 0.0 %", "cart-c cart-new 10.1.0.3:8080 ready", "timeout 5s metadata.annotations[haproxy.router.openshift.io/timeout]", "alternateBackends:",
		}, nil},
		{"routes/web/cart-copy", 200, []string{"refused", "Error HostAlreadyClaimed spec.host", "Remedy choose another host or path", "What to do", "No URL leads to this Route"}, nil},
		{"routes/web/none", 404, []string{"the manifests have no Route web/none"}, nil},
		{"routes/web", 404, []string{"There is no such page"}, nil},
		{"nothing", 404, []string{"There is no such page"}, nil},
		{"hosts/WWW.example.com", 200, []string{"is of namespace web, created 334 d ago", "served web/cart www.example.com/cart edge 2 Unknown served web/shop www.example.com edge not known Unknown refused web/cart-copy HostAlreadyClaimed"}, nil},
		{"hosts/none.example.com", 404, []string{"No Route has host none.example.com"}, nil},
		{"", 200, []string{"Routes 3 Routes 1 hosts 1 refused 2 served", "Routes that need attention", "web/cart-copy"}, []string{"Health"}},
		{"certs", 200, []string{"No certificate is served"}, nil},
		{"settings", 200, []string{"Settings of router default", "There is no IngressController for this router"}, nil},
		{"ask", 200, []string{"Write a URL as a client has it"}, nil},
		{"ask?url=" + url.QueryEscape("https://www.example.com/cart/1"), 200, []string{
			"served https://www.example.com/cart/1", "Listener https, port 443", "web/cart: www.example.com/cart, edge", "cart-a", "90.1 %",
			"web/cart-copy www.example.com/cart HostAlreadyClaimed route cart already exposes", "web/shop www.example.com ShorterPath its path / is shorter than /cart",
		}, nil},
		{"ask?url=" + url.QueryEscape("http://www.example.com/cart"), 200, []string{"not served", "404 page of the router: the route takes no plain HTTP", "What to do ask the https:// address instead"}, nil},
		{"ask?url=" + url.QueryEscape("http://www.example.com/"), 200, []string{"redirected", "redirect 302 to https://www.example.com/"}, nil},
		{"ask?url=www.example.com", 200, []string{"The question cannot be answered.", "has no scheme"}, []string{"The way of the request"}},
		{"ask?client=x&url=" + url.QueryEscape("http://www.example.com/"), 200, []string{"is not an IP address"}, []string{"The way of the request"}},
		{"ask?url=http://x/" + strings.Repeat("a", 9000), 200, []string{"the request is too long"}, nil},
	} {
		b.says(t, test.path, test.code, test.want, test.not)
	}
}

// TestCommandLines: each page shows the command with the same answer.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	for path, want := range map[string]string{
		"":                "tool lint",
		"certs":           "tool certs -A",
		"settings":        "tool render",
		"routes":          "tool lint",
		"routes/web/cart": "tool why route/cart web",
		"ask?client=192.0.2.1&sni=-&headers=" + url.QueryEscape("A: b\r\nC: d") + "&url=" + url.QueryEscape("https://x/"): "tool explain https://x/ -H A: b -H C: d --sni - --client-ip 192.0.2.1",
	} {
		for _, code := range all(b.page(path, 200), "code") {
			if attribute(code, "class") == "copy" && strings.Join(strings.Fields(textOf(code)), " ") != want {
				t.Errorf("%s: %s, want %s", path, textOf(code), want)
			}
		}
	}
}

// TestEveryPage follows all links: every page answers, has the form that assistive programs
// rely on, and nothing that a strict policy would refuse.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	pages := b.crawl(func(path string, root *html.Node) {
		wellFormed(t, path, root)
		harmless(t, path, root)
	})
	if pages < 10 {
		t.Errorf("only %d pages found", pages)
	}
}

// crawl visits all pages that links lead to, and returns how many there are.
func (b *bed) crawl(visit func(path string, root *html.Node)) int {
	b.t.Helper()
	todo, seen := []string{b.base}, map[string]bool{b.base: true}
	for done := 0; ; done++ {
		if done == len(todo) {
			return done
		}
		at, err := url.Parse(b.root + todo[done])
		if err != nil {
			b.t.Fatal(err)
		}
		code, header, body := b.do(b.request(http.MethodGet, at.String()))
		hidden := code == http.StatusNotFound && b.hidden != nil && b.hidden(todo[done])
		if code != http.StatusOK && !hidden {
			b.t.Errorf("%s: code %d", todo[done], code)
		}
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			continue
		}
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			b.t.Fatal(err)
		}
		visit(todo[done], root)
		for _, a := range all(root, "a") {
			to, err := at.Parse(attribute(a, "href"))
			if err != nil {
				b.t.Errorf("%s: link %s: %v", todo[done], attribute(a, "href"), err)
				continue
			}
			to.Fragment = ""
			if next := to.RequestURI(); !seen[next] && len(todo) < 500 {
				if to.Scheme+"://"+to.Host != b.root || !strings.HasPrefix(next, b.base) {
					b.t.Errorf("%s: the link %s leads out of the console", todo[done], to)
					continue
				}
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
}

// wellFormed checks what WCAG asks of every page and a program can see.
func wellFormed(t *testing.T, path string, root *html.Node) {
	t.Helper()
	complain := func(format string, args ...any) { t.Errorf("%s: %s", path, fmt.Sprintf(format, args...)) }
	if lang := attribute(all(root, "html")[0], "lang"); lang != "en" {
		complain("language %q", lang)
	}
	if n := len(all(root, "h1")); n != 1 || len(all(root, "main")) != 1 || textOf(all(root, "title")[0]) == "" {
		complain("%d h1, %d main, title %q", n, len(all(root, "main")), textOf(all(root, "title")[0]))
	}
	level, ids, labels := 0, map[string]bool{}, map[string]bool{}
	for _, n := range all(root, "*") {
		if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
			if now := int(n.Data[1] - '0'); now > level+1 {
				complain("%s %q follows h%d", n.Data, textOf(n), level)
			}
			level = int(n.Data[1] - '0')
		}
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				complain("id %s is there twice", id)
			}
			ids[id] = true
		}
		if n.Data == "label" {
			labels[attribute(n, "for")] = true
		}
	}
	for _, n := range all(root, "*") {
		switch n.Data {
		case "input", "textarea", "select":
			hidden := attribute(n, "type") == "hidden"
			if !hidden && !labels[attribute(n, "id")] && n.Parent.Data != "label" {
				complain("field %s has no label", attribute(n, "name"))
			}
		case "th":
			if attribute(n, "scope") == "" {
				complain("head %q has no scope", textOf(n))
			}
		case "a", "button", "summary":
			if textOf(n) == "" {
				complain("<%s> has no text", n.Data)
			}
		}
		for _, name := range []string{"aria-describedby", "aria-labelledby"} {
			if id := attribute(n, name); id != "" && !ids[id] {
				complain("%s names %s, which is not there", name, id)
			}
		}
	}
	for _, table := range all(root, "table") {
		if heads := len(all(all(table, "thead")[0], "th")); heads < 2 {
			complain("a table has %d heads", heads)
		}
		if region := table.Parent; attribute(region, "tabindex") != "0" || attribute(region, "aria-label") == "" {
			complain("a table that may be wide cannot be moved by keys")
		}
	}
}

// elements are those that templates write.
var elements = strings.Fields("html head meta title link script body a header p nav ul li form label input button main div h1 h2 h3 section details summary dl dt dd code " +
	"table thead tbody tr th td span strong wbr footer kbd dialog ol pre textarea time select option br progress")

// harmless checks that a page has nothing but what the templates write: one script, no
// handlers, no styles, no other elements.
func harmless(t *testing.T, path string, root *html.Node) {
	t.Helper()
	for _, n := range all(root, "*") {
		if !slices.Contains(elements, n.Data) {
			t.Errorf("%s: an element <%s>", path, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
				t.Errorf("%s: attribute %s=%q", path, a.Key, a.Val)
			}
		}
	}
	scripts := all(root, "script")
	if len(scripts) != 1 || textOf(scripts[0]) != "" || !regexp.MustCompile(`^/c/[\w-]{22}/static/console-[0-9a-f]{12}\.js$`).MatchString(attribute(scripts[0], "src")) {
		t.Errorf("%s: %d scripts", path, len(scripts))
	}
	if styles := all(root, "style"); len(styles) > 0 {
		t.Errorf("%s: styles in the page", path)
	}
}

// TestExport: CSV and JSON have what the list shows, all pages of it.
func TestExport(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, manyRoutes(401)), true)
	code, header, body := b.get("routes.csv?q=name:r&sort=-host")
	if code != 200 || strings.Count(body, "\n") != 402 || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
		t.Errorf("CSV: code %d, %d lines, %v", code, strings.Count(body, "\n"), header)
	}
	headers(t, "CSV", header)
	_, header, body = b.get("routes.json?q=name:r00400")
	var list struct {
		Schema string
		Items  []struct{ Route struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Schema != SchemaRoutes || len(list.Items) != 1 || list.Items[0].Route.Name != "r00400" {
		t.Errorf("JSON: %v %+v", err, list)
	}
	headers(t, "JSON", header)
	if code, _, _ := b.get("routes.csv?q=nothing:x"); code != http.StatusBadRequest {
		t.Errorf("a search that is not understood: %d", code)
	}
}

// manyRoutes are manifests of so many Routes in a hundred namespaces, each 50th of which is
// refused.
func manyRoutes(n int) string {
	var b strings.Builder
	for i := range n {
		host := i
		if i%50 == 49 {
			host = i - 1
		}
		fmt.Fprintf(&b, "---\n{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: r%05d, namespace: ns%d, creationTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {host: h%05d.example.com, to: {kind: Service, name: web}}}\n", i, i/50, host)
	}
	return b.String()
}

// TestTenThousandRoutes: a page has 64 rows at most, whatever is asked for.
func TestTenThousandRoutes(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 Routes")
	}
	t.Parallel()
	b := newBed(t, snapshotOf(t, manyRoutes(10_000)), true)
	rows := func(path string) int {
		t.Helper()
		n := 0
		for _, body := range all(b.page(path, 200), "tbody") {
			n += len(all(body, "tr"))
		}
		return n
	}
	for path, want := range map[string]int{
		"routes": 64, "routes?page=50": 64, "routes?page=99999": 16, "routes?sort=-host&page=7": 64, "routes?q=state:refused": 64, "routes?q=ns:ns199": 50, "routes?q=ns:ns199+state:refused": 1,
		"routes?page=-1": 64, "routes?page=x": 64,
	} {
		if got := rows(path); got != want {
			t.Errorf("%s: %d rows, want %d", path, got, want)
		}
	}
	if _, _, body := b.get("routes"); len(body) > 200_000 {
		t.Errorf("the page has %d bytes", len(body))
	}
	if reads := b.source.reads.Load(); reads != 1 {
		t.Errorf("%d readings for pages within 5 s", reads)
	}
}

// TestHealth: the first page has the checks where there is a cluster, and says why it has
// none.
func TestHealth(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	b.server.pages.options.Cluster = true
	b.source.report = &check.Report{Verdict: check.Unhealthy, Checks: []check.Check{
		{ID: "FL001", State: check.OK},
		{ID: "FL201", State: check.Fail, Summary: "no router is <ready>", Remedy: "kubectl get pods", Object: "deployment/a/b"},
		{ID: "FL301", State: check.Unknown, Summary: "x"},
	}}
	text := content(t, b.page("", 200))
	for _, want := range []string{"unhealthy checks that found nothing wrong: 1", "fail FL201 deployment/a/b no router is <ready> kubectl get pods", "could not be read: FL301"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	b.source.healthErr = errors.New("you have no right to")
	b.now.Store(3600)
	if text := content(t, b.page("", 200)); !strings.Contains(text, "The checks could not be made. you have no right to") || !strings.Contains(text, "FL201") {
		t.Error(text)
	}
}

// TestSettings: written fields are shown with their paths, and what needs a reload.
func TestSettings(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, `{apiVersion: operator.openshift.io/v1, kind: IngressController, metadata: {name: default, namespace: openshift-ingress-operator, annotations: {a: b}}, spec: {domain: apps.example.com, tuningOptions: {serverTimeout: 45s}, routeAdmission: {wildcardPolicy: WildcardsAllowed}}}`), true)
	text := content(t, b.page("settings", 200))
	for _, want := range []string{"metadata.annotations[a] b", "spec.domain apps.example.com", "spec.tuningOptions.serverTimeout 45s", "need a reload to change", "spec.routeAdmission.wildcardPolicy"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if _, reloads, _ := strings.Cut(text, "need a reload to change"); strings.Contains(reloads, "maxConnections") {
		t.Error("a default is said to need a reload")
	}
}

// TestCertificates: the list can be filtered, and goes by host or by end.
func TestCertificates(t *testing.T) {
	t.Parallel()
	a, err := txtar.ParseFile("../cmd/kubectl-fairlead/testdata/certificate.txtar")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, snapshotOf(t, string(a.Files[0].Data)), true)
	rows := func(path string) (out []string) {
		for _, tr := range all(all(b.page(path, 200), "tbody")[0], "tr") {
			out = append(out, textOf(tr))
		}
		return out
	}
	byHost, byEnd := rows("certs"), rows("certs?sort=ends")
	if len(byHost) < 2 || len(byHost) != len(byEnd) || slices.Equal(byHost, byEnd) {
		t.Errorf("by host %q, by end %q", byHost, byEnd)
	}
	word := strings.Fields(byHost[0])[1]
	if few := rows("certs?q=" + url.QueryEscape(word)); len(few) == 0 || len(few) >= len(byHost) || !strings.Contains(few[0], word) {
		t.Errorf("certificates with %s: %q of %q", word, few, byHost)
	}
}
