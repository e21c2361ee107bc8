package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// errOtherUser is what the provider says about a user who is not that of the ID token.
var errOtherUser = errors.New("the userinfo endpoint answers about another user")

// userInfo adds claims to those of an ID token that has none of these names, as the provider's
// userinfo endpoint says them (OpenID Connect Core, 5.3), and returns the names that it was asked
// for. Each name that the policy needs is asked for; without an endpoint or an access token, none is.
func (v *visit) userInfo(ctx context.Context, t *tokenAnswer, claims jwt.Claims) (jwt.Claims, []string, error) {
	names := v.lacking(claims)
	if len(names) == 0 || v.provider.userInfo == "" || t.Access == "" {
		return claims, nil, nil
	}
	said, err := v.askUser(ctx, t.Access)
	if err != nil {
		return nil, nil, err
	}
	// Section 5.3.2: else a provider, or another program that answers for it, could mix up users.
	subject, _ := claims.Values("sub")
	of, _ := said.Values("sub")
	if len(subject) != 1 || len(of) != 1 || of[0] != subject[0] {
		return nil, nil, errOtherUser
	}
	all := maps.Clone(claims)
	for name, value := range said.Keep(names) {
		if _, has := all[name]; !has {
			all[name] = value
		}
	}
	return all, names, nil
}

// lacking are the names of claims that the policy needs and the ID token has not.
func (v *visit) lacking(claims jwt.Claims) (names []string) {
	for _, name := range v.keeps {
		if name != "sub" && name != "scope" && name != "scp" && len(claims.Keep([]string{name})) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// askUser asks the userinfo endpoint.
func (v *visit) askUser(ctx context.Context, access string) (jwt.Claims, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.provider.userInfo, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for the user: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+access)
	status, body, err := v.ask(r)
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, fmt.Errorf("the userinfo endpoint answered with status %d", status)
	}
	claims, err := jwt.ReadClaims(body)
	if err != nil {
		return nil, fmt.Errorf("the userinfo endpoint: %w", err)
	}
	return claims, nil
}

// learn asks again for what the userinfo endpoint has said about the user of a session, where a
// renewal brings no ID token.
func (s *userSession) learn(ctx context.Context, v *visit, t *tokenAnswer) error {
	if len(s.Asked) == 0 {
		return nil
	}
	before := maps.Clone(s.claims)
	for _, name := range s.Asked {
		for kept := range before.Keep([]string{name}) {
			delete(before, kept)
		}
	}
	claims, _, err := v.userInfo(ctx, t, before)
	if err != nil {
		return err
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return fmt.Errorf("keep the claims: %w", err)
	}
	s.claims, s.Claims = claims, text
	return nil
}
