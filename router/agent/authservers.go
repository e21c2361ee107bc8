package agent

import (
	"net/url"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

const (
	// authFailures is how many failures of an auth server are reported, if there is never authQuiet
	// between two. So one that fails now and then, or comes and goes, is reported once.
	authFailures = 3
	authQuiet    = 5 * time.Minute
)

// authServers remember which auth servers fail, by policy.
type authServers struct {
	mu      sync.Mutex
	failing map[string]*authFailure
}

// authFailure is what an auth server did wrong; the cause is the first one.
type authFailure struct {
	address, cause string
	count          int
	last           time.Time
}

func newAuthServers() *authServers { return &authServers{failing: map[string]*authFailure{}} }

// failed notes that a question was not answered, and reports whether that is news.
func (s *authServers) failed(policy string, at *url.URL, cause string, now time.Time) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failing[policy]
	if news = f == nil || now.Sub(f.last) >= authQuiet; news {
		// What is asked for in the query may be a secret.
		f = &authFailure{address: at.Scheme + "://" + at.Host + at.EscapedPath(), cause: cause}
		s.failing[policy] = f
	}
	f.count++
	f.last = now
	return news
}

// trouble says whether the auth server of a policy fails.
func (s *authServers) trouble(policy string, now time.Time) (t snapshot.Trouble, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failing[policy]
	if f == nil || f.count < authFailures || now.Sub(f.last) >= authQuiet {
		return t, false
	}
	return snapshot.Trouble{Kind: snapshot.KindAuthServer, Address: f.address, Cause: f.cause}, true
}

// keep forgets policies that are gone, and failures long ago.
func (s *authServers) keep(policies map[string]*policy, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, f := range s.failing {
		if policies[id] == nil || now.Sub(f.last) >= authQuiet {
			delete(s.failing, id)
		}
	}
}
