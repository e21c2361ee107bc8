package agent

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

func appendShort(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

func appendLong(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// message writes what templates/mirror.lua does.
func message(counts, policy, targets, method, target, body string, headers ...string) []byte {
	b := appendShort([]byte{1}, counts)
	if policy == "" {
		return b
	}
	var list []byte
	for i := 0; i+1 < len(headers); i += 2 {
		list, _ = spop.AppendHeader(list, headers[i], headers[i+1])
	}
	b = appendLong(appendShort(appendShort(appendShort(b, policy), targets), method), target)
	b = append(appendShort(appendShort(b, "shop.test"), "198.51.100.7"), 1)
	return appendLong(appendLong(b, string(spop.EndHeaders(list))), body)
}

func mirrorEngine(t *testing.T, policies ...snapshot.Policy) *Engine {
	t.Helper()
	e := New(Options{Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now, Special: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.66") }})
	e.Swap(&snapshot.Snapshot{Generation: 1, Policies: policies})
	return e
}

func (e *Engine) skipped(reason string) int {
	return counted(e.metrics.mirrorSkipped.WithLabelValues(reason))
}

func counted(c prometheus.Counter) int {
	m := &dto.Metric{}
	if c.Write(m) != nil {
		return -1
	}
	return int(m.GetCounter().GetValue())
}

// TestMirrorRequest: what a target gets of a request.
func TestMirrorRequest(t *testing.T) {
	t.Parallel()
	got, bodies := make(chan *http.Request, 3), make(chan string, 3)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		got <- r
	}))
	defer target.Close()
	at := netip.MustParseAddrPort(strings.TrimPrefix(target.URL, "http://"))
	e := mirrorEngine(t, snapshot.Policy{ID: "m", Namespace: "demo", Mirrors: []snapshot.Mirror{
		{URL: "http://copy.demo.svc:80", Endpoints: []netip.AddrPort{at}, ByEndpoints: true, Set: []snapshot.Header{{Name: "X-Set", Value: "1"}}, Remove: []string{"X-Gone"}, MaxInFlight: 2},
		{URL: target.URL, Host: "other.test", Keep: []string{"Authorization", "Cookie"}, MaxInFlight: 2},
	}})
	headers := []string{
		"host", "shop.test", "authorization", "Bearer x", "cookie", "a=b", "x_gone", "1", "x-set", "client", "content-length", "4", "content-type", "text/x",
		"connection", "close", "transfer-encoding", "chunked", "x-forwarded-for", "198.51.100.7", "x-fairlead-mirror", "0",
	}
	for _, tt := range []struct {
		targets, host, body string
		want                http.Header
	}{
		{"1b", "shop.test", "body", http.Header{"X-Set": {"1"}, "Content-Type": {"text/x"}, "X-Forwarded-For": {"198.51.100.7"}, "X-Fairlead-Mirror": {"1"}, "Content-Length": {"4"}}},
		{"2", "other.test", "", http.Header{
			"X-Set": {"client"}, "X_gone": {"1"}, "Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Content-Type": {"text/x"}, "X-Forwarded-For": {"198.51.100.7"}, "X-Fairlead-Mirror": {"1"}, "Content-Length": {"0"},
		}},
	} {
		if err := e.Mirror(t.Context(), message("", "m", tt.targets, "POST", "/a%2Fb?x=%20y", "body", headers...)); err != nil {
			t.Fatal(err)
		}
		r, body := <-got, <-bodies
		r.Header.Del("Accept-Encoding")
		if r.Method != "POST" || r.RequestURI != "/a%2Fb?x=%20y" || r.Host != tt.host || body != tt.body || !reflect.DeepEqual(r.Header, tt.want) {
			t.Errorf("target %s: %s %s %s body %q, headers %v", tt.targets, r.Method, r.Host, r.RequestURI, body, r.Header)
		}
	}
}

// TestMirrorSkips: copies that are not sent are counted, and nothing waits for those that
// are.
func TestMirrorSkips(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer target.Close()
	e := mirrorEngine(t,
		snapshot.Policy{ID: "m", Namespace: "demo", Mirrors: []snapshot.Mirror{{URL: target.URL, MaxInFlight: 2}, {URL: "http://127.0.0.66:1", MaxInFlight: 1}, {URL: "http://none.demo.svc", ByEndpoints: true, MaxInFlight: 1}}},
		snapshot.Policy{ID: "bad", Mirrors: []snapshot.Mirror{{URL: "http://a/path"}}},
	)
	for _, m := range [][]byte{
		message("agent=3 body=2", "", "", "", "", ""),
		message("upgrade=1", "m", "1", "GET", "/", ""), message("", "m", "1 2", "GET", "/", ""), message("", "m", "1 3", "GET", "/", ""),
		message("", "bad", "1", "GET", "/", ""), message("", "gone", "1", "GET", "/", ""), message("", "m", "9", "GET", "/", ""),
	} {
		if err := e.Mirror(t.Context(), m); err != nil {
			t.Errorf("%q: %v", m, err)
		}
	}
	close(hold)
	end := time.Now().Add(10 * time.Second)
	for time.Now().Before(end) && (counted(e.metrics.mirrorSent) < 2 || e.skipped(mirrorForbidden) == 0 || e.skipped(mirrorFailed) == 0) {
		<-time.After(time.Millisecond)
	}
	for reason, want := range map[string]int{"agent": 3, "body": 2, "upgrade": 1, mirrorBusy: 1, mirrorForbidden: 1, mirrorFailed: 1, mirrorUnknown: 3} {
		if n := e.skipped(reason); n != want {
			t.Errorf("%s: %d, want %d", reason, n, want)
		}
	}
	if n := counted(e.metrics.mirrorSent); n != 2 {
		t.Errorf("%d sent, want 2", n)
	}
	// A policy of targets lets no request in.
	for _, id := range []string{"m", "bad"} {
		if a := e.Decide(context.Background(), &Question{Policy: id, Method: "GET", Target: "/"}); a.Status != unavailable {
			t.Errorf("the policy %s decides: %d", id, a.Status)
		}
	}
}

// TestMirrorMessages: what is no message is refused, and counted.
func TestMirrorMessages(t *testing.T) {
	t.Parallel()
	e := mirrorEngine(t)
	good := message("body=1", "m", "1b 2", "GET", "/a?b", "text", "host", "a")
	for i := range good {
		if i == 3+len("body=1") { // only counts
			continue
		}
		if e.Mirror(t.Context(), good[:i]) == nil {
			t.Errorf("%d of %d bytes are taken", i, len(good))
		}
	}
	for _, bad := range [][]byte{
		append(good, 0), append([]byte{2}, good[1:]...), message("x=1", "m", "1", "GET", "/", ""), message("body=-1", "m", "1", "GET", "/", ""),
		message("", "m", "0", "GET", "/", ""), message("", "m", "1 1 1 1", "GET", "/", ""), message("", "m", "1", "GET", "a", ""), message("", "m", "1", "G T", "/", ""),
	} {
		if e.Mirror(t.Context(), bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if n := e.skipped(mirrorUnknown); n < len(good) {
		t.Errorf("%d counted", n)
	}
	r := httptest.NewRecorder()
	e.MirrorHandler().ServeHTTP(r, httptest.NewRequest("POST", "/mirror", strings.NewReader(strings.Repeat("x", LongestMirrorMessage+1))))
	if r.Code != http.StatusBadRequest {
		t.Errorf("a message that is too long: status %d", r.Code)
	}
}

// FuzzMirrorMessage: no message makes the agent fail, and what is taken has a path and a
// method.
func FuzzMirrorMessage(f *testing.F) {
	f.Add(message("agent=1 body=2 upgrade=3", "ab12", "1b 3", "POST", "/a?b=c", "text\x00\r\n", "host", "a", "x-a", "b\t"))
	f.Add(message("", "", "", "", "", ""))
	f.Add([]byte{1, 0, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, whole []byte) {
		m, err := readMirrorMessage(whole)
		if err != nil || !m.copied {
			return
		}
		if !strings.HasPrefix(m.target, "/") || !spop.ValidName(m.method) || len(m.targets) > MostMirrorTargets {
			t.Errorf("%+v", m)
		}
		to := &mirror{url: &url.URL{Scheme: "http", Host: "copy.test:80"}, host: "h"}
		r, err := to.newRequest(context.Background(), m, true)
		if err == nil && (r.URL.Host != "copy.test:80" || r.Header.Get(mirrorMark) != "1") {
			t.Errorf("a copy for %q goes to %q", m.target, r.URL)
		}
	})
}
