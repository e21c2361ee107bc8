package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
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

	mu    sync.Mutex
	asked []asked
}

// asked is when a request began, and how it failed.
type asked struct {
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
	b.asked = append(b.asked, asked{at, err})
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

// outage returns the longest time in which each request failed, or that of all failed
// requests together if they would take longer one after the other: what is under way when
// an address moves is lost, once for each move.
func outage(all []asked) (failed int, longest time.Duration, last error) {
	slices.SortFunc(all, func(a, b asked) int { return a.at.Compare(b.at) })
	var since time.Time
	for _, r := range all {
		if r.err == nil {
			since = time.Time{}
			continue
		}
		if since.IsZero() {
			since = r.at
		}
		failed, last = failed+1, r.err
		longest = max(longest, r.at.Sub(since)+probePause)
	}
	return failed, max(longest, time.Duration(failed)*probePause), last
}

// report ends the probe and fails the test if requests failed for longer than
// allowed; zero allows none.
func (b *probe) report(t *testing.T, allowed time.Duration) {
	t.Helper()
	b.stop()
	failed, longest, last := outage(b.asked)
	t.Logf("%d requests, %d failed, outage %v", len(b.asked), failed, longest.Round(10*time.Millisecond))
	if len(b.asked) < 20 {
		t.Errorf("only %d requests were made", len(b.asked))
	}
	if longest > allowed {
		t.Errorf("requests failed for %v, allowed are %v; last: %v", longest, allowed, last)
	}
}
