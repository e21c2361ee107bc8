package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/regex"
)

// chartPatterns are paths of Ingresses as charts and manuals have them, and variations:
// each prefix with each end.
func chartPatterns() []string {
	patterns := []string{
		`/`, `/(.*)`, `/?(.*)`, `(/|$)(.*)`, `/(.+)`, `/.*`, `/([^/]+)/(.*)`, `/api/v([0-9]+)/(.*)`, `/api/v[0-9]+(\.[0-9]+)?/(.*)`, `/([a-z]{2})(/|$)(.*)`, `/(en|de|fr)/(.*)`,
		`/(.*)\.php$`, `/([0-9]+)/?$`, `/users/([0-9a-f]{8})-([0-9a-f]{4})`, `/[^.]+\.(css|js|png|svg)$`, `/(?i)shop/(.*)`, `(?i)/Grafana(/|$)(.*)`, `/\w+/\d+`, `/a\.b\.c/(.*)`, `/(a|b)?(c)x?`,
		`/@([\w.-]+)/(.*)`, `/~(\w+)(/.*)?`, `/foo%20bar/(.*)`, `/\(x\)/(.*)`, `/a+b`, `/a\+b`, `/(?:v1|v2)/(.*)`, `/(?P<name>[a-z]+)/x`, `/.well-known/(.*)`, `/\.well-known/(.*)`, `/x{2,3}(.*)`,
		`/([A-Za-z0-9_-]+)/([A-Za-z0-9_-]+)/(.*)`, `/[[:alpha:]]+/(.*)`, `/\D\S\W(.*)`, `/\bfoo\b(.*)`, `/fo\Bo(.*)`, `/a(/b(/c)?)?$`, `/(.*?)/x`, `/[^/]*?(\.html)?$`, `/(index|home)\.(php|html?)$`,
	}
	for _, prefix := range []string{`/foo`, `/shop`, `/api/v1`, `/argo-cd`, `/auth/realms`, `/keycloak`, `/jenkins`, `/kibana`, `/prometheus`, `/nexus/repository`} {
		for _, end := range []string{`(/|$)(.*)`, `/(.*)`, `/?(.*)`, `/?$`, `(/.*)?$`, `(.*)`, `/(.+)`, `$`, `/([^/]+)$`, `/([^/]+)/([^/]+)/?`, `(/|$)`, `/.*`, `(?:/(.*))?$`, `/([0-9]+)`, `/(\d{4})-(\d{2})`, `-(blue|green)/(.*)`} {
			patterns = append(patterns, prefix+end)
		}
	}
	return patterns
}

var chartPaths = []string{
	"/", "/foo", "/foo/", "/foo/bar", "/foobar", "/foo/bar/baz", "/foo/1234", "/foo/2026-11", "/foo-blue/x", "/FOO/x", "/shop/cart/1", "/SHOP/x", "/api/v1", "/api/v1/users", "/api/v2.3/users", "/argo-cd/x/y/",
	"/auth/realms/a/b", "/keycloak/x", "/grafana/d/1", "/en/docs", "/deu/docs", "/a.b.c/x", "/aXbXc/x", "/ac", "/abcx", "/x.php", "/index.html", "/style.css", "/@scope/pkg", "/~user", "/~user/x", "/foo%20bar/x",
	"/(x)/y", "/aaab", "/a+b", "/v1/x", "/.well-known/acme", "/xwell-known/acme", "/xxx", "/xxxx", "/users/0123abcd-89ef", "//", "/foo//bar", "/a/b/c", "/a/b", "/fo", "/-a-", "/x/12", "/12/", "/foo;v=1/x",
}

// TestRegexEqualsHAProxy: patterns as charts have them mean the same to Go and to
// HAProxy, for many paths.
func TestRegexEqualsHAProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	patterns := chartPatterns()
	if len(patterns) < 200 {
		t.Fatalf("%d patterns", len(patterns))
	}
	type rule struct {
		pattern     *regex.Pattern
		replacement string
	}
	var rules []rule
	var routes []string
	const inNamespace = 50 // which a router takes
	services := ""
	for i := range len(patterns)/inNamespace + 1 {
		services += fmt.Sprintf("rr%d/web http=8080 web@198.18.250.60\n", i)
	}
	for i, text := range patterns {
		p, err := regex.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r := rule{p, "/to"}
		for n := 1; n <= p.Captures && (p.Optional == 0 || n <= p.Optional); n++ {
			r.replacement += fmt.Sprintf("/%d:$%d", n, n)
		}
		routes = append(routes, fmt.Sprintf("kind: Route\nmetadata: {namespace: rr%d, name: r%d, annotations: {fairlead.dev/rewrite: '%s %s'}}\nspec: {host: r%d.rr.test, to: {kind: Service, name: web}}\n",
			i/inNamespace, i, text, r.replacement, len(rules)))
		rules = append(rules, r)
	}
	b.apply(parseStep(t, map[string]string{"in.yaml": strings.Join(routes, "---\n"), "services": services}))
	matched := 0
	for i, r := range rules {
		for _, path := range chartPaths {
			want := regex.Replace(r.pattern.Text, r.replacement, r.pattern.Longest, path)
			q := request{method: "GET", host: fmt.Sprintf("r%d.rr.test", i), target: path}
			got := q.do(b.http, b.https)
			if got.err != nil || got.pod == nil {
				t.Fatalf("%s %s: status %d, %v", q.host, path, got.status, got.err)
			}
			if got.pod.Path != want.Path {
				t.Errorf("%s: HAProxy makes %s of %s, Go %s", r.pattern.Text, got.pod.Path, path, want.Path)
			}
			if want.Path != path {
				matched++
			}
		}
	}
	t.Logf("%d patterns, %d matches", len(rules), matched)
	if matched < 500 {
		t.Errorf("only %d matches", matched)
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// costly are patterns that are taken, with the path that takes most steps.
var costly = []struct{ pattern, begin, repeat, end string }{
	{`/(.*)-end`, "/", "-en", ""},
	{`/(?:[^/]+/)*edit`, "/", "e/", "edi"},
	{`/.*[a-z]+x$`, "/", "a", ""},
	{`/(a|ab|b)*`, "/", "ab", ""},
	{`/([^/]+)/users/([0-9]+)/(.*)$`, "/", "x", "/users/12"},
	{`(/[^/]+)+$`, "", "/a", "/"},
	{`/(.+)/([^/]+)/([^/]+)/x$`, "/", "a/", ""},
	{`/(x|xy|xyz|w)?(x|xy|y)?.*(a|ab)$`, "/", "xyza", ""},
	{`/[^/]*a[^/]{0,7}b$`, "/", "a", ""},
}

// TestRegexCost: a pattern that is taken costs HAProxy at most a millisecond, for the
// path that takes most steps. Each is asked several times, because the machine may be
// busy.
func TestRegexCost(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	routes := []string{"kind: Route\nmetadata: {namespace: rc, name: plain}\nspec: {host: plain.rc.test, to: {kind: Service, name: web}}\n"}
	var hosts, paths []string
	for i, c := range costly {
		p, err := regex.Parse(c.pattern)
		if err != nil {
			t.Logf("%s is refused: %v", c.pattern, err)
			continue
		}
		host := fmt.Sprintf("c%d.rc.test", i)
		routes = append(routes, fmt.Sprintf("kind: Route\nmetadata: {namespace: rc, name: c%d, annotations: {fairlead.dev/rewrite: '%s /x'}}\nspec: {host: %s, to: {kind: Service, name: web}}\n", i, c.pattern, host))
		n := (p.Longest - len(c.begin) - len(c.end)) / len(c.repeat)
		hosts, paths = append(hosts, host), append(paths, c.begin+strings.Repeat(c.repeat, n)+c.end)
	}
	if len(hosts) < 5 {
		t.Fatalf("%d patterns", len(hosts))
	}
	b.apply(parseStep(t, map[string]string{"in.yaml": strings.Join(routes, "---\n"), "services": "rc/web http=8080 web@198.18.250.60"}))
	for i, host := range hosts {
		extra := b.cost(host, paths[i]) - b.cost("plain.rc.test", paths[i])
		t.Logf("%s: %d bytes: %v", host, len(paths[i]), extra)
		if extra > time.Millisecond {
			t.Errorf("%s costs %v", host, extra)
		}
		q := request{method: "GET", host: host, target: paths[i] + strings.Repeat("x", 8192)}
		if got := q.do(b.http, b.https); got.status != 414 {
			t.Errorf("%s: a path that is too long gets %d", host, got.status)
		}
	}
}

// TestExpressionCost: the expressions that one host may have cost HAProxy at most a
// millisecond of a processor for a request that none of them matches.
func TestExpressionCost(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	routes := []string{"kind: Route\nmetadata: {namespace: rc, name: plain}\nspec: {host: plain.rc.test, to: {kind: Service, name: web}}\n"}
	add := func(host, pattern string) {
		routes = append(routes, fmt.Sprintf("kind: Route\nmetadata: {namespace: %s, name: r%d, annotations: {fairlead.dev/path-type: Regex}}\nspec: {host: %s.rc.test, path: '%s', to: {kind: Service, name: web}}\n", host, len(routes), host, pattern))
	}
	for _, host := range []string{"certain", "mixed"} {
		routes = append(routes, fmt.Sprintf("kind: Route\nmetadata: {namespace: %s, name: root}\nspec: {host: %s.rc.test, to: {kind: Service, name: web}}\n", host, host))
		for i := range 96 {
			add(host, fmt.Sprintf("/[a-y/]*(z%d|$)x", i))
		}
	}
	for i := range 4 {
		add("certain", fmt.Sprintf("/[a-y/]*z/%d", i))
		add("mixed", fmt.Sprintf("/.*/[a-y/]{0,3}z%d$", i))
	}
	var services []string
	for _, host := range []string{"rc", "certain", "mixed"} {
		services = append(services, host+"/web http=8080 web@198.18.250.60")
	}
	b.apply(parseStep(t, map[string]string{"in.yaml": strings.Join(routes, "---\n"), "services": strings.Join(services, "\n")}))
	for host, bytes := range map[string]int{"certain": 2047, "mixed": 255} {
		path := "/" + strings.Repeat("a/", bytes/2)
		extra := b.cost(host+".rc.test", path) - b.cost("plain.rc.test", path)
		t.Logf("%s: %d bytes: %v", host, len(path), extra)
		if extra > time.Millisecond {
			t.Errorf("%s costs %v", host, extra)
		}
	}
	for host, bytes := range map[string]int{"certain": 2049, "mixed": 257} {
		q := request{method: "GET", host: host + ".rc.test", target: "/" + strings.Repeat("a", bytes)}
		if got := q.do(b.http, b.https); got.status != 414 {
			t.Errorf("%s: a path that is too long gets %d", host, got.status)
		}
	}
}

// TestRedirectCost: the expressions by which a policy redirects cost HAProxy at most a
// millisecond of a processor for a request that none of them matches.
func TestRedirectCost(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	const route = "kind: Route\nmetadata: {namespace: rt, name: %[1]s}\nspec: {host: %[1]s.rt.test, to: {kind: Service, name: web}}\n"
	text := fmt.Sprintf(route, "plain") + "---\n" + fmt.Sprintf(route, "moved") +
		"---\nkind: RoutePolicy\nmetadata: {namespace: rt, name: moved}\nspec:\n  targetRefs: [{group: route.openshift.io, kind: Route, name: moved}]\n  redirects:\n    rules:\n"
	for i := range 16 {
		text += fmt.Sprintf("    - {match: {path: '/[a-y/]*(z%d|$)x', type: Regex}, to: {regexPath: '/x$1'}}\n", i)
	}
	for i := range 4 {
		text += fmt.Sprintf("    - {match: {path: '/.*/[a-y/]{0,3}z%d$', type: Regex}, to: {path: /x}}\n", i)
	}
	b.apply(parseStep(t, map[string]string{"in.yaml": text, "services": "rt/web http=8080 web@198.18.250.60"}))
	for path, status := range map[string]int{"/az0x": 302, "/a/bz3": 302} { // the rules are there
		q := request{method: "GET", host: "moved.rt.test", target: path}
		if got := q.do(b.http, b.https); got.status != status {
			t.Fatalf("%s: status %d, %v", path, got.status, got.err)
		}
	}
	for _, bytes := range []int{2047, 255} {
		path := "/" + strings.Repeat("a/", bytes/2)
		extra := b.cost("moved.rt.test", path) - b.cost("plain.rt.test", path)
		t.Logf("%d bytes: %v", len(path), extra)
		if extra > time.Millisecond {
			t.Errorf("%d bytes cost %v", len(path), extra)
		}
	}
}
