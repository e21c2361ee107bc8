package console

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/fairlead/fairlead/test/wait"
)

// event is one of a stream.
type streamEvent struct {
	id, name string
	data     struct {
		Generation int    `json:"generation"`
		At         int64  `json:"at"`
		Problem    string `json:"problem"`
	}
}

// stream opens the stream of a console, and returns what reads its next event.
func (b *bed) stream(ctx context.Context, t *testing.T) (code int, next func() streamEvent) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.root+b.base+"live", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode == http.StatusOK && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("a stream of %s", answer.Header.Get("Content-Type"))
	}
	if strings.HasPrefix(b.root, "http:") { // those of the console of a cluster are others
		headers(t, "live", answer.Header)
	}
	lines := bufio.NewScanner(answer.Body)
	return answer.StatusCode, func() (e streamEvent) {
		t.Helper()
		for lines.Scan() {
			line := lines.Text()
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e.data); err != nil {
					t.Fatal(err)
				}
			case "":
				if e.name != "" {
					return e
				}
			}
		}
		t.Fatal("the stream has ended")
		return e
	}
}

// TestStream: a browser is sent the state of the data, and again when it changes, at most once
// a second.
func TestStream(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	code, next := b.stream(ctx, t)
	if code != http.StatusOK {
		t.Fatalf("code %d", code)
	}
	e := next()
	if e.name != "objects" || e.id != "1" || e.data.Generation != 1 || e.data.At != testNow.UnixMilli() {
		t.Errorf("the first event is %+v", e)
	}
	b.source.snapshot.Store(snapshotOf(t, gatewayShop+shop))
	began := time.Now()
	b.now.Store(60)
	for e.data.Generation == 1 {
		e = next()
	}
	if took := time.Since(began); took > 5*time.Second || e.id != "2" {
		t.Errorf("the change came after %s: %+v", took, e)
	}
	b.source.fails.Store(true)
	b.now.Store(120)
	for e.data.Problem == "" {
		e = next()
	}
	if !strings.Contains(e.data.Problem, "does not answer <b>") {
		t.Errorf("%+v", e)
	}
}

// TestStreamsAreBounded: so many streams are open at most, the others are refused and counted,
// and a stream that ends makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 32 {
		if code, _ := b.stream(ctx, t); code != http.StatusOK {
			t.Fatalf("stream %d: code %d", i, code)
		}
	}
	if code, _ := b.stream(ctx, t); code != http.StatusServiceUnavailable {
		t.Errorf("one more: code %d", code)
	}
	var state struct{ Streams, Refused, Dropped int }
	read := func() {
		t.Helper()
		_, _, body := b.get("state")
		if err := json.Unmarshal([]byte(body), &state); err != nil {
			t.Fatal(err)
		}
	}
	if read(); state.Streams != 32 || state.Refused != 1 || state.Dropped != 0 {
		t.Errorf("%+v", state)
	}
	stop()
	for end := time.Now().Add(10 * time.Second); state.Streams > 0 && time.Now().Before(end); {
		read()
	}
	if state.Streams != 0 {
		t.Errorf("%d streams are left", state.Streams)
	}
}

// TestStreamIsGuarded: a stream is for the own browser only, as pages are: not for another name
// of this machine, another page, or a program without the cookie.
func TestStreamIsGuarded(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, gatewayShop+shop), true)
	for _, path := range []string{"live", "state", "gateways", "gateways/infra/shop", "httproutes/web/cart", "addresses", "events"} {
		for name, test := range map[string]struct {
			edit func(*http.Request)
			code int
		}{
			"another name": {func(r *http.Request) { r.Host = "evil.example.com" }, http.StatusMisdirectedRequest},
			"rebound name": {func(r *http.Request) { r.Host = "127.0.0.1.evil.example.com:" + r.URL.Port() }, http.StatusMisdirectedRequest},
			"another port": {func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusMisdirectedRequest},
			"another site": {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
			"same site":    {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden},
			"an origin":    {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, http.StatusForbidden},
			"null origin":  {func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
			"a POST":       {func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		} {
			r := b.request(http.MethodGet, b.root+b.base+path)
			test.edit(r)
			if code, header, _ := b.do(r); code != test.code || header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: code %d, want %d", path, name, code, test.code)
			}
		}
		r := b.request(http.MethodGet, b.root+b.base+path)
		answer, err := http.DefaultTransport.RoundTrip(r) // without the cookie
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK || strings.Contains(string(text), "infra") {
			t.Errorf("%s without the cookie: code %d", path, answer.StatusCode)
		}
	}
}

// slowBrowser takes nothing.
type slowBrowser struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *slowBrowser) SetReadDeadline(time.Time) error { return nil }

func (s *slowBrowser) SetWriteDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slowBrowser) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func (s *slowBrowser) Flush() {}

// TestSlowBrowser: one that does not read within seconds is dropped, and counted.
func TestSlowBrowser(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	slow := &slowBrowser{ResponseWriter: httptest.NewRecorder()}
	p := b.server.pages
	(&visit{pages: p, viewer: &viewer{all: true}, r: b.request(http.MethodGet, b.root+b.base+"live")}).live(slow)
	if p.streams.dropped.Load() != 1 || p.streams.open.Load() != 0 {
		t.Errorf("%d dropped, %d open", p.streams.dropped.Load(), p.streams.open.Load())
	}
	if wait := time.Until(slow.deadline); wait > streamWrite || wait < streamWrite-time.Minute {
		t.Errorf("it has %s", wait)
	}
}

// TestStreamForgets: a stream does not keep in memory what was shown when it was opened.
func TestStreamForgets(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	b.get("routes")
	of := func() *world { return b.server.pages.readings.worlds.get(t.Context(), t.Context()).value }
	former := weak.Make(of())
	code, next := b.stream(t.Context(), t)
	if code != http.StatusOK {
		t.Fatal(code)
	}
	first := next()
	b.source.snapshot.Store(snapshotOf(t, shop))
	b.now.Add(60)
	if second := next(); second.data.Generation == first.data.Generation {
		t.Fatalf("%+v after %+v", second, first)
	}
	wait.Poll{}.For(t, "the end of the former objects", func() error {
		runtime.GC()
		return wait.True(former.Value() == nil)
	})
}
