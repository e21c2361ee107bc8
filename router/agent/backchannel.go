package agent

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/spop"
)

// A provider reports a logout by a request of its own (OpenID Connect Back-Channel Logout 1.0), which
// any client can send as well. The token in its body is all that counts.

// logoutMessage is what HAProxy sends with the body of such a request.
const logoutMessage = "logout"

// Bounds of reported logouts.
const (
	// longestReport is the longest body.
	longestReport = 8 << 10
	// reportAge is how old a token may be.
	reportAge = 5 * time.Minute
	// mostBadReports is how many requests without a valid token an address may send in a minute, and
	// mostReports how many valid tokens a policy takes in one.
	mostBadReports = 10
	mostReports    = 3000
	reportsPer     = time.Minute
	longestSubject = 255
	logoutEvent    = "http://schemas.openid.net/event/backchannel-logout"
)

// reported looks at the head of a request by which a provider reports a logout.
func (v *visit) reported() Answer {
	if a, refused := v.manyReports(); refused {
		return a
	}
	kind, _ := v.q.Headers.Get("content-type")
	media, _, _ := strings.Cut(string(kind), ";")
	length, n := v.q.Headers.Get("content-length")
	size, err := strconv.Atoi(string(length))
	switch {
	case v.q.Method != http.MethodPost:
		return v.badReport("not a POST")
	case !strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded"):
		return v.badReport("not a form")
	case n > 0 && (err != nil || size > longestReport):
		return v.badReport("too long")
	}
	return Answer{Status: needsBody, Reason: "the body is needed", group: groupOIDC, from: fromAgent}
}

// manyReports refuses an address that has sent too much that is not a logout of the provider.
func (v *visit) manyReports() (Answer, bool) {
	wait := v.e.failures.over(v.p.id+" reports", v.q.Client, mostBadReports)
	if wait <= 0 {
		return Answer{}, false
	}
	return v.laterReport("too many reports of logouts that are none", wait), true
}

func (v *visit) laterReport(reason string, wait time.Duration) Answer {
	a := refuse(tooMany, groupOIDC, reason)
	a.Client = []Header{{"Retry-After", fmt.Sprint(wholeSeconds(wait))}, {"Cache-Control", "no-store"}}
	return a
}

// badReport refuses what is no logout of the provider, and counts it for the client's address.
func (v *visit) badReport(reason string) Answer {
	v.e.failures.add(v.p.id+" reports", v.q.Client, reportsPer)
	a := refuse(badRequest, groupOIDC, "back-channel logout: "+short(reason))
	a.Client, a.Body = []Header{{"Cache-Control", "no-store"}}, "Not a logout.\n"
	return a
}

// endReported answers the question with the body of a reported logout.
func (e *Engine) endReported(ctx context.Context, r *spop.Request, out *spop.Reply) {
	began := e.now()
	w := e.world.Load()
	a := refuse(unavailable, groupOIDC, "policy closed")
	p := w.policies[string(r.Arg("p").Text())]
	if p != nil && p.err == nil && p.login != nil && w.sessions.Usable() {
		v := &visit{login: p.login, e: e, p: p, keys: w.sessions, path: string(r.Arg("path").Text()), q: &Question{
			Policy: p.id, Host: strings.ToLower(string(r.Arg("host").Text())), Client: r.Arg("src").Addr(), TLS: r.Arg("tls").True(),
		}}
		a = v.report(ctx, r.Arg("body").Text())
	}
	e.metrics.decided(&a, e.now().Sub(began))
	a.Ended = a.Status == isDone
	a.write(out)
}

// report ends the sessions that the body of a request names.
func (v *visit) report(ctx context.Context, body []byte) Answer {
	if v.path != v.backChannel || !v.q.TLS {
		return v.badReport("another path, or without TLS")
	}
	if a, refused := v.manyReports(); refused { // the requests before it may have been sent together
		return a
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case len(body) > longestReport:
		return v.badReport("too long")
	case err != nil || len(form["logout_token"]) != 1:
		return v.badReport("not a form with one logout_token")
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	if v.provider, err = v.login.provider.get(ctx); err != nil {
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	}
	l, err := v.readLogout(ctx, form.Get("logout_token"))
	switch {
	case errors.Is(err, jwt.ErrNoKeys):
		return refuse(unavailable, groupOIDC, "IssuerUnreachable")
	case err != nil:
		return v.badReport(err.Error())
	}
	return v.endThere(l)
}

// logoutToken is what a valid one says.
type logoutToken struct {
	id, subject, session string
	until                time.Time
}

// readLogout checks a logout token (section 2.6).
func (v *visit) readLogout(ctx context.Context, text string) (*logoutToken, error) {
	token, err := jwt.ParseLogout(text)
	if err != nil {
		return nil, err
	}
	issuer := v.issuer
	issuer.Audiences, issuer.MaxAge = []string{v.ClientID}, reportAge
	var claims jwt.Claims
	var until time.Time
	err = v.login.provider.verify(ctx, v.provider, func(p *provider) (err error) {
		claims, until, err = token.Verify(&issuer, p.keys, v.e.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &logoutToken{until: until}
	events, _ := claims["events"].(map[string]any)
	_, about := events[logoutEvent].(map[string]any)
	_, nonce := claims["nonce"]
	_, ends := claims["exp"]
	var id, subject, session bool
	l.id, id = subjectOf(claims, "jti")
	l.subject, subject = subjectOf(claims, "sub")
	l.session, session = subjectOf(claims, "sid")
	switch {
	case !about:
		return nil, errors.New("its events are not those of a logout")
	case nonce:
		return nil, errors.New("it has a nonce, as only ID tokens have")
	case !ends:
		return nil, errors.New("it has no end")
	case !id || l.id == "":
		return nil, errors.New("it has no jti")
	case !subject || !session || l.subject == "" && l.session == "":
		return nil, errors.New("it has neither sub nor sid, or one that is no text")
	}
	return l, nil
}

// subjectOf returns a claim that is a text of a usual length, or an empty one if it is not there.
func subjectOf(claims jwt.Claims, name string) (string, bool) {
	value, there := claims[name]
	if !there {
		return "", true
	}
	text, ok := value.(string)
	return text, ok && text != "" && len(text) <= longestSubject
}

// sessionThere is a digest of the session's name at the provider.
func sessionThere(claims jwt.Claims) string {
	name, ok := subjectOf(claims, "sid")
	if !ok || name == "" {
		return ""
	}
	return digestThere(name)
}

func digestThere(name string) string {
	sum := sha256.Sum256([]byte("session " + name))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// What ended sessions are remembered by, besides their own names: the session at the provider, all
// of a user that began before, and those of them of which the provider has not given a session's name.
const (
	bySession = "sid "
	bySubject = "sub "
	byNothing = "sub without sid "
	byToken   = "jti "
)

// endedThere reports whether the provider has reported the end of a session.
func (v *visit) endedThere(s *userSession) bool {
	subject, _ := subjectOf(s.claims, "sub")
	before := func(by string) bool {
		until := v.e.ended.when(v.ended(v.party, by+subject))
		return !until.IsZero() && !time.Unix(s.Start, 0).After(until.Add(-longestEnd))
	}
	if s.There != "" && v.e.ended.has(v.ended(v.party, bySession+s.There), v.e.now()) {
		return true
	}
	return before(bySubject) || s.There == "" && before(byNothing)
}

// endThere ends the sessions that a token names, at all routers. A token that comes again ends nothing.
func (v *visit) endThere(l *logoutToken) Answer {
	// Of one provider alone, so that the sessions that it ends are no way to have those of others forgotten fast.
	everyone := netip.IPv4Unspecified()
	if wait := v.e.failures.over(v.p.id+" logouts", everyone, mostReports); wait > 0 {
		return v.laterReport("too many logouts", wait)
	}
	v.e.failures.add(v.p.id+" logouts", everyone, reportsPer)
	now := v.e.now()
	once := v.ended(v.party, byToken+l.id)
	if v.e.ended.has(once, now) || !v.e.ended.note(once, l.until, now) {
		return v.badReport("it came before")
	}
	v.forget(once, l.until)
	// Sessions that begin from now on are others.
	all := now.Add(longestEnd)
	switch {
	case l.session == "":
		v.forget(v.ended(v.party, bySubject+l.subject), all)
	case l.subject != "":
		v.forget(v.ended(v.party, byNothing+l.subject), all)
		fallthrough
	default:
		v.forget(v.ended(v.party, bySession+digestThere(l.session)), all)
	}
	return Answer{Status: isDone, Reason: "back-channel logout", Client: []Header{{"Cache-Control", "no-store"}}, group: groupOIDC, from: fromAgent}
}
