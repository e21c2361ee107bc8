package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/openid"
)

// TestSessionEnds: by its age, by not being used, and by clocks that jump.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t, func(o *snapshot.OIDC) { o.Refresh = false })
	w := b.browser()
	w.login("/")
	old := maps.Clone(w.jar)
	for range 9 { // each of them within the idle time
		b.c.add(50 * time.Minute)
		w.wants("in use", w.do("GET", "/"), 200)
	}
	b.c.add(35 * time.Minute)
	w.wants("after eight hours", w.do("GET", "/"), 401)
	w = b.browser()
	w.login("/")
	b.c.add(time.Hour)
	w.wants("not used for an hour", w.do("GET", "/"), 401)
	w = b.browser()
	w.jar = old
	b.c.add(-20 * time.Hour)
	w.wants("of the future", w.do("GET", "/"), 401)
}

// TestRefresh: a session goes on beyond its tokens, once for all requests with the same
// cookies, and ends when the provider says so.
func TestRefresh(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	w.login("/")
	asked := b.op.Asked("/token")
	old := maps.Clone(w.jar)
	b.c.add(4*time.Minute + 30*time.Second)
	b.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["groups"] = []string{"users"} } })
	if in := w.do("GET", "/"); in.Status != 200 || value(in.Set, "X-Groups") != "users" {
		t.Errorf("renewed: %d %s %v", in.Status, in.Reason, in.Set)
	}
	late := b.browser()
	late.jar = maps.Clone(old)
	w.wants("with the old cookies", late.do("GET", "/"), 200)
	if n := b.op.Asked("/token") - asked; n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	b.c.add(3 * time.Minute)
	w.wants("with the new cookies", w.do("GET", "/"), 200)
	late.jar = maps.Clone(old)
	w.wants("a used refresh token", late.do("GET", "/", "Accept: x/y"), 401)
	w.wants("a used refresh token, a page", late.do("GET", "/", page), 302)

	b.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["sub"] = "mallory" } })
	b.c.add(10 * time.Minute)
	w.wants("another user", w.do("GET", "/", "Accept: x/y"), 401)

	b.op.Set(func(o *openid.Options) { o.Claims = nil })
	w = b.browser()
	w.login("/")
	b.op.Set(func(o *openid.Options) {
		o.Fault = func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(500); return true }
	})
	b.c.add(4*time.Minute + 30*time.Second)
	w.wants("the provider is down, and the tokens are good", w.do("GET", "/"), 200)
	b.c.add(time.Minute)
	w.wants("the provider is down, and the tokens have ended", w.do("GET", "/"), 503)
	b.op.Set(func(o *openid.Options) { o.Fault = nil })
	b.c.add(time.Minute)
	w.wants("the provider is back", w.do("GET", "/"), 200)
}

// TestLogout: it ends the cookies, the refresh token and the provider's session.
func TestLogout(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t, func(o *snapshot.OIDC) { o.PostLogout = "/bye" })
	w := b.browser()
	w.login("/")
	copied := maps.Clone(w.jar)
	a := w.do("GET", "/oauth2/logout")
	u, err := url.Parse(value(a.Client, "Location"))
	if err != nil || a.Status != 302 || u.Path != "/logout" || u.Query().Get("post_logout_redirect_uri") != "https://shop.example.com/bye" || u.Query().Get("id_token_hint") == "" {
		t.Errorf("%d %v", a.Status, u)
	}
	if len(w.jar) != 1 || b.op.Asked("/revoke") != 1 {
		t.Errorf("cookies %v, %d revocations", w.jar, b.op.Asked("/revoke"))
	}
	w.wants("out", w.do("GET", "/"), 401)
	thief := b.browser()
	thief.jar = copied
	b.c.add(6 * time.Minute)
	w.wants("a copy, after its tokens", thief.do("GET", "/"), 401)
	w.wants("without a session", b.browser().do("POST", "/oauth2/logout"), 303)
}

// TestIssuerUnreachable: without its provider a login is refused, and never open.
func TestIssuerUnreachable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*openid.Options){
		"down": func(o *openid.Options) {
			o.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }
		},
		"redirect": func(o *openid.Options) {
			o.Fault = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "https://evil.example.com/", http.StatusFound)
				return true
			}
		},
		"HTML": func(o *openid.Options) {
			o.Fault = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true }
		},
		"huge": func(o *openid.Options) { o.Discovery = func(d map[string]any) { d["x"] = strings.Repeat("x", 70_000) } },
		"another issuer": func(o *openid.Options) {
			o.Discovery = func(d map[string]any) { d["issuer"] = "https://evil.example.com" }
		},
		"plain HTTP": func(o *openid.Options) {
			o.Discovery = func(d map[string]any) { d["token_endpoint"] = "http://evil.example.com/" }
		},
		"a user": func(o *openid.Options) {
			o.Discovery = func(d map[string]any) { d["authorization_endpoint"] = "https://a@evil.example.com/" }
		},
		"no keys": func(o *openid.Options) { o.Discovery = func(d map[string]any) { delete(d, "jwks_uri") } },
		"a line break": func(o *openid.Options) {
			o.Discovery = func(d map[string]any) { d["authorization_endpoint"] = "https://a/\r\nX: y" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, c := newEngine(t)
			b := &loginBed{t: t, e: e, c: c, op: openid.New(t)}
			b.op.Set(change)
			b.use(1, []snapshot.SessionKey{sessionKey(1, c.now())}, loginPolicy(b.op, "p"))
			w := b.browser()
			a := w.do("GET", "/", page)
			if wants(t, name, a, 503); a.Reason != "IssuerUnreachable" || value(a.Client, "Retry-After") != "1" {
				t.Errorf("%s, %v", a.Reason, a.Client)
			}
			b.op.Set(func(o *openid.Options) { o.Fault, o.Discovery = nil, nil })
			c.add(firstPause + time.Second)
			until(t, func() bool { return w.do("GET", "/", page).Status == 302 })
			// What it said is used on while it is away, for a day.
			b.op.Set(func(o *openid.Options) {
				o.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }
			})
			c.add(20 * time.Hour)
			wants(t, "20 hours later", w.do("GET", "/", page), 302)
			c.add(20 * time.Hour)
			wants(t, "40 hours later", w.do("GET", "/", page), 503)
		})
	}
}

// TestLoginRotation: new keys of the provider and of sessions interrupt no user.
func TestLoginRotation(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	w.login("/")
	b.c.add(refetchAfter + time.Second)
	b.op.Rotate(t, "two")
	w.wants("a login with the new key", b.browser().login("/"), 302)
	now := b.c.now()
	b.use(2, []snapshot.SessionKey{sessionKey(2, now), sessionKey(1, now.Add(-time.Hour))}, loginPolicy(b.op, "p"))
	w.wants("a session of the old key", w.do("GET", "/"), 200)
	b.c.add(20 * time.Minute)
	w.wants("written by the new key", w.do("GET", "/"), 200)
	b.use(3, []snapshot.SessionKey{sessionKey(3, b.c.now()), sessionKey(2, now)}, loginPolicy(b.op, "p"))
	w.wants("without the old key", w.do("GET", "/"), 200)
}

// TestLoginSettings: what a policy may choose.
func TestLoginSettings(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t, func(o *snapshot.OIDC) {
		o.Skip, o.Always, o.AccessToken, o.IDToken = []string{"/public", "/health/"}, true, "Authorization", "X-Token"
		o.Cookie.Name, o.Cookie.Domain, o.Cookie.SameSite = "shared", "example.com", "Strict"
	})
	w := b.browser()
	for target, want := range map[string]int{
		"/public": 200, "/public/a?b": 200, "/health/x": 200, "/publicity": 302, "/public/../admin": 302, "/public/%2e%2e/admin": 302, "/public/..;/admin": 302,
		"/public%2f..%2fadmin": 302, "//public": 302, "/admin?/public": 302,
	} {
		wants(t, target, b.browser().do("GET", target, "Accept: x/y", "X-User: root"), want)
	}
	w.login("/")
	in := w.do("GET", "/", "Authorization: Bearer forged")
	if in.Status != 200 || !strings.HasPrefix(value(in.Set, "Authorization"), "Bearer ") || value(in.Set, "Authorization") == "Bearer forged" || strings.Count(value(in.Set, "X-Token"), ".") != 2 {
		t.Errorf("%d: %v", in.Status, in.Set)
	}
	if w.jar["__Secure-fl-shared"] == "" {
		t.Errorf("cookies: %v", w.jar)
	}
	w.host = "pay.example.com"
	w.wants("another host of the domain", w.do("GET", "/"), 200)
	w.host = "example.com.evil.test"
	w.wants("a host elsewhere", w.do("GET", "/"), 503)
	w.host = "shop.example.com:443@evil.test"
	w.wants("a host with a user", w.do("GET", "/"), 400)
	q := ask(t, "p")
	q.TLS = false
	if a := b.e.Decide(t.Context(), q); a.Status != 302 || value(a.Client, "Location") != "https://shop.example.com/a?b=c&d" {
		t.Errorf("without TLS: %d %v", a.Status, a.Client)
	}
}

// TestLoginBesides: rules read the claims of a session; with Any a login is one of several
// ways, and the only one that browsers are led to.
func TestLoginBesides(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	keys := []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}
	p := loginPolicy(b.op, "p")
	p.Authorization = []authorize.Rule{{Action: authorize.Allow, Groups: []string{"staff"}}}
	b.use(2, keys, p)
	w := b.browser()
	w.login("/")
	w.wants("of the group", w.do("GET", "/"), 200)
	b.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["groups"] = "others" } })
	w = b.browser()
	w.login("/")
	w.wants("of another group", w.do("GET", "/"), 403)
	b.op.Set(func(o *openid.Options) { o.Claims = nil })

	p = loginPolicy(b.op, "any")
	p.Satisfy, p.Basic = snapshot.Any, &snapshot.Basic{Htpasswd: htpasswdAnn}
	b.use(3, keys, p)
	w = b.browser()
	w.wants("a program", w.do("GET", "/", "Accept: x/y"), 401)
	w.wants("a password", w.do("GET", "/", userPassword("ann", "x")), 200)
	w.login("/")
	w.wants("a session", w.do("GET", "/"), 200)
	if in := w.do("GET", "/", userPassword("ann", "x")); value(in.Set, "Cookie") != "theme=dark" {
		t.Errorf("a password beside a session: the pod gets %v", in.Set)
	}
	p = loginPolicy(b.op, "all")
	p.Basic = &snapshot.Basic{Htpasswd: htpasswdAnn}
	b.use(4, keys, p)
	w.wants("All without a password", w.do("GET", "/"), 401)
	w.wants("All with both", w.do("GET", "/", userPassword("ann", "x")), 200)
}

// TestCodes: a code that another worker has used leads to one more login, and to no more.
func TestCodes(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser()
	back := w.atProvider(w.do("GET", "/deep", page))
	jar := maps.Clone(w.jar)
	w.wants("first", w.do("GET", back), 302)
	w.jar = jar // the answer was lost with its worker
	again := w.do("GET", back)
	if a := w.do("GET", w.atProvider(again)); a.Status != 302 || value(a.Client, "Location") != "https://shop.example.com/deep" {
		t.Errorf("again: %d %s", a.Status, a.Reason)
	}
	b.op.Set(func(o *openid.Options) {
		o.Fault = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/token" {
				return false
			}
			rw.WriteHeader(400)
			_ = json.NewEncoder(rw).Encode(map[string]string{"error": "invalid_grant"})
			return true
		}
	})
	w = b.browser()
	w.wants("refused twice", w.do("GET", w.atProvider(w.login("/"))), 400)
	b.op.Set(func(o *openid.Options) {
		o.Fault = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				rw.WriteHeader(500)
			}
			return r.URL.Path == "/token"
		}
	})
	w.wants("down meanwhile", b.browser().login("/"), 503)
}

// TestClients: passwords in the body, and clients without.
func TestClients(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	b.op.Set(func(o *openid.Options) { o.ByBody = true })
	b.c.add(defaultKeys)
	until(t, func() bool {
		b.c.add(refetchAfter)
		return b.browser().login("/").Status == 302
	})
	public := newLoginBed(t, func(o *snapshot.OIDC) { o.ClientSecret = "" })
	public.op.Set(func(o *openid.Options) { o.Public = true })
	wants(t, "a public client", public.browser().login("/"), 302)
	large := newLoginBed(t)
	large.op.Set(func(o *openid.Options) {
		o.Claims = func(c map[string]any) { c["groups"] = strings.Repeat("x", 11_000) }
	})
	wants(t, "a session that has no room", large.browser().login("/"), 503)
	large.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["other"] = strings.Repeat("x", 9_000) } })
	w := large.browser()
	wants(t, "claims that nothing asks for", w.login("/"), 302)
	wants(t, "then", w.do("GET", "/"), 200)
}

// TestSharedRenewals: two workers that get requests with the same cookies at a time ask
// the provider once, and one of them alone does not depend on the other.
func TestSharedRenewals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newLoginBed(t)
	b.e.shared = sharedRenewals{dir}
	other, otherClock := newEngine(t)
	other.shared = sharedRenewals{dir}
	second := &loginBed{t: t, e: other, c: otherClock, op: b.op}
	second.use(1, []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}, b.policies...)
	w := b.browser()
	w.login("/")
	b.c.add(10 * time.Minute)
	otherClock.add(10 * time.Minute)
	asked := b.op.Asked("/token")
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			copied := &browser{[]*loginBed{b, second}[i%2], w.host, maps.Clone(w.jar)}
			if a := copied.do("GET", "/", "Accept: x/y"); a.Status != 200 || value(a.Set, "X-User") != "alice" {
				t.Errorf("request %d: status %d (%s)", i, a.Status, a.Reason)
			}
		})
	}
	running.Wait()
	if n := b.op.Asked("/token") - asked; n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	// The folder holds nothing that can be read.
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || bytes.Contains(text, []byte("alice")) {
			t.Errorf("%s: %s, %v", e.Name(), text, err)
		}
	}
	// A worker that ended while it asked keeps no other one from it for long.
	late := b.browser()
	late.login("/")
	b.c.add(10 * time.Minute)
	otherClock.add(10 * time.Minute)
	var cookies []string
	for k, v := range late.jar {
		cookies = append(cookies, k+"="+v)
	}
	world := b.e.world.Load()
	s, ok := (&visit{login: world.policies["p"].login, e: b.e, q: ask(t, "p", "Cookie: "+strings.Join(cookies, "; ")), keys: world.sessions}).session()
	if !ok {
		t.Fatal("no session")
	}
	name := world.sessions.Hash(world.policies["p"].login.bound, "shop.example.com", s.Refresh)
	held, text := (sharedRenewals{dir}).claim(t.Context(), name)
	if held == nil || text != "" {
		t.Fatal("it is claimed already")
	}
	ended := make(chan Answer)
	asked = b.op.Asked("/token")
	go func() { ended <- late.do("GET", "/", "Accept: x/y") }()
	select {
	case a := <-ended:
		t.Errorf("status %d while the other worker asks", a.Status)
	case <-time.After(10 * sharedLook):
	}
	if n := b.op.Asked("/token") - asked; n != 0 {
		t.Errorf("the provider was asked %d times beside the other worker", n)
	}
	held.end("") // as the kernel does it
	wants(t, "after the other worker ended", <-ended, 200)
}
