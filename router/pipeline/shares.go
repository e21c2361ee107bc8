package pipeline

import (
	"maps"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// shares are what namespaces have a bound of: the oldest objects of each get theirs.
type shares struct {
	checks   checkShares
	patterns patternShares
	// pages are the bytes of error pages.
	pages pageShares
	// claims are those of objects that may make many, counted the limits of scope Shared,
	// fetches the pages that Services are asked for.
	claims, counted, fetches objectShares
}

func newShares() shares {
	return shares{
		checks: newCheckShares(), patterns: newPatternShares(), pages: newPageShares(),
		claims: newObjectShares(), counted: newObjectShares(), fetches: newObjectShares(),
	}
}

// set notes what an object asks for, whatever it gets; the version is nil if the object is
// gone.
func (s *shares) set(key model.Object, v door.Version, r *door.Result) {
	s.checks.set(key, r.Claims)
	s.patterns.set(key, r)
	s.pages.set(key, r.Claims)
	wants := 0
	if r.OfGateway != nil {
		wants = r.Wants
	}
	s.claims.set(key, v, wants, 0)
	s.counted.set(key, v, r.SharedLimits, r.SharedLimitsBound)
	codes := 0
	for _, f := range r.Fetches {
		codes += len(f.Codes)
	}
	s.fetches.set(key, v, codes, 0)
}

// past says what a door has to know of an object's shares.
func (s *shares) past(key model.Object, p door.Past) door.Past {
	p.Stretch, p.Unpatterned, p.Unpaged = s.checks.stretch(key), s.patterns.isRefused(key), s.pages.isRefused(key)
	p.Crowded, p.Uncounted, p.Unfetched = s.claims.isRefused(key), s.counted.isRefused(key), s.fetches.isRefused(key)
	return p
}

// settleShares decides again, and has the objects ingested of which another is decided: first
// those that ask for nothing else if they are refused.
func (p *Pipeline) settleShares(all bool, ingest func(model.Objects)) {
	s := &p.shares
	ingest(s.claims.settle(p.settings.ClaimLimit(), all))
	ingest(s.patterns.settle(p.settings, all))
	ingest(s.counted.settle(p.settings.SharedLimit(0), all))
	again := s.checks.settle(p.settings, all)
	maps.Copy(again, s.pages.settle(p.settings, all))
	fetches := s.fetches.settle(p.settings.FetchLimit(), all)
	p.fetches.changed = p.fetches.changed || len(fetches) > 0
	maps.Copy(again, fetches)
	ingest(again)
}
