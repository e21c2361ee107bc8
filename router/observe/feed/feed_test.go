package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/traffic"
	"github.com/fairlead/fairlead/test/wait"
)

var poll = wait.Poll{Limit: time.Minute, Every: 5 * time.Millisecond}

// fake is a HAProxy.
type fake struct {
	mu   sync.Mutex
	pid  int
	keys []string
	// ring gets what the process writes; nil while nothing reads.
	ring   chan string
	noRing bool
	// reading is true while something reads.
	reading bool
}

func (h *fake) Observe(keys []string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pid == 0 {
		return 0, haproxy.ErrGone
	}
	h.keys = slices.Clone(keys)
	return h.pid, nil
}

func (h *fake) Records(ctx context.Context, ready func(int), each func([]byte)) error {
	h.mu.Lock()
	pid, ring := h.pid, make(chan string)
	switch {
	case pid == 0:
		h.mu.Unlock()
		return haproxy.ErrGone
	case h.noRing:
		h.mu.Unlock()
		return haproxy.ErrNoRing
	}
	h.ring, h.reading = ring, true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.reading = false
		h.mu.Unlock()
	}()
	ready(pid)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-ring:
			each([]byte(line))
		}
	}
}

// is reports whether the keys are as many.
func (h *fake) is(n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.keys) != n {
		return fmt.Errorf("keys %q, want %d", h.keys, n)
	}
	return nil
}

// write writes a line, once it is read: the ring of a new process comes after its keys.
func (h *fake) write(t *testing.T, line string) {
	t.Helper()
	poll.For(t, "the ring is read", func() error {
		h.mu.Lock()
		ring := h.ring
		h.mu.Unlock()
		select {
		case ring <- line:
			return nil
		default:
			return errors.New("nothing reads")
		}
	})
}

func (h *fake) become(pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pid = pid
	h.keys = []string{"left"}[:min(pid, 1)]
	if pid > 1 {
		h.keys = nil
	}
}

func record(route string) string {
	return "h|1796000000123456|be_http:web:" + route + ":1a2b3c4d|pod:a:s:http:198.18.0.7:8080|200|----|0|0/0/0/0/0/1/0/1|9|9|203.0.113.9|-|GET|1|-||h|1|%2F|-|-|-"
}

// start runs a feed on a fake with a server of its stream.
func start(t *testing.T, h *fake) (*Feed, *httptest.Server) {
	t.Helper()
	f := New(h, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f.Run(ctx)
	}()
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		<-ended
	})
	return f, server
}

// client reads a stream.
type client struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

func dial(t *testing.T, server *httptest.Server, query string) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+observe.Path+"?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		cancel()
		t.Fatalf("%s: %s", query, answer.Status)
	}
	return &client{t, bufio.NewScanner(answer.Body), func() { cancel(); answer.Body.Close() }}
}

func (c *client) next() observe.Line {
	c.t.Helper()
	var l observe.Line
	if !c.lines.Scan() {
		c.t.Fatal("the stream has ended: ", c.lines.Err())
	}
	if err := json.Unmarshal(c.lines.Bytes(), &l); err != nil {
		c.t.Fatal(err)
	}
	return l
}

// observing waits until HAProxy writes.
func (c *client) observing() {
	c.t.Helper()
	for {
		if s := c.next().State; s != nil && s.Observing {
			return
		}
	}
}

// TestSample: samples are handed on while they are wanted; then HAProxy writes none, and its ring is not read. Readers do not get
// records that they did not ask for.
func TestSample(t *testing.T) {
	t.Parallel()
	h := &fake{}
	h.become(1)
	f, _ := start(t, h)
	poll.For(t, "keys of an earlier process are gone", func() error { return h.is(0) })
	took := make(chan string, 10)
	take := func(backend []byte, d time.Duration) { took <- string(backend) + " " + d.String() }
	f.Sample(take, time.Now().Add(time.Second))
	poll.For(t, "the key is there", func() error { return h.is(1) })
	f.Sample(take, time.Now().Add(3*time.Second))
	h.write(t, record("cart"))
	h.write(t, strings.Replace(record("cart"), "/1|9", "/25|9", 1)+"|1")
	h.write(t, record("cart")+"|-")
	h.write(t, strings.Replace(record("cart"), "/1|9", "/40|9", 1)+"|1")
	for _, want := range []string{"be_http:web:cart:1a2b3c4d 25ms", "be_http:web:cart:1a2b3c4d 40ms"} {
		if got := <-took; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	poll.For(t, "nothing is sampled or read after a while", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.keys) > 0 || h.reading {
			return fmt.Errorf("keys %q, read: %t", h.keys, h.reading)
		}
		return nil
	})
}

// BenchmarkSample is what a sampled request costs the router, but for reading the socket.
func BenchmarkSample(b *testing.B) {
	f := New(&fake{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	ledger := traffic.New()
	ledger.SetLatency(true)
	ledger.Begin(time.Now(), false)
	for i := range 1000 {
		ledger.Take(1, &traffic.Reading{Backend: fmt.Sprintf("be_http:web:cart%d:1a2b3c4d", i)})
	}
	ledger.End(time.Now())
	var mu sync.Mutex
	f.Sample(func(backend []byte, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		ledger.Observe(backend, took)
	}, time.Now().Add(time.Hour))
	line, now := []byte(record("cart7")+"|1"), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		f.take(line, now)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	h := &fake{}
	h.become(1)
	f, server := start(t, h)
	poll.For(t, "keys of an earlier process are gone", func() error { return h.is(0) })
	cart := dial(t, server, "route=web/cart")
	cart.observing()
	if err := h.is(8); err != nil {
		t.Error(err)
	}
	all := dial(t, server, "")
	all.observing()
	if err := h.is(10); err != nil {
		t.Error(err)
	}
	h.write(t, "a line that is no record")
	h.write(t, record("shop"))
	h.write(t, record("cart"))
	if r := cart.next().Record; r == nil || r.Route != "cart" || r.Pod != "a" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"shop", "cart"} {
		if r := all.next().Record; r == nil || r.Route != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	all.close()
	poll.For(t, "one reader's keys are gone", func() error { return h.is(8) })

	h.become(2) // a reload: the new process has no keys
	poll.For(t, "the new process has the keys", func() error { return h.is(8) })
	h.write(t, "3 events dropped")
	h.write(t, record("cart"))
	for {
		l := cart.next()
		if l.Record != nil {
			break
		}
	}
	for {
		if s := cart.next().State; s != nil && s.Lost == 3 && s.Seen == 2 {
			break
		}
	}
	cart.close()
	poll.For(t, "nothing is observed at the end", func() error { return errors.Join(h.is(0), none(f)) })
}

func none(f *Feed) error {
	if n := f.count(); n > 0 {
		return fmt.Errorf("%d readers", n)
	}
	return nil
}

// TestFeedBounds: a reader gets 1,000 records of a second, one that takes none loses them and
// hears of it, and there are so many readers only.
func TestFeedBounds(t *testing.T) {
	t.Parallel()
	f := New(&fake{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	var readers []*reader
	for range MaxReaders {
		r, err := f.open(&observe.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	if _, err := f.open(&observe.Filter{}); err == nil {
		t.Error("one reader too many")
	}
	now := time.Unix(1_796_000_000, 0)
	for range perSecond + 5 {
		f.take([]byte(record("cart")), now)
	}
	if s := f.state(readers[0]); s.Seen != perSecond+5 || s.Left != 5 || s.Lost != 0 || len(readers[0].records) != perSecond {
		t.Errorf("%+v", s)
	}
	for second := range 3 {
		for range perSecond {
			f.take([]byte(record("cart")), now.Add(time.Duration(second+1)*time.Second))
		}
	}
	if s := f.state(readers[0]); s.Lost != 2*perSecond || len(readers[0].records) != waiting {
		t.Errorf("%+v", s)
	}
	f.close(readers[0])
	if _, err := f.open(&observe.Filter{}); err != nil {
		t.Error(err)
	}
}

func TestFeedRefuses(t *testing.T) {
	t.Parallel()
	h := &fake{noRing: true}
	h.become(1)
	_, server := start(t, h)
	for query, want := range map[string]int{"rout=x": http.StatusBadRequest, "route=web/a;b": http.StatusBadRequest} {
		answer, err := http.Get(server.URL + observe.Path + "?" + query)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", query, answer.Status)
		}
	}
	c := dial(t, server, "")
	if s := c.next().State; s == nil || s.Observing || !strings.Contains(s.Problem, "access log") {
		t.Errorf("%+v", s)
	}
	answer, err := http.Post(server.URL+observe.Path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Error(answer.Status)
	}
}

// TestFeedOutlivesLimits: the router's port has limits for requests, which end no stream.
func TestFeedOutlivesLimits(t *testing.T) {
	t.Parallel()
	h := &fake{}
	h.become(1)
	f, _ := start(t, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := &http.Server{Handler: f, ReadTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond}
	go func() { _ = limited.Serve(l) }()
	t.Cleanup(func() { _ = limited.Close() })
	c := dial(t, &httptest.Server{URL: "http://" + l.Addr().String()}, "")
	c.observing()
	for range 2 { // the second one is long after the limits
		for c.next().State == nil {
		}
	}
	h.write(t, record("cart"))
	for c.next().Record == nil {
	}
}

// TestTrace: records are read for traces without any client, and no key is set for them; when that
// ends, nothing is read.
func TestTrace(t *testing.T) {
	t.Parallel()
	h := &fake{}
	h.become(1)
	f, _ := start(t, h)
	var got atomic.Int32
	f.Trace(func(r *observe.Record) {
		if r.Route == "cart" {
			got.Add(1)
		}
	})
	h.write(t, record("cart"))
	poll.For(t, "the record arrives", func() error {
		if got.Load() != 1 {
			return errors.New("it does not")
		}
		return h.is(0)
	})
	h.become(2) // and another process takes over
	h.write(t, record("cart"))
	poll.For(t, "the record of the new process arrives", func() error {
		if got.Load() != 2 {
			return errors.New("it does not")
		}
		return nil
	})
	f.Trace(nil)
	poll.For(t, "nothing reads", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.reading {
			return errors.New("the ring is read")
		}
		return nil
	})
}
