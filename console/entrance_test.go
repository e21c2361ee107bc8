package console

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/explain"
)

// TestEntrance: a token lets in, its end and a log-out let nothing in any more, and the cookie
// is for this host and for the console's own pages only.
func TestEntrance(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, explain.NewObjects())
	once := *b.client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]int{"": 303, "routes": 303, "state": 401, "live": 401, "login": 200, "healthz": 200, "routes.csv": 303, "logout": 303, "static/" + b.entrance.pages.look.names["console.css"]: 200, "static/x": 404} {
		answer, err := once.Do(b.request(http.MethodGet, b.root+"/"+path))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want || want == 303 && answer.Header.Get("Location") != "/login" {
			t.Errorf("%s without a session: %d %s", path, answer.StatusCode, answer.Header.Get("Location"))
		}
	}
	for _, token := range []string{"", "unknown", "a b", strings.Repeat("x", tokenBytes+1)} {
		if code, body := b.another().login(token); code != http.StatusUnauthorized || !strings.Contains(body, "You are not logged in") || token != "" && strings.Contains(body, token) {
			t.Errorf("token %.20q: %d", token, code)
		}
		b.now.Add(60)
	}
	answer, err := once.Do(b.post("login", url.Values{"token": {"admin-token"}}))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	cookie := answer.Header.Get("Set-Cookie")
	for _, part := range []string{"__Host-", "; Path=/;", "; Max-Age=28800", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %s has no %s", cookie, part)
		}
	}
	if strings.Contains(cookie, "Domain") || strings.Contains(cookie, "admin-token") || answer.StatusCode != 303 || answer.Header.Get("Location") != "/" {
		t.Errorf("log-in: %d %v", answer.StatusCode, answer.Header)
	}
	if code, _, body := b.get("routes"); code != 200 || !strings.Contains(body, "Log out") || !strings.Contains(body, ">admin<") {
		t.Errorf("after the log-in: %d", code)
	}
	if code, _, _ := b.do(b.request(http.MethodPost, b.root+"/routes")); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
	stolen := b.another() // the cookie of a session that has ended is of no use
	at, _ := url.Parse(b.root)
	stolen.client.Jar.SetCookies(at, b.client.Jar.Cookies(at))
	if code, _, body := stolen.get("state"); code != 200 {
		t.Errorf("with the cookie: %d %s", code, body)
	}
	if code, _, body := b.do(b.post("logout", nil)); code != 200 || !strings.Contains(body, `id="token"`) {
		t.Errorf("log-out: %d", code)
	}
	for _, who := range []*tenantsBed{b, stolen} {
		if code, _, _ := who.get("state"); code != http.StatusUnauthorized {
			t.Errorf("after the log-out: %d", code)
		}
	}
}

// TestForeignForms: pages of other sites can neither log in nor out, and links lead to the form.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, explain.NewObjects())
	for _, path := range []string{"login", "logout"} {
		for name, edit := range map[string]func(http.Header){
			"another origin": func(h http.Header) { h.Set("Origin", "https://evil.test") },
			"plain HTTP":     func(h http.Header) { h.Set("Origin", strings.Replace(b.root, "https", "http", 1)) },
			"null":           func(h http.Header) { h.Set("Origin", "null") },
			"none":           func(h http.Header) { h.Del("Origin") },
			"two":            func(h http.Header) { h.Add("Origin", "https://evil.test") },
			"another site":   func(h http.Header) { h.Set("Sec-Fetch-Site", "cross-site"); h.Set("Sec-Fetch-Mode", "navigate") },
			"the same site":  func(h http.Header) { h.Set("Sec-Fetch-Site", "same-site") },
		} {
			r := b.post(path, url.Values{"token": {"admin-token"}})
			edit(r.Header)
			if code, header, _ := b.do(r); code != http.StatusForbidden || header.Get("Set-Cookie") != "" {
				t.Errorf("%s, %s: %d %s", path, name, code, header.Get("Set-Cookie"))
			}
		}
	}
	if b.rights.seen != 0 {
		t.Errorf("%d tokens were reviewed", b.rights.seen)
	}
	link := b.request(http.MethodGet, b.root+"/routes")
	link.Header.Set("Sec-Fetch-Site", "cross-site")
	link.Header.Set("Sec-Fetch-Mode", "navigate")
	if code, _, body := b.do(link); code != 200 || !strings.Contains(body, `id="token"`) {
		t.Errorf("a link of another site: %d", code)
	}
	link.Header.Set("Sec-Fetch-Mode", "no-cors")
	if code, _, _ := b.do(link); code != http.StatusForbidden {
		t.Errorf("a picture of another site: %d", code)
	}
}

// TestAttempts: an address has five log-ins a minute, and all of them a bound; the table of
// addresses has one, too.
func TestAttempts(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, explain.NewObjects())
	for i := range 7 {
		want := http.StatusUnauthorized
		if i >= attemptsEach {
			want = http.StatusTooManyRequests
		}
		if code, _ := b.login("unknown"); code != want {
			t.Errorf("log-in %d: %d", i, code)
		}
	}
	if b.rights.seen != attemptsEach {
		t.Errorf("%d tokens were reviewed", b.rights.seen)
	}
	b.now.Add(61)
	if code, _ := b.login("admin-token"); code != http.StatusOK {
		t.Errorf("a minute later: %d", code)
	}
	now := testNow
	a := &attempts{now: func() time.Time { return now }, from: map[netip.Prefix][]time.Time{}}
	for i := range 3 * addressesKept {
		if i%(attemptsAll-1) == 0 {
			now = now.Add(attemptsTime + time.Second)
		}
		if !a.take(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)) {
			t.Fatalf("address %d is refused", i)
		}
	}
	if len(a.from) > addressesKept+1 || len(a.all) > attemptsAll {
		t.Errorf("%d addresses, %d times", len(a.from), len(a.all))
	}
	for range attemptsAll {
		a.take(netip.Prefix{})
		now = now.Add(time.Millisecond)
	}
	for remote, want := range map[string]string{"192.0.2.1:4": "192.0.2.1/32", "[::ffff:192.0.2.1]:4": "192.0.2.1/32", "[2001:db8::1]:4": "2001:db8::/64", "x": "invalid Prefix"} {
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {"203.0.113.9", "203.0.113.1, 203.0.113.2"}}}
		if got := clientOf(r, false).String(); got != want {
			t.Errorf("%s: %s", remote, got)
		}
		if got := clientOf(r, true).String(); got != "203.0.113.2/32" {
			t.Errorf("%s behind a router: %s", remote, got)
		}
	}
}

// TestRevoked: within a minute, a token that the API server does not take any more ends the
// session, and so does one that is another user's; while the API server does not answer,
// nothing is shown.
func TestRevoked(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, tenantObjects(""))
	b.login("tenant-token")
	state := func() int { code, _, _ := b.get("state"); return code }
	if code := state(); code != 200 || b.rights.seen != 1 {
		t.Fatalf("%d, %d reviews", code, b.rights.seen)
	}
	b.now.Add(59)
	if code := state(); code != 200 || b.rights.seen != 1 {
		t.Errorf("before the minute: %d, %d reviews", code, b.rights.seen)
	}
	b.now.Add(2)
	if code := state(); code != 200 || b.rights.seen != 2 {
		t.Errorf("after the minute: %d, %d reviews", code, b.rights.seen)
	}
	b.now.Add(61)
	b.rights.change(func() { b.rights.fails = true })
	for _, path := range []string{"routes", "state", "live", "routes.csv"} {
		if code, _, body := b.get(path); code != http.StatusServiceUnavailable || strings.Contains(body, "alpha") || strings.Contains(body, mark) {
			t.Errorf("%s without the API server: %d %s", path, code, body)
		}
	}
	b.rights.change(func() { b.rights.fails = false })
	if code := state(); code != 200 {
		t.Errorf("with the API server: %d", code)
	}
	b.now.Add(61)
	b.rights.change(func() { delete(b.rights.users, "tenant-token") })
	if code := state(); code != http.StatusUnauthorized {
		t.Errorf("with a token that was revoked: %d", code)
	}
	b.rights.change(func() { b.rights.users["tenant-token"] = Identity{Name: "system:serviceaccount:alpha:tenant"} })
	if code := state(); code != http.StatusUnauthorized {
		t.Errorf("a session that has ended: %d", code)
	}
	if code, _ := b.login("tenant-token"); code != 200 {
		t.Fatal(code)
	}
	b.now.Add(61)
	b.rights.change(func() { b.rights.users["tenant-token"] = Identity{Name: "admin"} })
	if code := state(); code != http.StatusUnauthorized {
		t.Errorf("a token that is another user's: %d", code)
	}
}

// TestRights: what a user may see is remembered for 30 seconds, asked about in few questions,
// and nothing is shown without an answer.
func TestRights(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, tenantObjects(""))
	b.login("tenant-token")
	b.says(t, "routes", 200, []string{"alpha/open"}, nil)
	asked := slices.Clone(b.rights.asked)
	if asked[0] != "system:serviceaccount:alpha:tenant " || len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}
	b.get("routes")
	b.get("certs")
	if len(b.rights.asked) != len(asked) {
		t.Errorf("asked again: %q", b.rights.asked)
	}
	b.rights.change(func() { b.rights.sees = map[string][]string{} })
	b.now.Add(31)
	b.says(t, "routes", 200, nil, []string{"alpha/open"})
	b.now.Add(31)
	b.rights.change(func() { b.rights.sees = map[string][]string{"system:serviceaccount:alpha:tenant": {""}} })
	b.says(t, "routes", 200, []string{"beta/"}, nil)
	many := make([]string, 3*reviewsOfUser)
	for i := range many {
		many[i] = fmt.Sprintf("n%05d", i)
	}
	user := Identity{Name: serviceAccounts + "n02999:x"}
	b.rights.change(func() { b.rights.asked, b.rights.sees = nil, map[string][]string{user.Name: {"n02999"}} })
	v, err := b.entrance.pages.sights.of(t.Context(), user, many)
	if err != nil || !v.cut || !v.sees("n02999") || len(b.rights.asked) != reviewsOfUser+1 {
		t.Errorf("%+v, %v, %d questions", v, err, len(b.rights.asked))
	}
}

// TestSessions: there are so many sessions of an owner and of all, and tokens are not to be had
// from the table.
func TestSessions(t *testing.T) {
	t.Parallel()
	now, ended := testNow, 0
	table := &sessions{now: func() time.Time { return now }, full: func(string) { ended++ }, all: map[[32]byte]*session{}}
	far := now.Add(24 * time.Hour)
	first := table.begin(Identity{Name: "a"}, "first-token", far)
	for i := range 3 * sessionsOfOwner {
		now = now.Add(time.Second)
		table.begin(Identity{Name: fmt.Sprintf("%sns:%d", serviceAccounts, i)}, "t", far)
	}
	if table.count(serviceAccounts+"ns") != sessionsOfOwner || ended != 2*sessionsOfOwner {
		t.Errorf("%d sessions of a namespace, %d ended", table.count(serviceAccounts+"ns"), ended)
	}
	if _, _, _, known := table.find(first); !known {
		t.Error("another user's sessions ended this one")
	}
	now = now.Add(reviewEvery)
	if user, token, due, known := table.find(first); !known || !due || token != "first-token" || user.Name != "a" {
		t.Errorf("%v %q %v %v", user, token, due, known)
	}
	for _, s := range table.all {
		if strings.Contains(string(s.sealed), "first-token") {
			t.Error("the table has the token")
		}
	}
	for i := range 2 * sessionsOfAll {
		now = now.Add(time.Millisecond)
		table.begin(Identity{Name: fmt.Sprint("u", i)}, "t", far)
	}
	if len(table.all) != sessionsOfAll {
		t.Errorf("%d sessions", len(table.all))
	}
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, now.Add(time.Minute).Unix()))
	short := table.begin(Identity{Name: "short"}, "x", endOfToken("h."+claims+".s", far))
	long := table.begin(Identity{Name: "long"}, "x", endOfToken("opaque", now.Add(sessionLife)))
	now = now.Add(61 * time.Second)
	if _, _, _, known := table.find(short); known {
		t.Error("a session outlives its token")
	}
	now = now.Add(sessionLife - 62*time.Second)
	if _, _, _, known := table.find(long); !known {
		t.Error("a session ended too early")
	}
	now = now.Add(time.Second)
	if _, _, _, known := table.find(long); known {
		t.Error("a session has no end")
	}
}

// TestBusy: a user has so many streams and requests at the same time, and leaves room for others.
func TestBusy(t *testing.T) {
	t.Parallel()
	b := &busy{requests: map[string]int{}, streams: map[string]int{}}
	var leave []func()
	for i := range streamsOfUser + 1 {
		l, ok := b.enter("a", true)
		if ok != (i < streamsOfUser) {
			t.Errorf("stream %d: %v", i, ok)
		}
		if ok {
			leave = append(leave, l)
		}
	}
	for i := range requestsOfAll + 1 {
		l, ok := b.enter(fmt.Sprint(i/requestsOfUser), false)
		if ok != (i < requestsOfAll) {
			t.Errorf("request %d: %v", i, ok)
		}
		if ok {
			leave = append(leave, l)
		}
	}
	for _, l := range leave {
		l()
	}
	if b.all != 0 || len(b.requests)+len(b.streams) != 0 {
		t.Errorf("left: %+v", b)
	}
}

// TestProxy: headers name a user only over a connection with a certificate of the proxy's CA, and
// only if there is one name.
func TestProxy(t *testing.T) {
	t.Parallel()
	b := newTenantsBed(t, tenantObjects(""))
	b.entrance.options.Proxy = &Proxy{User: "X-Remote-User", Groups: "X-Remote-Group"}
	b.entrance.pages.leaves = false
	b.rights.change(func() { b.rights.sees["ann"] = []string{"alpha"} })
	for name, tt := range map[string]struct {
		users    []string
		verified bool
		code     int
	}{
		"a user":                  {[]string{"ann"}, true, 200},
		"without a certificate":   {[]string{"ann"}, false, 403},
		"two names":               {[]string{"ann", "admin"}, true, 403},
		"no name":                 {nil, true, 403},
		"an empty name":           {[]string{" "}, true, 403},
		"a cookie of the console": {nil, false, 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://console.test/routes", nil)
		r.Header["X-Remote-User"] = tt.users
		r.Header.Set("X-Remote-Group", "a, b")
		r.AddCookie(&http.Cookie{Name: hostCookie, Value: b.entrance.sessions.begin(Identity{Name: "admin"}, "admin-token", testNow.Add(time.Hour))})
		r.TLS = &tls.ConnectionState{}
		if tt.verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{{}}}
		}
		w := httptest.NewRecorder()
		b.entrance.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != tt.code || strings.Contains(body, mark) || tt.code == 200 && (!strings.Contains(body, ">ann<") || !strings.Contains(body, "alpha/<wbr>open") || strings.Contains(body, "Log out")) {
			t.Errorf("%s: %d %.300s", name, w.Code, body)
		}
	}
	user, err := b.entrance.options.Proxy.identity(&http.Request{TLS: &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}, Header: http.Header{"X-Remote-User": {"ann"}, "X-Remote-Group": {"a, b", "c"}}})
	if err != nil || !slices.Equal(user.Groups, []string{"system:authenticated", "a", "b", "c"}) {
		t.Errorf("%+v %v", user, err)
	}
	if code, _ := b.login("admin-token"); code != http.StatusNotFound {
		t.Errorf("log-in: %d", code)
	}
}
