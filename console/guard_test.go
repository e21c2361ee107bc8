package console

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestLogin: a link lets one browser in, once and not for long, and everything else is
// closed without it.
func TestLogin(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), false)
	link := <-b.links
	if !strings.HasPrefix(link, b.root+b.base+"login?t=") || len(b.base) < 24 || len(link) < len(b.root+b.base)+50 {
		t.Fatalf("link %s, base %s", link, b.base)
	}
	closed := func(why, address string, want int) {
		t.Helper()
		if code, _, body := b.get(address); code != want || strings.Contains(body, "shop") {
			t.Errorf("%s: %s: code %d, want %d: %s", why, address, code, want, body)
		}
	}
	closed("without login", "routes", http.StatusUnauthorized)
	closed("without login", "static/"+b.server.pages.look.names["console.js"], http.StatusUnauthorized)
	closed("without login", "state", http.StatusUnauthorized)
	closed("without the path", b.root+"/", http.StatusNotFound)
	closed("with another path", b.root+"/c/"+strings.Repeat("A", 22)+"/routes", http.StatusNotFound)
	closed("with a wrong token", "login?t="+strings.Repeat("A", 43), http.StatusUnauthorized)
	closed("without token", "login", http.StatusUnauthorized)
	// A program that looks at links before the browser does uses nothing up.
	if code, _, _ := b.do(b.request(http.MethodHead, link)); code != http.StatusOK {
		t.Errorf("HEAD: %d", code)
	}
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	code, header, _ := b.get(link)
	cookie := header.Get("Set-Cookie")
	if code != http.StatusSeeOther || header.Get("Location") != b.base ||
		!strings.Contains(cookie, "; Path="+b.base) || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "Domain") {
		t.Errorf("login: code %d, to %s, cookie %s", code, header.Get("Location"), cookie)
	}
	b.client.CheckRedirect = nil
	if code, _, body := b.get("routes"); code != http.StatusOK || !strings.Contains(body, "shop") {
		t.Errorf("after the login: %d", code)
	}
	if code, _, _ := b.get(link); code != http.StatusOK {
		t.Errorf("the link in the browser that has used it: %d", code)
	}
	b.client = newBrowser(t)
	closed("in another browser, the used link", link, http.StatusUnauthorized)
}

// TestLinkTooOld: after 2 minutes a link is worth nothing, and who asks with it brings a
// new one to the terminal, not too often.
func TestLinkTooOld(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), false)
	link := <-b.links
	b.now.Add(int64(tokenLife/time.Second) + 1)
	for range 5 {
		if code, _, _ := b.get(link); code != http.StatusUnauthorized {
			t.Errorf("an old link: %d", code)
		}
	}
	if len(b.links) != 1 {
		t.Fatalf("%d new links", len(b.links))
	}
	next := <-b.links
	if code, _, _ := b.get(next); next == link || code != http.StatusOK {
		t.Errorf("the new link: %d", code)
	}
}

// TestSessionsBounded: the oldest browser is logged out by too many others.
func TestSessionsBounded(t *testing.T) {
	t.Parallel()
	l := &login{now: time.Now, announce: nil}
	var sessions []string
	for range sessionsKept + 1 {
		l.renew(0)
		s, ok := l.enter(l.token)
		if !ok {
			t.Fatal("a new token lets no browser in")
		}
		sessions = append(sessions, s)
	}
	known := func(s string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: "other", Value: sessions[1]})
		r.AddCookie(&http.Cookie{Name: cookieName, Value: s})
		return l.known(r)
	}
	if known(sessions[0]) || known("") || !known(sessions[1]) || !known(sessions[sessionsKept]) {
		t.Error("not exactly the newest sessions are known")
	}
	if _, ok := l.enter(""); ok {
		t.Error("no token lets a browser in after the last one was used")
	}
}

// TestForeignRequests: what another page or program could make a browser send is refused,
// although the browser has logged in.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	port := b.root[strings.LastIndexByte(b.root, ':'):]
	for _, test := range []struct {
		name, method, host string
		header             http.Header
		code               int
	}{
		{name: "its own", code: http.StatusOK},
		{name: "localhost", host: "localhost" + port, code: http.StatusOK},
		{name: "IPv6", host: "[::1]" + port, code: http.StatusOK},
		{name: "HEAD", method: http.MethodHead, code: http.StatusOK},
		{name: "a link within the console", header: http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {b.root}}, code: http.StatusOK},
		{name: "an address that was typed", header: http.Header{"Sec-Fetch-Site": {"none"}}, code: http.StatusOK},
		{name: "DNS rebinding", host: "evil.example.com" + port, code: http.StatusMisdirectedRequest},
		{name: "DNS rebinding, other port", host: "127.0.0.1:1", code: http.StatusMisdirectedRequest},
		{name: "no port", host: "127.0.0.1", code: http.StatusMisdirectedRequest},
		{name: "another spelling", host: "LOCALHOST" + port, code: http.StatusMisdirectedRequest},
		{name: "a dot", host: "localhost." + port, code: http.StatusMisdirectedRequest},
		{name: "another address of loopback", host: "127.0.0.2" + port, code: http.StatusMisdirectedRequest},
		{name: "another site", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, code: http.StatusForbidden},
		{name: "another port of this machine", header: http.Header{"Sec-Fetch-Site": {"same-site"}}, code: http.StatusForbidden},
		{name: "one header of two", header: http.Header{"Sec-Fetch-Site": {"none", "cross-site"}}, code: http.StatusForbidden},
		{name: "another origin", header: http.Header{"Origin": {"http://evil.example.com"}}, code: http.StatusForbidden},
		{name: "the origin of another port", header: http.Header{"Origin": {"http://127.0.0.1:1"}}, code: http.StatusForbidden},
		{name: "no origin", header: http.Header{"Origin": {"null"}}, code: http.StatusForbidden},
		{name: "two origins", header: http.Header{"Origin": {b.root, "null"}}, code: http.StatusForbidden},
		{name: "the origin of the other name", host: "localhost" + port, header: http.Header{"Origin": {b.root}}, code: http.StatusForbidden},
		{name: "POST", method: http.MethodPost, code: http.StatusMethodNotAllowed},
		{name: "DELETE", method: http.MethodDelete, code: http.StatusMethodNotAllowed},
		{name: "OPTIONS", method: http.MethodOptions, header: http.Header{"Origin": {"null"}}, code: http.StatusForbidden},
	} {
		method := test.method
		if method == "" {
			method = http.MethodGet
		}
		r := b.request(method, b.root+b.base+"routes")
		if test.host != "" {
			r.Host = test.host
			for _, c := range b.client.Jar.Cookies(b.request(http.MethodGet, b.root+b.base).URL) {
				r.AddCookie(c) // the jar goes by the name
			}
		}
		maps.Copy(r.Header, test.header)
		code, header, body := b.do(r)
		if code != test.code || code != http.StatusOK && strings.Contains(body, "shop") {
			t.Errorf("%s: code %d, want %d", test.name, code, test.code)
		}
		headers(t, test.name, header)
	}
}

// headers checks those that every answer has.
func headers(t *testing.T, of string, h http.Header) {
	t.Helper()
	for name, part := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; ", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"X-Frame-Options": "DENY", "Permissions-Policy": "camera=()", "Cache-Control": "no-store",
	} {
		if !strings.Contains(h.Get(name), part) {
			t.Errorf("%s: %s: %q", of, name, h.Get(name))
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s lets other pages read the answer", of, name)
		}
	}
}

// FuzzGuard: whatever a browser says, no other Host, Origin or site gets an answer with
// content, and nothing without the cookie does.
func FuzzGuard(f *testing.F) {
	for _, host := range []string{"127.0.0.1:80", "localhost:80", "[::1]:80", "evil:80", "127.0.0.1:80\x00", "127.0.0.1:80.evil", "", "localhost:80\n", "\t127.0.0.1:80", "127.0.0.1:80\r\f"} {
		f.Add(host, "", "none", "/c/K/routes", "S")
		f.Add(host, "http://"+host, "same-origin", "/c/K/", "S")
	}
	f.Add("127.0.0.1:80", "null", "cross-site", "/c/K/../K/routes", "S")
	f.Add("127.0.0.1:80", "http://127.0.0.1:80@evil", "", "//c/K/routes", "")
	f.Add("127.0.0.1:80", "", "", "/c/k/routes", "s")
	f.Fuzz(func(t *testing.T, host, origin, site, path, cookie string) {
		answered := false
		g := &guard{hosts: ownHosts("80"), base: "/c/K/", login: &login{now: time.Now, sessions: []string{"S"}}, pages: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered = true })}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.URL.Path = host, path
		r.Header["Sec-Fetch-Site"], r.Header["Origin"] = []string{site}, []string{origin}
		r.Header["Cookie"] = []string{cookieName + "=" + cookie}
		g.ServeHTTP(httptest.NewRecorder(), r)
		own := host == "127.0.0.1:80" || host == "localhost:80" || host == "[::1]:80"
		known := strings.Trim(cookie, " \t\"") == "S" || strings.Contains(cookie, ";") // another cookie may follow
		if answered && (!own || origin != "http://"+host || site != "none" && site != "same-origin" || !strings.HasPrefix(path, "/c/K/") || !known) {
			t.Errorf("host %q, origin %q, site %q, path %q, cookie %q got an answer", host, origin, site, path, cookie)
		}
	})
}
