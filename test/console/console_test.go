package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
	"github.com/fairlead/fairlead/test/browser"
)

var pictures = flag.String("pictures", "", "folder for pictures of the pages")

// runs is true once the page's script does what keys ask for.
const runs = `!document.getElementById("keys-open").hidden`

// await waits until an expression is true in a page whose script runs: keys that are pressed
// before are lost.
func await(t *testing.T, page *browser.Page, what, expression string) {
	t.Helper()
	page.Await(t, what, "("+expression+") && "+runs)
}

// shown is what the console shows.
type shown struct {
	snapshot atomic.Pointer[explain.Snapshot]
}

func (s *shown) Read(context.Context, *explain.Snapshot) (*explain.Snapshot, error) {
	return s.snapshot.Load(), nil
}

func (s *shown) Health(context.Context) (*check.Report, error) { return nil, errors.New("no cluster") }

func (s *shown) Network(context.Context) (*console.Network, error) {
	return &console.Network{
		Addresses: []console.Address{
			{
				Addresses: []string{"192.0.2.10", "2001:db8::10"}, Service: "openshift-ingress/router-default", Pool: "public", State: console.Announced,
				Announcers: []console.Announcer{{Node: "node-a", Interfaces: []string{"eth0"}}}, Owner: "node-a", Next: []string{"node-b"},
				Excluded: []console.Excluded{{Node: "node-c", Why: "it is drained by annotation"}},
				BGP:      []console.Session{{Node: "node-a", Peer: "198.51.100.1", State: "Established", BFD: "up"}},
			},
			{Addresses: []string{"192.0.2.11"}, Service: "web/cart", Pool: "public", State: console.NotAnnounced, Why: "no node is eligible"},
		},
		Pools: []console.Pool{{Name: "public", Used: 3, Total: 16}},
	}, nil
}

func (s *shown) Events(context.Context) (*console.Events, error) {
	at := time.Now().Add(-time.Hour)
	return &console.Events{Items: []console.Event{
		{Time: &at, Count: 2, Type: "normal", Source: "fairlead-speaker", Kind: "service", Namespace: "web", Name: "cart", Reason: "nodeAssigned", Message: "announcing from node \"node-a\""},
	}}, nil
}

// set decides the manifests of docs/explain.md, and some of Gateways, with another name for a Route.
func (s *shown) set(t *testing.T, rename string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "# shop.yaml\n")
	text, _, _ = strings.Cut(text, "```")
	r := manifest.NewReader("default")
	r.Read("shop.yaml", []byte(strings.ReplaceAll(text, "{name: cart-copy,", "{name: "+rename+",")))
	gateways, err := os.ReadFile("testdata/gateways.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.Read("gateways.yaml", gateways)
	snapshot, err := explain.NewSnapshot(r.Objects(), explain.Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s.snapshot.Store(snapshot)
}

// start runs a console, and returns a page that has logged in, with the path of all pages.
func start(t *testing.T, b *browser.Browser) (page *browser.Page, source *shown, base string) {
	t.Helper()
	source = &shown{}
	source.set(t, "cart-copy")
	page, base = startWith(t, b, source)
	return page, source, base
}

// startWith runs a console of a source.
func startWith(t *testing.T, b *browser.Browser, source console.Source) (page *browser.Page, base string) {
	t.Helper()
	l, port, err := console.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	links := make(chan string, 10)
	server, err := console.New(console.Options{
		Source: source, Cluster: true, Fresh: 200 * time.Millisecond, Prefix: "c", Now: time.Now, Link: func(address string) { links <- address },
		Command: func(l console.Line) string {
			return strings.TrimSpace(strings.Join([]string{"kubectl fairlead", l.Command, l.Subject}, " "))
		},
	}, port)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	page = b.Page(t)
	page.Look(t, 1280, 900, "light")
	page.Open(t, <-links)
	page.Await(t, "the first page", `document.querySelector("h1").textContent === "Overview"`)
	return page, page.Eval(t, "location.href")
}

func click(selector string) string {
	return fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector)
}

// TestWalk finds a refused Route, reads its remedy, asks a URL and sees which Route loses;
// then a change appears without a click.
func TestWalk(t *testing.T) {
	b := browser.Start(t)
	page, source, base := start(t, b)
	page.Key(t, "g")
	page.Key(t, "r")
	page.Await(t, "the key g r leads to the Routes", `location.pathname.endsWith("/routes") && document.readyState === "complete"`)
	page.Await(t, "the script runs", runs)
	page.Key(t, "/")
	page.Await(t, "the key / leads to the filter", `document.activeElement.id === "q"`)
	page.Eval(t, `(document.activeElement.value = "state:refused", document.activeElement.form.requestSubmit(), true)`)
	page.Await(t, "the refused Route", `document.querySelectorAll("tbody tr").length === 2 && document.querySelector("tbody th a").textContent === "web/cart-copy"`)
	page.Eval(t, click("tbody th a"))
	page.Await(t, "its remedy", `document.querySelector("h1").textContent === "Route web/cart-copy" && document.querySelector(".finding dd:last-of-type") !== null && document.querySelector(".findings").textContent.includes("choose another host or path")`)
	page.Open(t, base+"ask")
	page.Eval(t, `(document.getElementById("url").value = "https://www.example.com/cart/1", document.getElementById("url").form.requestSubmit(), true)`)
	page.Await(t, "the Route that loses", `document.querySelector("main").textContent.includes("HostAlreadyClaimed")`)
	if got := page.Eval(t, `[...document.querySelectorAll("main section table tbody th a")].map(a => a.textContent).join(" ")`); got != "web/cart-copy web/shop" {
		t.Errorf("the Routes that lose: %s", got)
	}
	page.Open(t, base+"routes")
	page.Await(t, "the script runs", runs)
	page.Eval(t, `new Promise(done => setTimeout(() => done(true), 2500))`)
	began := time.Now()
	source.set(t, "renamed")
	page.Await(t, "the change, without a click", `document.querySelector("tbody").textContent.includes("web/renamed")`)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the change was shown after %s", took)
	} else {
		t.Logf("the change was shown after %s", took)
	}
	page.NoScript(t)
	for _, path := range []string{"", "routes", "routes/web/cart", "ask?url=https://www.example.com/cart", "hosts/www.example.com", "hosts/basket.example.com", "certs", "settings", "addresses", "events", "gateways", "gateways/infra/public", "listenersets/web/team", "httproutes/web/basket-copy"} {
		page.Open(t, base+path)
		if text := page.Eval(t, `document.querySelector("main").textContent.length > 200 && document.getElementById("keys-open").hidden`); text != "true" && path != "certs" && path != "settings" {
			t.Errorf("%s without scripts: %s", path, text)
		}
	}
}

// TestForeignPage: a page of another port in the same browser can neither read the console
// nor show it in a frame.
func TestForeignPage(t *testing.T) {
	b := browser.Start(t)
	page, _, base := start(t, b)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>evil</title><iframe id="f" src=%q></iframe>`, base)
	}))
	defer evil.Close()
	page.Open(t, evil.URL)
	for _, expression := range []string{
		fmt.Sprintf(`fetch(%q, {credentials: "include"}).then(r => "read " + r.status)`, base+"routes.json"),
		fmt.Sprintf(`new Promise(done => { const s = document.createElement("script"); s.src = %q; s.onload = () => done("read"); s.onerror = () => done("exception: refused"); document.head.append(s) })`, base+"state"),
		`document.getElementById("f").contentDocument.body.innerHTML`,
		fmt.Sprintf(`new Promise((done, fail) => { const s = new EventSource(%q, {withCredentials: true}); s.onopen = s.onmessage = () => done("read"); s.onerror = () => fail("refused") })`, base+"live"),
	} {
		if got := page.Eval(t, expression); !strings.HasPrefix(got, "exception") {
			t.Errorf("%s: %.200s", expression, got)
		}
	}
}

// TestNarrow: nothing but tables is wider than a window of 320 pixels.
func TestNarrow(t *testing.T) {
	b := browser.Start(t)
	page, _, base := start(t, b)
	page.Look(t, 320, 640, "dark")
	for _, path := range everyPage {
		page.Open(t, base+path)
		page.Eval(t, `(document.querySelectorAll("details").forEach(d => d.open = true), true)`)
		if got := page.Eval(t, "document.documentElement.scrollWidth"); got != "320" {
			t.Errorf("%s is %s pixels wide", path, got)
		}
	}
}

// TestPictures writes the pictures of docs/console.md where the flag says.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("-pictures names no folder")
	}
	b := browser.Start(t)
	page, _, base := start(t, b)
	for _, p := range []struct{ name, path, scheme string }{
		{"console-routes", "routes", "light"},
		{"console-addresses", "addresses", "light"},
		{"console-events", "events", "dark"},
		{"console-gateways", "gateways/infra/public", "light"},
		{"console-ask", "ask?url=https://www.example.com/cart/1", "dark"},
	} {
		page.Look(t, 1100, 620, p.scheme)
		page.Open(t, base+p.path)
		write(t, p.name, page.Picture(t))
	}
}

func write(t *testing.T, name string, png []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
