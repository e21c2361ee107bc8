package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Path
		bad  bool
	}{
		{text: ":1936/healthz/ready", want: Path{1936, "/healthz/ready"}},
		{text: ":80/", want: Path{80, "/"}},
		{text: "", bad: true},
		{text: "1936/healthz", bad: true},
		{text: ":1936", bad: true},
		{text: ":0/healthz", bad: true},
		{text: ":65536/healthz", bad: true},
		{text: "://evil/healthz", bad: true},
		{text: ":80/a b", bad: true},
		{text: ":80/a?b", bad: true},
		{text: ":80/a\r\nHost: x", bad: true},
	} {
		got, err := ParsePath(tt.text)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
	}
}

func TestProber(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	status.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status.Load() == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	changes := make(chan struct{}, 8)
	p := New(func() { changes <- struct{}{} })
	go p.Run(t.Context())
	wait := func(want bool) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(10 * time.Second):
			t.Fatal("nothing changed")
		}
		if p.Answers("web") != want {
			t.Errorf("answers: %v, want %v", !want, want)
		}
	}
	p.Set(map[string]Target{"web": {Path: Path{at.Port(), "/"}, Addrs: []netip.Addr{at.Addr()}}})
	if p.Answers("web") || p.Answers("unknown") {
		t.Error("a target answers that does not")
	}
	status.Store(http.StatusOK)
	wait(true)
	if got := p.Answering(); !slices.Equal(got, []string{"web"}) {
		t.Errorf("answering: %v", got)
	}
	status.Store(http.StatusFound) // a redirect is no answer
	wait(false)
	status.Store(http.StatusOK)
	wait(true)
	server.Close()
	wait(false)
	p.Set(nil)
	if got := p.Answering(); len(got) > 0 {
		t.Errorf("answering: %v", got)
	}
}

// FuzzParsePath: whatever an annotation holds, what is asked is a path on a port
// of the pod, and nothing else goes into the request.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{":1936/healthz/ready", ":80/", "", "://evil/", ":65536/x", ":80/a?b#c", ":80/%2e%2e/\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			return
		}
		u, err := url.Parse(fmt.Sprintf("http://198.18.0.1:%d%s", p.Port, p.Path))
		if err != nil {
			return // the probe fails, which is told
		}
		if p.Port == 0 || u.Host != fmt.Sprintf("198.18.0.1:%d", p.Port) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q asks for %q", text, u)
		}
	})
}
