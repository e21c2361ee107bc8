package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

const (
	// tokenLife is for how long a verified token is not verified again.
	tokenLife = time.Minute
	// mostIssuers is the largest number of issuers of a policy.
	mostIssuers = 10
)

// tokens is authentication by JSON Web Tokens.
type tokens struct {
	issuers  map[string]issuer
	from     []snapshot.Source
	claims   []snapshot.ClaimHeader
	optional bool
	drop     bool
}

// issuer has fixed keys or a set that is fetched.
type issuer struct {
	jwt.Issuer
	// place is which one of the policy's it is.
	place   int
	fixed   *jwt.Keys
	fetched *keySet
}

func (e *Engine) newTokens(j *snapshot.JWT) (*tokens, error) {
	m := &tokens{issuers: map[string]issuer{}, from: j.From, claims: j.Claims, optional: j.Optional, drop: j.Drop}
	if len(m.from) == 0 {
		m.from = []snapshot.Source{{Type: "Header", Name: "Authorization", Prefix: "Bearer "}}
	}
	if len(j.Issuers) == 0 || len(j.Issuers) > mostIssuers {
		return nil, fmt.Errorf("jwt: %d issuers; name 1 to %d", len(j.Issuers), mostIssuers)
	}
	for i := range j.Issuers {
		one, err := e.newIssuer(&j.Issuers[i])
		if err != nil {
			return nil, fmt.Errorf("jwt: issuer %q: %w", j.Issuers[i].Name, err)
		}
		if _, twice := m.issuers[one.Name]; twice {
			return nil, fmt.Errorf("jwt: issuer %q stands twice", one.Name)
		}
		one.place = i
		m.issuers[one.Name] = one
	}
	for _, s := range m.from {
		if s.Type != "Header" && s.Type != "Cookie" && s.Type != "Query" || s.Name == "" || s.Type == "Header" && !spop.ValidName(s.Name) {
			return nil, fmt.Errorf("jwt: a token cannot be in %s %q", s.Type, s.Name)
		}
	}
	for _, c := range m.claims {
		if !spop.ValidName(c.Header) || c.Claim == "" || c.As != "" && c.As != jwt.Text && c.As != jwt.Base64 && c.As != jwt.JSON {
			return nil, fmt.Errorf("jwt: claim %q cannot become header %q as %q", c.Claim, c.Header, c.As)
		}
	}
	return m, nil
}

func (e *Engine) newIssuer(s *snapshot.Issuer) (issuer, error) {
	i := issuer{Issuer: jwt.Issuer{
		Name: s.Name, Audiences: s.Audiences, Algorithms: s.Algorithms, Leeway: s.Leeway, MaxAge: s.MaxAge, Shared: len(s.Secret) > 0,
	}}
	if len(i.Algorithms) == 0 && !i.Shared {
		i.Algorithms = jwt.DefaultAlgorithms()
	}
	if err := i.Check(); err != nil {
		return i, err
	}
	var err error
	switch {
	case s.JWKSURI != "" && (s.JWKS != "" || i.Shared) || s.JWKS != "" && i.Shared:
		err = errors.New("several sources of keys")
	case i.Shared:
		i.fixed, err = jwt.SharedKey(s.Secret)
	case s.JWKS != "":
		i.fixed, err = jwt.ParseKeys([]byte(s.JWKS))
	default:
		i.fetched, err = e.fetchedKeys(s)
	}
	return i, err
}

func (e *Engine) fetchedKeys(s *snapshot.Issuer) (*keySet, error) {
	if u, err := url.Parse(s.JWKSURI); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, errors.New("the URI of its keys is not a URL of http or https")
	}
	f, err := e.newFetcher(s.CA, groupJWT)
	if err != nil {
		return nil, err
	}
	uri := s.JWKSURI
	return e.keys.open(uri, s.CA, func() *keySet {
		return &keySet{
			kind: snapshot.KindKeys, issuer: s.Name, address: uri, now: e.now, log: e.log, source: f, documents: e.documents,
			load: func(ctx context.Context, from source) (*jwt.Keys, time.Duration, error) {
				return readKeys(ctx, from, uri)
			},
		}
	})
}

func (m *tokens) mapped() []string {
	names := make([]string, 0, len(m.claims))
	for _, c := range m.claims {
		names = append(names, c.Header)
	}
	return names
}

func (m *tokens) invalid(reason string) Answer {
	a := refuse(unauthorized, groupJWT, reason)
	a.Client = []Header{{"WWW-Authenticate", `Bearer error="invalid_token"`}}
	a.Body = "Unauthorized\n"
	return a
}

func (m *tokens) decide(ctx context.Context, e *Engine, p *policy, q *Question, id *identity) Answer {
	text, count := m.find(q)
	switch {
	case count == 0 && m.optional && p.satisfy != snapshot.Any:
		return Answer{Status: allowed, group: groupJWT, from: fromAgent}
	case count == 0:
		a := m.invalid("no token")
		a.Client = []Header{{"WWW-Authenticate", "Bearer"}}
		return a
	case count > 1:
		return m.invalid("several tokens")
	}
	k := e.keyOf(p.hash, groupJWT, text)
	if kept, ok := e.tokens.get(k); ok && e.now().Before(kept.until) {
		id.claims = kept.claims
		a := m.allow(kept.claims, min(tokenLife, kept.until.Sub(e.now())))
		a.from = fromCache
		return a
	}
	claims, until, err := m.verify(ctx, e, text)
	switch {
	case errors.Is(err, jwt.ErrNoKeys):
		return refuse(unavailable, groupJWT, "JWKSUnavailable")
	case err != nil:
		return m.invalid(short(err.Error()))
	}
	life := min(tokenLife, until.Sub(e.now()))
	e.tokens.put(k, verified{claims, until, len(text)}, life)
	id.claims = claims
	return m.allow(claims, life)
}

// verified is a token that was verified.
type verified struct {
	claims jwt.Claims
	until  time.Time
	size   int
}

func (m *tokens) verify(ctx context.Context, e *Engine, text string) (jwt.Claims, time.Time, error) {
	token, err := jwt.Parse(text)
	if err != nil {
		return nil, time.Time{}, err
	}
	i, known := m.issuers[token.Issuer()]
	if !known {
		return nil, time.Time{}, errors.New("unknown issuer")
	}
	if i.fetched == nil {
		return token.Verify(&i.Issuer, i.fixed, e.now())
	}
	keys, err := i.fetched.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	var claims jwt.Claims
	var until time.Time
	err = i.fetched.verify(ctx, keys, func(k *jwt.Keys) (err error) {
		claims, until, err = token.Verify(&i.Issuer, k, e.now())
		return err
	})
	return claims, until, err
}

// allow lets a request on with the headers that its claims become.
func (m *tokens) allow(claims jwt.Claims, life time.Duration) Answer {
	a := Answer{Status: allowed, group: groupJWT, from: fromAgent, TTL: life}
	if sub, _ := claims.Values("sub"); len(sub) == 1 {
		a.Consumer = sub[0]
	}
	a.Set = claimHeaders(a.Set, claims, m.claims)
	if m.drop {
		for _, s := range m.from {
			if s.Type == "Header" {
				a.Del = append(a.Del, s.Name)
			}
		}
	}
	return a
}

// claimHeaders adds the headers that claims become.
func claimHeaders(set []Header, claims jwt.Claims, list []snapshot.ClaimHeader) []Header {
	for _, c := range list {
		form := c.As
		if form == "" {
			form = jwt.Text
		}
		if v, ok := claims.HeaderValue(c.Claim, form); ok && !has(set, c.Header) {
			set = append(set, Header{c.Header, v})
		}
	}
	return set
}

// find returns the token, and in how many places there is one.
func (m *tokens) find(q *Question) (text string, count int) {
	for _, s := range m.from {
		for _, v := range values(q, s) {
			rest := v
			if s.Prefix != "" {
				if len(v) < len(s.Prefix) || !strings.EqualFold(v[:len(s.Prefix)], s.Prefix) {
					continue
				}
				rest = v[len(s.Prefix):]
			}
			text = strings.TrimSpace(rest)
			count++
		}
	}
	return text, count
}

func values(q *Question, s snapshot.Source) []string {
	switch s.Type {
	case "Header":
		var list []string
		for n, v := range q.Headers.All() {
			if strings.EqualFold(string(n), s.Name) {
				list = append(list, string(v))
			}
		}
		return list
	case "Cookie":
		return cookies(q, s.Name)
	case "Query":
		_, query, _ := strings.Cut(q.Target, "?")
		parsed, err := url.ParseQuery(query)
		if err != nil {
			return nil
		}
		return slices.Clone(parsed[s.Name])
	}
	return nil
}

// cookies returns the values of all cookies of a name.
func cookies(q *Question, name string) (list []string) {
	for n, v := range q.Headers.All() {
		if !strings.EqualFold(string(n), "cookie") {
			continue
		}
		for part := range strings.SplitSeq(string(v), ";") {
			if k, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && k == name {
				list = append(list, strings.Trim(value, `"`))
			}
		}
	}
	return list
}

// short is a reason for the log.
func short(reason string) string {
	const most = 120
	if len(reason) > most {
		return reason[:most]
	}
	return reason
}
