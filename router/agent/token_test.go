package agent

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// idp signs tokens and serves its keys.
type idp struct {
	*authServer
	key ed25519.PrivateKey
	kid string
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	p := &idp{}
	p.authServer = newAuthServer(t, nil)
	p.rotate(t, "one")
	return p
}

// rotate replaces the key, and what the server says.
func (p *idp) rotate(t *testing.T, kid string, headers ...string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.key, p.kid = private, kid
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: kid}}})
	if err != nil {
		t.Fatal(err)
	}
	p.set(says(200, string(set), headers...))
}

func says(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			n, v, _ := strings.Cut(h, ": ")
			w.Header().Add(n, v)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func (p *idp) token(claims string) string {
	e := base64.RawURLEncoding.EncodeToString
	input := e([]byte(`{"alg":"EdDSA","kid":"`+p.kid+`"}`)) + "." + e([]byte(claims))
	return input + "." + e(ed25519.Sign(p.key, []byte(input)))
}

func claimsOf(c *clock, more string) string {
	return fmt.Sprintf(`{"iss":"https://idp","sub":"ann","exp":%d%s}`, c.now().Add(time.Hour).Unix(), more)
}

func tokenPolicy(id, uri string, change ...func(*snapshot.JWT)) snapshot.Policy {
	j := &snapshot.JWT{Issuers: []snapshot.Issuer{{Name: "https://idp", JWKSURI: uri}}}
	for _, f := range change {
		f(j)
	}
	return snapshot.Policy{ID: id, Namespace: "demo", JWT: j}
}

// TestTokens: where tokens may be, and what the pod gets of their claims.
func TestTokens(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	p := newIDP(t)
	places := func(j *snapshot.JWT) {
		j.From = []snapshot.Source{{Type: "Header", Name: "Authorization", Prefix: "Bearer "}, {Type: "Cookie", Name: "t"}, {Type: "Query", Name: "token"}}
	}
	rules := tokenPolicy("rules", p.URL)
	rules.Authorization = []authorize.Rule{{Action: authorize.Allow, Groups: []string{"ops"}}}
	optional := tokenPolicy("any", p.URL, func(j *snapshot.JWT) { j.Optional = true })
	optional.Basic, optional.Satisfy = &snapshot.Basic{Htpasswd: htpasswdAnn}, snapshot.Any
	use(t, e, 1, tokenPolicy("p", p.URL), tokenPolicy("places", p.URL, places), rules, optional,
		tokenPolicy("optional", p.URL, func(j *snapshot.JWT) { j.Optional = true }),
		tokenPolicy("claims", p.URL, func(j *snapshot.JWT) {
			j.Drop = true
			j.Claims = []snapshot.ClaimHeader{{Claim: "sub", Header: "X-User"}, {Claim: "org.team", Header: "X-Team"}, {Claim: "evil", Header: "X-Evil"}}
		}))
	good, ops := p.token(claimsOf(c, "")), p.token(claimsOf(c, `,"groups":["ops"]`))
	bearer := "Authorization: Bearer " + good
	for name, test := range map[string]struct {
		policy, target string
		headers        []string
		want           int
	}{
		"bearer":                         {"p", "", []string{bearer}, 200},
		"another scheme's case":          {"p", "", []string{"authorization: bearer " + good}, 200},
		"no token":                       {"p", "", nil, 401},
		"basic":                          {"p", "", []string{userPassword("ann", "x")}, 401},
		"twice":                          {"p", "", []string{bearer, bearer}, 401},
		"forged":                         {"p", "", []string{bearer + "A"}, 401},
		"expired":                        {"p", "", []string{"Authorization: Bearer " + p.token(`{"iss":"https://idp","exp":1799999000}`)}, 401},
		"another issuer":                 {"p", "", []string{"Authorization: Bearer " + p.token(`{"iss":"https://other","exp":1900000000}`)}, 401},
		"cookie":                         {"places", "", []string{"Cookie: a=b; t=" + good}, 200},
		"query":                          {"places", "/?token=" + good, nil, 200},
		"two places":                     {"places", "/?token=" + good, []string{bearer}, 401},
		"two cookies":                    {"places", "", []string{"Cookie: t=" + good + "; t=" + good}, 401},
		"a query that cannot be read":    {"places", "/?token=" + good + "&%zz", nil, 401},
		"query where it is not asked":    {"p", "/?token=" + good, nil, 401},
		"rule holds":                     {"rules", "", []string{"Authorization: Bearer " + ops}, 200},
		"rule does not hold":             {"rules", "", []string{bearer}, 403},
		"optional, none":                 {"optional", "", nil, 200},
		"optional, good":                 {"optional", "", []string{bearer}, 200},
		"optional, forged":               {"optional", "", []string{bearer + "A"}, 401},
		"optional admits no one for any": {"any", "", nil, 401},
	} {
		q := ask(t, test.policy, test.headers...)
		if test.target != "" {
			q.Target = test.target
		}
		wants(t, name, e.Decide(t.Context(), q), test.want)
		wants(t, name+", again", e.Decide(t.Context(), q), test.want)
	}
	a := e.Decide(t.Context(), ask(t, "claims", "X-User: root", "x_team: root", "X-EVIL: root",
		"Authorization: Bearer "+p.token(claimsOf(c, `,"org":{"team":"a"},"evil":"a\nb"`))))
	if value(a.Set, "X-User") != "ann" || value(a.Set, "X-Team") != "a" || value(a.Set, "X-Evil") != "" {
		t.Errorf("set %v", a.Set)
	}
	if got := strings.Join(a.Del, " "); got != "Authorization X-User x_team X-EVIL" {
		t.Errorf("removed %q", got)
	}
	short := p.token(fmt.Sprintf(`{"iss":"https://idp","exp":%d}`, c.now().Add(20*time.Second).Unix()))
	if a := e.Decide(t.Context(), ask(t, "p", "Authorization: Bearer "+short)); a.TTL != 20*time.Second {
		t.Errorf("a token of 20 s is kept for %v", a.TTL)
	}
	c.add(21 * time.Second)
	wants(t, "a kept token ends", e.Decide(t.Context(), ask(t, "p", "Authorization: Bearer "+short)), 401)
}

// TestRotatedKeys: a new key is fetched when a token names it, however often the issuer replaces
// it; tokens with keys that it never had cause few reads; and an issuer that is down changes nothing for a day.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	p := newIDP(t)
	use(t, e, 1, tokenPolicy("p", p.URL))
	decide := func() Answer {
		return e.Decide(t.Context(), ask(t, "p", "Authorization: Bearer "+p.token(claimsOf(c, ""))))
	}
	wants(t, "first", decide(), 200)
	p.rotate(t, "two")
	wants(t, "rotated right after the first read", decide(), 200)
	for n := range mostReads - 1 {
		p.rotate(t, fmt.Sprint("again-", n))
		wants(t, "rotated again just now", decide(), 200)
	}
	p.rotate(t, "without end")
	wants(t, "one too many", decide(), 401)
	c.add(readAfter)
	wants(t, "a while later", decide(), 200)
	c.add(time.Hour)
	wants(t, "an hour later", decide(), 200)
	until(t, func() bool { return !fetching(e) })
	fetched, kid := p.count(), p.kid
	p.kid = "unknown"
	for range 50 {
		for range 20 {
			wants(t, "unknown key", decide(), 401)
		}
		c.add(refetchAfter / 10)
	}
	if n := p.count() - fetched; n < mostMisses || n > mostMisses+5 {
		t.Errorf("fetched %d times for unknown keys in %v", n, 5*refetchAfter)
	}
	p.kid = kid
	wants(t, "the key that it has", decide(), 200)
	p.rotate(t, "meanwhile")
	c.add(refetchAfter)
	wants(t, "a new key while others are made up", decide(), 200)
	for name, sick := range map[string]http.HandlerFunc{
		"500": says(500, "no"), "HTML": says(200, "<html>"), "redirect": says(302, "", "Location: /other"), "empty": says(200, `{"keys":[]}`), "too long": says(200, strings.Repeat(" ", 70_000)),
	} {
		p.set(sick)
		c.add(time.Hour)
		before := p.count()
		wants(t, name, decide(), 200)
		until(t, func() bool { return p.count() > before && !fetching(e) })
		wants(t, name+", again", decide(), 200)
	}
	c.add(staleKeys)
	wants(t, "a day later", decide(), 503)
}

// fetching reports whether a key set is being fetched.
func fetching(e *Engine) bool {
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	for _, s := range e.keys.sets {
		s.mu.Lock()
		running := s.fetching != nil
		s.mu.Unlock()
		if running {
			return true
		}
	}
	return false
}

// TestNoKeys: as long as no keys were ever read the answer is 503, and then as it should be.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	p := newIDP(t)
	p.set(says(503, ""))
	use(t, e, 1, tokenPolicy("p", p.URL))
	decide := func() Answer {
		return e.Decide(t.Context(), ask(t, "p", "Authorization: Bearer "+p.token(claimsOf(c, ""))))
	}
	a := decide()
	if a.Status != 503 || a.Reason != "JWKSUnavailable" {
		t.Errorf("%d, %s", a.Status, a.Reason)
	}
	p.rotate(t, "one")
	c.add(firstPause)
	wants(t, "later", decide(), 200)
}

// TestLifetime: for how long a set is used by its Cache-Control.
func TestLifetime(t *testing.T) {
	t.Parallel()
	for control, want := range map[string]time.Duration{
		"": defaultKeys, "max-age=300": 5 * time.Minute, "public, Max-Age=300": 5 * time.Minute, "max-age=1": shortestKeys, "max-age=99999999999": longestKeys,
		"max-age=x": defaultKeys, "no-store": shortestKeys, "max-age=-1": shortestKeys, `max-age="600"`: 10 * time.Minute,
	} {
		if got := lifetime(control); got != want {
			t.Errorf("%q: %v, want %v", control, got, want)
		}
	}
}

// TestCacheBounds: entries and bytes are bounded, the oldest go first, and a computation that
// panics refuses.
func TestCacheBounds(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	small := newCache(3, 1<<20, func(string) int { return 1 }, c.now, e.metrics.cache)
	for i := range 5 {
		small.put(e.keyOf(fmt.Sprint(i)), fmt.Sprint(i), time.Minute)
		small.get(e.keyOf("0"))
	}
	for i, want := range []bool{true, false, false, true, true} {
		if _, ok := small.get(e.keyOf(fmt.Sprint(i))); ok != want {
			t.Errorf("entry %d is there: %v", i, ok)
		}
	}
	heavy := newCache(1000, 10_000, func(s string) int { return len(s) }, c.now, e.metrics.cache)
	for i := range 100 {
		heavy.put(e.keyOf(fmt.Sprint(i)), strings.Repeat("x", 800), time.Minute)
	}
	heavy.put(e.keyOf("huge"), strings.Repeat("x", 9000), time.Minute)
	if len(heavy.entries) != 10 || heavy.bytes > 10_000 {
		t.Errorf("%d entries with %d bytes", len(heavy.entries), heavy.bytes)
	}
	if e.keyOf("a", "bc") == e.keyOf("ab", "c") {
		t.Error("parts of a key run into each other")
	}
	use(t, e, 1, basicPolicy("p"))
	e.world.Load().policies["p"].methods[0].(*basic).users = nil // its use panics
	wants(t, "a panic", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 503)
}
