package pagefetch

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// service is one Service that is asked. Its goroutine owns it.
type service struct {
	fetcher *Fetcher
	turn    chan struct{}
	cancel  context.CancelFunc
	wanted  chan model.PageFetch
	// last is what was wanted last. It belongs to Run.
	last model.PageFetch

	fetch model.PageFetch
	// began is when the last round began.
	began time.Time
	// pages are the last ones, unfit what was wrong in the last round, and told what the
	// pipeline has.
	pages map[int]model.PageUse
	unfit map[int]string
	told  *policy.ServicePages
}

// want says what to ask from now on. It does not block.
func (s *service) want(fetch model.PageFetch) {
	if s.last.Equal(fetch) {
		return
	}
	s.last = fetch
	select {
	case <-s.wanted:
	default:
	}
	s.wanted <- fetch
}

// run asks until the context ends.
func (s *service) run(ctx context.Context) {
	s.pages = map[int]model.PageUse{}
	defer func() { s.forget(nil) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case s.fetch = <-s.wanted:
			s.forget(s.fetch.Codes)
			if early := time.Until(s.began.Add(s.fetcher.retry)); early > 0 {
				timer.Reset(early) // endpoints may come and go all the time
				continue
			}
		case <-timer.C:
		}
		if len(s.fetch.Addresses) > 0 {
			s.round(ctx)
			if !s.tell(ctx) {
				return
			}
		}
		next := s.fetcher.every
		if len(s.unfit) > 0 {
			next = s.fetcher.retry
		}
		timer.Reset(pause(next))
	}
}

// forget gives up the pages of other statuses than these.
func (s *service) forget(codes []int) {
	for code, use := range s.pages {
		if !slices.Contains(codes, code) {
			s.fetcher.reserve(s.fetch.Key.Namespace, -len(use.Text))
			delete(s.pages, code)
		}
	}
}

// round asks for each status. What is not answered stays as it was.
func (s *service) round(ctx context.Context) {
	s.began, s.unfit = time.Now(), map[int]string{}
	for _, code := range s.fetch.Codes {
		use, err := s.ask(ctx, code)
		if err == nil && !s.keep(code, use) {
			err = errors.New("the namespace, or the router, keeps no more bytes of pages")
		}
		if err != nil {
			s.unfit[code] = err.Error()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// keep replaces the page of a status.
func (s *service) keep(code int, use model.PageUse) bool {
	before := 0
	if old, ok := s.pages[code]; ok {
		before = len(old.Text)
	}
	if !s.fetcher.reserve(s.fetch.Key.Namespace, len(use.Text)-before) {
		return false
	}
	s.pages[code] = use
	return true
}

// ask tries two endpoints.
func (s *service) ask(ctx context.Context, code int) (use model.PageUse, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return use, ctx.Err()
	}
	defer func() { <-s.turn }()
	first := rand.N(len(s.fetch.Addresses)) //nolint:gosec // no secret
	for i := range min(len(s.fetch.Addresses), 2) {
		of, cancel := context.WithTimeout(ctx, limit)
		use, err = s.fetcher.ask(of, s.fetch.Addresses[(first+i)%len(s.fetch.Addresses)], &s.fetch, code)
		cancel()
		if err == nil {
			return use, nil
		}
	}
	return use, err
}

// tell hands over what has changed. It reports false if the context has ended.
func (s *service) tell(ctx context.Context) bool {
	now := &policy.ServicePages{Pages: maps.Clone(s.pages), Unfit: s.unfit}
	if now.Equal(s.told) {
		return true
	}
	select {
	case s.fetcher.answers <- pipeline.FetchResult{Key: s.fetch.Key, Pages: now}:
		s.told = now
		return true
	case <-ctx.Done():
		return false
	}
}
