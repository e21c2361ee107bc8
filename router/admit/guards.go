package admit

import (
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Guards know what hosts in the scopes of listeners keep out. A path that no claim of a host
// takes goes on to the hosts that cover it, so whether paths are looked up as pods may read them
// depends on all of these, and there may be thousands below one. So what each keeps out is
// remembered, and a change of one decides others again only where they may differ.
type Guards struct {
	scopes map[model.ScopeID]*scopeGuards
}

// scopeGuards are those of one scope.
type scopeGuards struct {
	hosts map[string]guards
	// covering are the hosts among them that may cover others.
	covering map[string]struct{}
	// protecting counts those that keep anything out.
	protecting int
}

// NewGuards returns those of no hosts.
func NewGuards() Guards { return Guards{scopes: map[model.ScopeID]*scopeGuards{}} }

func (g guards) protects() bool { return g.mixed || g.first != "" }

// Note takes in the claims that a host has now, and returns the other hosts that are to be
// decided again.
func (g Guards) Note(host string, claims []*model.Claim) (again []string) {
	scope, name := model.SplitHost(host)
	s := g.scopes[scope]
	if s == nil {
		s = &scopeGuards{hosts: map[string]guards{}, covering: map[string]struct{}{}}
	}
	before, now := s.hosts[host], guardsOf(claims)
	if before == now {
		return nil
	}
	g.scopes[scope] = s
	s.set(host, name, before, now)
	if len(s.hosts) == 0 {
		delete(g.scopes, scope)
	}
	if s.protecting == 0 && !before.protects() {
		return nil
	}
	for other := range s.near(host, name) {
		if _, there := s.hosts[other]; there && other != host {
			again = append(again, other)
		}
	}
	return again
}

func (s *scopeGuards) set(host, name string, before, now guards) {
	if before.protects() {
		s.protecting--
	}
	if now.protects() {
		s.protecting++
	}
	if !now.some {
		delete(s.hosts, host)
		delete(s.covering, host)
		return
	}
	s.hosts[host] = now
	if covering(name) {
		s.covering[host] = struct{}{}
	}
}

// near returns the hosts of the scope that cover a host, and those that it covers.
func (s *scopeGuards) near(host, name string) map[string]struct{} {
	all := map[string]struct{}{}
	for other := range s.covering {
		if covers(other, host) {
			all[other] = struct{}{}
		}
	}
	if !covering(name) {
		return all
	}
	for other := range s.hosts {
		if covers(host, other) {
			all[other] = struct{}{}
		}
	}
	return all
}

// Guarded reports whether the host, with those that cover it or that it covers, has paths that
// protect what others do not.
func (g Guards) Guarded(host string) bool {
	scope, name := model.SplitHost(host)
	s := g.scopes[scope]
	if s == nil || s.protecting == 0 {
		return false
	}
	own := s.hosts[host]
	with := own
	for other := range s.covering {
		if covers(other, host) {
			with = with.with(s.hosts[other])
		}
	}
	if with.mixed || !covering(name) {
		return with.mixed
	}
	for other, below := range s.hosts {
		if covers(host, other) && own.with(below).mixed {
			return true
		}
	}
	return false
}

// covering reports whether a host may cover others of its scope.
func covering(name string) bool { return name == match.Any || strings.HasPrefix(name, "*.") }

// covers reports whether what a host of a scope leaves goes on to another one of it.
func covers(outer, inner string) bool {
	_, o := model.SplitHost(outer)
	_, i := model.SplitHost(inner)
	return o == match.Any || strings.HasPrefix(o, "*.") && i != match.Any && match.WildcardCovers(o, i)
}
