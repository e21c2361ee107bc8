package agent

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestIdentities: what differs is counted apart, what is not known has zeros, and whatever a
// client sends becomes 16 digits.
func TestIdentities(t *testing.T) {
	t.Parallel()
	const none = "0000000000000000"
	consumer, claim := []snapshot.Identity{{}}, []snapshot.Identity{{Claim: "org.tenant"}}
	tenant := func(v any) jwt.Claims { return jwt.Claims{"org": map[string]any{"tenant": v}} }
	seen := map[string]string{}
	for name, got := range map[string]string{
		"ann":           identities(consumer, "ann", nil),
		"bob":           identities(consumer, "bob", nil),
		"a long name":   identities(consumer, strings.Repeat("a", 5000), nil),
		"a longer name": identities(consumer, strings.Repeat("a", 5001), nil),
		"odd bytes":     identities(consumer, "a\x00\n\xff", nil),
		"tenant":        identities(claim, "ann", tenant("a")),
		"a list":        identities(claim, "ann", tenant([]any{"a", "b"})),
		"a longer item": identities(claim, "ann", tenant([]any{"ab"})),
		"true":          identities(claim, "", tenant(true)),
	} {
		if other, twice := seen[got]; twice || len(got) != 16 || got[:8] == none[:8] {
			t.Errorf("%s: %q, as %q", name, got, other)
		}
		seen[got] = name
	}
	for name, got := range map[string]string{
		"no consumer":   identities(consumer, "", tenant("a")),
		"no claim":      identities(claim, "ann", nil),
		"an empty one":  identities(claim, "ann", tenant("")),
		"an object":     identities(claim, "ann", tenant(map[string]any{"a": "b"})),
		"an empty list": identities(claim, "ann", tenant([]any{})),
		"null":          identities(claim, "ann", tenant(nil)),
	} {
		if got != none {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := identities(nil, "ann", nil); got != "" {
		t.Errorf("without limits: %q", got)
	}
	if got := identities([]snapshot.Identity{{Claim: "x"}, {}, {}}, "ann", nil); len(got) != 48 || got[:16] != none || got[16:32] != got[32:] {
		t.Errorf("several: %q", got)
	}
}

// TestLoginIdentities: a session keeps the claims that limits count by, though nothing else
// asks for them.
func TestLoginIdentities(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	p := loginPolicy(b.op, "p", func(o *snapshot.OIDC) { o.Claims = nil })
	p.Identities = []snapshot.Identity{{Claim: "groups"}, {Claim: "missing"}}
	b.use(2, []snapshot.SessionKey{sessionKey(1, b.c.now())}, p)
	w := b.browser()
	w.login("/")
	in := w.do("GET", "/", page)
	want := identities(p.Identities, "alice", jwt.Claims{"groups": []any{"staff", "users"}})
	if in.Status != allowed || in.Identities != want {
		t.Errorf("status %d, identities %q, not %q", in.Status, in.Identities, want)
	}
}
