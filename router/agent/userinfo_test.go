package agent

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/openid"
)

// sparse is a provider whose ID tokens have no groups, and that says them at its userinfo endpoint.
func sparse(t *testing.T, says func(map[string]any)) *loginBed {
	t.Helper()
	b := newLoginBed(t)
	b.op.Set(func(o *openid.Options) {
		o.Claims = func(c map[string]any) { delete(c, "groups") }
		o.UserInfo = says
	})
	p := loginPolicy(b.op, "info", func(o *snapshot.OIDC) { o.Endpoints.JWKS = b.op.URL + "/keys" }) // whose document is read now
	b.use(2, []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}, p)
	return b
}

func staff(c map[string]any) { c["groups"] = []string{"staff"} }

// TestUserInfo: claims that the ID token lacks come from the userinfo endpoint, once for each
// login and renewal. They replace none of the ID token.
func TestUserInfo(t *testing.T) {
	t.Parallel()
	groups := "staff"
	b := sparse(t, func(c map[string]any) {
		c["groups"], c["iss"], c["email"] = []string{groups}, "https://evil.test", "x@evil.test"
	})
	w := b.browser()
	w.wants("the login", w.login("/"), 302)
	for range 3 {
		a := w.do("GET", "/")
		if w.wants("a page", a, 200); value(a.Set, "X-Groups") != "staff" || value(a.Set, "X-User") != "alice" {
			t.Errorf("the pod gets %v", a.Set)
		}
	}
	if n := b.op.Asked("/userinfo"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	groups = "guests"
	b.c.add(5 * time.Minute)
	if a := w.do("GET", "/"); a.Status != 200 || value(a.Set, "X-Groups") != "guests" {
		t.Errorf("renewed: status %d, the pod gets %v", a.Status, a.Set)
	}
	b.op.Set(func(o *openid.Options) { o.Answer = func(a map[string]any) { delete(a, "id_token") } })
	groups = "retired"
	b.c.add(5 * time.Minute)
	if a := w.do("GET", "/"); a.Status != 200 || value(a.Set, "X-Groups") != "retired" {
		t.Errorf("renewed without an ID token: status %d, the pod gets %v", a.Status, a.Set)
	}
	b.op.Set(func(o *openid.Options) { o.UserInfo = func(c map[string]any) { c["sub"] = "bob" } })
	b.c.add(5 * time.Minute)
	if a := w.do("GET", "/"); a.Status != 401 {
		t.Errorf("renewed as another user: status %d", a.Status)
	}
}

// TestUserInfoFails: without an answer that is about the user there is no session.
func TestUserInfoFails(t *testing.T) {
	t.Parallel()
	fault := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/userinfo" {
				return false
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for name, test := range map[string]struct {
		says  func(map[string]any)
		fault func(http.ResponseWriter, *http.Request) bool
		want  int
	}{
		"another user":  {says: func(c map[string]any) { c["sub"] = "bob"; staff(c) }, want: 400},
		"no user":       {says: func(c map[string]any) { delete(c, "sub"); staff(c) }, want: 400},
		"down":          {says: staff, fault: fault(500, ""), want: 503},
		"refuses":       {says: staff, fault: fault(403, `{"sub":"alice","groups":["staff"]}`), want: 503},
		"a token":       {says: staff, fault: fault(200, "eyJhbGciOiJub25lIn0.e30."), want: 503},
		"a name twice":  {says: staff, fault: fault(200, `{"sub":"bob","sub":"alice","groups":["staff"]}`), want: 503},
		"too long":      {says: staff, fault: fault(200, `{"sub":"alice","groups":"`+strings.Repeat("x", longestTokens)+`"}`), want: 503},
		"no more of it": {says: func(map[string]any) {}, want: 302},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sparse(t, test.says)
			b.op.Set(func(o *openid.Options) { o.Fault = test.fault })
			w := b.browser()
			w.wants(name, w.login("/"), test.want)
			if a := w.do("GET", "/"); (a.Status == 200) != (test.want == 302) || value(a.Set, "X-Groups") != "" {
				t.Errorf("status %d, the pod gets %v", a.Status, a.Set)
			}
		})
	}
}

// TestUserInfoUnasked: a provider whose ID tokens have all claims is not asked.
func TestUserInfoUnasked(t *testing.T) {
	t.Parallel()
	b := sparse(t, staff)
	b.op.Set(func(o *openid.Options) { o.Claims = nil })
	w := b.browser()
	w.wants("the login", w.login("/"), 302)
	if a := w.do("GET", "/"); value(a.Set, "X-Groups") != "staff,users" || b.op.Asked("/userinfo") != 0 {
		t.Errorf("asked %d times, the pod gets %v", b.op.Asked("/userinfo"), a.Set)
	}
}
