// Package probe asks pods on this node over HTTP whether they serve, so that an
// address is announced only where somebody answers behind it. kubelet asks the
// same, but what it finds out arrives seconds later, by way of the API server.
package probe

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// interval is the pause between two rounds of requests.
	interval = 500 * time.Millisecond
	// timeout bounds a request.
	timeout = time.Second
	// tolerated is how many failures in a row are forgiven to one that has
	// answered before: a process that is started again takes about a second.
	tolerated = 2
)

// Path is where to ask: a port and an absolute path.
type Path struct {
	Port uint16
	Path string
}

// ParsePath reads ":PORT/PATH".
func ParsePath(text string) (Path, error) {
	port, path, found := strings.Cut(strings.TrimPrefix(text, ":"), "/")
	number, err := strconv.ParseUint(port, 10, 16)
	if !strings.HasPrefix(text, ":") || !found || err != nil || number == 0 || strings.ContainsAny(path, " ?#\r\n\t") {
		return Path{}, fmt.Errorf("%q is not of the form :PORT/PATH, such as :8080/healthz", text)
	}
	return Path{Port: uint16(number), Path: "/" + path}, nil
}

// Target is a Service's pods on this node.
type Target struct {
	Path  Path
	Addrs []netip.Addr
}

func (t Target) equal(o Target) bool { return t.Path == o.Path && slices.Equal(t.Addrs, o.Addrs) }

// Prober asks targets again and again. Its methods may be called concurrently.
type Prober struct {
	changed func()
	client  *http.Client
	wake    chan struct{}

	mu      sync.Mutex
	targets map[string]Target
	// failures counts in a row; a target that never answered has more than is tolerated.
	failures map[string]int
}

// New returns a Prober. changed is called, from any goroutine, when a target
// begins or ceases to answer.
func New(changed func()) *Prober {
	return &Prober{
		changed: changed, wake: make(chan struct{}, 1), targets: map[string]Target{}, failures: map[string]int{},
		client: &http.Client{
			Timeout:   timeout,
			Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil},
			// What a pod answers is its own word, not somebody else's.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Set replaces the targets. New ones are asked at once.
func (p *Prober) Set(targets map[string]Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if maps.EqualFunc(p.targets, targets, Target.equal) {
		return
	}
	p.targets = maps.Clone(targets)
	maps.DeleteFunc(p.failures, func(name string, _ int) bool { _, still := targets[name]; return !still })
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Answers says whether the target answers; one that was not asked yet does not.
func (p *Prober) Answers(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, asked := p.failures[name]
	return asked && n <= tolerated
}

// Answering lists the targets that answer, sorted.
func (p *Prober) Answering() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := []string{}
	for name, n := range p.failures {
		if n <= tolerated {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Run asks until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		p.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-tick.C:
		}
	}
}

// round asks every target once, all at the same time.
func (p *Prober) round(ctx context.Context) {
	p.mu.Lock()
	targets := p.targets // replaced as a whole, never changed
	p.mu.Unlock()
	var wg sync.WaitGroup
	for name, t := range targets {
		wg.Go(func() { p.note(name, t, p.ask(ctx, t)) })
	}
	wg.Wait()
}

// note counts the result, unless the target has changed meanwhile.
func (p *Prober) note(name string, t Target, ok bool) {
	p.mu.Lock()
	now, still := p.targets[name]
	if !still || !now.equal(t) {
		p.mu.Unlock()
		return
	}
	n, asked := p.failures[name]
	before := asked && n <= tolerated
	switch {
	case ok:
		p.failures[name] = 0
	case !asked:
		p.failures[name] = tolerated + 1
	default:
		p.failures[name] = n + 1
	}
	turned := before != (p.failures[name] <= tolerated)
	p.mu.Unlock()
	if turned {
		p.changed()
	}
}

// ask says whether one of the pods answers.
func (p *Prober) ask(ctx context.Context, t Target) bool {
	for _, addr := range t.Addrs {
		url := "http://" + netip.AddrPortFrom(addr, t.Path.Port).String() + t.Path.Path
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			continue
		}
		answer, err := p.client.Do(req)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return true
		}
	}
	return false
}
