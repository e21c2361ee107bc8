package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/cmd/internal/parts"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/filesource"
	"github.com/fairlead/fairlead/test/wait"
)

// TestConsole: the console shows what the files say, and what they say after a change.
func TestConsole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	save := func(name string) {
		t.Helper()
		text := "{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: " + name + ", namespace: web}, spec: {host: www.example.com, to: {kind: Service, name: shop}}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("shop")
	s := &server{config: &config{paths: paths{dir}, router: "default", console: autoPort}}
	var err error
	if s.source, err = filesource.New(filesource.Options{Paths: s.paths, Router: s.router}); err != nil {
		t.Fatal(err)
	}
	links := make(chan string, 10)
	s.links.print = func(_ string, args ...any) { links <- args[0].(string) } //nolint:forcetypeassert // the address
	s.links.start()                                                           // from now on, links are printed when they are made
	ctx, stop := context.WithCancel(t.Context())
	p := parts.New()
	if err := s.startConsole(ctx, p); err != nil {
		t.Fatal(err)
	}
	defer p.Wait()
	defer stop()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(address string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: code %d, %v", address, answer.StatusCode, err)
		}
		return strings.ReplaceAll(string(text), "<wbr>", "")
	}
	link := <-links
	base, _, _ := strings.Cut(link, "login?")
	if !strings.Contains(base, "/console/") || strings.Contains(get(link), ">Health<") {
		t.Errorf("%s: a health without a cluster", base)
	}
	if text := get(base + "routes"); !strings.Contains(text, "web/shop") || !strings.Contains(text, "fairlead lint -f "+dir) {
		t.Error(text)
	}
	save("store")
	if err := s.source.Reload(); err != nil {
		t.Fatal(err)
	}
	wait.Poll{Every: wait.Slowly}.For(t, "the change", func() error {
		if !strings.Contains(get(base+"routes"), "web/store") {
			return errors.New("the page has the former Route")
		}
		return nil
	})
}

// TestConsoleLines: pages name commands that this program has.
func TestConsoleLines(t *testing.T) {
	t.Parallel()
	s := &server{config: &config{paths: paths{"a b", "c"}, domain: "x.example.com", domainGiven: true, demo: true}}
	for want, l := range map[string]console.Line{
		"fairlead why route/web/shop -f 'a b' -f c --domain x.example.com --demo":     {Command: "why", Subject: "route/shop", Namespace: "web"},
		"fairlead explain 'http://x/;id' -f 'a b' -f c --domain x.example.com --demo": {Command: "explain", Subject: "http://x/;id"},
		"fairlead lint -f 'a b' -f c --domain x.example.com --demo":                   {Command: "lint"},
	} {
		if got := s.commandLine(l); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, l := range []console.Line{{Command: "certs"}, {Command: "explain", Subject: "http://x/", Flags: []string{"--sni", "x"}}} {
		if got := s.commandLine(l); got != "" {
			t.Errorf("%+v: %s", l, got)
		}
	}
}
