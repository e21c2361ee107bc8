package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// decision is where HAProxy's tables send a request.
type decision struct {
	match.Decision

	// value is the name of a backend, one of match's words, or "" if nothing matches.
	value string
}

// decide looks a request up as HAProxy does, in the tables of the wanted state.
func (s *Snapshot) decide(r *Request) decision {
	d := match.Decide(s.tables, match.Request{TLS: r.Secure, SNI: r.SNI, Host: r.Host, Path: r.Path, Asked: r.asked()})
	return decision{d, plan.TargetBackend(d.Value)}
}

// listener describes where the request is decided.
func (d decision) listener() Listener {
	if d.Listener == match.ListenerHTTP {
		return Listener{string(d.Listener), 80}
	}
	return Listener{string(d.Listener), 443}
}

// name is the host that decides: the server name for passthrough, else the
// Host header.
func (d decision) name(r *Request) string {
	if d.Listener == match.ListenerPassthrough {
		return match.ServerName(r.SNI)
	}
	return match.Host(r.Host)
}

// routed reports whether the value is a backend.
func (d decision) routed() bool { return d.value != "" && !strings.HasPrefix(d.value, "!") }

// owner returns the claim that put the value there, or nil.
func (s *Snapshot) owner(d decision, r *Request) *model.Claim {
	if d.routed() {
		return s.byBackend[d.value]
	}
	if d.value == "" {
		return nil
	}
	// Redirects and refusals have no name: the most specific rule is it.
	asked := r.asked()
	fits := func(c *model.Claim) bool { return matches(c, d.name(r), r.Path, &asked) }
	if d.Respelled {
		fits = func(c *model.Claim) bool { return matchesNormal(c, d.name(r), r.Path, &asked) }
	}
	var best *model.Claim
	for _, c := range s.claimsFor(d.name(r)) {
		if c.Termination == model.Plain || !fits(c) || refusal(c) != d.value {
			continue
		}
		if best == nil || moreSpecific(c, best) {
			best = c
		}
	}
	return best
}

// refusal is the value of a TLS route on the HTTP listener.
func refusal(c *model.Claim) string {
	switch c.Insecure {
	case model.InsecureRedirect:
		return match.Redirect(c.ToHTTPS)
	case model.InsecureAllow:
		return ""
	case model.InsecureNone:
	}
	return match.Refuse
}

// claimsFor returns the served claims of a host, the wildcard's last.
func (s *Snapshot) claimsFor(host string) []*model.Claim {
	var served []*model.Claim
	for _, key := range s.about(host) {
		if c, ok := s.claimAt(key, host); ok {
			served = append(served, c)
		}
	}
	return served
}

// claimAt returns the claim of a route for a host, or else its own, and whether it is
// served.
func (s *Snapshot) claimAt(key model.Object, host string) (c *model.Claim, ok bool) {
	all, served := s.pipeline.Claims(key)
	for _, c := range all {
		if c.Alias && c.Host == host {
			return c, slices.Contains(served, c)
		}
	}
	return s.pipeline.Claim(key)
}

// matches reports whether a claim alone would answer for a path of a host.
func matches(c *model.Claim, host, path string, asked *match.Asked) bool {
	if c.Termination == model.Passthrough {
		return true
	}
	table := match.NewTable(c.Host, []match.Rule{match.RuleOf(c, "+")})
	v, _ := table.Look(table, host, path, asked)
	return v == "+"
}

// asked is what conditions of claims look at.
func (r *Request) asked() match.Asked {
	return match.Asked{Method: cmp.Or(r.Method, "GET"), Value: r.value}
}

// moreSpecific reports whether a goes before b where both match.
func moreSpecific(a, b *model.Claim) bool {
	wildA, wildB := strings.HasPrefix(a.Host, "*."), strings.HasPrefix(b.Host, "*.")
	switch {
	case (a.Host == match.Any) != (b.Host == match.Any):
		return b.Host == match.Any
	case wildA != wildB:
		return wildB
	case a.Exact != b.Exact:
		return a.Exact
	case pathLength(a) != pathLength(b):
		return pathLength(a) > pathLength(b)
	}
	return match.ByConditions(a, b) < 0
}

// pathLength takes "" and "/" as what they are: the same.
func pathLength(c *model.Claim) int {
	if c.Path == "/" && !c.Exact {
		return 0
	}
	return len(c.Path)
}

// matchesNormal is matches where paths are normalised before.
func matchesNormal(c *model.Claim, host, path string, wanted *match.Asked) bool {
	normal := *c
	var asked, has bool
	path, asked = match.Normal(path)
	normal.Path, has = match.Normal(c.Path)
	return asked && (has || c.Path == "") && matches(&normal, host, path, wanted)
}
