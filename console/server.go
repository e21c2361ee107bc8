package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
)

// Options say what a console shows, and where.
type Options struct {
	Source Source
	// Cluster says that there is one, whose health can be checked.
	Cluster bool
	// Prefix begins the path of all pages: "/PREFIX/SECRET/".
	Prefix string
	// Namespace is the one whose Routes the first page shows; empty for the overview.
	Namespace string
	// Command returns the command line that gives the answer of a page, or empty if there
	// is none.
	Command func(Line) string
	// Fresh is how long what was read counts as new; zero is five seconds. It is less where
	// reading costs nothing if nothing has changed.
	Fresh time.Duration
	// Now is the clock.
	Now func() time.Time
	// Link is called with each address that lets a browser in: at first, and when a former
	// one has been used or is too old.
	Link func(address string)
}

// healthFresh is how long the checks of the overview count as new: they read more than
// other pages do.
const healthFresh = 30 * time.Second

// Server is a console on a port of this machine.
type Server struct {
	guard *guard
	pages *pages
}

// New returns the console of a port.
func New(o Options, port int) (*Server, error) {
	base := "/" + o.Prefix + "/" + secret(16) + "/"
	p, err := newPages(o, base)
	if err != nil {
		return nil, err
	}
	s := &Server{pages: p}
	s.guard = &guard{hosts: ownHosts(strconv.Itoa(port)), base: base, pages: p, login: &login{now: o.Now, announce: func(token string) {
		if o.Link != nil {
			o.Link("http://127.0.0.1:" + strconv.Itoa(port) + base + "login?t=" + token)
		}
	}}}
	if o.Namespace != "" {
		s.guard.home = "routes?" + url.Values{"q": {"ns:" + o.Namespace}}.Encode()
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

// Run serves on a listener until the context ends, and announces the first link.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	s.pages.process = ctx
	s.guard.login.renew(0)
	return serve(ctx, l, s)
}

// serve serves pages on a listener until the context ends.
func serve(ctx context.Context, l net.Listener, pages http.Handler) error {
	server := &http.Server{
		Handler: pages, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("serve the console: %w", err)
	}
	return nil
}

// Listen returns a listener of this machine; port 0 is a free one.
func Listen(ctx context.Context, port int) (l net.Listener, chosen int, err error) {
	l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, 0, fmt.Errorf("open port %d for the console: %w", port, err)
	}
	at, _ := l.Addr().(*net.TCPAddr)
	return l, at.Port, nil
}

// pages answers requests that the guard lets in.
type pages struct {
	options Options
	base    string
	look    *look
	// process bounds readings, which outlive the request that they begin with.
	process context.Context //nolint:containedctx // see above
	// readings are of all namespaces; views and sights narrow them down to what a user sees.
	// Without sights there is one user, who sees all that the source reads.
	readings readings
	views    views
	sights   *sights

	streams streams
	// leaves says that users log in, and so can log out.
	leaves bool

	// asking is held while a snapshot answers: it keeps what it has found out.
	asking sync.Mutex
}

func newPages(o Options, base string) (*pages, error) {
	l, err := newLook(base, o.Now)
	if err != nil {
		return nil, err
	}
	p := &pages{options: o, base: base, look: l, process: context.Background()}
	p.streams.most, p.streams.life = streamsKept, streamLife
	p.readings.worlds = &keeper[world]{now: o.Now, fresh: cmp.Or(o.Fresh, freshFor), patience: waitAtMost, read: func(ctx context.Context, before *world) (*world, error) {
		var former *explain.Snapshot
		if before != nil {
			former = before.snapshot
		}
		s, err := o.Source.Read(ctx, former)
		if err != nil {
			return nil, err
		}
		return p.nextWorld(s, before)
	}}
	p.readings.health = &keeper[check.Report]{now: o.Now, fresh: healthFresh, patience: partWait, read: func(ctx context.Context, _ *check.Report) (*check.Report, error) {
		return o.Source.Health(ctx)
	}}
	p.readings.networks = &keeper[Network]{now: o.Now, fresh: freshFor, patience: partWait, read: p.readNetwork}
	p.readings.happened = &keeper[Events]{now: o.Now, fresh: healthFresh, patience: partWait, read: p.readEvents}
	return p, nil
}

// ask has a snapshot answer, one question at a time.
func (p *pages) ask(w *world, question func(*explain.Snapshot)) {
	p.asking.Lock()
	defer p.asking.Unlock()
	question(w.snapshot)
}
