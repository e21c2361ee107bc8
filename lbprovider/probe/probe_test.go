package probe

import (
	"context"
	"fmt"
	"net"
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

// TestSilentTenant: pods that accept connections and never answer delay neither
// the notice of another target's death nor that of a pod beside them.
func TestSilentTenant(t *testing.T) {
	t.Parallel()
	var silent []netip.Addr
	port := uint16(0)
	for i := range 8 {
		address := netip.AddrFrom4([4]byte{127, 1, 2, byte(i + 1)})
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, port)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		port = netip.MustParseAddrPort(l.Addr().String()).Port()
		silent = append(silent, address)
	}
	router := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	at := netip.MustParseAddrPort(router.Listener.Addr().String())
	changes := make(chan struct{}, 8)
	p := New(func() { changes <- struct{}{} })
	p.timeout = time.Hour // whoever waits for the silent ones waits too long
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { p.Run(ctx); close(over) }()
	p.Set(map[string]Target{
		"tenant/silent": {Path: Path{port, "/"}, Addrs: silent},
		"router":        {Path: Path{at.Port(), "/"}, Addrs: []netip.Addr{at.Addr()}},
	})
	for _, want := range []bool{true, false} {
		select {
		case <-changes:
		case <-time.After(20 * time.Second):
			t.Fatal("what is known of the router waits for the tenant")
		}
		if p.Answers("router") != want {
			t.Errorf("the router answers: %v, want %v", !want, want)
		}
		router.Close()
	}
	cancel()
	<-over
}

// TestTurns: however many pods there are, each is asked in some round, and no
// round asks more than its share.
func TestTurns(t *testing.T) {
	t.Parallel()
	var all Target
	for i := range 50 {
		all.Addrs = append(all.Addrs, netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}))
	}
	asked := map[netip.Addr]bool{}
	last := all.Addrs[49]
	for round := range 4 {
		turn := all.turn(round, last)
		if !slices.Contains(turn, last) {
			t.Error("the pod that answered last is not asked again")
		}
		if len(turn) != maxAsked {
			t.Errorf("%d pods are asked at a time", len(turn))
		}
		for _, a := range turn {
			asked[a] = true
		}
	}
	if len(asked) != 50 {
		t.Errorf("%d of 50 pods are asked", len(asked))
	}
}

// FuzzParsePath: whatever an annotation holds, what is asked is a path on a port
// of the pod, and nothing else goes into the request.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{":1936/healthz/ready", ":80/", "", "://evil/", ":65536/x", ":80/a?b#c", ":80/%2e%2e/\x00", ":80/a\nHost: b", ":80/a\r", ":80/\t", ":80\f/", "\n:80/"} {
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
