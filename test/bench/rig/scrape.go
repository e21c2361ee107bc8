package rig

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Scrape is what a Prometheus reads of a router at one time.
type Scrape struct {
	Series, Bytes int
	Took          time.Duration
}

// Scrape reads both pages of metrics.
func (o *Router) Scrape() (s Scrape, err error) {
	began := time.Now()
	for _, page := range []string{"/metrics", "/metrics/haproxy"} {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", o.ports.Stats, page))
		if err != nil {
			return s, fmt.Errorf("read metrics: %w", err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return s, fmt.Errorf("read %s: %s: %w", page, response.Status, err)
		}
		s.Bytes += len(text)
		for l := range bytes.Lines(text) {
			if l[0] != '#' && l[0] != '\n' {
				s.Series++
			}
		}
	}
	s.Took = time.Since(began)
	return s, nil
}
