// Package reconnect has the watches of a process come back soon after the API server does.
//
// Each informer of client-go waits for itself, and twice as long after each failure, up to a
// minute. After half a minute without API server some kinds of objects are then old for half a
// minute more, each for another time: a speaker knows the Services of now and the Nodes of
// before. Here reads wait until the API server takes connections again, and all of a
// process ask it within seconds. One of them tries, whatever their number.
package reconnect

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// The pause between two tries begins with the first and grows to the longest. Each is up to
// half of it longer, so that the processes of a cluster do not come at once.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 4 * time.Second
)

// Wrap has reads by clients of config wait while nothing takes connections at the API
// server's address. Requests that have a deadline fail as before, and so do all that
// change something.
func Wrap(config *rest.Config, log *slog.Logger) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{next: next, log: log, first: firstPause, longest: longestPause}
	})
}

type transport struct {
	next           http.RoundTripper
	log            *slog.Logger
	first, longest time.Duration

	mu sync.Mutex
	// trying is closed when the request that tries has ended, and nil while none does.
	trying chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	for waits(req, err) {
		ended, ours := t.join()
		if ours {
			defer t.leave()
			return t.try(req, err)
		}
		select {
		case <-ended:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		res, err = t.next.RoundTrip(req)
	}
	return res, err
}

// join returns what is closed when another request has tried, or that this one is to try.
func (t *transport) join() (ended <-chan struct{}, ours bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trying == nil {
		t.trying, ours = make(chan struct{}), true
	}
	return t.trying, ours
}

func (t *transport) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.trying)
	t.trying = nil
}

// try repeats a request until it reaches the API server, or is ended.
func (t *transport) try(req *http.Request, err error) (*http.Response, error) {
	t.log.Warn("the API server takes no connections; watches wait for it", "err", err)
	var res *http.Response
	for pause := t.first; waits(req, err); pause = min(2*pause, t.longest) {
		if !sleep(req.Context(), pause+rand.N(pause/2)) { //nolint:gosec // spreads requests, hides nothing
			return nil, err
		}
		res, err = t.next.RoundTrip(req)
	}
	return res, err
}

// waits reports whether a request is a read without deadline that did not reach the API server.
func waits(req *http.Request, err error) bool {
	if err == nil || req.Method != http.MethodGet || req.Context().Err() != nil {
		return false
	}
	if _, limited := req.Context().Deadline(); limited {
		return false
	}
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
