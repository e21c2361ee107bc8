package console

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// testNow is after the creation of all manifests.
var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// given is a source whose objects a test sets.
type given struct {
	snapshot  atomic.Pointer[explain.Snapshot]
	report    *check.Report
	healthErr error
	network   *Network
	events    *Events
	reads     atomic.Int32
	fails     atomic.Bool
}

func (g *given) Read(context.Context, *explain.Snapshot) (*explain.Snapshot, error) {
	g.reads.Add(1)
	if g.fails.Load() {
		return nil, errors.New("read cluster: the API server does not answer <b>")
	}
	return g.snapshot.Load(), nil
}

func (g *given) Health(context.Context) (*check.Report, error) { return g.report, g.healthErr }

func (g *given) Network(context.Context) (*Network, error) {
	if g.network == nil {
		return nil, errors.New("read Services: no right <b>")
	}
	return g.network, nil
}

func (g *given) Events(context.Context) (*Events, error) {
	if g.events == nil {
		return nil, errors.New("read events: no right <b>")
	}
	return g.events, nil
}

// snapshotOf decides manifests.
func snapshotOf(t testing.TB, manifests string) *explain.Snapshot {
	t.Helper()
	r := manifest.NewReader("default")
	r.Read("all.yaml", []byte(manifests))
	return decided(t, r.Objects())
}

func decided(t testing.TB, o *explain.Objects) *explain.Snapshot {
	t.Helper()
	s, err := explain.NewSnapshot(o, explain.Options{Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bed is a console on a port, with a browser that has logged in.
type bed struct {
	t      *testing.T
	server *Server
	source *given
	// root is "http://127.0.0.1:PORT", base the path of all pages.
	root, base string
	client     *http.Client
	links      chan string
	// hidden reports whether a page that links lead to is not shown to the user.
	hidden func(path string) bool
	now    atomic.Int64 // seconds since testNow
}

// newBed starts a console, and logs in unless the test does that itself.
func newBed(t *testing.T, s *explain.Snapshot, loggedIn bool) *bed {
	t.Helper()
	b := &bed{t: t, source: &given{}, links: make(chan string, 100)}
	b.source.snapshot.Store(s)
	l, port, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.server, err = New(Options{
		Source: b.source, Prefix: "c", Link: func(address string) { b.links <- address },
		Now: func() time.Time { return testNow.Add(time.Duration(b.now.Load()) * time.Second) },
		Command: func(l Line) string {
			return strings.Join(append([]string{"tool", l.Command, l.Subject, l.Namespace}, l.Flags...), " ")
		},
	}, port)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b.root, b.base = "http://"+net.JoinHostPort("127.0.0.1", l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':')+1:]), b.server.pages.base
	b.client = newBrowser(t)
	if loggedIn {
		if code, _, _ := b.get(<-b.links); code != http.StatusOK {
			t.Fatalf("the login answers %d", code)
		}
	}
	return b
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// get asks for an address, or a page below base, and follows redirects.
func (b *bed) get(page string) (code int, header http.Header, body string) {
	b.t.Helper()
	if !strings.HasPrefix(page, "http://") {
		page = b.root + b.base + page
	}
	return b.do(b.request(http.MethodGet, page))
}

func (b *bed) request(method, address string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bed) do(r *http.Request) (code int, header http.Header, body string) {
	b.t.Helper()
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// page returns a page as a browser understands it.
func (b *bed) page(path string, wantCode int) *html.Node {
	b.t.Helper()
	code, header, body := b.get(path)
	if code != wantCode || header.Get("Content-Type") != "text/html; charset=utf-8" {
		b.t.Fatalf("%s: code %d, %s: %.300s", path, code, header.Get("Content-Type"), body)
	}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	return root
}

// all returns the elements with a name, below a node and in order.
func all(root *html.Node, name string) (out []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == name || name == "*") {
			out = append(out, n)
		}
	}
	return out
}

// attribute returns the value of an attribute, or empty.
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// blocks are elements that begin on a line of their own, or in a cell.
var blocks = strings.Fields("td th li p dt dd h1 h2 h3 tr")

// textOf is the text below a node, with single spaces.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case slices.Contains(blocks, d.Data):
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// content is the text of a page without menu and footer.
func content(t *testing.T, root *html.Node) string {
	t.Helper()
	m := all(root, "main")
	if len(m) != 1 {
		t.Fatalf("%d elements main", len(m))
	}
	return textOf(m[0])
}

// says demands that the text of a page has some parts and has not others.
func (b *bed) says(t *testing.T, path string, code int, want, not []string) {
	t.Helper()
	got := content(t, b.page(path, code))
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%.60s: no %q in:\n%s", path, part, got)
		}
	}
	for _, part := range not {
		if strings.Contains(got, part) {
			t.Errorf("%.60s: %q is in:\n%s", path, part, got)
		}
	}
}
