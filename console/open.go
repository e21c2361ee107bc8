package console

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Open is a console without any log-in, for loopback only: what reaches it there, a user or a
// forwarded port, sees all that the source reads.
type Open struct {
	base  string
	hosts []string
	pages *pages
}

// NewOpen returns the console of a listener, which must be on loopback.
func NewOpen(o Options, base string, l net.Listener) (*Open, error) {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("a console without a log-in serves on loopback only, and %s is not", l.Addr())
	}
	p, err := newPages(o, base)
	if err != nil {
		return nil, err
	}
	return &Open{base: base, hosts: ownHosts(strconv.Itoa(at.Port)), pages: p}, nil
}

// Serve serves on the listener until the context ends.
func (c *Open) Serve(ctx context.Context, l net.Listener) error {
	c.pages.process = ctx
	return serve(ctx, l, c)
}

// ServeHTTP implements http.Handler.
func (c *Open) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	switch {
	case !slices.Contains(c.hosts, r.Host):
		http.Error(w, "this is not a name of this server", http.StatusMisdirectedRequest)
	case foreign(r):
		http.Error(w, "the console answers its own pages only", http.StatusForbidden)
	case !reads(r):
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console only reads", http.StatusMethodNotAllowed)
	case !strings.HasPrefix(r.URL.EscapedPath(), c.base):
		http.NotFound(w, r)
	default:
		c.pages.ServeHTTP(w, r)
	}
}
