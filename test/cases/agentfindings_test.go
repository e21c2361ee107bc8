package cases

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/test/openid"
	"github.com/fairlead/fairlead/test/wait"
)

const unreadObjects = `kind: ClusterRoutePolicy
metadata: {name: guard}
spec: {guard: {externalURLs: [198.18.250.63]}}
---
kind: Route
metadata: {namespace: pu, name: shop, annotations: {fairlead.dev/policy: members}}
spec: {host: shop.pu.test, to: {kind: Service, name: web}, tls: {termination: edge}}
---
kind: Route
metadata: {namespace: pu, name: api, annotations: {fairlead.dev/policy: tokens}}
spec: {host: api.pu.test, to: {kind: Service, name: web}}
---
kind: RoutePolicy
metadata: {namespace: pu, name: members}
spec: {targetRefs: [{group: route.openshift.io, kind: Route, name: none}], authentication: {oidc: {issuer: "%[1]s", clientID: shop, clientSecret: client, caSecret: provider}}}
---
kind: RoutePolicy
metadata: {namespace: pu, name: tokens}
spec: {targetRefs: [{group: route.openshift.io, kind: Route, name: none}], authentication: {jwt: {issuers: [{issuer: "https://tokens.example.com", jwks: {uri: "%[1]s/jwks", caSecret: provider}}]}}}`

// unreadBed is a router with a login and with tokens, whose provider and keys can be away.
type unreadBed struct {
	*bed
	op   *openid.Provider
	away atomic.Bool
	key  issuerKey
	// asked counts requests, so that no token is shown twice: HAProxy keeps verdicts about them.
	asked atomic.Int64
}

func newUnreadBed(t *testing.T) *unreadBed {
	t.Helper()
	b := &unreadBed{bed: newBed(t, "haproxy", newMemory()), key: newIssuerKey(t, "one")}
	b.agent = &agentBed{dir: b.layout.Run, clock: filepath.Join(t.TempDir(), "clock")}
	b.startAgent()
	b.start()
	b.op = openid.New(t, "198.18.250.63")
	b.away.Store(true)
	keys := keySet(b.key).Data["jwks"]
	b.op.Set(func(o *openid.Options) {
		o.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case b.away.Load():
				w.WriteHeader(http.StatusBadGateway)
			case r.URL.Path == "/jwks":
				_, _ = w.Write(keys)
			default:
				return false
			}
			return true
		}
	})
	var s step
	if err := s.services([]string{"pu/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{"client": {"client-secret": []byte(openid.ClientSecret)}, "provider": {"ca.crt": []byte(b.op.CA())}} {
		s.change.put = append(s.change.put, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "pu", Name: name}, Data: data})
	}
	s.change.put = append(s.change.put, objectsChange(t, fmt.Sprintf(unreadObjects, b.op.Issuer)).put...)
	b.apply(s.change)
	return b
}

// ahead sets the clock of the agent.
func (b *bed) ahead(d time.Duration) {
	b.t.Helper()
	fresh := b.agent.clock + ".new"
	if err := os.WriteFile(fresh, []byte(d.String()), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(fresh, b.agent.clock); err != nil {
		b.t.Fatal(err)
	}
}

// answers are the statuses of a page with a login, and of a request with a token.
func (b *unreadBed) answers() (login, token int) {
	page := request{method: "GET", tls: true, host: "shop.pu.test", target: "/", header: []string{"Accept: text/html"}}
	life := 1000*time.Hour + time.Duration(b.asked.Add(1))*time.Minute
	return page.do(b.http, b.https).status, b.get("api.pu.test", b.key.token("EdDSA", "https://tokens.example.com", life)).status
}

func (b *unreadBed) wants(when string, login, token int) {
	b.t.Helper()
	if l, k := b.answers(); l != login || k != token {
		b.t.Errorf("%s: a login gets %d, a token %d; want %d and %d", when, l, k, login, token)
	}
}

// findings counts those of a policy with a text.
func (b *unreadBed) findings(name string) (n int) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	return len(b.cluster.reports[model.Object{Kind: policy.KindRoutePolicy, Namespace: "pu", Name: name}].Findings)
}

// TestUnreadIssuer: a policy says that its provider, or its keys, cannot be read, when it is
// written and without a request; what was read serves on while they are away, also after a
// restart of the agent, and the policy says until when.
func TestUnreadIssuer(t *testing.T) {
	t.Parallel()
	b := newUnreadBed(t)
	says := func(want, message string) {
		t.Helper()
		issuer, keys := want, want
		if want != "True ResolvedRefs" {
			issuer, keys = "False IssuerUnreachable", "False JWKSUnavailable"
		}
		b.expectPolicy(t, "pu", "members", "ResolvedRefs", issuer, message)
		b.expectPolicy(t, "pu", "tokens", "ResolvedRefs", keys, message)
	}
	says("False", "cannot be read: an answer that is no ")
	b.expectPolicy(t, "pu", "members", "ResolvedRefs", "False IssuerUnreachable", "answer 503")
	b.expectPolicy(t, "pu", "tokens", "Protecting", "True Protecting", "")
	if b.findings("members") != 1 || b.findings("tokens") != 1 {
		t.Error("there is no finding")
	}
	b.wants("away at first", 503, 503)
	b.away.Store(false)
	says("True ResolvedRefs", "")
	b.wants("back", 302, 200)
	if b.findings("members") != 0 || b.findings("tokens") != 0 {
		t.Error("the findings stay")
	}
	b.away.Store(true)
	const discovery = "/.well-known/openid-configuration"
	keys, provider := b.op.Asked("/jwks"), b.op.Asked(discovery)
	b.ahead(11 * time.Minute)
	b.eventually("both workers ask again", func() error {
		if k, p := b.op.Asked("/jwks")-keys, b.op.Asked(discovery)-provider; k < 2 || p < 2 {
			return fmt.Errorf("asked %d and %d times", k, p)
		}
		return nil
	})
	b.ahead(12 * time.Minute)
	says("False", " until 20")
	b.wants("away for minutes", 302, 200)
	b.signalWorkers(syscall.SIGKILL)
	b.eventually("the agent is back", func() error {
		if l, k := b.answers(); l != 302 || k != 200 {
			return fmt.Errorf("a login gets %d, a token %d", l, k)
		}
		return nil
	})
	says("False", " until 20")
	b.ahead(25 * time.Hour)
	says("False", "until it can be read")
	b.wants("away for a day", 503, 503)
	b.away.Store(false)
	b.ahead(26 * time.Hour)
	says("True ResolvedRefs", "")
	b.wants("back again", 302, 200)
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestAuthServerFails: an auth server that fails is a finding of what names it: the policy, or the
// Route by its annotation.
func TestAuthServerFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.start()
	var s step
	if err := s.services([]string{"pv/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	s.change.put = append(s.change.put, objectsChange(t, `kind: Route
metadata: {namespace: pv, name: own, annotations: {fairlead.dev/auth-url: web/check}}
spec: {host: own.pv.test, to: {kind: Service, name: web}}
---
kind: Route
metadata: {namespace: pv, name: policed, annotations: {fairlead.dev/policy: members}}
spec: {host: policed.pv.test, to: {kind: Service, name: web}}
---
kind: RoutePolicy
metadata: {namespace: pv, name: members}
spec: {targetRefs: [{group: route.openshift.io, kind: Route, name: none}], authentication: {external: {service: {name: web, path: /check}}}}`).put...)
	b.apply(s.change)
	own := parseObject("Route", "pv/own")
	members := model.Object{Kind: policy.KindRoutePolicy, Namespace: "pv", Name: "members"}
	found := func() (route, policed bool) {
		st, _ := b.statusOf(own)
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		is := func(f api.Finding) bool { return f.Reason == api.ReasonAuthServerError }
		return slices.ContainsFunc(st.Findings, is), slices.ContainsFunc(b.cluster.reports[members].Findings, is)
	}
	for _, host := range []string{"own.pv.test", "policed.pv.test"} {
		b.eventually("a good token gets through", func() error { return wait.True(b.get(host, "Authorization: Bearer good").status == 200) })
	}
	if route, policed := found(); route || policed {
		t.Error("a finding although all is good")
	}
	for range 6 { // either worker may be asked
		for _, host := range []string{"own.pv.test", "policed.pv.test"} {
			if r := b.get(host, "Authorization: Bearer broken"); r.status != 503 {
				t.Errorf("%s: status %d", host, r.status)
			}
		}
	}
	b.eventually("findings", func() error {
		route, policed := found()
		return wait.True(route && policed)
	})
	b.expectPolicy(t, "pv", "members", "ResolvedRefs", "True ResolvedRefs", "")
	if r := b.get("own.pv.test", "Authorization: Bearer good"); r.status != 200 {
		t.Errorf("the others: status %d", r.status)
	}
}

// TestAuthServerOfRule: where rules of an HTTPRoute have policies of their own, the one whose auth
// server fails has the finding, and the other one has none.
func TestAuthServerOfRule(t *testing.T) {
	t.Parallel()
	const one = `
---
kind: RoutePolicy
metadata: {namespace: gw, name: %[1]s}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: %[1]s}], authentication: {external: {service: {name: one, path: /check}}}}`
	b := policedBed(t, policedRoutes+fmt.Sprintf(one, "admin")+fmt.Sprintf(one, "prefix"))
	b.expectAtListeners(t, `
80 GET http://shop.test/admin -> 401
80 GET http://shop.test/prefix -> 401
`)
	broken := request{method: http.MethodGet, host: "shop.test", target: "/admin", header: []string{"Authorization: Bearer broken"}}
	for range 6 {
		if r := broken.do(b.slots.First, b.https); r.status != 503 {
			t.Errorf("status %d", r.status)
		}
	}
	findings := func(name string) []api.Finding {
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		return b.cluster.reports[model.Object{Kind: policy.KindRoutePolicy, Namespace: "gw", Name: name}].Findings
	}
	b.eventually("a finding", func() error { return wait.True(len(findings("admin")) == 1) })
	if other := findings("prefix"); len(other) > 0 {
		t.Errorf("of the other rule: %v", other)
	}
	if st, _ := b.statusOf(parseObject("HTTPRoute", "gw/shop")); slices.ContainsFunc(st.Findings, func(f api.Finding) bool { return f.Reason == api.ReasonAuthServerError }) {
		t.Errorf("the route has findings of its policies: %v", st.Findings)
	}
}
