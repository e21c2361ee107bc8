package cases

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const fositeHost = "198.18.250.65"

const fositeObjects = `kind: ClusterRoutePolicy
metadata: {name: guard}
spec: {guard: {externalURLs: [198.18.250.65]}}
---
kind: Route
metadata: {namespace: pf, name: shop, annotations: {fairlead.dev/policy: login}}
spec: {host: shop.pf.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: RoutePolicy
metadata: {namespace: pf, name: login}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: none}]
  authentication:
    oidc:
      {issuer: "https://%s/realms/demo", clientID: shop, clientSecret: client, caSecret: provider, scopes: [email, offline_access],
       claimsToHeaders: [{claim: sub, header: X-User}, {claim: groups, header: X-Groups}, {claim: email, header: X-Email}]}
  authorization:
    rules:
    - {action: Allow, when: {groups: [admins], paths: [{type: Prefix, value: /admin}]}}
    - {action: Deny, when: {paths: [{type: Prefix, value: /admin}]}}
    - {action: Allow, when: {groups: [staff]}}
`

// fositeBed is a router whose Route asks for a login at the provider of test/tools/fosite.
type fositeBed struct {
	*loginBed
	address string
	log     *logBuffer
	client  *http.Client
}

func newFositeBed(t *testing.T) *fositeBed {
	t.Helper()
	b := &fositeBed{loginBed: &loginBed{bed: newBed(t, "haproxy", newMemory())}}
	b.startAgent()
	b.start()
	var ca string
	b.address, ca, b.log = foreignProvider(t, "fosite", fositeHost, "https://shop.pf.test/oauth2/callback")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ca))
	b.client = &http.Client{
		Timeout: clientTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var s step
	if err := s.services([]string{"pf/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{"client": {"client-secret": []byte("s3cret of the+shop")}, "provider": {"ca.crt": []byte(ca)}} {
		s.change.put = append(s.change.put, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pf", Name: name}, Data: data})
	}
	s.change.put = append(s.change.put, objectsChange(t, fmt.Sprintf(fositeObjects, b.address)).put...)
	b.apply(s.change)
	b.begins()
	return b
}

// begins waits until logins begin at both workers of the agent, each of which reads what the
// provider says.
func (b *fositeBed) begins() {
	b.t.Helper()
	b.eventually("logins begin", func() error {
		for range 10 {
			if err := b.browser("shop.pf.test").wants("GET", "/", 302); err != nil {
				return err
			}
		}
		return nil
	})
}

// login logs a new browser in with a password.
func (b *fositeBed) login(t *testing.T, target string) *browser {
	t.Helper()
	w := b.browser("shop.pf.test")
	at := w.do("GET", target).header.Get("Location")
	if !strings.HasPrefix(at, "https://"+b.address+"/realms/demo/authorize?") {
		t.Fatalf("the login is at %q", at)
	}
	res, err := b.client.PostForm(at, url.Values{"username": {"ann"}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("the provider answers %d, %v", res.StatusCode, res.Header)
	}
	if r := w.do("GET", back.RequestURI()); r.status != 302 || r.header.Get("Location") != "https://shop.pf.test"+target {
		t.Fatalf("the login ends with %d, %q: %s\n%s", r.status, r.header.Get("Location"), r.body, b.log.String())
	}
	return w
}

func (b *fositeBed) count(words string) int { return strings.Count(b.log.String(), words) }

// renewed waits until the tokens of a browser have ended, and for them to be renewed.
func (b *fositeBed) renewed(t *testing.T, w *browser) {
	t.Helper()
	before := b.count("grant=refresh_token")
	b.eventually("the tokens are renewed", func() error {
		if r := w.do("GET", "/"); r.pod == nil || r.pod.Header.Get("X-User") != "ann" {
			return fmt.Errorf("status %d, after %s", r.status, b.log.String())
		}
		if b.count("grant=refresh_token") == before {
			return fmt.Errorf("no refresh after %s", b.log.String())
		}
		return nil
	})
}

// TestOIDCFosite: logins at a provider of another library, which differs in what providers
// differ in (test/tools/fosite): it says the address at its userinfo endpoint only.
func TestOIDCFosite(t *testing.T) {
	t.Parallel()
	b := newFositeBed(t)
	w := b.login(t, "/deep?a=b")
	r := w.do("GET", "/deep?a=b", "X-User: root", "X-Groups: admins", "X-Email: root@demo.test")
	if r.pod == nil || r.pod.Header.Get("X-User") != "ann" || r.pod.Header.Get("X-Groups") != "staff" || r.pod.Header.Get("X-Email") != "ann@demo.test" {
		t.Fatalf("status %d, the pod sees %v", r.status, r.pod)
	}
	w.must("GET", "/admin/users", 403)
	w.must("GET", "/admin/users", 403, "X-Groups: admins")
	stranger := b.browser("shop.pf.test")
	stranger.must("GET", "/", 401, "Sec-Fetch-Mode: cors")

	// Tokens end after two seconds; each refresh token is for once.
	for range 2 {
		b.renewed(t, w)
	}
	// Another key: of the session's next tokens, and of another login.
	res, err := b.client.Post("https://"+b.address+"/rotate", "", nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("rotate: %v", err)
	}
	_ = res.Body.Close()
	b.renewed(t, w)
	other := b.login(t, "/other")
	other.must("GET", "/other", 200)
	if n := b.count("msg=refused"); n != 0 {
		t.Errorf("the provider refuses %d requests:\n%s", n, b.log.String())
	}

	// Without an end_session_endpoint, a logout is the router's alone; the refresh token is revoked.
	if r := w.do("GET", "/oauth2/logout"); r.status != 401 || r.body != "You are logged out.\n" {
		t.Errorf("logout: %d %v %s", r.status, r.header, r.body)
	}
	w.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
	w.must("GET", "/", 302)
	b.eventually("the refresh token is revoked", func() error {
		if b.count("msg=revoked") == 0 {
			return fmt.Errorf("%s", b.log.String())
		}
		return nil
	})
	other.must("GET", "/other", 200)
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestOIDCFositePassword: a client whose password is wrong does not get in, and what the
// provider says stays within the router.
func TestOIDCFositePassword(t *testing.T) {
	t.Parallel()
	b := newFositeBed(t)
	b.apply(change{put: []metav1.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pf", Name: "client"}, Data: map[string][]byte{"client-secret": []byte("another")}}}})
	w := b.browser("shop.pf.test")
	b.begins()
	res, err := b.client.PostForm(w.do("GET", "/").header.Get("Location"), url.Values{"username": {"ann"}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil {
		t.Fatal(err)
	}
	if r := w.do("GET", back.RequestURI()); r.pod != nil || r.status < 400 || strings.Contains(r.body, "invalid_client") {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	w.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
	if b.count("msg=refused") == 0 {
		t.Error("the provider refuses nothing")
	}
}
