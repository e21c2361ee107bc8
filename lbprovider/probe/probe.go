// Package probe asks pods on this node over HTTP whether they serve, so that an
// address is announced only where a pod answers behind it. kubelet asks the
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
	// timeout bounds the requests to a target's pods, which are sent at the same time.
	timeout = time.Second
	// maxAsked bounds the pods of a target that are asked at a time. Whoever may
	// write endpoints decides how many there are; those left out have their turn
	// in the next rounds.
	maxAsked = 16
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

// Prober asks targets again and again, each independently of the others: one
// that keeps silent delays what is known of no other. Its methods may be called
// concurrently.
type Prober struct {
	changed func()
	client  *http.Client
	wake    chan struct{}
	timeout time.Duration

	mu      sync.Mutex
	targets map[string]Target
	// asking are the targets with requests under way, rounds counts those that
	// are over, and answered is the pod that answered last.
	asking   map[string]bool
	rounds   map[string]int
	answered map[string]netip.Addr
	// failures counts in a row; a target that never answered has more than is tolerated.
	failures map[string]int
}

// New returns a Prober. changed is called, from any goroutine, when a target
// begins or ceases to answer.
func New(changed func()) *Prober {
	return &Prober{
		changed: changed, wake: make(chan struct{}, 1), timeout: timeout, targets: map[string]Target{}, failures: map[string]int{},
		asking: map[string]bool{}, rounds: map[string]int{}, answered: map[string]netip.Addr{},
		client: &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil},
			// What a pod answers is its own word, not another server's.
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
	for name := range p.failures {
		if _, still := targets[name]; !still {
			delete(p.failures, name)
			delete(p.rounds, name)
			delete(p.answered, name)
		}
	}
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
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		p.round(ctx, &running)
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-tick.C:
		}
	}
}

// round begins to ask every target that has no request under way.
func (p *Prober) round(ctx context.Context, running *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, t := range p.targets {
		if p.asking[name] {
			continue
		}
		p.asking[name] = true
		turn := t.turn(p.rounds[name], p.answered[name])
		running.Go(func() { p.note(name, t, p.ask(ctx, t.Path, turn)) })
	}
}

// turn returns the pods that a round asks: the one that answered last, if it is
// still there, and as many others as fit.
func (t Target) turn(round int, answered netip.Addr) []netip.Addr {
	if len(t.Addrs) <= maxAsked {
		return t.Addrs
	}
	turn := make([]netip.Addr, maxAsked)
	for i := range turn {
		turn[i] = t.Addrs[(round*(maxAsked-1)+i)%len(t.Addrs)]
	}
	if slices.Contains(t.Addrs, answered) && !slices.Contains(turn, answered) {
		turn[maxAsked-1] = answered
	}
	return turn
}

// note counts the result, unless the target has changed meanwhile.
func (p *Prober) note(name string, t Target, by netip.Addr) {
	p.mu.Lock()
	delete(p.asking, name)
	now, still := p.targets[name]
	if !still || !now.equal(t) {
		p.mu.Unlock()
		return
	}
	p.rounds[name]++
	n, asked := p.failures[name]
	before := asked && n <= tolerated
	switch {
	case by.IsValid():
		p.failures[name], p.answered[name] = 0, by
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

// ask returns a pod that answers, or none. All are asked at the same time, and
// the first good answer ends it.
func (p *Prober) ask(ctx context.Context, path Path, pods []netip.Addr) netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	answers := make(chan netip.Addr, len(pods))
	for _, addr := range pods {
		go func() {
			if !p.askPod(ctx, "http://"+netip.AddrPortFrom(addr, path.Port).String()+path.Path) {
				addr = netip.Addr{}
			}
			answers <- addr
		}()
	}
	for range pods {
		if by := <-answers; by.IsValid() {
			return by
		}
	}
	return netip.Addr{}
}

func (p *Prober) askPod(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := p.client.Do(req)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
