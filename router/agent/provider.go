package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// provider is an OpenID provider: what it says of itself, and its keys. It does not change.
type provider struct {
	endpoints snapshot.Endpoints
	// byBody has the client's password in the body of requests instead of their head.
	byBody bool
	// says is set if the provider names itself in what browsers bring back (RFC 9207).
	says bool
	// userInfo is where the provider says more about users; empty if it has no such endpoint.
	userInfo string
	keys     *jwt.Keys
}

// metadata is what is read of a discovery document.
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	JWKS          string   `json:"jwks_uri"`
	EndSession    string   `json:"end_session_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	SaysIssuer    bool     `json:"authorization_response_iss_parameter_supported"`
}

// openProvider returns the provider of a policy, and begins to read what it says.
func (e *Engine) openProvider(o *snapshot.OIDC) (*kept[provider], error) {
	f, err := e.newFetcher(o.CA, groupOIDC)
	if err != nil {
		return nil, err
	}
	endpoints, err := json.Marshal(o.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("the endpoints: %w", err)
	}
	issuer, own := o.Issuer, o.Endpoints
	return e.providers.open(issuer+"\x00"+string(endpoints), o.CA, func() *kept[provider] {
		return &kept[provider]{
			kind: snapshot.KindIssuer, issuer: issuer, address: issuer, now: e.now, log: e.log, source: f, documents: e.documents,
			load: func(ctx context.Context, from source) (*provider, time.Duration, error) {
				return readProvider(ctx, from, issuer, own)
			},
		}
	})
}

// readProvider reads the discovery document and the keys.
func readProvider(ctx context.Context, from source, issuer string, own snapshot.Endpoints) (*provider, time.Duration, error) {
	p, life := &provider{endpoints: own}, longestKeys
	if own.Authorization == "" || own.Token == "" || own.JWKS == "" {
		uri := strings.TrimRight(issuer, "/") + discoveryPath
		text, l, err := from.get(ctx, uri, "application/json")
		if err != nil {
			return nil, 0, err
		}
		if err := p.discover(issuer, text); err != nil {
			return nil, 0, &fetchError{uri, err}
		}
		life = l
	}
	keys, l, err := readKeys(ctx, from, p.endpoints.JWKS)
	if err != nil {
		return nil, 0, err
	}
	p.keys = keys
	return p, min(life, l), nil
}

// discover takes from the document what the policy does not say itself.
func (p *provider) discover(issuer string, text []byte) error {
	var m metadata
	if len(text) > jwt.MaxKeySet {
		return &answerError{fmt.Errorf("the discovery document has more than %d bytes", jwt.MaxKeySet)}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return &answerError{fmt.Errorf("the discovery document is not the JSON of a provider: %w", err)}
	}
	if m.Issuer != issuer {
		return documentError(causeOtherOne)
	}
	found := snapshot.Endpoints{Authorization: m.Authorization, Token: m.Token, JWKS: m.JWKS, EndSession: m.EndSession, Revocation: m.Revocation}
	for _, e := range []struct {
		to       *string
		from     string
		optional bool
	}{
		{&p.endpoints.Authorization, found.Authorization, false},
		{&p.endpoints.Token, found.Token, false},
		{&p.endpoints.JWKS, found.JWKS, false},
		{&p.endpoints.EndSession, found.EndSession, true},
		{&p.endpoints.Revocation, found.Revocation, true},
		{&p.userInfo, m.UserInfo, true},
	} {
		switch {
		case *e.to != "" || e.from == "" && e.optional:
		case !endpoint(e.from):
			return documentError(causeNoHTTPS)
		default:
			*e.to = e.from
		}
	}
	p.says = m.SaysIssuer
	p.byBody = len(m.Methods) > 0 && !slices.Contains(m.Methods, "client_secret_basic") && slices.Contains(m.Methods, "client_secret_post")
	return nil
}

// endpoint reports whether a text is an address that a browser may be sent to, and that
// secrets may.
func endpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.Fragment == "" && len(text) <= 1024 && spop.ValidValue(text) && !strings.Contains(text, " ")
}
