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

// keySet is a set of keys that is fetched from its issuer, and the last good version
// of it.
type keySet struct {
	uri, issuer string
	client      *http.Client
	now         func() time.Time
	metrics     *Metrics

	mu       sync.Mutex
	keys     *jwt.Keys
	read     time.Time
	expires  time.Time
	tried    time.Time
	fetching chan struct{}
	err      error
}

// get returns the keys. The first time it waits for them; later a newer set is fetched
// beside the requests. It returns jwt.ErrNoKeys if there are none that may be used.
func (s *keySet) get(ctx context.Context) (*jwt.Keys, error) {
	s.mu.Lock()
	now := s.now()
	if !now.Before(s.expires) {
		s.start(now)
	}
	keys, wait := s.usable(now), s.fetching
	s.mu.Unlock()
	if keys == nil && wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
		s.mu.Lock()
		keys = s.usable(s.now())
		s.mu.Unlock()
	}
	if keys == nil {
		return nil, jwt.ErrNoKeys
	}
	return keys, nil
}

// newer returns keys that were read after those that a token did not fit, if the last
// attempt is long enough ago.
func (s *keySet) newer(ctx context.Context, than *jwt.Keys) (*jwt.Keys, bool) {
	s.mu.Lock()
	if s.keys == than {
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
	return s.keys, s.keys != nil && s.keys != than
}

func (s *keySet) usable(now time.Time) *jwt.Keys {
	if s.keys == nil || now.After(s.expires.Add(staleKeys)) {
		return nil
	}
	return s.keys
}

// start begins to fetch, unless that is going on or was tried just now.
func (s *keySet) start(now time.Time) {
	pause := refetchAfter
	if s.keys == nil {
		pause = firstPause
	}
	if s.fetching != nil || !s.tried.IsZero() && now.Before(s.tried.Add(pause)) {
		return
	}
	s.tried = now
	done := make(chan struct{})
	s.fetching = done
	go func() {
		keys, life, err := s.fetch()
		s.mu.Lock()
		if s.err = err; err == nil {
			s.keys, s.read = keys, s.now()
			s.expires = s.read.Add(life)
		}
		s.fetching = nil
		s.mu.Unlock()
		close(done)
	}()
}

// fetch reads the set once.
func (s *keySet) fetch() (*jwt.Keys, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.uri, http.NoBody)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch the keys: %w", err)
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	began := s.now()
	answer, err := s.client.Do(r)
	s.metrics.upstream.WithLabelValues(groupJWT).Observe(s.now().Sub(began).Seconds())
	if err != nil {
		return nil, 0, fmt.Errorf("fetch the keys: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("fetch the keys: status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, jwt.MaxKeySet+1))
	if err != nil {
		return nil, 0, fmt.Errorf("fetch the keys: %w", err)
	}
	keys, err := jwt.ParseKeys(body)
	return keys, lifetime(answer.Header.Get("Cache-Control")), err
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

// keySets are those that policies name, by URI and CA.
type keySets struct {
	mu   sync.Mutex
	sets map[[2]string]*keySet
	age  *prometheus.Desc
	now  func() time.Time
}

func newKeySets(now func() time.Time) *keySets {
	return &keySets{sets: map[[2]string]*keySet{}, now: now, age: prometheus.NewDesc("fairlead_agent_jwks_age_seconds",
		"Age of the keys of an issuer; the first 100 issuers.", []string{"issuer"}, nil)}
}

// errManySets is a set too many.
var errManySets = errors.New("more than 1000 key sets are fetched")

// open returns the set of a URI, and begins to fetch it.
func (k *keySets) open(uri, ca string, fresh func() *keySet) (*keySet, error) {
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
func (k *keySets) keep(used map[*keySet]bool) {
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
