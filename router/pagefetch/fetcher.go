// Package pagefetch asks Services for error pages, for routes that show them (the group
// pages of policies). It only asks: the pipeline says what, and who shows it.
package pagefetch

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

const (
	// every is the time between two rounds of a Service, and retry where one did not answer
	// or its endpoints have changed: new pages cost changes of HAProxy.
	every, retry = 30 * time.Second, 5 * time.Second
	// limit is how long a Service may take for one page.
	limit = 5 * time.Second
	// atOnceOfNamespace bounds the requests under way for one namespace: Services that never
	// answer delay only the pages of their own.
	atOnceOfNamespace = 2
	// maxBytes bounds what the pages that are kept add up to, and maxBytesOfNamespace those
	// of one namespace.
	maxBytes, maxBytesOfNamespace = 64 << 20, 1 << 20
)

// Fetcher asks Services in turn.
type Fetcher struct {
	ask     func(context.Context, netip.AddrPort, *model.PageFetch, int) (model.PageUse, error)
	every   time.Duration
	retry   time.Duration
	wanted  chan []model.PageFetch
	results chan []pipeline.FetchResult
	answers chan pipeline.FetchResult

	// turns holds, for each namespace, as many values as there are requests under way.
	turns map[string]chan struct{}

	mu    sync.Mutex // guards what follows
	bytes map[string]int
}

// New returns a fetcher that asks over the network.
func New() *Fetcher {
	return &Fetcher{
		ask: ask, every: every, retry: retry, wanted: make(chan []model.PageFetch, 1), results: make(chan []pipeline.FetchResult), answers: make(chan pipeline.FetchResult),
		bytes: map[string]int{}, turns: map[string]chan struct{}{},
	}
}

// Set says what to ask from now on. It does not block.
func (f *Fetcher) Set(all []model.PageFetch) {
	select {
	case <-f.wanted: // an older list that Run has not taken
	default:
	}
	f.wanted <- all
}

// Results receives what has changed.
func (f *Fetcher) Results() <-chan []pipeline.FetchResult { return f.results }

// Run asks until the context ends.
func (f *Fetcher) Run(ctx context.Context) error {
	services := map[model.Object]*service{}
	changed := map[model.Object]*policy.ServicePages{}
	for {
		var out chan []pipeline.FetchResult
		if len(changed) > 0 {
			out = f.results
		}
		select {
		case <-ctx.Done():
			return nil
		case all := <-f.wanted:
			services = f.replace(ctx, services, all)
		case a := <-f.answers:
			if services[a.Key] != nil {
				changed[a.Key] = a.Pages
			}
		case out <- collected(changed):
			clear(changed)
		}
	}
}

func collected(changed map[model.Object]*policy.ServicePages) []pipeline.FetchResult {
	out := make([]pipeline.FetchResult, 0, len(changed))
	for key, pages := range changed {
		out = append(out, pipeline.FetchResult{Key: key, Pages: pages})
	}
	return out
}

// replace takes another list. Services that stay keep what they answered.
func (f *Fetcher) replace(ctx context.Context, before map[model.Object]*service, all []model.PageFetch) map[model.Object]*service {
	now, turns := make(map[model.Object]*service, len(all)), map[string]chan struct{}{}
	for i := range all {
		namespace := all[i].Key.Namespace
		if turns[namespace] == nil {
			turns[namespace] = f.turns[namespace]
		}
		if turns[namespace] == nil {
			turns[namespace] = make(chan struct{}, atOnceOfNamespace)
		}
		s := before[all[i].Key]
		if s == nil {
			of, cancel := context.WithCancel(ctx)
			s = &service{fetcher: f, turn: turns[namespace], cancel: cancel, wanted: make(chan model.PageFetch, 1)}
			go s.run(of)
		}
		delete(before, all[i].Key)
		now[all[i].Key] = s
		s.want(all[i])
	}
	f.turns = turns
	for _, s := range before {
		s.cancel()
	}
	return now
}

// reserve counts bytes that are kept, or no longer. It reports false, and counts nothing,
// if there is no room.
func (f *Fetcher) reserve(namespace string, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 && (f.bytes[""]+n > maxBytes || f.bytes[namespace]+n > maxBytesOfNamespace) {
		return false
	}
	f.bytes[""] += n
	if f.bytes[namespace] += n; f.bytes[namespace] == 0 {
		delete(f.bytes, namespace)
	}
	return true
}

// pause spreads rounds, so that Services are not asked in the same moment.
func pause(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) } //nolint:gosec // no secret
