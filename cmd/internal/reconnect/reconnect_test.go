package reconnect

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// server listens at an address that it has until the test ends, whether it runs or not.
type server struct {
	t       *testing.T
	address string
	http    *http.Server
}

func (s *server) start() {
	s.t.Helper()
	var listener net.Listener
	var err error
	for range 50 { // another process may have the port for a moment
		if listener, err = net.Listen("tcp", s.address); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = listener.Addr().String()
	s.http = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	go func() { _ = s.http.Serve(listener) }()
	s.t.Cleanup(s.stop)
}

func (s *server) stop() { _ = s.http.Close() }

// counted counts what reaches the network.
type counted struct {
	http.RoundTripper
	tries atomic.Int64
}

func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.tries.Add(1)
	return c.RoundTripper.RoundTrip(req)
}

func TestReadsWait(t *testing.T) {
	t.Parallel()
	s := &server{t: t, address: "127.0.0.1:0"}
	s.start()
	s.stop()
	network := &counted{RoundTripper: &http.Transport{DisableKeepAlives: true}}
	client := &http.Client{Transport: &transport{next: network, log: slog.New(slog.DiscardHandler), first: 10 * time.Millisecond, longest: 50 * time.Millisecond}}
	do := func(ctx context.Context, method string) error {
		req, err := http.NewRequestWithContext(ctx, method, "http://"+s.address, http.NoBody)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}

	if do(t.Context(), http.MethodPut) == nil {
		t.Error("a write waited")
	}
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if do(limited, http.MethodGet) == nil || time.Since(began) > 30*time.Second {
		t.Error("a read with a deadline waited")
	}

	const watches = 100
	before := network.tries.Load()
	var wg sync.WaitGroup
	var failed atomic.Int64
	for range watches {
		wg.Go(func() {
			if do(t.Context(), http.MethodGet) != nil {
				failed.Add(1)
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	// Each has tried once, and one of them again and again.
	if tries := network.tries.Load() - before; tries < watches || tries > watches+60 {
		t.Errorf("%d tries of %d watches", tries, watches)
	}
	ended, end := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, end)
	if do(ended, http.MethodGet) == nil {
		t.Error("a read that was ended got an answer")
	}
	s.start()
	wg.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d watches failed", failed.Load())
	}
}

// TestWrap: the clients of a configuration wait.
func TestWrap(t *testing.T) {
	t.Parallel()
	s := &server{t: t, address: "127.0.0.1:0"}
	s.start()
	s.stop()
	config := &rest.Config{Host: "http://" + s.address}
	Wrap(config, slog.New(slog.DiscardHandler))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, s.start)
	res, err := client.Get("http://" + s.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}
