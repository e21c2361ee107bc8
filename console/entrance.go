package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ErrRefused says that a token is of no use for a log-in.
var ErrRefused = errors.New("the token is not valid for this console")

// Audience is the one that a token must be made for.
const Audience = "fairlead.dev/console"

const (
	hostCookie = "__Host-fairlead-console"
	// tokenBytes bounds a token, formBytes the form that it comes in.
	tokenBytes, formBytes = 8 << 10, 16 << 10
)

// EntranceOptions say who may come in, and from where.
type EntranceOptions struct {
	// Base is the path of all pages, "/" or "/NAME/".
	Base   string
	Rights Rights
	// BehindRouter says that the address of a client is the last one in X-Forwarded-For.
	BehindRouter bool
	// Proxy names the users, who do not log in here; nil for log-ins with a token.
	Proxy *Proxy
	Log   *slog.Logger
}

// Entrance is a console for users of a cluster, who log in with a token each. It serves over
// TLS only, its own or a router's: the cookie comes no other way.
type Entrance struct {
	options  EntranceOptions
	pages    *pages
	sessions *sessions
	attempts *attempts
	busy     *busy
	form     *template.Template
}

// NewEntrance returns a console for users of a cluster.
func NewEntrance(o Options, e EntranceOptions) (*Entrance, error) {
	p, err := newPages(o, e.Base)
	if err != nil {
		return nil, err
	}
	p.sights = newSights(e.Rights, o.Now, e.Log)
	p.streams.most, p.streams.life = streamsOfAll, reviewEvery
	p.leaves = e.Proxy == nil
	form, err := template.New("login.html").Funcs(p.look.functions()).ParseFS(files, "template/login.html")
	if err != nil {
		return nil, fmt.Errorf("read the template of the log-in: %w", err)
	}
	in := &Entrance{
		options: e, pages: p, form: form, attempts: &attempts{now: o.Now, from: map[netip.Prefix][]time.Time{}},
		busy: &busy{requests: map[string]int{}, streams: map[string]int{}},
		sessions: &sessions{now: o.Now, all: map[[32]byte]*session{}, full: func(owner string) {
			e.Log.Warn("there are too many sessions; the one that was used least lately ends", "owner", owner, "perOwner", sessionsOfOwner, "all", sessionsOfAll)
		}},
	}
	return in, nil
}

// Serve serves on a listener until the context ends.
func (e *Entrance) Serve(ctx context.Context, l net.Listener) error {
	e.pages.process = ctx
	return serve(ctx, l, e)
}

// ServeHTTP implements http.Handler.
func (e *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	// Without a referrer, browsers name no origin where a form is sent.
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	path, inside := strings.CutPrefix(r.URL.EscapedPath(), e.options.Base)
	switch {
	case !inside:
		http.NotFound(w, r)
	case path == "healthz":
		_, _ = w.Write([]byte("ok\n"))
	case alien(r, "https://"):
		http.Error(w, "the console answers its own pages only", http.StatusForbidden)
	case strings.HasPrefix(path, "static/") && reads(r):
		e.pages.asset(w, r, strings.TrimPrefix(path, "static/"))
	case e.options.Proxy != nil && (path == "login" || path == "logout"):
		http.NotFound(w, r)
	case path == "login" && reads(r):
		e.ask(w, http.StatusOK, "")
	case path == "login" && r.Method == http.MethodPost:
		e.login(w, r)
	case path == "logout" && r.Method == http.MethodPost:
		e.logout(w, r)
	case !reads(r):
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console only reads", http.StatusMethodNotAllowed)
	default:
		e.show(w, r, path)
	}
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// alien reports whether another page made a browser send the request. A link on another page
// may lead here: then there is no cookie with it, and the log-in is shown.
func alien(r *http.Request, scheme string) bool {
	for _, origin := range r.Header.Values("Origin") {
		if origin != scheme+r.Host {
			return true
		}
	}
	site, link := r.Header.Values("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode") == "navigate" && reads(r)
	return !link && slices.ContainsFunc(site, func(s string) bool { return s != "same-origin" && s != "none" })
}

// ask shows the form of the log-in.
func (e *Entrance) ask(w http.ResponseWriter, status int, problem string) {
	var b bytes.Buffer
	if err := e.form.Execute(&b, struct{ Base, Problem, Audience string }{e.options.Base, problem, Audience}); err != nil {
		http.Error(w, "the form could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// login exchanges a token for a session.
func (e *Entrance) login(w http.ResponseWriter, r *http.Request) {
	from := clientOf(r, e.options.BehindRouter)
	switch {
	case r.Header.Get("Origin") == "":
		http.Error(w, "a log-in comes from the page of the console", http.StatusForbidden)
		return
	case !e.attempts.take(from):
		e.options.Log.Warn("too many log-ins", "from", from.String(), "perMinute", attemptsEach, "allPerMinute", attemptsAll)
		w.Header().Set("Retry-After", "60")
		e.ask(w, http.StatusTooManyRequests, fmt.Sprintf("There were too many log-ins from this address: %d are possible in a minute. Wait for a minute, and try again.", attemptsEach))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, formBytes)
	token := strings.TrimSpace(r.PostFormValue("token"))
	if token == "" || len(token) > tokenBytes || strings.ContainsAny(token, " \t\r\n") {
		e.ask(w, http.StatusUnauthorized, "That is no token. Paste what the command prints, and nothing else.")
		return
	}
	user, err := e.options.Rights.Review(r.Context(), token)
	switch {
	case errors.Is(err, ErrRefused):
		e.options.Log.Info("a log-in was refused", "from", from.String())
		e.ask(w, http.StatusUnauthorized, "The API server does not take the token: it has ended, its account is gone, or it is for another audience than "+Audience+".")
		return
	case err != nil:
		e.options.Log.Error("a token could not be reviewed", "err", err)
		e.ask(w, http.StatusServiceUnavailable, "The API server could not be asked about the token. Try again.")
		return
	}
	e.pages.sights.forget(user)
	cookie := e.sessions.begin(user, token, endOfToken(token, e.sessions.now().Add(sessionLife)))
	e.options.Log.Info("a user has logged in", "user", user.Name, "from", from.String())
	http.SetCookie(w, &http.Cookie{Name: hostCookie, Value: cookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife / time.Second)})
	http.Redirect(w, r, e.options.Base, http.StatusSeeOther)
}

// endOfToken is when a token ends, by what it says itself: the API server has found it good,
// and says no more about that. A token of another kind says nothing.
func endOfToken(token string, latest time.Time) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return latest
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Exp <= 0 {
		return latest
	}
	return time.Unix(claims.Exp, 0)
}

// logout ends the session of the browser.
func (e *Entrance) logout(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") == "" {
		http.Error(w, "a log-out comes from the page of the console", http.StatusForbidden)
		return
	}
	for _, c := range r.CookiesNamed(hostCookie) {
		e.sessions.end(c.Value)
	}
	e.leave(w, r, "login")
}

// leave makes the browser forget the session.
func (e *Entrance) leave(w http.ResponseWriter, r *http.Request, path string) {
	http.SetCookie(w, &http.Cookie{Name: hostCookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	if path == "live" || path == "state" {
		http.Error(w, "the session has ended", http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, e.options.Base+"login", http.StatusSeeOther)
}

// show answers a request of a user who has logged in.
func (e *Entrance) show(w http.ResponseWriter, r *http.Request, path string) {
	user, err := e.user(r)
	switch {
	case errors.Is(err, ErrRefused) && e.options.Proxy != nil:
		http.Error(w, "The console is for users of its proxy.", http.StatusForbidden)
		return
	case errors.Is(err, ErrRefused):
		e.leave(w, r, path)
		return
	case err != nil:
		e.options.Log.Error("a token could not be reviewed again", "err", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The API server could not be asked about your token. Try again.", http.StatusServiceUnavailable)
		return
	}
	leave, ok := e.busy.enter(user.Name, path == "live")
	if !ok {
		e.options.Log.Warn("too many requests at the same time", "user", user.Name, "stream", path == "live", "perUser", requestsOfUser, "streamsPerUser", streamsOfUser)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The console answers no more requests of yours at the same time. Close other pages of it, and try again.", http.StatusTooManyRequests)
		return
	}
	defer leave()
	e.pages.ServeHTTP(w, r.WithContext(withUser(r.Context(), user)))
}

// user is the user of a request. The token is reviewed again if the last answer is a minute
// old, so that one that was revoked ends the session.
func (e *Entrance) user(r *http.Request) (Identity, error) {
	if e.options.Proxy != nil {
		return e.options.Proxy.identity(r)
	}
	for _, c := range r.CookiesNamed(hostCookie) {
		user, token, due, known := e.sessions.find(c.Value)
		if !known {
			continue
		}
		if !due {
			return user, nil
		}
		now, err := e.options.Rights.Review(r.Context(), token)
		if errors.Is(err, ErrRefused) || err == nil && now.Name != user.Name {
			e.sessions.end(c.Value)
			e.options.Log.Info("a session has ended: the API server does not take its token any more", "user", user.Name)
			return Identity{}, ErrRefused
		}
		if err != nil {
			return Identity{}, fmt.Errorf("review a token again: %w", err)
		}
		e.sessions.renew(c.Value, now)
		return now, nil
	}
	return Identity{}, ErrRefused
}
