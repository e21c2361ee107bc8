package agent

import (
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/openid"
)

// loginBed is an engine with one login, its provider, and browsers.
type loginBed struct {
	t        testing.TB
	e        *Engine
	c        *clock
	op       *openid.Provider
	policies []snapshot.Policy
}

func loginPolicy(op *openid.Provider, id string, change ...func(*snapshot.OIDC)) snapshot.Policy {
	o := &snapshot.OIDC{
		Issuer: op.Issuer, ClientID: openid.ClientID, ClientSecret: openid.ClientSecret, RedirectPath: "/oauth2/callback", LogoutPath: "/oauth2/logout",
		CA: op.CA(), Refresh: true, Cookie: snapshot.Cookie{MaxAge: 8 * time.Hour, Idle: time.Hour},
		Claims: []snapshot.ClaimHeader{{Claim: "sub", Header: "X-User"}, {Claim: "groups", Header: "X-Groups"}},
	}
	for _, f := range change {
		f(o)
	}
	return snapshot.Policy{ID: id, Namespace: "demo", OIDC: o}
}

func sessionKey(b byte, made time.Time) snapshot.SessionKey {
	return snapshot.SessionKey{Made: made.Unix(), Secret: slices.Repeat([]byte{b}, session.KeySize)}
}

func newLoginBed(t testing.TB, change ...func(*snapshot.OIDC)) *loginBed {
	t.Helper()
	e, c := newEngine(t)
	b := &loginBed{t: t, e: e, c: c, op: openid.New(t)}
	b.op.Set(func(o *openid.Options) { o.Now = c.now })
	b.use(1, []snapshot.SessionKey{sessionKey(1, c.now().Add(-time.Hour))}, loginPolicy(b.op, "p", change...))
	return b
}

func (b *loginBed) use(generation uint64, keys []snapshot.SessionKey, policies ...snapshot.Policy) map[string]error {
	b.t.Helper()
	b.policies = policies
	whole, err := snapshot.Encode(&snapshot.Snapshot{Generation: generation, Sessions: keys, Policies: policies})
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := snapshot.Decode(whole)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.e.Swap(s)
}

// browser keeps cookies of one host, as a browser does.
type browser struct {
	b    *loginBed
	host string
	jar  map[string]string
}

func (b *loginBed) browser() *browser {
	return &browser{b, "shop.example.com", map[string]string{"theme": "dark"}}
}

// do makes a request and keeps the cookies of its answer.
func (w *browser) do(method, target string, headers ...string) Answer {
	w.b.t.Helper()
	var all []string
	for name, v := range w.jar {
		all = append(all, name+"="+v)
	}
	slices.Sort(all)
	q := ask(w.b.t, w.b.policies[0].ID, append([]string{"Cookie: " + strings.Join(all, "; ")}, headers...)...)
	q.Method, q.Target, q.Host = method, target, w.host
	a := w.b.e.Decide(w.b.t.Context(), q)
	for _, h := range a.Client {
		if h.Name != "Set-Cookie" {
			continue
		}
		pair, attributes, _ := strings.Cut(h.Value, "; ")
		name, v, _ := strings.Cut(pair, "=")
		if !strings.Contains(attributes, "Secure; HttpOnly; SameSite=") || !strings.HasPrefix(attributes, "Path=/; ") {
			w.b.t.Errorf("a cookie with %q", attributes)
		}
		if strings.Contains(attributes, "Max-Age=0;") {
			delete(w.jar, name)
		} else {
			w.jar[name] = v
		}
	}
	return a
}

const page = "Accept: text/html"

// atProvider follows a redirect to the provider, and returns where that leads back to.
func (w *browser) atProvider(a Answer) string {
	w.b.t.Helper()
	if a.Status != 302 && a.Status != 303 {
		w.b.t.Fatalf("status %d (%s) instead of a login", a.Status, a.Reason)
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.b.op.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}},
		CheckRedirect: noRedirects,
	}
	r, err := client.Get(value(a.Client, "Location"))
	if err != nil {
		w.b.t.Fatal(err)
	}
	defer r.Body.Close()
	u, err := r.Location()
	if err != nil || u.Host != w.host || r.StatusCode != 302 {
		w.b.t.Fatalf("the provider answers %d, back to %v (%v)", r.StatusCode, u, err)
	}
	return u.RequestURI()
}

// login opens a page and logs in.
func (w *browser) login(target string) Answer {
	w.b.t.Helper()
	return w.do("GET", w.atProvider(w.do("GET", target, page)))
}

func (w *browser) wants(what string, a Answer, status int) {
	w.b.t.Helper()
	wants(w.b.t, what, a, status)
}

// TestLogin: a deep link leads through the provider back to itself; then the pod gets who
// the user is, and none of the session's cookies.
func TestLogin(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	begun := w.do("GET", "/a/deep?link=1&x=%2F", page)
	u, err := url.Parse(value(begun.Client, "Location"))
	if err != nil || u.Query().Get("code_challenge_method") != "S256" || u.Query().Get("redirect_uri") != "https://shop.example.com/oauth2/callback" {
		t.Fatalf("the login goes to %v", u)
	}
	back := w.do("GET", w.atProvider(begun))
	if w.wants("back", back, 302); value(back.Client, "Location") != "https://shop.example.com/a/deep?link=1&x=%2F" {
		t.Errorf("it leads to %q", value(back.Client, "Location"))
	}
	if len(w.jar) != 2 {
		t.Errorf("cookies: %v", w.jar)
	}
	in := w.do("GET", "/a/deep", page, "X-User: root", "x_user: root")
	if w.wants("in", in, 200); value(in.Set, "X-User") != "alice" || value(in.Set, "X-Groups") != "staff,users" || value(in.Set, "Cookie") != "theme=dark" || in.Consumer != "alice" {
		t.Errorf("the pod gets %v", in.Set)
	}
	if !slices.Contains(in.Del, "x_user") || !slices.Contains(in.Del, "X-User") {
		t.Errorf("deleted: %v", in.Del)
	}
	if in.TTL != 0 {
		t.Error("HAProxy is told to keep the verdict, and would let session cookies on to the pod")
	}
	w.wants("a script", b.browser().do("GET", "/", "Accept: application/json"), 401)
	w.wants("fetch", b.browser().do("GET", "/", page, "Sec-Fetch-Mode: cors"), 401)
	w.wants("a navigation", b.browser().do("GET", "/", "Sec-Fetch-Mode: navigate"), 302)
	w.wants("a form", b.browser().do("POST", "/order?x", page), 303)
	delete(w.jar, "theme")
	if in = w.do("GET", "/", page); !slices.Contains(in.Del, "cookie") || value(in.Set, "Cookie") != "" {
		t.Errorf("the pod gets cookies: %v %v", in.Del, in.Set)
	}
}

// TestTabs: five logins run beside each other, and the sixth ends the oldest one.
func TestTabs(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	var tabs []string
	for i := range 6 {
		tabs = append(tabs, w.atProvider(w.do("GET", "/tab"+string(rune('0'+i)), page)))
		b.c.add(time.Second)
	}
	if len(w.jar) != 6 {
		t.Errorf("%d cookies", len(w.jar))
	}
	w.wants("the oldest tab", w.do("GET", tabs[0]), 400)
	for i := 5; i > 0; i-- {
		a := w.do("GET", tabs[i])
		if w.wants("a tab", a, 302); value(a.Client, "Location") != "https://shop.example.com/tab"+string(rune('0'+i)) {
			t.Errorf("tab %d leads to %q", i, value(a.Client, "Location"))
		}
	}
	w.wants("the same code again", w.do("GET", tabs[5]), 400)
}

// TestBadCallbacks: whatever does not belong to a login that this browser began is refused.
func TestBadCallbacks(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	for _, tt := range []struct {
		name   string
		change func(w *browser, q url.Values)
		want   int
	}{
		{"without its cookie", func(w *browser, _ url.Values) { clear(w.jar) }, 400},
		{"of another browser", func(w *browser, _ url.Values) {
			other := b.browser()
			other.atProvider(other.do("GET", "/", page))
			w.jar = other.jar
		}, 400},
		{"another state", func(_ *browser, q url.Values) { q.Set("state", q.Get("state")+"x") }, 400},
		{"no state", func(_ *browser, q url.Values) { q.Del("state") }, 400},
		{"another issuer", func(_ *browser, q url.Values) { q.Set("iss", "https://evil.example.com") }, 400},
		{"no issuer though the provider says it", func(_ *browser, q url.Values) { q.Del("iss") }, 400},
		{"two codes", func(_ *browser, q url.Values) { q.Add("code", "x") }, 400},
		{"no code", func(_ *browser, q url.Values) { q.Del("code") }, 400},
		{"refused by the user", func(_ *browser, q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, 403},
		{"an error", func(_ *browser, q url.Values) { q.Del("code"); q.Set("error", "server_error\r\n") }, 400},
		{"too late", func(*browser, url.Values) { b.c.add(attemptLife) }, 400},
		{"a forged cookie", func(w *browser, _ url.Values) {
			for name := range w.jar {
				if strings.Contains(name, "-l-") {
					w.jar[name] = "A" + w.jar[name]
				}
			}
		}, 400},
	} {
		w := b.browser()
		u, err := url.Parse(w.atProvider(w.do("GET", "/", page)))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		tt.change(w, q)
		wants(t, tt.name, w.do("GET", u.Path+"?"+q.Encode()), tt.want)
		if tt.name != "of another browser" {
			wants(t, tt.name+", then", w.do("GET", "/", "Accept: x/y"), 401)
		}
	}
	w := b.browser()
	wants(t, "by POST", w.do("POST", w.atProvider(w.do("GET", "/", page))), 400)
}

// TestBadTokens: an ID token that is not exactly of this login makes no session.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	with := func(name string, v any) func(map[string]any) {
		return func(c map[string]any) {
			if v == nil {
				delete(c, name)
			} else {
				c[name] = v
			}
		}
	}
	now := b.c.now()
	for _, tt := range []struct {
		name   string
		change func(map[string]any)
		want   int
	}{
		{"as it is", func(map[string]any) {}, 302},
		{"another issuer", with("iss", "https://evil.example.com"), 400},
		{"another audience", with("aud", "other"), 400},
		{"no audience", with("aud", nil), 400},
		{"several audiences without party", with("aud", []string{"other", openid.ClientID}), 400},
		{"several audiences", func(c map[string]any) { c["aud"], c["azp"] = []string{"other", openid.ClientID}, openid.ClientID }, 302},
		{"another party", with("azp", "other"), 400},
		{"expired", with("exp", now.Add(-time.Minute).Unix()), 400},
		{"no end", with("exp", nil), 400},
		{"issued in the future", with("iat", now.Add(time.Minute).Unix()), 400},
		{"a clock 30 s ahead", with("iat", now.Add(29*time.Second).Unix()), 302},
		{"expired for a clock 30 s behind", with("exp", now.Add(-29*time.Second).Unix()), 302},
		{"never issued", with("iat", nil), 400},
		{"another nonce", with("nonce", strings.Repeat("x", 43)), 400},
		{"no nonce", with("nonce", nil), 400},
		{"another access token", with("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), 400},
		{"no subject", with("sub", nil), 400},
		{"empty subject", with("sub", ""), 400},
	} {
		b.op.Set(func(o *openid.Options) { o.Claims = tt.change })
		wants(t, tt.name, b.browser().login("/"), tt.want)
	}
	b.op.Set(func(o *openid.Options) { o.Claims, o.Answer = nil, with("id_token", "a.b.c") })
	wants(t, "no token", b.browser().login("/"), 400)
	b.op.Set(func(o *openid.Options) {
		o.Answer = func(m map[string]any) {
			_, rest, _ := strings.Cut(m["id_token"].(string), ".")
			payload, _, _ := strings.Cut(rest, ".")
			m["id_token"] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + payload + "."
		}
	})
	wants(t, "an unsigned token", b.browser().login("/"), 400)
}

// TestStolen: the cookies of a session are worth nothing for another host, another policy,
// as another cookie, or in another order.
func TestStolen(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	w.login("/")
	w.wants("in", w.do("GET", "/"), 200)
	thief := b.browser()
	thief.host, thief.jar = "other.example.com", w.jar
	w.wants("at another host", thief.do("GET", "/"), 401)
	other := loginPolicy(b.op, "other", func(o *snapshot.OIDC) { o.Audiences = []string{"x"} })
	keys := []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}
	b.use(2, keys, other)
	jar := map[string]string{}
	for name, v := range w.jar {
		jar[strings.Replace(name, b.e.world.Load().policies["other"].login.name, "", 1)] = v
		if ours(name) {
			jar[b.e.world.Load().policies["other"].login.name] = v
		}
	}
	thief = b.browser()
	thief.jar = jar
	w.wants("of another policy", thief.do("GET", "/"), 401)
	same := loginPolicy(b.op, "same", func(o *snapshot.OIDC) {
		o.RedirectPath, o.LogoutPath, o.ClientSecret = "/admin/oauth2/callback", "/admin/oauth2/logout", "a new one"
	})
	b.use(3, keys, same)
	w.wants("of another route with the same policy", w.do("GET", "/admin"), 200)
	b.use(4, keys, func() snapshot.Policy { p := loginPolicy(b.op, "ns"); p.Namespace = "evil"; return p }())
	w.wants("of another namespace", w.do("GET", "/"), 401)
	b.use(5, []snapshot.SessionKey{sessionKey(2, b.c.now())}, loginPolicy(b.op, "p"))
	w.wants("with other keys", w.do("GET", "/"), 401)
	if closed := b.use(6, nil, loginPolicy(b.op, "p")); closed["p"] == nil {
		t.Error("a policy without keys is not reported")
	}
	w.wants("without keys", w.do("GET", "/"), 503)
	w.wants("a login without keys", b.browser().do("GET", "/", page), 503)
}
