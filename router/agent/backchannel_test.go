package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/openid"
	"github.com/fairlead/fairlead/test/wait"
)

const form = "Content-Type: application/x-www-form-urlencoded"

// report sends what a provider does, from an address, and returns the answer to head and body.
func (b *loginBed) report(from, body string, headers ...string) Answer {
	b.t.Helper()
	if len(headers) == 0 {
		headers = []string{form}
	}
	q := ask(b.t, b.policies[0].ID, headers...)
	q.Method, q.Target, q.Client = "POST", "/oauth2/logout/backchannel", netip.MustParseAddr(from)
	if a := b.e.Decide(b.t.Context(), q); a.Status != needsBody {
		return a
	}
	p := b.e.world.Load().policies[q.Policy]
	v := &visit{login: p.login, e: b.e, p: p, q: q, keys: b.e.world.Load().sessions, path: q.Target}
	return v.report(b.t.Context(), []byte(body))
}

func logoutForm(token string) string { return url.Values{"logout_token": {token}}.Encode() }

// in logs in, with a name of the session at the provider unless that is empty.
func (b *loginBed) in(sid, sub string) *browser {
	b.t.Helper()
	b.op.Set(func(o *openid.Options) {
		o.Claims = func(c map[string]any) {
			if c["sub"] = sub; sid != "" {
				c["sid"] = sid
			}
		}
	})
	w := b.browser()
	w.wants("a login", w.login("/"), 302)
	return w
}

func (w *browser) is(what string, status int) {
	w.b.t.Helper()
	w.wants(what, w.do("GET", "/", "Accept: x/y"), status)
}

func claims(change ...any) func(map[string]any) {
	return func(c map[string]any) {
		for i := 0; i < len(change); i += 2 {
			if change[i+1] == nil {
				delete(c, change[i].(string))
			} else {
				c[change[i].(string)] = change[i+1]
			}
		}
	}
}

// TestReportedLogouts: a provider ends the session that it names, or all of a user until then.
func TestReportedLogouts(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	one, two, nameless, other := b.in("one", "alice"), b.in("two", "alice"), b.in("", "alice"), b.in("three", "bob")
	token := b.op.LogoutToken("logout+jwt", claims("sid", "one"))
	a := b.report("192.0.2.1", logoutForm(token))
	wants(t, "a logout", a, isDone)
	if value(a.Client, "Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.Client)
	}
	one.is("the session", 401)
	nameless.is("one of the user whose name the provider has not given", 401)
	two.is("another one of the user", 200)
	other.is("another user", 200)
	a = b.report("192.0.2.1", logoutForm(token))
	if wants(t, "once more", a, 400); value(a.Client, "Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.Client)
	}
	wants(t, "by sid alone", b.report("192.0.2.1", logoutForm(b.op.LogoutToken("", claims("sub", nil, "sid", "two")))), isDone)
	two.is("named by sid", 401)
	b.c.add(time.Second)
	nameless = b.in("", "alice")
	nameless.is("by sid alone, one without", 200)
	b.c.add(time.Second)
	four := b.in("four", "alice")
	wants(t, "by sub alone", b.report("192.0.2.1", logoutForm(b.op.LogoutToken("JWT", nil))), isDone)
	four.is("one of the user", 401)
	nameless.is("another one of the user", 401)
	other.is("another user", 200)
	b.c.add(time.Second)
	b.in("five", "alice").is("a later login", 200)

	// What was renewed is the same session.
	six := b.in("six", "carol")
	b.op.Set(func(o *openid.Options) { o.Claims = claims("sub", "carol") })
	b.c.add(10 * time.Minute)
	six.is("renewed", 200)
	wants(t, "a logout", b.report("192.0.2.1", logoutForm(b.op.LogoutToken("", claims("sub", nil, "sid", "six")))), isDone)
	six.is("a renewed session", 401)
}

// TestReportedAtOtherRouters: the session ends at all routers, those that begin later included, and
// with it those of other policies with the same client.
func TestReportedAtOtherRouters(t *testing.T) {
	t.Parallel()
	r := newRouters(t, 2)
	r.policies = append(r.policies, loginPolicy(r.op, "q", func(o *snapshot.OIDC) { o.Scopes = []string{"email"} }))
	for _, o := range append([]*loginBed{r.loginBed}, r.all...) {
		o.use(2, []snapshot.SessionKey{sessionKey(1, r.c.now().Add(-time.Hour))}, r.policies...)
	}
	w := r.in("one", "alice")
	second := *r.loginBed
	second.policies = r.policies[1:]
	q := second.in("two", "alice")
	token := r.op.LogoutToken("", nil)
	wants(t, "a logout", r.all[0].report("192.0.2.1", logoutForm(token)), isDone)
	for i := range r.all {
		wait.Poll{}.For(t, "the end of the sessions", func() error {
			one := (&browser{r.all[i], w.host, maps.Clone(w.jar)}).do("GET", "/", "Accept: x/y").Status
			beside := *r.all[i]
			beside.policies = r.policies[1:]
			other := (&browser{&beside, w.host, maps.Clone(q.jar)}).do("GET", "/", "Accept: x/y").Status
			if one != 401 || other != 401 {
				return fmt.Errorf("router %d answers %d, and %d for another policy", i, one, other)
			}
			return nil
		})
	}
	wants(t, "once more, at the other router", r.all[1].report("192.0.2.1", logoutForm(token)), 400)
	r.later(2 * time.Second)
	again := r.in("three", "alice")
	again.b = r.all[1]
	again.is("a later login, at the other router", 200)
	wants(t, "a second logout", r.all[0].report("192.0.2.1", logoutForm(r.op.LogoutToken("", nil))), isDone)
	wait.Poll{}.For(t, "the second end", func() error {
		if got := again.do("GET", "/", "Accept: x/y").Status; got != 401 {
			return fmt.Errorf("it answers %d", got)
		}
		return nil
	})
}

// TestBadReports: whatever is no logout token of the provider for this client ends nothing.
func TestBadReports(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.in("one", "alice")
	now := b.c.now()
	from := 0
	wrong := func(name, body string, headers ...string) {
		t.Helper()
		from++
		a := b.report(fmt.Sprintf("192.0.2.%d", from), body, headers...)
		if wants(t, name, a, 400); value(a.Client, "Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", name, a.Client)
		}
		w.is(name, 200)
	}
	for name, change := range map[string]func(map[string]any){
		"another issuer":       claims("iss", "https://evil.example.com"),
		"another audience":     claims("aud", "other"),
		"no audience":          claims("aud", nil),
		"expired":              claims("exp", now.Add(-time.Minute).Unix()),
		"no end":               claims("exp", nil),
		"never issued":         claims("iat", nil),
		"issued in the future": claims("iat", now.Add(time.Minute).Unix()),
		"old":                  claims("iat", now.Add(-reportAge-time.Minute).Unix(), "exp", now.Add(time.Hour).Unix()),
		"no jti":               claims("jti", nil),
		"an empty jti":         claims("jti", ""),
		"a jti of no text":     claims("jti", 7),
		"a long jti":           claims("jti", strings.Repeat("x", 256)),
		"a nonce":              claims("nonce", "x"),
		"an empty nonce":       claims("nonce", ""),
		"no events":            claims("events", nil),
		"events of a list":     claims("events", []string{logoutEvent}),
		"other events":         claims("events", map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}),
		"an event of no kind":  claims("events", map[string]any{logoutEvent: true}),
		"neither sub nor sid":  claims("sub", nil),
		"sub is no text":       claims("sub", []string{"alice"}),
		"sid is no text":       claims("sid", 1),
		"an empty sid":         claims("sid", ""),
	} {
		wrong(name, logoutForm(b.op.LogoutToken("logout+jwt", change)))
	}
	wrong("another type", logoutForm(b.op.LogoutToken("at+jwt", nil)))
	good := b.op.LogoutToken("logout+jwt", nil)
	wrong("changed", logoutForm(good[:len(good)-4]+"AAAA"))
	_, rest, _ := strings.Cut(good, ".")
	payload, _, _ := strings.Cut(rest, ".")
	wrong("not signed", logoutForm("eyJhbGciOiJub25lIn0."+payload+"."))
	wrong("signed by the client's password", logoutForm(signed(t, openid.ClientSecret, b.op)))
	wrong("signed by the provider's certificate", logoutForm(signed(t, b.op.CA(), b.op)))
	wrong("no token", "logout_token=")
	wrong("two tokens", logoutForm(good)+"&"+logoutForm(good))
	wrong("no form", "%zz")
	wrong("too long", logoutForm(good)+"&x="+strings.Repeat("x", longestReport))
	wrong("said to be too long", logoutForm(good), form, "Content-Length: 8193")
	wrong("a length that is none", logoutForm(good), form, "Content-Length: -x")
	wrong("JSON", `{"logout_token": "`+good+`"}`, "Content-Type: application/json")
	q := ask(t, "p", form)
	q.Target = "/oauth2/logout/backchannel"
	wants(t, "GET", b.e.Decide(t.Context(), q), 400)
	q.Method, q.TLS = "POST", false
	wants(t, "without TLS", b.e.Decide(t.Context(), q), 403)
	wants(t, "as it is", b.report("198.51.100.1", logoutForm(good)+"&other=1", form+"; charset=utf-8", "Content-Length: 100"), isDone)
	w.is("then", 401)
}

// signed is a logout token that is signed with a secret.
func signed(t testing.TB, key string, op *openid.Provider) string {
	t.Helper()
	var all map[string]any
	op.LogoutToken("", func(c map[string]any) { all = maps.Clone(c) })
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	e := base64.RawURLEncoding.EncodeToString
	input := e([]byte(`{"alg":"HS256"}`)) + "." + e(text)
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(input))
	return input + "." + e(m.Sum(nil))
}

// TestReportFloods: what is no logout is refused soon, for its address alone, has the keys read no more often than
// else, and a provider that reports without end is refused.
func TestReportFloods(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.in("one", "alice")
	b.c.add(refetchAfter)
	b.op.Rotate(t, "unknown")
	bad := b.op.LogoutToken("", nil)
	b.op.Set(func(o *openid.Options) {
		o.Fault = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/keys" {
				rw.WriteHeader(500)
			}
			return r.URL.Path == "/keys"
		}
	})
	asked := b.op.Asked("/keys")
	statuses := map[int]int{}
	for i := range 200 {
		statuses[b.report(fmt.Sprintf("192.0.2.%d", i%10), logoutForm(bad)).Status]++
	}
	if statuses[400] != 10*mostBadReports || statuses[429] != 100 {
		t.Errorf("answers %v", statuses)
	}
	if n := b.op.Asked("/keys") - asked; n > 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	w.is("the session", 200)
	b.op.Set(func(o *openid.Options) { o.Fault = nil })
	b.c.add(refetchAfter)
	wants(t, "of a new key, from another address", b.report("198.51.100.1", logoutForm(b.op.LogoutToken("", claims("sub", "x")))), isDone)
	wants(t, "from an address that was refused", b.report("192.0.2.1", logoutForm(bad)), 429)
	b.c.add(reportsPer)
	for range mostReports {
		if a := b.report("198.51.100.1", logoutForm(b.op.LogoutToken("", claims("sub", "x")))); a.Status != isDone {
			t.Fatalf("status %d: %s", a.Status, a.Reason)
		}
	}
	wants(t, "one too many", b.report("198.51.100.1", logoutForm(b.op.LogoutToken("", nil))), 429)
	b.c.add(reportsPer)
	wants(t, "a minute later", b.report("198.51.100.1", logoutForm(b.op.LogoutToken("", nil))), isDone)
	w.is("the session", 401)
}

// FuzzLogoutReport: no body but one with a token of the provider is taken for a logout.
func FuzzLogoutReport(f *testing.F) {
	b := newLoginBed(f)
	q := ask(f, "p", form)
	q.Method, q.Target = "POST", "/oauth2/logout/backchannel"
	good := b.op.LogoutToken("logout+jwt", nil)
	for _, seed := range []string{
		"", "logout_token=", "logout_token=a.b.c", "logout_token=x&logout_token=y", logoutForm(good[:len(good)-1]), logoutForm(good + "A"), "logout_token=%00%0a\r\n\t\f", "%zz;=",
		logoutForm(signed(f, openid.ClientSecret, b.op)), logoutForm(strings.ToUpper(good)), "logout_token=" + strings.Repeat("A", longestReport),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strings.Contains(string(body), good) {
			return
		}
		b.e.failures = newFailures(b.e.now)
		w := b.e.world.Load()
		p := w.policies["p"]
		v := &visit{login: p.login, e: b.e, p: p, q: q, keys: w.sessions, path: q.Target}
		wants(t, "a body", v.report(t.Context(), body), 400)
	})
}

// TestEndsOfANamespace: a namespace with many providers has no sessions of others forgotten.
func TestEndsOfANamespace(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.in("one", "alice")
	wants(t, "a logout", b.report("192.0.2.1", logoutForm(b.op.LogoutToken("", claims("sid", "one")))), isDone)
	b.c.add(time.Second)
	now := b.c.now()
	own := b.e.world.Load().policies["p"].login
	for i := range mostEnded / 10 {
		b.e.ended.note(own.ended(own.party, fmt.Sprint(bySession, i)), now.Add(longestEnd), now)
	}
	for i := range 50 {
		m := &login{OIDC: *loginPolicy(b.op, "x").OIDC}
		m.ClientID = fmt.Sprint("hostile", i)
		if err := m.identify("hostile"); err != nil {
			t.Fatal(err)
		}
		for j := range 2*mostEnded/50 + 1 {
			b.e.ended.note(m.ended(m.party, fmt.Sprint(bySession, j)), now.Add(longestEnd), now)
		}
	}
	w.is("a session that has ended", 401)
}
