package cases

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// issuerKey signs tokens.
type issuerKey struct {
	id      string
	private ed25519.PrivateKey
}

func newIssuerKey(t *testing.T, id string) issuerKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuerKey{id, private}
}

// keySet is the Secret with the key set of some keys.
func keySet(keys ...issuerKey) *corev1.Secret {
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	for _, k := range keys {
		x := base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
		set.Keys = append(set.Keys, map[string]string{"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": k.id, "x": x})
	}
	text, _ := json.Marshal(set)
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pj", Name: "keys"}, Data: map[string][]byte{"jwks": text}}
}

func (k issuerKey) token(algorithm, issuer string, expires time.Duration) string {
	return k.sign(algorithm, map[string]any{"iss": issuer, "sub": "alice", "aud": "shop", "exp": time.Now().Add(expires).Unix()})
}

// sign makes a token of claims.
func (k issuerKey) sign(algorithm string, claims map[string]any) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]string{"alg": algorithm, "kid": k.id}) + "." +
		part(claims)
	return "Authorization: Bearer " + text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, []byte(text)))
}

// TestTokens: a token of the issuer lets a request on, with its claims; the keys in the
// Secret rotate without a request refused, and none gets through when they are gone.
func TestTokens(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.start()
	old, fresh, other := newIssuerKey(t, "old"), newIssuerKey(t, "fresh"), newIssuerKey(t, "old")
	const issuer = "https://login.example.com/"
	var s step
	if err := s.services([]string{"pj/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "pj", Name: "api"}}
	r.Spec.Host, r.Spec.To = "api.pj.test", routev1.RouteTargetReference{Kind: "Service", Name: "web"}
	p := &v1alpha1.RoutePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "pj", Name: "tokens"}}
	p.Spec.TargetRefs = []v1alpha1.TargetRef{{Group: "route.openshift.io", Kind: "Route", Name: "api"}}
	p.Spec.Authentication = &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{
		Issuers:         []v1alpha1.JWTIssuer{{Issuer: issuer, Audiences: []string{"shop"}, Secret: "keys"}},
		ClaimsToHeaders: []v1alpha1.ClaimHeader{{Claim: "sub", Header: "X-User"}},
	}}
	s.change.put = append(s.change.put, r, p, keySet(old))
	b.apply(s.change)
	ask := func(what string, want int, header ...string) {
		t.Helper()
		res := b.get("api.pj.test", header...)
		// On a busy machine the agent may be late, and then it is 503.
		for end := time.Now().Add(patience); res.status == 503 && want != 503 && time.Now().Before(end); {
			res = b.get("api.pj.test", header...)
		}
		if res.status != want {
			t.Errorf("%s: status %d, want %d: %s", what, res.status, want, res.body)
		}
		if res.pod != nil && res.pod.Header.Get("X-User") != "alice" {
			t.Errorf("%s: the pod sees the user %q", what, res.pod.Header.Values("X-User"))
		}
	}
	ask("no token", 401, "X-User: root")
	ask("a good one", 200, old.token("EdDSA", issuer, time.Hour), "X-User: root", "X_User: root")
	ask("expired", 401, old.token("EdDSA", issuer, -time.Hour))
	ask("of another issuer", 401, old.token("EdDSA", "https://evil.example.com/", time.Hour))
	ask("of another key", 401, other.token("EdDSA", issuer, time.Hour))
	ask("without algorithm", 401, old.token("none", issuer, time.Hour))
	ask("two tokens", 401, old.token("EdDSA", issuer, time.Hour), fresh.token("EdDSA", issuer, time.Hour))
	ask("of a key that is not there yet", 401, fresh.token("EdDSA", issuer, time.Hour))
	b.apply(change{put: []metav1.Object{keySet(old, fresh)}})
	ask("the old key during rotation", 200, old.token("EdDSA", issuer, time.Hour))
	ask("the new key during rotation", 200, fresh.token("EdDSA", issuer, time.Hour))
	b.apply(change{put: []metav1.Object{keySet(fresh)}})
	ask("the old key after rotation", 401, old.token("EdDSA", issuer, time.Hour))
	ask("the new key after rotation", 200, fresh.token("EdDSA", issuer, time.Hour))
	b.apply(change{put: []metav1.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pj", Name: "keys"}, Data: map[string][]byte{"jwks": []byte(`{"keys":[]}`)}}}})
	ask("without usable keys", 503, fresh.token("EdDSA", issuer, time.Hour))
	if st, _ := b.statusOf(objectOf("Route", r)); string(st.Reason) != "PolicyClosed" {
		t.Errorf("status %s: %s", st.Reason, st.Message)
	}
}
