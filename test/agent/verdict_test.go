package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestVerdicts: what clients and the pod get for each kind of policy.
func TestVerdicts(t *testing.T) {
	b := newBed(t, true)
	var asked atomic.Int64
	auth := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var code int
		_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Status %d", &code)
		w.Header().Set("X-User", "ann")
		w.Header().Set("Set-Cookie", "from=auth")
		w.Header().Set("Location", "https://login.example.com/")
		w.Header().Set("Content-Type", "text/x-auth")
		if r.Header.Get("X-Quiet") != "" {
			w.Header().Del("Set-Cookie")
		}
		w.WriteHeader(max(code, 200))
		if code >= 400 {
			_, _ = w.Write([]byte("said the server"))
		}
	}))
	defer auth.Close()
	secret := []byte(strings.Repeat("s", 32))
	b.load(1, users("basic"),
		snapshot.Policy{ID: "external", Namespace: "demo", External: &snapshot.External{URL: auth.URL, ResponseHeaders: []string{"X-User", "X-Mail"}}},
		snapshot.Policy{ID: "cached", Namespace: "demo", External: &snapshot.External{URL: auth.URL, Cache: snapshot.Cache{TTL: time.Minute}}},
		snapshot.Policy{ID: "signin", Namespace: "demo", External: &snapshot.External{URL: auth.URL, SignIn: &snapshot.SignIn{URL: "https://login.example.com/start"}}},
		snapshot.Policy{ID: "jwt", Namespace: "demo", JWT: &snapshot.JWT{
			Issuers: []snapshot.Issuer{{Name: "me", Algorithms: []string{"HS256"}, Secret: secret}},
			Claims:  []snapshot.ClaimHeader{{Claim: "sub", Header: "X-User"}},
		}},
		snapshot.Policy{ID: "closed", Namespace: "demo", Basic: &snapshot.Basic{}})

	b.get("unprotected", request{}, 200)
	b.get("unknown policy", request{policy: "nothing", headers: []string{basic("ann", "x")}}, 503)
	b.get("policy that cannot be used", request{policy: "closed", headers: []string{basic("ann", "x")}}, 503)

	r, _ := b.get("no password", request{policy: "basic"}, 401)
	if got := r.Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != `Basic realm="Restricted", charset="UTF-8"` {
		t.Errorf("challenge %q", got)
	}
	b.get("wrong password", request{policy: "basic", headers: []string{basic("ann", "y")}}, 401)
	_, body := b.get("right password", request{policy: "basic", headers: []string{basic("ann", "x"), "X-Other: 1"}}, 200)
	if strings.Contains(body, "Authorization") || !strings.Contains(body, "X-Other") {
		t.Errorf("the pod gets\n%s", body)
	}

	for code, want := range map[int]int{200: 200, 204: 200, 301: 301, 302: 302, 303: 303, 307: 307, 308: 308, 401: 401, 403: 403, 429: 429, 404: 503, 500: 503, 300: 503} {
		r, body := b.get(fmt.Sprint("server says ", code), request{policy: "external", headers: []string{fmt.Sprint("Authorization: Status ", code), "X-User: root", "x_user: root", "X-Mail: root", "X_MAIL: root"}}, want)
		switch want {
		case 200:
			if strings.Contains(body, "root") || !strings.Contains(body, "X-User: ann") || r.Header.Get("Set-Cookie") != "from=auth" {
				t.Errorf("%d: %v, the pod gets\n%s", code, r.Header, body)
			}
		case 503:
			if body != "Service Unavailable\n" && body != "" || r.Header.Get("Set-Cookie") != "" {
				t.Errorf("%d: a closed path says %q, %v", code, body, r.Header)
			}
		default:
			if got := r.Header.Values("Content-Type"); len(got) != 1 || got[0] != "text/x-auth" || r.Header.Get("Set-Cookie") != "from=auth" || r.Header.Get("Location") == "" || want >= 400 && body != "said the server" {
				t.Errorf("%d: the client gets %v %q", code, r.Header, body)
			}
		}
	}
	r, _ = b.get("sign in", request{policy: "signin", path: "/a?b=c&d", headers: []string{"Authorization: Status 401"}}, 302)
	if got := r.Header.Get("Location"); got != "https://login.example.com/start?rd=http%3A%2F%2Fshop.example.com%2Fa%3Fb%3Dc%26d" {
		t.Errorf("Location %q", got)
	}

	token := func(claims string) string {
		input := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(input))
		return "Authorization: Bearer " + input + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	good := token(fmt.Sprintf(`{"iss":"me","sub":"ann","exp":%d}`, time.Now().Add(time.Hour).Unix()))
	_, body = b.get("token", request{policy: "jwt", headers: []string{good, "X-User: root"}}, 200)
	if !strings.Contains(body, "X-User: ann") || strings.Contains(body, "root") {
		t.Errorf("the pod gets\n%s", body)
	}
	b.get("expired token", request{policy: "jwt", headers: []string{token(`{"iss":"me","sub":"ann","exp":1000}`)}}, 401)
	b.get("forged token", request{policy: "jwt", headers: []string{good + "A"}}, 401)
	r, _ = b.get("no token", request{policy: "jwt"}, 401)
	if r.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("challenge %q", r.Header.Get("WWW-Authenticate"))
	}

	// Verdicts inside HAProxy: by policy, method and credentials, and only those.
	before := asked.Load()
	cached := request{policy: "cached", by: "a", headers: []string{"Authorization: Status 200", "X-Quiet: 1"}}
	for range 5 {
		b.get("kept verdict", cached, 200)
	}
	if n := asked.Load() - before; n != 1 {
		t.Errorf("asked %d times", n)
	}
	other := cached
	other.headers = []string{"Authorization: Status 403", "X-Quiet: 1"}
	b.get("other credentials", other, 403)
	other.headers = []string{"Authorization: Status 200", "Authorization: Status 403", "X-Quiet: 1"}
	b.get("two credentials", other, 400)
	other = cached
	other.policy = "basic"
	b.get("another policy", other, 401)
	other.policy = ""
	b.get("kept verdicts need no policy that is not asked for", other, 200)

	strip := request{policy: "basic", by: "a", strip: true, headers: []string{basic("ann", "x")}}
	for range 3 {
		if _, body := b.get("strip", strip, 200); strings.Contains(body, "Authorization") {
			t.Errorf("the pod gets\n%s", body)
		}
	}
	b.get("a wrong password beside a kept verdict", request{policy: "basic", by: "a", headers: []string{basic("ann", "y")}}, 401)
}
