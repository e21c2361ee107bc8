package revocation

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/dialcheck"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

const (
	// defaultRetry is the pause after a list could not be fetched.
	defaultRetry = time.Minute
	// longest and shortest bound the pause between two looks at a list; within
	// them it is half of the time that the list is still valid.
	longest, shortest = 12 * time.Hour, 5 * time.Second
	// forever is the pause while nothing is wanted.
	forever = 24 * time.Hour
)

// Options configure a Fetcher.
type Options struct {
	// State keeps the lists over a restart of the process; nil means nowhere.
	State *statefile.Store
	// Changed is called, from Run, when Lists has something new.
	Changed func()
	// Retry is the pause after a list could not be fetched; default a minute.
	Retry time.Duration
	// Now returns the time; default is time.Now.
	Now func() time.Time
	// Log defaults to slog's default logger.
	Log *slog.Logger
}

// Fetcher holds the lists of one CA bundle. Its methods may be called from any
// goroutine.
type Fetcher struct {
	o      Options
	client *http.Client
	wake   chan struct{}

	// reported is what Lists had when Changed was last called; only Run uses it.
	reported settings.Revocations

	mu      sync.Mutex
	bundle  string
	sources []*source
	// tried is closed once each source of the bundle has been asked.
	tried chan struct{}
}

// New returns a Fetcher that fetches nothing until Run is called. Proxies are
// taken from the environment.
func New(o Options) *Fetcher {
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	tried := make(chan struct{})
	close(tried)
	return &Fetcher{o: o, client: newClient(), wake: make(chan struct{}, 1), tried: tried}
}

// newClient returns a client that calls no address of a metadata service, which
// publishes no revocation list.
func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: fetchTimeout, Control: dialcheck.NoMetadata}
	return &http.Client{Timeout: fetchTimeout, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: fetchTimeout, ForceAttemptHTTP2: true,
	}}
}

// Want names the CA bundle whose lists are needed, as PEM text; empty means
// that none are.
func (f *Fetcher) Want(bundle string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bundle == f.bundle {
		return
	}
	var fresh []*source
	f.sources, fresh = sourcesOf(bundle, f.sources)
	f.bundle, f.tried = bundle, make(chan struct{})
	recall(f.o.State, fresh, parseBundle(bundle))
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Wait returns once each list of the bundle has been fetched or could not be,
// or the context ends.
func (f *Fetcher) Wait(ctx context.Context) {
	f.mu.Lock()
	tried := f.tried
	f.mu.Unlock()
	select {
	case <-tried:
	case <-ctx.Done():
	}
}

// Lists returns what there is, and what is wrong with it.
func (f *Fetcher) Lists() settings.Revocations {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists()
}

func (f *Fetcher) lists() settings.Revocations {
	var out settings.Revocations
	var texts []string
	now := f.o.Now()
	for _, s := range f.sources {
		if s.list != nil && !slices.Contains(texts, s.text) {
			texts = append(texts, s.text)
		}
		if problem := s.problem(now); problem != "" {
			out.Problems = append(out.Problems, problem)
		}
	}
	out.Lists = strings.Join(texts, "")
	return out
}

// Run fetches until the context ends, and returns nil then.
func (f *Fetcher) Run(ctx context.Context) error {
	for {
		wait := f.round(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-f.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// round fetches what is due and returns when something will be again.
func (f *Fetcher) round(ctx context.Context) time.Duration {
	f.mu.Lock()
	sources, tried, cas := slices.Clone(f.sources), f.tried, parseBundle(f.bundle)
	f.mu.Unlock()
	fresh := false
	for _, s := range sources {
		if f.o.Now().Before(s.next) || ctx.Err() != nil {
			continue
		}
		got, err := f.get(ctx, s, cas)
		f.mu.Lock()
		fresh = s.take(got, err, f.o.Now(), f.o.Retry) || fresh
		f.mu.Unlock()
		if err != nil {
			f.o.Log.Error("cannot fetch a revocation list", "authority", s.authority, "err", err)
		}
	}
	if fresh {
		if err := keep(f.o.State, sources); err != nil {
			f.o.Log.Error("cannot keep the revocation lists for a restart", "err", err)
		}
	}
	closeOnce(tried)
	if now := f.Lists(); now.Lists != f.reported.Lists || !slices.Equal(now.Problems, f.reported.Problems) {
		f.reported = now
		f.o.Changed()
	}
	wait := forever
	for _, s := range sources {
		wait = min(wait, s.next.Sub(f.o.Now()))
	}
	return max(wait, 10*time.Millisecond)
}

// closeOnce closes a channel that only Run closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
