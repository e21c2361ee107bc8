package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
)

// probe asks the router again and again, each time on a new connection from
// the client host, and remembers how it went.
type probe struct {
	client *http.Client
	url    string
	host   string
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	asked    int
	failures []failure
}

type failure struct {
	at  time.Time
	err error
}

const (
	probePause   = 20 * time.Millisecond
	probeTimeout = 3 * time.Second
)

// startProbe asks for a host of the samples until stop is called. Requests
// overlap, so that a slow one hides nothing.
func startProbe(t *testing.T, p *install.Product, host string) *probe {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &probe{
		client: &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}},
		url:    "http://" + p.Address + "/text", host: host, cancel: cancel,
	}
	b.done.Go(func() {
		tick := time.NewTicker(probePause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				b.done.Go(func() { b.ask(context.WithoutCancel(ctx)) })
			}
		}
	})
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *probe) ask(ctx context.Context) {
	at := time.Now()
	err := request(ctx, b.client, b.url, b.host)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if err != nil {
		b.failures = append(b.failures, failure{at, err})
	}
}

func request(ctx context.Context, client *http.Client, url, host string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Host = host
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", host, answer.Status)
	}
	return nil
}

// stop ends the probe and waits for its last answers.
func (b *probe) stop() {
	b.cancel()
	b.done.Wait()
}

// outage returns the time from the first failed request to the last one.
func (b *probe) outage() (failed int, outage time.Duration, last error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failures) == 0 {
		return 0, 0, nil
	}
	first, end := b.failures[0].at, b.failures[0].at
	for _, f := range b.failures {
		if f.at.Before(first) {
			first = f.at
		}
		if f.at.After(end) {
			end, last = f.at, f.err
		}
	}
	if last == nil {
		last = b.failures[0].err
	}
	return len(b.failures), end.Sub(first) + probePause, last
}

// report ends the probe and fails the test if requests failed for longer than
// allowed; zero allows none.
func (b *probe) report(t *testing.T, allowed time.Duration) {
	t.Helper()
	b.stop()
	failed, outage, last := b.outage()
	t.Logf("%d requests, %d failed, outage %v", b.asked, failed, outage.Round(10*time.Millisecond))
	if b.asked < 20 {
		t.Errorf("only %d requests were made", b.asked)
	}
	if outage > allowed {
		t.Errorf("requests failed for %v, allowed are %v; last: %v", outage, allowed, last)
	}
}
