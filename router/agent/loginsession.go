package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// Kinds of cookies.
const (
	kindSession = "session"
	kindAttempt = "login"
)

// sessionKeys reads the keys of sessions, without which no login is possible.
func sessionKeys(list []snapshot.SessionKey) (session.Keys, error) {
	keys := make([]session.Key, 0, len(list))
	for _, k := range list {
		keys = append(keys, session.Key{Made: time.Unix(k.Made, 0), Secret: k.Secret})
	}
	if len(keys) == 0 {
		return session.Keys{}, session.ErrKeys
	}
	return session.NewKeys(keys)
}

// userSession is what the cookies of a session hold. Times are Unix times in seconds.
type userSession struct {
	// Start is when the user logged in, and Seen when the cookies were made last.
	Start int64 `json:"s"`
	// ID is the same in all cookies of the session; empty in one of an earlier version.
	ID   string `json:"d,omitempty"`
	Seen int64  `json:"n"`
	// There is a digest of the session's name at the provider; empty if that does not give it.
	There string `json:"t,omitempty"`
	// Fresh is until when the provider's tokens are valid, and Life for how long they were;
	// 0 if it does not say.
	Fresh int64 `json:"f,omitempty"`
	Life  int64 `json:"l,omitempty"`
	// Claims is the JSON of those that are kept.
	Claims json.RawMessage `json:"c"`
	// Asked are the names of claims that the userinfo endpoint was asked for.
	Asked   []string `json:"u,omitempty"`
	Refresh string   `json:"r,omitempty"`
	// Access and IDToken are kept if the pod gets them; the ID token also for a logout, as
	// far as there is room.
	Access  string `json:"a,omitempty"`
	IDToken string `json:"i,omitempty"`

	claims jwt.Claims
}

// session returns the session that a request shows, if that has not ended.
func (v *visit) session() (*userSession, bool) {
	text, ok := session.Join(v.name, func(name string) (string, bool) { return cookie(v.q.Headers, name) })
	if !ok {
		return nil, false
	}
	s, ok := v.openSession(text, kindSession)
	if !ok {
		return nil, false
	}
	now := v.e.now()
	if s.ID != "" && v.e.ended.has(v.ended(v.bound, s.ID), now) || v.endedThere(s) {
		return nil, false
	}
	started, seen := time.Unix(s.Start, 0), time.Unix(s.Seen, 0)
	return s, now.Sub(started) < v.Cookie.MaxAge && now.Sub(seen) < v.Cookie.Idle && !started.After(now.Add(time.Minute))
}

// errTooLarge is a session that cookies have no room for.
var errTooLarge = errors.New("the session is too large for cookies")

// write makes the cookies of a session, and ends those of a longer one before it.
func (v *visit) write(s *userSession) ([]Header, error) {
	s.Seen = v.e.now().Unix()
	chunks, err := v.seal(s)
	if errors.Is(err, errTooLarge) && v.IDToken == "" && s.IDToken != "" {
		// A logout then does without.
		s.IDToken = ""
		chunks, err = v.seal(s)
	}
	if err != nil {
		return nil, err
	}
	left := time.Unix(s.Start, 0).Add(v.Cookie.MaxAge).Sub(v.e.now())
	list := make([]Header, 0, len(chunks))
	for _, c := range chunks {
		list = append(list, v.setCookie(c.Name, c.Value, left, v.Cookie.SameSite))
	}
	for _, name := range session.Names(v.name)[len(chunks):] {
		if len(cookies(v.q, name)) > 0 {
			list = append(list, v.setCookie(name, "", 0, v.Cookie.SameSite))
		}
	}
	return list, nil
}

func (v *visit) seal(s *userSession) ([]session.Chunk, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write a session: %w", err)
	}
	sealed, err := v.keys.Seal(v.e.now(), text, v.parts(kindSession)...)
	if err != nil {
		return nil, err
	}
	chunks, ok := session.Split(v.name, sealed)
	if !ok {
		return nil, errTooLarge
	}
	return chunks, nil
}

// setCookie is a header that sets a cookie, or ends it if no time is left.
func (v *visit) setCookie(name, value string, left time.Duration, site string) Header {
	if site == "" {
		site = "Lax"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s; Path=/; Max-Age=%d; Secure; HttpOnly; SameSite=%s", name, value, max(int64(left/time.Second), 0), site)
	if v.Cookie.Domain != "" {
		b.WriteString("; Domain=" + v.Cookie.Domain)
	}
	return Header{"Set-Cookie", b.String()}
}

// renew returns the session to go on with, and the cookies that the client gets: of a
// renewed one, or of one that was not written for a while. If it is over, what the client
// gets instead is returned.
func (v *visit) renew(ctx context.Context, s *userSession) (*userSession, []Header, *Answer) {
	now := v.e.now()
	if !v.due(s, now) {
		if now.Sub(time.Unix(s.Seen, 0)) < max(v.Cookie.Idle/4, 30*time.Second) {
			return s, nil, nil
		}
		list, err := v.write(s)
		if err != nil {
			list = nil // the cookies that it has go on
		}
		return s, list, nil
	}
	r := v.refreshed(ctx, s)
	stillGood := now.Unix() < s.Fresh
	switch {
	case r.session != nil:
		renewed := *r.session
		list, err := v.write(&renewed)
		if err != nil {
			a := refuse(unavailable, groupOIDC, err.Error())
			return nil, nil, &a
		}
		return &renewed, list, nil
	case stillGood: // another worker or router may have renewed it meanwhile
		return s, nil, nil
	case r.rejected:
		a := v.unknown(ctx)
		return nil, nil, &a
	}
	a := refuse(unavailable, groupOIDC, "IssuerUnreachable")
	return nil, nil, &a
}

// due reports whether a session has to be renewed: a little before its tokens end.
func (v *visit) due(s *userSession, now time.Time) bool {
	if !v.Refresh || s.Refresh == "" || s.Fresh == 0 {
		return false
	}
	early := min(60, max(s.Life, 0)/4)
	return now.Unix() >= s.Fresh-early
}

// longestKept is for how long HAProxy may let requests of a session on by itself. The rules of
// package render that forget such verdicts count on it (render.sessionKept).
const longestKept = 10 * time.Second

// sessionLife is for how long a verdict about a session holds: until it would be another one, or has
// cookies to renew.
func (v *visit) sessionLife(s *userSession) time.Duration {
	now := v.e.now()
	ends := []time.Time{time.Unix(s.Start, 0).Add(v.Cookie.MaxAge), time.Unix(s.Seen, 0).Add(v.Cookie.Idle)}
	if v.Refresh && s.Refresh != "" && s.Fresh != 0 {
		ends = append(ends, time.Unix(s.Fresh-min(60, max(s.Life, 0)/4), 0))
	}
	life := longestKept
	for _, end := range ends {
		life = min(life, end.Sub(now))
	}
	return life
}

// renewal is what became of a refresh. The zero one says that the provider did not answer.
type renewal struct {
	session  *userSession
	rejected bool
}

func (r renewal) bytes() int {
	if r.session == nil {
		return 100
	}
	return 400 + 2*(len(r.session.Claims)+len(r.session.Access)+len(r.session.IDToken)+len(r.session.Refresh))
}

// renewalLife is for how long requests that come with the old cookies get the same
// renewal: the refresh token that they have is used up.
const renewalLife = 2 * time.Minute

// refreshed renews a session, once for all its requests.
func (v *visit) refreshed(ctx context.Context, s *userSession) renewal {
	copied := *v
	copied.q = v.q.clone()
	before := *s
	k := v.e.keyOf(v.bound, v.place(), s.Refresh)
	r, _, err := v.e.renewals.once(ctx, k, loginTime, func(ctx context.Context) (renewal, time.Duration) {
		r := copied.once(ctx, &before)
		switch {
		case r.session != nil:
			return r, renewalLife
		case r.rejected:
			return r, 5 * time.Second
		}
		return r, time.Second
	})
	if err != nil {
		return renewal{}
	}
	return r
}

// refresh asks the provider for new tokens.
func (v *visit) refresh(ctx context.Context, s *userSession) renewal {
	p, err := v.login.provider.get(ctx)
	if err != nil {
		return renewal{}
	}
	v.provider = p
	t, err := v.exchange(ctx, map[string]string{"grant_type": "refresh_token", "refresh_token": s.Refresh})
	var refusal *tokenError
	switch {
	case errors.As(err, &refusal):
		return renewal{rejected: true}
	case err != nil:
		return renewal{}
	}
	renewed := *s
	renewed.Refresh = t.Refresh
	if t.Refresh == "" {
		renewed.Refresh = s.Refresh
	}
	if t.IDToken != "" {
		claims, until, err := v.verify(ctx, t, "")
		subject, _ := s.claims.Values("sub")
		again, _ := claims.Values("sub")
		if err != nil || len(again) != 1 || len(subject) != 1 || again[0] != subject[0] {
			return renewal{rejected: true}
		}
		if claims, renewed.Asked, err = v.userInfo(ctx, t, claims); err != nil {
			return renewal{rejected: errors.Is(err, errOtherUser)}
		}
		if renewed.take(v, t, claims, until) != nil {
			return renewal{}
		}
		return renewal{session: &renewed}
	}
	if err := renewed.learn(ctx, v, t); err != nil {
		return renewal{rejected: errors.Is(err, errOtherUser)}
	}
	renewed.tokens(v, t, time.Time{})
	return renewal{session: &renewed}
}

// take puts the claims of a verified ID token and the tokens into a session.
func (s *userSession) take(v *visit, t *tokenAnswer, claims jwt.Claims, until time.Time) error {
	s.claims = claims.Keep(v.keeps)
	if there := sessionThere(claims); there != "" {
		s.There = there
	}
	if _, ok := claims.Values("scope"); !ok && t.Scope != "" {
		for _, name := range v.keeps {
			if name == "scope" {
				s.claims["scope"] = t.Scope
			}
		}
	}
	text, err := json.Marshal(s.claims)
	if err != nil {
		return fmt.Errorf("keep the claims: %w", err)
	}
	s.Claims = text
	s.tokens(v, t, until)
	return nil
}

// tokens puts tokens into a session; until is the end of the ID token, if there is a new one.
func (s *userSession) tokens(v *visit, t *tokenAnswer, until time.Time) {
	now := v.e.now()
	switch {
	case t.ExpiresIn > 0:
		s.Life = min(int64(t.ExpiresIn), int64((24 * time.Hour).Seconds()))
		s.Fresh = now.Unix() + s.Life
	case !until.IsZero():
		s.Fresh, s.Life = until.Unix(), until.Unix()-now.Unix()
	}
	s.Access = ""
	if v.AccessToken != "" {
		s.Access = t.Access
	}
	if t.IDToken != "" {
		s.IDToken = ""
		if v.IDToken != "" || v.provider.endpoints.EndSession != "" {
			s.IDToken = t.IDToken
		}
	}
}
