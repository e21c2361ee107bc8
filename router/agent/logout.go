package agent

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
)

// revocationTime bounds what a logout waits for the end of its refresh token.
const revocationTime = time.Second

// logout ends a session: its cookies, its refresh token, and the provider's own session.
func (v *visit) logout(ctx context.Context) Answer {
	if v.q.Method != http.MethodGet && v.q.Method != http.MethodPost {
		return v.wrong(badRequest, "a logout with another method than GET and POST")
	}
	var ended []Header
	for _, name := range session.Names(v.name) {
		if len(cookies(v.q, name)) > 0 {
			ended = append(ended, v.setCookie(name, "", 0, v.Cookie.SameSite))
		}
	}
	ended = append(ended, v.endAttempts(0)...)
	s, valid := v.session()
	if valid {
		v.end(s)
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	back := v.afterLogout()
	p, err := v.login.provider.get(ctx)
	if err == nil {
		v.provider = p
		v.revoke(ctx, s)
	}
	switch {
	case err == nil && p.endpoints.EndSession != "":
		values := url.Values{"client_id": {v.ClientID}}
		if back != "" {
			values.Set("post_logout_redirect_uri", back)
		}
		if s != nil && s.IDToken != "" {
			values.Set("id_token_hint", s.IDToken)
		}
		return v.redirect(withQuery(p.endpoints.EndSession, values), "logout", ended...)
	case back != "":
		return v.redirect(back, "logout", ended...)
	}
	a := refuse(unauthorized, groupOIDC, "logout")
	a.Client, a.Body = append([]Header{{"Cache-Control", "no-store"}}, ended...), "You are logged out.\n"
	return a
}

// end has copies of a session's cookies refused, until the session would have ended anyway.
func (v *visit) end(s *userSession) {
	if s.ID == "" {
		return
	}
	v.forget(v.ended(v.bound, s.ID), time.Unix(s.Start, 0).Add(v.Cookie.MaxAge))
}

// forget has all routers refuse what a name of sessions stands for.
func (v *visit) forget(name string, until time.Time) {
	now := v.e.now()
	if err := v.e.ended.add(name, until, now); err != nil {
		v.e.log.Error("a logout is known to this worker only, as long as it runs", "err", err)
	}
	if v.e.member != nil {
		v.e.member.SpreadEnd(name, until.Sub(now))
	}
}

// afterLogout is where a browser goes after its logout, or empty.
func (v *visit) afterLogout() string {
	if strings.HasPrefix(v.PostLogout, "/") {
		return "https://" + v.q.Host + v.PostLogout
	}
	return v.PostLogout
}

// revoke ends the refresh token, so that a copy of the cookies ends with its tokens.
func (v *visit) revoke(ctx context.Context, s *userSession) {
	if s == nil || s.Refresh == "" || v.provider.endpoints.Revocation == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, revocationTime)
	defer cancel()
	_, _, _ = v.post(ctx, v.provider.endpoints.Revocation, map[string]string{"token": s.Refresh, "token_type_hint": "refresh_token"})
}
