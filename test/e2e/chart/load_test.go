package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// load asks for the Route of the test through the address of the router's Service, from the client host, until it is stopped. Requests
// overlap, so that a slow one hides nothing.
type load struct {
	address string
	begin   time.Time
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	counts map[string]*count // by kind of request
	failed []failure
	slow   []failure   // without an error
	moves  []time.Time // when the client learned that another node answers for the address
}

type count struct {
	all     int
	slowest time.Duration
}

// failure is a request that got no answer, or a late one.
type failure struct {
	kind       string
	begin, end time.Time
	err        error
	// port is the client's, once there was a connection: without one, packets to the address were lost.
	port      int
	connected time.Duration
}

func (f *failure) String() string {
	if f.port == 0 {
		return f.kind + ", begun at " + f.begin.Format(clock) + ", not connected"
	}
	return fmt.Sprintf("%s, begun at %s, connected after %v, from port %d", f.kind, f.begin.Format(clock), f.connected.Round(time.Millisecond), f.port)
}

// trace notes when there was a connection.
func (f *failure) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if from, ok := c.Conn.LocalAddr().(*net.TCPAddr); ok {
			f.connected, f.port = time.Since(f.begin), from.Port
		}
	}})
}

// kind is a kind of request.
type kind struct {
	name, path string
	every      time.Duration
	reused     bool // the connections
}

// kinds are 200 requests a second, half of them on connections of their own.
var kinds = []kind{
	{"new connections", "/text", 10 * time.Millisecond, false},
	{"kept connections", "/text", 10 * time.Millisecond, true},
}

const (
	requestTimeout = 12 * time.Second // longer than the router's own
	movePause      = 20 * time.Millisecond
	clock          = "15:04:05.00"          // as the logs of the cluster have it
	slowAnswer     = 900 * time.Millisecond // a packet was lost and sent again
	// keptPause is how long a kept connection may have been unused.
	keptPause = 500 * time.Millisecond
	// brokenAtATime is how many connections may break when the address moves.
	brokenAtATime = 4
)

func startLoad(t *testing.T, address string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{address: address, begin: time.Now(), cancel: cancel, counts: map[string]*count{}}
	for _, k := range kinds {
		l.counts[k.name] = &count{}
		transport := &http.Transport{DialContext: shared.Dial("client"), DisableKeepAlives: !k.reused, MaxIdleConnsPerHost: 8}
		client := &http.Client{Timeout: requestTimeout, Transport: transport}
		l.done.Go(func() {
			defer transport.CloseIdleConnections()
			l.send(ctx, client, k)
		})
	}
	l.done.Go(func() { l.watch(ctx) })
	t.Cleanup(l.stop)
	return l
}

func (l *load) send(ctx context.Context, client *http.Client, k kind) {
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	var sent sync.WaitGroup
	defer sent.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sent.Go(func() {
				f := failure{kind: k.name, begin: time.Now()}
				f.err = request(f.trace(context.WithoutCancel(ctx)), client, "http://"+l.address+k.path)
				f.end = time.Now()
				l.mu.Lock()
				defer l.mu.Unlock()
				c := l.counts[k.name]
				c.all++
				c.slowest = max(c.slowest, f.end.Sub(f.begin))
				if f.err != nil {
					l.failed = append(l.failed, f)
				} else if f.end.Sub(f.begin) > slowAnswer {
					l.slow = append(l.slow, f)
				}
			})
		}
	}
}

// watch notes when the address moves from node to node.
func (l *load) watch(ctx context.Context) {
	tick := time.NewTicker(movePause)
	defer tick.Stop()
	var card string
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now, err := shared.Neighbour("client", l.address)
			if err != nil || now == "" {
				continue
			}
			if card != "" && now != card {
				l.mu.Lock()
				l.moves = append(l.moves, time.Now())
				l.mu.Unlock()
			}
			card = now
		}
	}
}

func request(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Host = routeHost
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode == http.StatusRequestTimeout {
		return errTimeout
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", routeHost, answer.Status)
	}
	return nil
}

// stop ends the load when the last answer has come.
func (l *load) stop() {
	l.cancel()
	l.done.Wait()
}

// none ends the load and fails the test if requests failed. A connection that is open when the address moves to another node breaks, as
// docs/lb/l2.md says; these are counted apart, and there may be a few for each move.
func (l *load) none(t *testing.T, what string) {
	t.Helper()
	l.stop()
	broken := 0
	for _, f := range l.failed {
		text := fmt.Sprintf("%s: %.2f s after the start, for %v, %s: %v", what, f.begin.Sub(l.begin).Seconds(), f.end.Sub(f.begin).Round(time.Millisecond), f.String(), f.err)
		if l.moved(f) {
			broken++
			t.Log(text)
		} else {
			t.Error(text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.counts)) {
		c := l.counts[name]
		t.Logf("%s, %.0f s, %s: %d requests, the slowest took %v", what, time.Since(l.begin).Seconds(), name, c.all, c.slowest.Round(time.Millisecond))
		if c.all < 40 {
			t.Errorf("only %d requests were made", c.all)
		}
	}
	var moves []string
	for _, at := range l.moves {
		moves = append(moves, fmt.Sprintf("%.2f", at.Sub(l.begin).Seconds()))
	}
	for _, f := range l.slow[:min(len(l.slow), 20)] {
		t.Logf("%s: %.2f s after the start, %s: answered after %v", what, f.begin.Sub(l.begin).Seconds(), f.String(), f.end.Sub(f.begin).Round(time.Millisecond))
	}
	t.Logf("%s: %d requests failed, %d of them as the address moved, which it did after %q s", what, len(l.failed), broken, moves)
	if broken > brokenAtATime*len(l.moves) {
		t.Errorf("%s: %d requests broke at %d moves of the address", what, broken, len(l.moves))
	}
}

// errTimeout is a router that waited for the rest of a request, which went to another node.
var errTimeout = errors.New("408")

// moved says whether the connection of a request broke because the address moved meanwhile: the client got a reset, or no answer, or the
// former owner's router got no request. A kept connection may be used a little later only.
func (l *load) moved(f failure) bool {
	var timeout interface{ Timeout() bool }
	silent := errors.As(f.err, &timeout) && timeout.Timeout()
	if !silent && !errors.Is(f.err, syscall.ECONNRESET) && !errors.Is(f.err, errTimeout) {
		return false
	}
	late := movePause
	if f.kind == kinds[1].name {
		late = keptPause
	}
	return slices.ContainsFunc(l.moves, func(at time.Time) bool {
		return f.begin.Before(at.Add(late)) && f.end.After(at.Add(-3*movePause))
	})
}
