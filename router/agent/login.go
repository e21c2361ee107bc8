package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/spop"
)

const groupOIDC = "oidc"

// Prefixes of all cookies that are made here. Browsers take the first one only from the
// host itself, by TLS.
const (
	hostPrefix   = "__Host-fl-"
	domainPrefix = "__Secure-fl-"
)

// loginTime bounds what one request waits for its provider.
const loginTime = 5 * time.Second

// login is a login at an OpenID provider.
type login struct {
	snapshot.OIDC
	provider *kept[provider]
	fetcher  *fetcher
	issuer   jwt.Issuer
	// name is that of the session's cookie, and bound identifies what sessions are for. party is the client of the
	// provider, in the namespace, of which sessions may be for several things.
	name, bound, party string
	// group is the namespace's, for endedSessions.
	group string
	// backChannel is where the provider says that users have logged out.
	backChannel string
	// keeps are the names of claims that a session keeps.
	keeps []string
	scope string
}

func (e *Engine) newLogin(s *snapshot.Policy) (*login, error) {
	m := &login{OIDC: *s.OIDC}
	for _, p := range append([]string{m.RedirectPath, m.LogoutPath}, m.Skip...) {
		if normal, same := match.Normal(p); !same || normal != p || !strings.HasPrefix(p, "/") {
			return nil, fmt.Errorf("oidc: %q is not a path that programs read in one way only", p)
		}
	}
	m.backChannel = m.LogoutPath + snapshot.BackChannel
	switch {
	case m.RedirectPath == m.backChannel:
		return nil, errors.New("oidc: redirectPath is where the provider reports logouts")
	case m.RedirectPath == m.LogoutPath:
		return nil, errors.New("oidc: redirectPath and logoutPath are the same")
	case m.Cookie.MaxAge <= 0 || m.Cookie.Idle <= 0:
		return nil, errors.New("oidc: sessions without an end")
	case m.ClientID == "":
		return nil, errors.New("oidc: no clientID")
	}
	for _, c := range m.Claims {
		if !spop.ValidName(c.Header) || c.Claim == "" {
			return nil, fmt.Errorf("oidc: claim %q cannot become header %q", c.Claim, c.Header)
		}
	}
	m.issuer = jwt.Issuer{
		Name: m.Issuer, Audiences: append([]string{m.ClientID}, m.Audiences...), Leeway: 30 * time.Second,
		Algorithms: []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"},
	}
	if err := m.issuer.Check(); err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	m.scope = "openid"
	for _, one := range m.Scopes {
		if one != "openid" {
			m.scope += " " + one
		}
	}
	m.keeps = keptClaims(m.Claims, s.Authorization, s.Identities)
	if err := m.identify(s.Namespace); err != nil {
		return nil, err
	}
	var err error
	if m.fetcher, err = e.newFetcher(m.CA, groupOIDC); err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	if m.provider, err = e.openProvider(s.OIDC); err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return m, nil
}

// identify says what sessions are for: the same client of the same provider in the same
// namespace. Several routes of a host may have it in common.
func (m *login) identify(namespace string) error {
	about, err := json.Marshal([]any{
		namespace, m.Issuer, m.ClientID, m.scope, m.Audiences, m.Cookie, m.keeps, m.AccessToken != "", m.IDToken != "",
	})
	if err != nil {
		return fmt.Errorf("oidc: %w", err)
	}
	sum := sha256.Sum256(about)
	m.bound = hex.EncodeToString(sum[:])
	if about, err = json.Marshal([]string{"party", namespace, m.Issuer, m.ClientID}); err != nil {
		return fmt.Errorf("oidc: %w", err)
	}
	sum = sha256.Sum256(about)
	m.party = hex.EncodeToString(sum[:])
	sum = sha256.Sum256([]byte("namespace " + namespace))
	m.group = hex.EncodeToString(sum[:])
	name := m.Cookie.Name
	if name == "" {
		name = m.bound[:12]
	}
	m.name = hostPrefix + name
	if m.Cookie.Domain != "" {
		m.name = domainPrefix + name
	}
	return nil
}

// ended is what it is remembered by that something of a login has ended.
func (m *login) ended(of, id string) string { return sessionName(m.group, of+" "+id) }

// keptClaims are the names of claims that headers, rules and limits ask for.
func keptClaims(list []snapshot.ClaimHeader, rules []authorize.Rule, limits []snapshot.Identity) []string {
	names := []string{"sub"}
	for _, l := range limits {
		if l.Claim != "" {
			names = append(names, l.Claim)
		}
	}
	for _, c := range list {
		names = append(names, c.Claim)
	}
	for i := range rules {
		for _, c := range rules[i].Claims {
			names = append(names, c.Name)
		}
		if len(rules[i].Scopes) > 0 {
			names = append(names, "scope", "scp")
		}
		if len(rules[i].Groups) > 0 {
			names = append(names, "groups")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (m *login) mapped() []string {
	var names []string
	for _, c := range m.Claims {
		names = append(names, c.Header)
	}
	return append(names, slices.DeleteFunc([]string{m.AccessToken, m.IDToken}, func(n string) bool { return n == "" })...)
}

// visit is one request that a login decides about.
type visit struct {
	*login
	e    *Engine
	p    *policy
	q    *Question
	keys session.Keys
	path string
	// provider is set once it is known.
	provider *provider
	// called is set for a renewal that another router asks for. It is not handed on.
	called bool
}

func (m *login) decide(ctx context.Context, e *Engine, p *policy, q *Question, id *identity) Answer {
	v := &visit{login: m, e: e, p: p, q: q, keys: e.world.Load().sessions}
	v.path, _, _ = strings.Cut(q.Target, "?")
	switch {
	case !v.keys.Usable():
		return refuse(unavailable, groupOIDC, "no keys of sessions")
	case strings.ContainsAny(strings.TrimPrefix(q.Host, v.host()), "@/?#") || strings.ContainsAny(v.host(), "@/?#\\ "):
		return v.wrong(badRequest, "not the name of a host")
	case !q.TLS:
		return v.insecure()
	case m.Cookie.Domain != "" && v.host() != m.Cookie.Domain && !strings.HasSuffix(v.host(), "."+m.Cookie.Domain):
		return refuse(unavailable, groupOIDC, "the host is not below cookie.domain")
	case v.path == m.RedirectPath:
		return v.callback(ctx)
	case v.path == m.LogoutPath:
		_, ends := v.session()
		a := v.logout(ctx)
		a.Ended = ends
		return a
	case v.path == m.backChannel:
		return v.reported()
	case v.skipped():
		return Answer{Status: allowed, group: groupOIDC, from: fromAgent}
	}
	s, ok := v.session()
	if !ok {
		return v.unknown(ctx)
	}
	s, cookies, refused := v.renew(ctx, s)
	if refused != nil {
		return *refused
	}
	return v.admit(s, cookies, id)
}

// host is the request's, without port.
func (v *visit) host() string {
	host := v.q.Host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return host
}

// parts are what cookies of a kind are for.
func (v *visit) parts(kind string) []string {
	return []string{kind, v.bound, v.place()}
}

// place is the host, or the domain, whose session it is.
func (v *visit) place() string {
	if v.Cookie.Domain != "" {
		return "." + v.Cookie.Domain
	}
	return v.host()
}

// insecure leads to TLS, without which no cookie comes.
func (v *visit) insecure() Answer {
	if v.q.Method != http.MethodGet && v.q.Method != http.MethodHead {
		a := refuse(forbidden, groupOIDC, "without TLS")
		a.Body = "Use https.\n"
		return a
	}
	return v.redirect("https://"+v.host()+v.q.Target, "without TLS")
}

// redirect sends a browser elsewhere, by GET.
func (v *visit) redirect(to, reason string, cookies ...Header) Answer {
	status := found
	if v.q.Method != http.MethodGet && v.q.Method != http.MethodHead {
		status = http.StatusSeeOther
	}
	return Answer{
		Status: status, Reason: reason, group: groupOIDC, from: fromAgent,
		Client: append([]Header{{"Location", to}, {"Cache-Control", "no-store"}}, cookies...),
	}
}

// skipped reports whether the path needs no session, whatever program reads it.
func (v *visit) skipped() bool {
	if len(v.Skip) == 0 {
		return false
	}
	path, same := match.Normal(v.path)
	return same && slices.ContainsFunc(v.Skip, func(p string) bool {
		rest, below := strings.CutPrefix(path, strings.TrimRight(p, "/"))
		return below && (rest == "" || rest[0] == '/')
	})
}

// unknown is what a request without a session gets.
func (v *visit) unknown(ctx context.Context) Answer {
	if !v.Always && !v.opensPage() {
		a := refuse(unauthorized, groupOIDC, "no session")
		a.Client, a.Body = []Header{{"Cache-Control", "no-store"}}, "Unauthorized\n"
		return a
	}
	return v.begin(ctx, v.q.Target, false)
}

// opensPage reports whether a user opens a page, and not a script or a program.
func (v *visit) opensPage() bool {
	if mode, n := v.q.Headers.Get("sec-fetch-mode"); n == 1 {
		return string(mode) == "navigate"
	}
	accept, _ := v.q.Headers.Get("accept")
	return strings.Contains(strings.ToLower(string(accept)), "text/html")
}

// admit lets a request on with what its session says.
func (v *visit) admit(s *userSession, cookies []Header, id *identity) Answer {
	claims := s.claims
	id.claims = claims
	a := Answer{Status: allowed, group: groupOIDC, from: fromAgent, Client: cookies}
	if len(cookies) == 0 {
		a.TTL = v.sessionLife(s)
	}
	if sub, _ := claims.Values("sub"); len(sub) == 1 {
		a.Consumer = sub[0]
	}
	a.Set = claimHeaders(nil, claims, v.Claims)
	for _, t := range []struct{ header, token string }{{v.AccessToken, s.Access}, {v.IDToken, s.IDToken}} {
		if t.header == "" || t.token == "" || has(a.Set, t.header) {
			continue
		}
		if strings.EqualFold(t.header, "Authorization") {
			t.token = "Bearer " + t.token
		}
		a.Set = append(a.Set, Header{t.header, t.token})
	}
	return a
}

// ours reports whether a cookie was made here, by whatever policy.
func ours(name string) bool {
	return strings.HasPrefix(name, hostPrefix) || strings.HasPrefix(name, domainPrefix)
}

// stripCookies keeps all cookies of sessions from the pod.
func stripCookies(q *Question, a *Answer) {
	var rest []string
	found := false
	for name, value := range q.Headers.All() {
		if !strings.EqualFold(string(name), "cookie") {
			continue
		}
		for part := range strings.SplitSeq(string(value), ";") {
			part = strings.TrimSpace(part)
			if k, _, _ := strings.Cut(part, "="); ours(strings.TrimSpace(k)) {
				found = true
			} else if part != "" {
				rest = append(rest, part)
			}
		}
	}
	switch {
	case !found:
	case len(rest) == 0:
		a.Del = append(slices.Clone(a.Del), "cookie")
	default:
		a.Set = append(slices.Clone(a.Set), Header{"Cookie", strings.Join(rest, "; ")})
	}
}
