package agent

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

const longestTokens = 64 << 10

// tokenAnswer is what the token endpoint says.
type tokenAnswer struct {
	Access    string  `json:"access_token"`
	IDToken   string  `json:"id_token"`
	Refresh   string  `json:"refresh_token"`
	ExpiresIn seconds `json:"expires_in"`
	Scope     string  `json:"scope"`
}

// seconds is a number that some providers write as a text.
type seconds int64

// UnmarshalJSON implements json.Unmarshaler. What is no number is 0.
func (s *seconds) UnmarshalJSON(text []byte) error {
	var n json.Number
	if json.Unmarshal([]byte(strings.Trim(string(text), `"`)), &n) == nil {
		if f, err := n.Float64(); err == nil && f > 0 && f < 1e9 {
			*s = seconds(f)
		}
	}
	return nil
}

// tokenError is what the token endpoint says instead (RFC 6749, section 5.2).
type tokenError struct {
	Code string `json:"error"`
}

func (e *tokenError) Error() string { return "the provider refuses: " + e.Code }

// exchange asks the token endpoint. A tokenError is its refusal; any other error says that
// it did not answer.
func (v *visit) exchange(ctx context.Context, values map[string]string) (*tokenAnswer, error) {
	status, body, err := v.post(ctx, v.provider.endpoints.Token, values)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		var t tokenAnswer
		if json.Unmarshal(body, &t) != nil {
			return nil, errors.New("the token endpoint did not answer with JSON")
		}
		return &t, nil
	case status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden:
		var e tokenError
		if json.Unmarshal(body, &e) == nil && e.Code != "" {
			return nil, &e
		}
		return nil, &tokenError{fmt.Sprintf("status %d", status)}
	}
	return nil, fmt.Errorf("the token endpoint answered with status %d", status)
}

// post sends a form with the client's password to an endpoint of the provider.
func (v *visit) post(ctx context.Context, to string, values map[string]string) (status int, body []byte, err error) {
	form := url.Values{}
	for k, value := range values {
		form.Set(k, value)
	}
	byHead := v.ClientSecret != "" && !v.provider.byBody
	if !byHead {
		form.Set("client_id", v.ClientID)
	}
	if v.ClientSecret != "" && v.provider.byBody {
		form.Set("client_secret", v.ClientSecret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, fmt.Errorf("ask the provider: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if byHead {
		r.SetBasicAuth(url.QueryEscape(v.ClientID), url.QueryEscape(v.ClientSecret))
	}
	return v.ask(r)
}

// ask sends a request to an endpoint of the provider, within the namespace's share of such work, and
// reads the answer, which is bounded.
func (v *visit) ask(r *http.Request) (status int, body []byte, err error) {
	if !v.e.slots.take(v.p.namespace) {
		v.e.metrics.shed.Inc()
		return 0, nil, errBusy
	}
	defer v.e.slots.give(v.p.namespace)
	began := v.e.now()
	answer, err := v.fetcher.client.Do(r)
	v.e.metrics.upstream.WithLabelValues(groupOIDC).Observe(v.e.now().Sub(began).Seconds())
	if err != nil {
		return 0, nil, fmt.Errorf("ask the provider: %w", err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, longestTokens+1)); err != nil || len(body) > longestTokens {
		return 0, nil, errors.New("ask the provider: the answer is cut off or too long")
	}
	return answer.StatusCode, body, nil
}

// verify checks an ID token (OpenID Connect Core, 3.1.3.7). nonce is empty for a renewed
// one, which may have none.
func (v *visit) verify(ctx context.Context, t *tokenAnswer, nonce string) (jwt.Claims, time.Time, error) {
	none := time.Time{}
	token, err := jwt.Parse(t.IDToken)
	if err != nil {
		return nil, none, err
	}
	var claims jwt.Claims
	var until time.Time
	err = v.login.provider.verify(ctx, v.provider, func(p *provider) (err error) {
		v.provider = p
		claims, until, err = token.Verify(&v.issuer, p.keys, v.e.now())
		return err
	})
	if err != nil {
		return nil, none, err
	}
	return claims, until, v.judge(claims, token.Algorithm(), t.Access, nonce)
}

// judge checks the claims that only ID tokens have.
func (v *visit) judge(claims jwt.Claims, algorithm, access, nonce string) error {
	one := func(name string) (string, bool) {
		values, ok := claims.Values(name)
		if !ok || len(values) != 1 {
			return "", false
		}
		return values[0], true
	}
	audiences, _ := claims.Values("aud")
	azp, hasParty := one("azp")
	_, hasIssued := one("iat")
	sub, hasSubject := one("sub")
	said, _ := one("nonce")
	hash, hasHash := one("at_hash")
	switch {
	case !hasSubject || sub == "" || len(sub) > 255:
		return errors.New("it has no subject")
	case !hasIssued:
		return errors.New("it does not say when it was issued")
	case hasParty && azp != v.ClientID && !slices.Contains(v.Audiences, azp), len(audiences) > 1 && !hasParty:
		return errors.New("it was issued to another client")
	case nonce != "" && subtle.ConstantTimeCompare([]byte(said), []byte(nonce)) != 1:
		return errors.New("it is of another login")
	case hasHash && hash != accessHash(algorithm, access):
		return errors.New("it is of another access token")
	}
	return nil
}

// accessHash is at_hash of an access token.
func accessHash(algorithm, access string) string {
	var sum []byte
	switch {
	case strings.HasSuffix(algorithm, "384"):
		s := sha512.Sum384([]byte(access))
		sum = s[:]
	case strings.HasSuffix(algorithm, "512"), algorithm == "EdDSA":
		s := sha512.Sum512([]byte(access))
		sum = s[:]
	default:
		s := sha256.Sum256([]byte(access))
		sum = s[:]
	}
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
