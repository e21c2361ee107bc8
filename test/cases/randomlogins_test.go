package cases

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/test/openid"
)

// login is a session of a user at a host.
type login struct {
	host, policy string
	// cookies are those of a session that is valid, expired those of one that is too old.
	cookies, expired string
}

// mostLogins bounds how many users log in after each change.
const mostLogins = 4

// expiredBy is how old expired sessions are, which is more than they may be idle.
const expiredBy = 2 * time.Hour

// logIn logs users in where policies have logins, by the agent in this process. Its keys are
// those of the router, so its cookies are as good as the router's own.
func (e *evaluation) logIn(t *testing.T, op *openid.Provider) {
	t.Helper()
	var claims []*model.Claim
	for _, name := range slices.Sorted(maps.Keys(e.claims)) {
		c := e.claims[name]
		a := c.Backend.Policy().Agent
		if !c.Closed && c.Termination == model.Edge && a != nil && readPolicy(t, a).OIDC != nil {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return
	}
	past := func() time.Time { return time.Now().Add(-expiredBy) }
	old := e.agentAt(t, past)
	for _, c := range claims[:min(len(claims), mostLogins)] {
		l := login{host: c.Host, policy: c.Backend.Policy().Agent.ID}
		if l.cookies = session(t, e.agent, op, &l); l.cookies == "" {
			continue // another method lets everybody in
		}
		op.Set(func(o *openid.Options) { o.Now = past })
		l.expired = session(t, old, op, &l)
		op.Set(func(o *openid.Options) { o.Now = time.Now })
		e.logins = append(e.logins, l)
	}
}

// session logs a user in, and returns the cookies.
func session(t *testing.T, a *agent.Engine, op *openid.Provider, l *login) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	r := &request{method: http.MethodGet, tls: true, host: l.host, target: "/", header: []string{"Accept: text/html"}}
	begun := a.Decide(ctx, r.question(t, l.policy))
	to := valueOf(begun.Client, "Location")
	if begun.Status != http.StatusFound || !strings.HasPrefix(to, op.Issuer) {
		return ""
	}
	client := *op.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil {
		t.Fatalf("the provider answers %d", res.StatusCode)
	}
	r.target = back.RequestURI()
	r.header = append(r.header, "Cookie: "+cookiesOf(begun.Client))
	ended := a.Decide(ctx, r.question(t, l.policy))
	if cookies := cookiesOf(ended.Client); ended.Status == http.StatusFound && cookies != "" {
		return cookies
	}
	t.Fatalf("the login at %s ends with %d, %s", l.host, ended.Status, ended.Reason)
	return ""
}

func valueOf(list []agent.Header, name string) string {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// cookiesOf are the cookies that an answer sets.
func cookiesOf(list []agent.Header) string {
	var all []string
	for _, h := range list {
		if c, err := http.ParseSetCookie(h.Value); strings.EqualFold(h.Name, "Set-Cookie") && err == nil && c.MaxAge > 0 {
			all = append(all, c.Name+"="+c.Value)
		}
	}
	return strings.Join(all, "; ")
}

// The sessions that requests show.
const (
	sessionValid   = "valid"
	sessionExpired = "expired"
	sessionForged  = "forged"
	sessionForeign = "of another host"
)

// show gives some of the requests by TLS a session of those that there are.
func (g *policyDice) show(r *request, logins []login) {
	if len(logins) == 0 || !r.tls || !g.in(70) {
		return
	}
	l := logins[g.IntN(len(logins))]
	if g.in(60) {
		at := l
		if g.in(30) {
			at = logins[g.IntN(len(logins))]
		}
		r.host, r.sni = at.host, at.host
	}
	cookies := l.cookies
	switch r.session = sessionValid; {
	case r.host != l.host:
		r.session = sessionForeign
	case g.in(20):
		r.session, cookies = sessionExpired, l.expired
	case g.in(30):
		at := len(cookies)/2 + g.IntN(len(cookies)/4)
		letter := "A"
		if cookies[at] == 'A' {
			letter = "B"
		}
		r.session, cookies = sessionForged, cookies[:at]+letter+cookies[at+1:]
	}
	r.header = append(r.header, "Cookie: "+cookies)
}

// onlyLogin reports whether nothing but a session lets a request in.
func (e *evaluation) onlyLogin(t *testing.T, r *request) bool {
	t.Helper()
	c := e.claims[decide(e.pipeline.Want(), r).value]
	if c == nil || c.Closed || c.Backend.Policy().Agent == nil {
		return false
	}
	p := readPolicy(t, c.Backend.Policy().Agent)
	return p.OIDC != nil && p.Satisfy != snapshot.Any && len(p.OIDC.Skip) == 0
}

// loginShape checks where a request without a session is sent.
func loginShape(op *openid.Provider, r *request, got *response) error {
	to, err := url.Parse(got.header.Get("Location"))
	if err != nil {
		return err
	}
	q := to.Query()
	if "https://"+to.Host != op.Issuer || q.Get("client_id") != openid.ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		!strings.HasPrefix(q.Get("redirect_uri"), "https://"+r.host+"/") || !strings.HasSuffix(q.Get("redirect_uri"), "/oauth2/callback") || len(q.Get("state")) < 32 || len(q.Get("nonce")) < 32 || len(q.Get("code_challenge")) < 32 {
		return fmt.Errorf("the login leads to %s", to)
	}
	for _, c := range got.cookies {
		if strings.HasSuffix(c.Name, q.Get("state")[:10]) && strings.HasPrefix(c.Name, "__Host-fl-") && c.Secure && c.HttpOnly {
			return nil
		}
	}
	return fmt.Errorf("the login with state %s has no cookie: %v", q.Get("state"), got.cookies)
}

// loginObjects are what policies with logins name.
func loginObjects(op *openid.Provider) []metav1.Object {
	secret := func(name, key, value string) metav1.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "rp", Name: name}, Data: map[string][]byte{key: []byte(value)}}
	}
	return []metav1.Object{secret("client", "client-secret", openid.ClientSecret), secret("provider", "ca.crt", op.CA())}
}
