package agent

import (
	"errors"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// Tend reads what policies need of issuers, and what was read long ago, without requests.
func (e *Engine) Tend() {
	now := e.now()
	e.providers.tend(now, e.keys.tend(now, 0))
}

// Troubles are what policies need and cannot be read, by ID. The second result is false as long
// as it is not known, because nothing was read yet since the engine began.
func (e *Engine) Troubles() (snapshot.Troubles, bool) {
	now, w := e.now(), e.world.Load()
	all, known := snapshot.Troubles{}, true
	for _, p := range w.reading {
		var list []snapshot.Trouble
		for _, r := range p.reads() {
			t, bad, judged := r.from.trouble(now)
			known = known && judged
			t.Place = r.place
			if t, good := t.Clean(); bad && good {
				list = append(list, t)
			}
		}
		if p.asks {
			if t, bad := e.servers.trouble(p.id, now); bad {
				t, _ = t.Clean()
				list = append(list, t)
			}
		}
		if len(list) > 0 {
			all[p.id] = snapshot.Worst(list)
		}
	}
	return all.Fair(func(id string) string { return w.policies[id].namespace }), known
}

// uses notes what is read for the policy.
func (p *policy) uses(keys map[*keySet]bool, providers map[*kept[provider]]bool) {
	if p.login != nil {
		providers[p.login.provider] = true
	}
	if p.tokens != nil {
		for _, i := range p.tokens.issuers {
			keys[i.fetched] = true
		}
	}
}

// reading is something that a policy needs of an issuer: which one of its issuers of tokens.
type reading struct {
	place int
	from  interface {
		trouble(now time.Time) (t snapshot.Trouble, bad, judged bool)
	}
}

// reads returns what the policy needs of issuers.
func (p *policy) reads() (list []reading) {
	if p.login != nil {
		list = append(list, reading{0, p.login.provider})
	}
	if p.tokens != nil {
		for _, i := range p.tokens.issuers {
			if i.fetched != nil {
				list = append(list, reading{i.place, i.fetched})
			}
		}
	}
	return list
}

// trouble says what is wrong, if something is. Judged is false until the first read has ended.
func (s *kept[T]) trouble(now time.Time) (t snapshot.Trouble, bad, judged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	judged = s.err != nil || s.fetching == nil || now.Before(s.expires)
	if s.err == nil || now.Before(s.expires) {
		return t, false, judged
	}
	t = snapshot.Trouble{Kind: s.kind, Address: s.address, Cause: whyNot(s.err)}
	if f, ok := errors.AsType[*fetchError](s.err); ok {
		t.Address = f.uri
	}
	if s.usable(now) != nil {
		if s.failures <= silentFailures && !s.recalled {
			return t, false, judged
		}
		t.Until = s.expires.Add(staleKeys).Unix()
	}
	return t, true, judged
}
