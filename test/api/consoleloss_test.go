package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/console/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// line is the way of connections to a server, which a test can cut.
type line struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	cut  bool
	open []net.Conn
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &line{listener: l, to: to}
	t.Cleanup(func() { _ = l.Close(); w.set(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(t.Context(), c)
		}
	}()
	return w
}

// join hands bytes on between a client and the server, until one of them goes.
func (w *line) join(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return
	}
	w.open = append(w.open, client, server)
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// set cuts the line, or joins it again.
func (w *line) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.open {
			_ = c.Close()
		}
		w.open = nil
	}
}

// TestConsoleWithoutAPIServer: while the API server cannot be reached, the console shows what it has
// read with a line that says so and how old it is, and when the API server is back, what has
// changed meanwhile.
func TestConsoleWithoutAPIServer(t *testing.T) {
	if server == nil {
		t.Skipf("no API server (run \"make tools\"): %v", skipReason)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	host, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	way := newLine(t, host.Host)
	config.Host = "https://" + way.listener.Addr().String()
	const one = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: %s, namespace: default}\nspec: {host: %s.loss.test, to: {kind: Service, name: s}}\n"
	if err := apply(t, fmt.Sprintf(one, "lost-one", "one")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = server.Kubectl(context.Background(), "delete", "route/lost-one", "route/lost-two", "-n", "default", "--ignore-not-found")
	})
	page := serveConsole(t, &cluster.Options{Config: config, Timeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
	says := func(what string, within time.Duration, want, not []string) {
		t.Helper()
		wait.Poll{Limit: within, Every: 200 * time.Millisecond}.For(t, what, func() error {
			text, err := page("routes?q=host:loss.test")
			if err != nil {
				return err
			}
			for _, part := range want {
				if !strings.Contains(text, part) {
					return fmt.Errorf("no %q", part)
				}
			}
			for _, part := range not {
				if strings.Contains(text, part) {
					return fmt.Errorf("there is %q", part)
				}
			}
			return nil
		})
	}
	const stopped, old = "Live data stopped.", "What is shown was read"
	says("the Route", time.Minute, []string{"one.loss.test"}, []string{stopped, "two.loss.test"})
	way.set(true)
	began := time.Now()
	says("the loss", time.Minute, []string{"one.loss.test", stopped, old}, nil)
	t.Logf("the loss is shown after %s", time.Since(began))
	if err := apply(t, fmt.Sprintf(one, "lost-two", "two")); err != nil {
		t.Fatal(err)
	}
	says("what was read before", time.Minute, []string{"one.loss.test", stopped, "s ago"}, []string{"two.loss.test", "was read now"})
	way.set(false)
	began = time.Now()
	says("the return", time.Minute, []string{"one.loss.test", "two.loss.test"}, []string{stopped})
	t.Logf("what has changed is shown %s after the return", time.Since(began))
}

// serveConsole runs the console of a cluster, and returns what gets its pages.
func serveConsole(t *testing.T, of *cluster.Options) func(path string) (string, error) {
	t.Helper()
	source, err := cluster.NewSource(*of)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open, err := console.NewOpen(console.Options{Source: source, Cluster: true, Fresh: time.Second, Now: time.Now}, "/", l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { source.Run(ctx) })
	all.Go(func() { _ = open.Serve(ctx, l) })
	t.Cleanup(func() { stop(); all.Wait() })
	client := &http.Client{Timeout: 30 * time.Second}
	return func(path string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/"+path, nil)
		if err != nil {
			return "", err
		}
		answer, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
}
