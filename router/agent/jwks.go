package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// For how long key sets are used.
const (
	shortestKeys = time.Minute
	defaultKeys  = 10 * time.Minute
	longestKeys  = 24 * time.Hour
	// staleKeys is for how long a set is used when no newer one can be read.
	staleKeys = 24 * time.Hour
	// refetchAfter is the pause between two reads because of unknown keys or failures.
	refetchAfter = 30 * time.Second
	// firstPause is the same as long as no set was ever read.
	firstPause = 2 * time.Second
	fetchTime  = 3 * time.Second
	// mostSets bounds the key sets that are fetched.
	mostSets = 1000
)

// kept is what is fetched from an issuer, and the last good version of it.
type kept[T any] struct {
	issuer string
	now    func() time.Time
	// load reads it once, and says for how long to use it.
	load func(context.Context) (*T, time.Duration, error)

	mu       sync.Mutex
	value    *T
	read     time.Time
	expires  time.Time
	tried    time.Time
	fetching chan struct{}
	err      error
}

// keySet is a set of keys.
type keySet = kept[jwt.Keys]

// get returns the value. The first time it waits for it; later a newer one is fetched
// beside the requests. It returns jwt.ErrNoKeys if there is none that may be used.
func (s *kept[T]) get(ctx context.Context) (*T, error) {
	s.mu.Lock()
	now := s.now()
	if !now.Before(s.expires) {
		s.start(now)
	}
	value, wait := s.usable(now), s.fetching
	s.mu.Unlock()
	if value == nil && wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
		s.mu.Lock()
		value = s.usable(s.now())
		s.mu.Unlock()
	}
	if value == nil {
		return nil, jwt.ErrNoKeys
	}
	return value, nil
}

// newer returns what was read after the keys that a token did not fit, if the last
// attempt is long enough ago.
func (s *kept[T]) newer(ctx context.Context, than *T) (*T, bool) {
	s.mu.Lock()
	if s.value == than {
		s.start(s.now())
	}
	wait := s.fetching
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.value != nil && s.value != than
}

func (s *kept[T]) usable(now time.Time) *T {
	if s.value == nil || now.After(s.expires.Add(staleKeys)) {
		return nil
	}
	return s.value
}

// start begins to fetch, unless that is going on or was tried just now.
func (s *kept[T]) start(now time.Time) {
	pause := refetchAfter
	if s.value == nil {
		pause = firstPause
	}
	if s.fetching != nil || !s.tried.IsZero() && now.Before(s.tried.Add(pause)) {
		return
	}
	s.tried = now
	done := make(chan struct{})
	s.fetching = done
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		value, life, err := s.load(ctx)
		s.mu.Lock()
		if s.err = err; err == nil {
			s.value, s.read = value, s.now()
			s.expires = s.read.Add(life)
		}
		s.fetching = nil
		s.mu.Unlock()
		close(done)
	}()
}

// fetcher reads small documents of issuers.
type fetcher struct {
	client  *http.Client
	now     func() time.Time
	metrics *Metrics
	group   string
}

func (e *Engine) newFetcher(ca, group string) (*fetcher, error) {
	transport, err := e.transport(ca)
	if err != nil {
		return nil, err
	}
	return &fetcher{&http.Client{Transport: transport, CheckRedirect: noRedirects}, e.now, e.metrics, group}, nil
}

// get reads a document, and says for how long to use it.
func (f *fetcher) get(ctx context.Context, uri, accept string) ([]byte, time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, http.NoBody)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch %s: %w", uri, err)
	}
	r.Header.Set("Accept", accept)
	began := f.now()
	answer, err := f.client.Do(r)
	f.metrics.upstream.WithLabelValues(f.group).Observe(f.now().Sub(began).Seconds())
	if err != nil {
		return nil, 0, fmt.Errorf("fetch %s: %w", uri, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("fetch %s: status %d", uri, answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, jwt.MaxKeySet+1))
	if err != nil {
		return nil, 0, fmt.Errorf("fetch %s: %w", uri, err)
	}
	return body, lifetime(answer.Header.Get("Cache-Control")), nil
}

const acceptKeys = "application/jwk-set+json, application/json"

// keys reads a key set.
func (f *fetcher) keys(ctx context.Context, uri string) (*jwt.Keys, time.Duration, error) {
	body, life, err := f.get(ctx, uri, acceptKeys)
	if err != nil {
		return nil, 0, err
	}
	keys, err := jwt.ParseKeys(body)
	return keys, life, err
}

// lifetime is for how long a set is used by its Cache-Control.
func lifetime(control string) time.Duration {
	for part := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return shortestKeys
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
				return min(max(time.Duration(min(n, 1e6))*time.Second, shortestKeys), longestKeys)
			}
		}
	}
	return defaultKeys
}

// collection is what policies name, by what it is and its CA.
type collection[T any] struct {
	mu   sync.Mutex
	sets map[[2]string]*kept[T]
}

func newCollection[T any]() collection[T] { return collection[T]{sets: map[[2]string]*kept[T]{}} }

// keySets are sets of keys, with their age as a metric.
type keySets struct {
	collection[jwt.Keys]
	age *prometheus.Desc
	now func() time.Time
}

func newKeySets(now func() time.Time) *keySets {
	return &keySets{collection: newCollection[jwt.Keys](), now: now, age: prometheus.NewDesc("fairlead_agent_jwks_age_seconds",
		"Age of the keys of an issuer; the first 100 issuers.", []string{"issuer"}, nil)}
}

// errManySets is a set too many.
var errManySets = errors.New("more than 1000 key sets are fetched")

// open returns the set of a URI, and begins to fetch it.
func (k *collection[T]) open(uri, ca string, fresh func() *kept[T]) (*kept[T], error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sets[[2]string{uri, ca}]
	if s == nil {
		if len(k.sets) >= mostSets {
			return nil, errManySets
		}
		s = fresh()
		k.sets[[2]string{uri, ca}] = s
		s.mu.Lock()
		s.start(s.now())
		s.mu.Unlock()
	}
	return s, nil
}

// keep drops the sets that no policy names any more.
func (k *collection[T]) keep(used map[*kept[T]]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, s := range k.sets {
		if !used[s] {
			delete(k.sets, at)
		}
	}
}

// Describe implements prometheus.Collector.
func (k *keySets) Describe(c chan<- *prometheus.Desc) { c <- k.age }

// Collect implements prometheus.Collector.
func (k *keySets) Collect(c chan<- prometheus.Metric) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := map[string]bool{}
	for _, s := range k.sets {
		s.mu.Lock()
		read, issuer := s.read, s.issuer
		s.mu.Unlock()
		if !read.IsZero() && len(seen) < 100 && !seen[issuer] {
			seen[issuer] = true
			c <- prometheus.MustNewConstMetric(k.age, prometheus.GaugeValue, k.now().Sub(read).Seconds(), issuer)
		}
	}
}
