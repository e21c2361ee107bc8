package agent

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestStatuses: which answers of the server admit, which the client gets, and which
// close.
func TestStatuses(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	s := newAuthServer(t, nil)
	use(t, e, 1, externalPolicy("p", s.URL+"/check"), externalPolicy("refuse", s.URL, func(x *snapshot.External) { x.RefuseRedirects = true }))
	location := "Location: https://login.example.com/"
	for code, want := range map[int]int{
		200: 200, 201: 200, 204: 200, 299: 200,
		301: 301, 302: 302, 303: 303, 307: 307, 308: 308, 300: 503, 304: 503, 305: 503, 399: 503,
		400: 503, 401: 401, 402: 503, 403: 403, 404: 503, 407: 503, 418: 503, 429: 429, 499: 503, 500: 503, 502: 503, 503: 503, 599: 503,
	} {
		s.set(status(code, location, "WWW-Authenticate: Custom", "X-Secret: y"))
		a := e.Decide(t.Context(), ask(t, "p"))
		wants(t, http.StatusText(code), a, want)
		if want != 503 && want != 200 && (a.Body != "said the server" || value(a.Client, "WWW-Authenticate") != "Custom" || value(a.Client, "X-Secret") != "") {
			t.Errorf("%d: the client gets %+v", code, a)
		}
		if want == 503 && (a.Body != "" || value(a.Client, "WWW-Authenticate") != "") {
			t.Errorf("%d: a closed path has details: %+v", code, a)
		}
	}
	s.set(status(302))
	wants(t, "redirect without Location", e.Decide(t.Context(), ask(t, "p")), 503)
	s.set(status(302, location))
	wants(t, "redirect refused", e.Decide(t.Context(), ask(t, "refuse")), 503)
	s.Close()
	wants(t, "no server", e.Decide(t.Context(), ask(t, "p")), 503)
}

// TestRequest: what the server is asked, without a body and without what the client
// must not say.
func TestRequest(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	s := newAuthServer(t, status(200))
	use(t, e, 1, externalPolicy("p", s.URL+"/check?x=1"),
		externalPolicy("listed", s.URL, func(x *snapshot.External) { x.RequestHeaders, x.Method = []string{"X-Tenant"}, "Original" }))
	spoofed := []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Proto", "X-Real-IP", "X-Original-URL", "X-Auth-Request-User", "X-SSL-Client-Verify"}
	headers := []string{"Cookie: a=b", "X-Tenant: t", "Content-Length: 10", "Transfer-Encoding: chunked", "Expect: 100-continue", "Upgrade: websocket", "Connection: Upgrade", "Content-Type: text/plain", "Host: evil.example.com"}
	for _, n := range spoofed {
		headers = append(headers, n+": evil", strings.ReplaceAll(n, "-", "_")+": evil", strings.Replace(strings.ToLower(n), "-", "_", 1)+": evil")
	}
	q := ask(t, "p", headers...)
	q.Method = "POST"
	wants(t, "asked", e.Decide(t.Context(), q), 200)
	r := s.last
	if r.Method != "GET" || r.URL.RequestURI() != "/check?x=1" || s.body != "" || r.ContentLength != 0 || len(r.TransferEncoding) > 0 || r.Host != strings.TrimPrefix(s.URL, "http://") {
		t.Errorf("%s %s, Host %s, body %q of %d", r.Method, r.URL, r.Host, s.body, r.ContentLength)
	}
	for n, want := range map[string]string{
		"Cookie": "a=b", "X-Tenant": "t", "X-Original-Url": "https://shop.example.com/a?b=c&d", "X-Original-Method": "POST", "X-Forwarded-Method": "POST",
		"X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.example.com", "X-Forwarded-Uri": "/a?b=c&d", "X-Forwarded-For": "192.0.2.7",
		"X-Real-Ip": "192.0.2.7", "X-Auth-Request-Redirect": "/a?b=c&d", "Expect": "", "Upgrade": "", "Connection": "", "Content-Type": "",
	} {
		if got := strings.Join(r.Header.Values(n), "|"); got != want {
			t.Errorf("%s: %q, want %q", n, got, want)
		}
	}
	for n, v := range r.Header {
		if strings.Contains(strings.Join(v, "|"), "evil") {
			t.Errorf("%s: %q arrives", n, v)
		}
	}
	q = ask(t, "listed", headers...)
	q.Method = "DELETE"
	wants(t, "asked", e.Decide(t.Context(), q), 200)
	if r := s.last; r.Method != "DELETE" || r.Header.Get("Cookie") != "" || r.Header.Get("X-Tenant") != "t" || r.Header.Get("X-Real-Ip") != "192.0.2.7" {
		t.Errorf("%s with %v", r.Method, r.Header)
	}
}

// TestResponse: headers of the answer for the pod and the client.
func TestResponse(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	s := newAuthServer(t, status(200, "X-User: ann", "Set-Cookie: a=b", "Set-Cookie: c=d", "X-Groups: a", "X-Groups: b"))
	names := func(x *snapshot.External) { x.ResponseHeaders = []string{"X-User", "X-Groups", "X-Email"} }
	use(t, e, 1, externalPolicy("p", s.URL, names), externalPolicy("always", s.URL, names, func(x *snapshot.External) { x.SetCookieAlways = true }))
	a := e.Decide(t.Context(), ask(t, "p", "X-User: root", "X_Email: root@example.com", "x-email: root@example.com"))
	if value(a.Set, "X-User") != "ann" || value(a.Set, "X-Groups") != "a, b" || value(a.Set, "X-Email") != "" {
		t.Errorf("set %v", a.Set)
	}
	if got := strings.Join(a.Del, " "); got != "X-User X_Email x-email" {
		t.Errorf("removed %q", got)
	}
	if len(a.Success) != 2 || len(a.Client) != 0 {
		t.Errorf("client %v, success %v", a.Client, a.Success)
	}
	if a := e.Decide(t.Context(), ask(t, "always")); len(a.Success) != 0 || len(a.Client) != 2 {
		t.Errorf("client %v, success %v", a.Client, a.Success)
	}
}

// TestSignIn: 401 becomes a redirect that leads back to the request's own URL.
func TestSignIn(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	s := newAuthServer(t, status(401, "Set-Cookie: state=1"))
	use(t, e, 1, externalPolicy("p", s.URL, func(x *snapshot.External) {
		x.SignIn = &snapshot.SignIn{URL: "https://login.example.com/start?a=b", Param: "back"}
	}))
	q := ask(t, "p")
	q.Target = "/x?u=https://evil.example.com/&v=\u00e4#"
	a := e.Decide(t.Context(), q)
	wants(t, "401", a, 302)
	u, err := url.Parse(value(a.Client, "Location"))
	if err != nil || u.Host != "login.example.com" || u.Query().Get("a") != "b" || u.Query().Get("back") != "https://shop.example.com"+q.Target {
		t.Errorf("Location %q, %v", value(a.Client, "Location"), err)
	}
	if value(a.Client, "Set-Cookie") != "state=1" || value(a.Client, "Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.Client)
	}
	s.set(status(403))
	wants(t, "403", e.Decide(t.Context(), q), 403)
}

// TestCache: answers are kept by credential, never without one, and never for another
// client, method or policy.
func TestCache(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	s := newAuthServer(t, status(200))
	cached := func(x *snapshot.External) {
		x.Cache = snapshot.Cache{TTL: time.Minute, Negative: 5 * time.Second, Key: []string{"Authorization", "Cookie:s"}}
	}
	use(t, e, 1, externalPolicy("p", s.URL, cached), externalPolicy("q", s.URL+"/q", cached))
	count := 0
	step := func(name, policy, method string, asked bool, headers ...string) {
		t.Helper()
		q := ask(t, policy, headers...)
		q.Method = method
		e.Decide(t.Context(), q)
		if asked {
			count++
		}
		if s.count() != count {
			t.Errorf("%s: asked %d times, want %d", name, s.count(), count)
			count = s.count()
		}
	}
	step("first", "p", "GET", true, "Authorization: a")
	step("again", "p", "GET", false, "Authorization: a")
	step("HEAD is safe, too", "p", "HEAD", false, "Authorization: a")
	step("POST is another question", "p", "POST", true, "Authorization: a")
	step("POST again", "p", "POST", false, "Authorization: a")
	step("another policy", "q", "GET", true, "Authorization: a")
	step("another token", "p", "GET", true, "Authorization: b")
	step("as a cookie", "p", "GET", true, "Cookie: s=a")
	step("the cookie again, with others", "p", "GET", false, "Cookie: x=y; s=a")
	step("both", "p", "GET", true, "Authorization: a", "Cookie: s=a")
	step("no credential", "p", "GET", true, "Cookie: x=y")
	step("no credential again", "p", "GET", true, "Cookie: x=y")
	step("an empty credential", "p", "GET", true, "Authorization: ")
	step("an empty credential again", "p", "GET", true, "Authorization: ")
	step("two cookies of a name", "p", "GET", true, "Cookie: s=a; s=b")
	step("two cookies again", "p", "GET", true, "Cookie: s=a; s=b")
	wants(t, "two values", e.Decide(t.Context(), ask(t, "p", "Authorization: a", "authorization: b")), 400)
	c.add(61 * time.Second)
	step("later", "p", "GET", true, "Authorization: a")

	s.set(status(401))
	step("refused", "p", "GET", true, "Authorization: bad")
	step("refused again", "p", "GET", false, "Authorization: bad")
	c.add(6 * time.Second)
	step("refused, later", "p", "GET", true, "Authorization: bad")
	s.set(status(500))
	step("sick", "p", "GET", true, "Authorization: sick")
	step("sick again", "p", "GET", true, "Authorization: sick")
	s.set(status(200, "Cache-Control: private, no-store"))
	step("no-store", "p", "GET", true, "Authorization: store")
	step("no-store again", "p", "GET", true, "Authorization: store")
	s.set(status(200, "Set-Cookie: a=b"))
	step("with a cookie", "p", "GET", true, "Authorization: cookie")
	step("with a cookie again", "p", "GET", true, "Authorization: cookie")
	use(t, e, 2, externalPolicy("p", s.URL+"/new", cached))
	step("changed policy", "p", "GET", true, "Authorization: a")
}

// TestSingleFlight: equal questions at the same time are one, and a client that goes away
// does not end it for others.
func TestSingleFlight(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	hold := make(chan struct{})
	s := newAuthServer(t, func(w http.ResponseWriter, _ *http.Request) { <-hold; w.WriteHeader(200) })
	use(t, e, 1, externalPolicy("p", s.URL, func(x *snapshot.External) {
		x.Cache, x.Timeout = snapshot.Cache{TTL: time.Minute, Key: []string{"Authorization"}}, 5*time.Second
	}))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { wants(t, "waiting", e.Decide(t.Context(), ask(t, "p", "Authorization: a")), 200) })
	}
	until(t, func() bool { return s.count() > 0 })
	close(hold)
	all.Wait()
	if s.count() != 1 {
		t.Errorf("asked %d times", s.count())
	}
}

// TestSlow: a server that hangs closes within its policy's time, and one namespace takes
// at most a quarter of the slots.
func TestSlow(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, func(o *Options) { o.Slots = 8 })
	hold := make(chan struct{})
	slow := newAuthServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	fast := newAuthServer(t, status(200))
	t.Cleanup(func() { close(hold) })
	p := externalPolicy("fast", fast.URL)
	p.Namespace = "other"
	use(t, e, 1, externalPolicy("slow", slow.URL, func(x *snapshot.External) { x.Timeout = 2 * time.Second }), p,
		externalPolicy("short", slow.URL, func(x *snapshot.External) { x.Timeout = 50 * time.Millisecond }))
	wants(t, "short", e.Decide(t.Context(), ask(t, "short")), 503)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { wants(t, "slow", e.Decide(t.Context(), ask(t, "slow")), 503) })
	}
	until(t, func() bool {
		e.slots.mu.Lock()
		defer e.slots.mu.Unlock()
		return e.slots.used["demo"] == 2
	})
	began := time.Now()
	a := e.Decide(t.Context(), ask(t, "slow"))
	wants(t, "above the share", a, 503)
	if time.Since(began) > time.Second || value(a.Client, "Retry-After") != "1" {
		t.Errorf("refused after %v with %v", time.Since(began), a.Client)
	}
	wants(t, "another namespace", e.Decide(t.Context(), ask(t, "fast")), 200)
	all.Wait()
}

// TestTargets: no address of the router's own world is connected to, by name, by literal,
// by redirect or by a Service's endpoints.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := newAuthServer(t, status(200))
	e, _ := newEngine(t, func(o *Options) { o.Special = nil })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	at := netip.MustParseAddrPort(strings.TrimPrefix(s.URL, "http://"))
	use(t, e, 1, externalPolicy("literal", s.URL), externalPolicy("name", "http://localhost:"+port),
		externalPolicy("mapped", "http://[::ffff:127.0.0.1]:"+port),
		externalPolicy("endpoint", "http://auth.demo.svc/", func(x *snapshot.External) { x.Endpoints = []netip.AddrPort{at} }))
	for _, p := range []string{"literal", "name", "mapped", "endpoint"} {
		wants(t, p, e.Decide(t.Context(), ask(t, p)), 503)
	}
	if s.count() > 0 {
		t.Errorf("asked %d times", s.count())
	}
	open, _ := newEngine(t)
	use(t, open, 1, externalPolicy("endpoint", "http://auth.demo.svc/", func(x *snapshot.External) { x.Endpoints = []netip.AddrPort{at} }))
	wants(t, "endpoint", open.Decide(t.Context(), ask(t, "endpoint")), 200)
	if s.last.Host != "auth.demo.svc" {
		t.Errorf("Host %q", s.last.Host)
	}
	closed := open.Swap(&snapshot.Snapshot{
		Generation: 2, Forbidden: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Policies: []snapshot.Policy{externalPolicy("new", s.URL, func(x *snapshot.External) { x.CA = "" })},
	})
	if a := open.Decide(t.Context(), ask(t, "new")); len(closed) > 0 || a.Status != 503 || !strings.Contains(a.Reason, causeForbidden) {
		t.Errorf("forbidden network: %d, %s", a.Status, a.Reason)
	}
	open.Swap(&snapshot.Snapshot{Generation: 3, ByEndpoints: true, Policies: []snapshot.Policy{
		externalPolicy("new", s.URL), externalPolicy("endpoint", "http://auth.demo.svc/", func(x *snapshot.External) { x.Endpoints = []netip.AddrPort{at} }),
	}})
	if a := open.Decide(t.Context(), ask(t, "new")); a.Status != 503 || !strings.Contains(a.Reason, causeNoNodes) {
		t.Errorf("not all forbidden networks are known: %d, %s", a.Status, a.Reason)
	}
	wants(t, "endpoint, networks not known", open.Decide(t.Context(), ask(t, "endpoint")), 200)
	for _, a := range []string{"127.0.0.1", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::7f00:1", "255.255.255.255", "0.1.2.3"} {
		if !Special(netip.MustParseAddr(a)) {
			t.Errorf("%s is allowed", a)
		}
	}
	for _, a := range []string{"10.0.0.1", "192.0.2.1", "fd00::1", "2001:db8::1"} {
		if Special(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
}
