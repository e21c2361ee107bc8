package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// fetcher reads small documents of issuers.
type fetcher struct {
	client  *http.Client
	now     func() time.Time
	metrics *Metrics
	group   string
}

func (e *Engine) newFetcher(ca, group string) (*fetcher, error) {
	transport, err := e.transport(transportKey{ca: ca})
	if err != nil {
		return nil, err
	}
	return &fetcher{&http.Client{Transport: transport, CheckRedirect: noRedirects}, e.now, e.metrics, group}, nil
}

// get reads a document, and says for how long to use it.
func (f *fetcher) get(ctx context.Context, uri, accept string) ([]byte, time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, http.NoBody)
	if err != nil {
		return nil, 0, &fetchError{uri, err}
	}
	r.Header.Set("Accept", accept)
	began := f.now()
	answer, err := f.client.Do(r)
	f.metrics.upstream.WithLabelValues(f.group).Observe(f.now().Sub(began).Seconds())
	if err != nil {
		return nil, 0, &fetchError{uri, err}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, 0, &fetchError{uri, &answerError{fmt.Errorf("status %d", answer.StatusCode)}}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, jwt.MaxKeySet+1))
	if err != nil {
		return nil, 0, &fetchError{uri, err}
	}
	return body, lifetime(answer.Header.Get("Cache-Control")), nil
}

const acceptKeys = "application/jwk-set+json, application/json"

// readKeys reads a key set.
func readKeys(ctx context.Context, from source, uri string) (*jwt.Keys, time.Duration, error) {
	body, life, err := from.get(ctx, uri, acceptKeys)
	if err != nil {
		return nil, 0, err
	}
	keys, err := jwt.ParseKeys(body)
	if err != nil {
		return nil, 0, &fetchError{uri, &answerError{err}}
	}
	return keys, life, nil
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
