package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/agent/jwt"
)

// Bounds of logins.
const (
	// attemptLife is for how long a user may take to log in.
	attemptLife = 10 * time.Minute
	// mostAttempts is how many logins of one browser run at a time, one for each tab.
	mostAttempts = 5
	// longestReturn is the longest path and query that a login leads back to.
	longestReturn = 2048
	randomBytes   = 32
)

// attempt is a login that has begun: the text of a cookie of its own.
type attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	// Return is the path and query that were asked for.
	Return string `json:"r"`
	Until  int64  `json:"u"`
	// Again is set for the second login in a row.
	Again bool `json:"a,omitempty"`
}

func random() string {
	b := make([]byte, randomBytes)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// attemptName is the cookie of the login with a state.
func (v *visit) attemptName(state string) string {
	return v.name + "-l-" + state[:min(len(state), 10)]
}

// begin sends a browser to its provider.
func (v *visit) begin(ctx context.Context, back string, again bool) Answer {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	p, err := v.login.provider.get(ctx)
	if err != nil {
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	}
	now := v.e.now()
	a := attempt{State: random(), Nonce: random(), Verifier: random(), Return: back, Until: now.Add(attemptLife).Unix(), Again: again}
	if len(back) > longestReturn {
		a.Return, _, _ = strings.Cut(back, "?")
		if len(a.Return) > longestReturn {
			a.Return = "/"
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return refuse(unavailable, groupOIDC, "internal error")
	}
	sealed, err := v.keys.Seal(now, text, v.parts(kindAttempt)...)
	if err != nil {
		return refuse(unavailable, groupOIDC, err.Error())
	}
	challenge := sha256.Sum256([]byte(a.Verifier))
	to := withQuery(p.endpoints.Authorization, url.Values{
		"response_type": {"code"}, "client_id": {v.ClientID}, "redirect_uri": {v.redirectURI()}, "scope": {v.scope}, "state": {a.State}, "nonce": {a.Nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	})
	// It comes back from another site, so Strict would lose it.
	list := []Header{v.setCookie(v.attemptName(a.State), sealed, attemptLife, "Lax")}
	return v.redirect(to, "login", append(list, v.endAttempts(mostAttempts-1)...)...)
}

// redirectURI is where the provider sends the browser back to: this host.
func (v *visit) redirectURI() string { return "https://" + v.q.Host + v.RedirectPath }

// withQuery adds parameters to an address, which may have some.
func withQuery(address string, values url.Values) string {
	if strings.Contains(address, "?") {
		return address + "&" + values.Encode()
	}
	return address + "?" + values.Encode()
}

// endAttempts ends the cookies of logins but for the newest ones that can be used.
func (v *visit) endAttempts(keep int) (list []Header) {
	type begun struct {
		name  string
		until int64
	}
	var all []begun
	for name, value := range v.cookies(v.name + "-l-") {
		b := begun{name: name}
		if a, ok := v.openAttempt(value); ok {
			b.until = a.Until
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b begun) int { return cmp.Or(cmp.Compare(b.until, a.until), strings.Compare(a.name, b.name)) })
	for i, b := range all {
		if i >= keep || b.until == 0 {
			list = append(list, v.setCookie(b.name, "", 0, "Lax"))
		}
	}
	return list
}

// cookies returns the first of each of the request's cookies with a prefix; at most twenty.
func (v *visit) cookies(prefix string) map[string]string {
	list := map[string]string{}
	for header, value := range v.q.Headers.All() {
		if !strings.EqualFold(string(header), "cookie") {
			continue
		}
		for part := range strings.SplitSeq(string(value), ";") {
			name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
			if _, known := list[name]; !known && strings.HasPrefix(name, prefix) && plainCookie(name) && len(list) < 4*mostAttempts {
				list[name] = text
			}
		}
	}
	return list
}

// plainCookie reports whether a name can stand in Set-Cookie as it is.
func plainCookie(name string) bool {
	return len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func (v *visit) openAttempt(sealed string) (a attempt, ok bool) {
	text, ok := v.keys.Open(sealed, v.parts(kindAttempt)...)
	if !ok || json.Unmarshal(text, &a) != nil || v.e.now().Unix() >= a.Until {
		return attempt{}, false
	}
	return a, true
}

// wrong is a login that cannot be ended.
func (v *visit) wrong(status int, reason string, cookies ...Header) Answer {
	a := refuse(status, groupOIDC, reason)
	a.Client = append([]Header{{"Cache-Control", "no-store"}}, cookies...)
	a.Body = "The login could not be completed. Open the page again.\n"
	return a
}

// callback ends a login: the browser brings a code, and the cookie of its login.
func (v *visit) callback(ctx context.Context) Answer {
	_, text, _ := strings.Cut(v.q.Target, "?")
	query, err := url.ParseQuery(text)
	if err != nil || v.q.Method != http.MethodGet {
		return v.wrong(badRequest, "not the answer of a provider")
	}
	for _, values := range query {
		if len(values) > 1 {
			return v.wrong(badRequest, "a parameter stands twice")
		}
	}
	state := query.Get("state")
	sealed, once := cookie(v.q.Headers, v.attemptName(state))
	if state == "" || !once {
		return v.wrong(badRequest, "no login of this browser has this state")
	}
	a, ok := v.openAttempt(sealed)
	if !ok || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 {
		return v.wrong(badRequest, "no login of this browser has this state")
	}
	end := v.setCookie(v.attemptName(state), "", 0, "Lax")
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	p, err := v.login.provider.get(ctx)
	if err != nil {
		return refuse(unavailable, groupOIDC, "IssuerUnreachable") // the browser may try again
	}
	v.provider = p
	if iss := query.Get("iss"); iss != "" && iss != v.Issuer || iss == "" && p.says {
		return v.wrong(badRequest, "the answer is of another issuer", end)
	}
	switch code := query.Get("error"); {
	case code == "access_denied":
		a := v.wrong(forbidden, "the provider says access_denied", end)
		a.Body = "Forbidden\n"
		return a
	case code != "" || query.Get("code") == "":
		return v.wrong(badRequest, "the provider says "+terminal.Excerpt(code, longestCode), end)
	}
	return v.finish(ctx, &a, query.Get("code"), end)
}

// longestCode bounds what the page of an error says in a provider's words.
const longestCode = 120

// finish exchanges a code for a session.
func (v *visit) finish(ctx context.Context, a *attempt, code string, end Header) Answer {
	t, err := v.exchange(ctx, map[string]string{
		"grant_type": "authorization_code", "code": code, "redirect_uri": v.redirectURI(), "code_verifier": a.Verifier,
	})
	var refusal *tokenError
	switch {
	case errors.As(err, &refusal) && refusal.Code == "invalid_grant" && !a.Again:
		// The code was used before an agent that ended could say so. Users who are logged in
		// at the provider do not notice.
		again := v.begin(ctx, a.Return, true)
		again.Client = append(again.Client, end)
		return again
	case errors.As(err, &refusal):
		return v.wrong(badRequest, "the provider refuses the code: "+terminal.Excerpt(refusal.Code, longestCode), end)
	case err != nil:
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	}
	claims, until, err := v.verify(ctx, t, a.Nonce)
	switch {
	case errors.Is(err, jwt.ErrNoKeys):
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	case err != nil:
		return v.wrong(badRequest, "ID token: "+short(err.Error()), end)
	}
	claims, asked, err := v.userInfo(ctx, t, claims)
	switch {
	case errors.Is(err, errOtherUser):
		return v.wrong(badRequest, err.Error(), end)
	case err != nil: // without them, rules and pods would take the user for one without these claims
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	}
	s := &userSession{Start: v.e.now().Unix(), ID: random(), Asked: asked, Refresh: t.Refresh}
	if !v.Refresh {
		s.Refresh = ""
	}
	if err := s.take(v, t, claims, until); err != nil {
		return v.wrong(badRequest, err.Error(), end)
	}
	list, err := v.write(s)
	if err != nil {
		return v.wrong(unavailable, err.Error(), end)
	}
	return v.redirect("https://"+v.q.Host+a.Return, "logged in", append(list, end)...)
}
