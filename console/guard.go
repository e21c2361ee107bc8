package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	cookieName = "fairlead-console"
	// tokenLife is how long the token of a link works, sessionsKept how many browsers stay
	// logged in, and linkPause the least time between two links on the terminal.
	tokenLife    = 2 * time.Minute
	sessionsKept = 16
	linkPause    = 10 * time.Second
)

// secret returns so many random bytes as text for a URL.
func secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says its documentation
	return base64.RawURLEncoding.EncodeToString(b)
}

// equal compares secrets in a time that says nothing about them, their lengths included.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// login lets the browser in that opens the link of the terminal.
type login struct {
	now func() time.Time
	// announce is called with a new token; may be nil.
	announce func(token string)

	mu       sync.Mutex
	token    string // empty once it was used
	made     time.Time
	sessions []string // the newest last
}

// renew makes a token that takes the place of the former one, unless that is younger than
// pause, and announces it.
func (l *login) renew(pause time.Duration) {
	l.mu.Lock()
	if !l.made.IsZero() && l.now().Sub(l.made) < pause {
		l.mu.Unlock()
		return
	}
	l.token, l.made = secret(32), l.now()
	token := l.token
	l.mu.Unlock()
	if l.announce != nil {
		l.announce(token)
	}
}

// enter exchanges a token for a session. A token works once, and not for long.
func (l *login) enter(token string) (session string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" || !equal(token, l.token) || l.now().Sub(l.made) > tokenLife {
		return "", false
	}
	l.token = ""
	session = secret(32)
	l.sessions = append(l.sessions, session)
	l.sessions = l.sessions[max(0, len(l.sessions)-sessionsKept):]
	return session, true
}

// known reports whether a request is that of a browser that has logged in.
func (l *login) known(r *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(r.CookiesNamed(cookieName), func(c *http.Cookie) bool {
		return slices.ContainsFunc(l.sessions, func(s string) bool { return equal(c.Value, s) })
	})
}

// guard keeps out everything but the user's own browser. It is the outermost handler.
type guard struct {
	// hosts are the values of Host that are this server: a page of another name that
	// resolves to this machine has another one.
	hosts []string
	// base is the path of all pages, "/c/SECRET/". Cookies know no ports: the path keeps
	// the cookie from other programs of this machine.
	base string
	// home is the page after the login, without base.
	home  string
	login *login
	pages http.Handler // gets paths without base
}

// ownHosts are the names of a port of this machine.
func ownHosts(port string) []string {
	return []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port), net.JoinHostPort("::1", port)}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	rest, inside := g.inside(r.URL.EscapedPath())
	switch {
	case !slices.Contains(g.hosts, r.Host):
		http.Error(w, "this is not a name of this server", http.StatusMisdirectedRequest)
	case foreign(r):
		http.Error(w, "the console answers its own pages only", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console only reads", http.StatusMethodNotAllowed)
	case !inside:
		http.NotFound(w, r)
	case rest == "login":
		g.enter(w, r)
	case !g.login.known(r):
		g.refuse(w)
	default:
		g.pages.ServeHTTP(w, r)
	}
}

// inside returns a path without base.
func (g *guard) inside(path string) (rest string, ok bool) {
	if len(path) < len(g.base) || !equal(path[:len(g.base)], g.base) {
		return "", false
	}
	return path[len(g.base):], true
}

// foreign reports whether another page made a browser send the request. Programs that send
// none of these headers are not browsers; they need the cookie like these.
func foreign(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+r.Host {
			return true
		}
	}
	return false
}

func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		return // a program that looks before the browser does must not use the token up
	}
	session, ok := g.login.enter(r.URL.Query().Get("t"))
	if !ok && !g.login.known(r) {
		g.refuse(w)
		return
	}
	if ok {
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: g.base, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // G124: on loopback there is no TLS
	}
	http.Redirect(w, r, g.base+g.home, http.StatusSeeOther)
}

// refuse answers a browser that has not logged in. A new link goes to the terminal, where
// only the user sees it.
func (g *guard) refuse(w http.ResponseWriter) {
	g.login.renew(linkPause)
	http.Error(w, "This link has been used, or is older than 2 minutes. Open the newest one that the console has printed on its terminal.", http.StatusUnauthorized)
}

// protect sets the headers of every answer.
func protect(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
			"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Cache-Control":                "no-store",
	} {
		h.Set(name, value)
	}
}
