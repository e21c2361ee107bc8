// Package admit decides which claims win a host and path, and derives from the
// winners the keys that lead requests to backends. It is pure.
//
// A host is decided alone: all claims of one host in, one table out. So a
// change of one route costs what its host costs, however many routes there are.
package admit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Host is the decision about one host.
type Host struct {
	// Winners are served, in age order.
	Winners []*model.Claim
	// Losers map each refused claim to why it lost. The findings do not name their
	// object yet: that is the claim's owner.
	Losers map[model.ClaimID]api.Finding
	// Guarded hosts have paths that protect something and others that do not,
	// so paths are looked up as pods may read them.
	Guarded bool
	// Replaced are winners of which something else is served at one of the router's ports.
	Replaced map[model.ClaimID]api.Finding
	// Closed are claims that keep their paths while nothing of them is served, with why;
	// among the winners they are barred. They do not name their object either.
	Closed map[model.ClaimID]api.Finding
	Table  Table
}

// Table is what one host adds to the router's maps and its certificate list.
type Table struct {
	// HTTP and HTTPS are keys of request paths.
	HTTP, HTTPS []match.Entry
	// SNI is the value of the host in the server-name map, or empty.
	SNI string
	// Certificate answers TLS for the host, or is nil for the default one. It
	// is brought by the namespace of the host's oldest winner.
	Certificate *model.Certificate
	// Listener is the one of a Gateway whose certificate takes the place of Certificate.
	Listener model.ScopeID
	// Clients is what clients have to show in the handshake, or nil for nothing.
	Clients *Clients
}

// Decide decides hosts whose claims touch each other: one host, or a wildcard
// host with the hosts that it covers. Claims may come in any order. Those in scopes are
// DecideScoped's.
//
// The older claim wins, whatever the order in which they appeared, so routers
// that see the same routes agree.
func Decide(claims map[string][]*model.Claim, interNamespace bool) map[string]*Host {
	var all []*model.Claim
	hosts, taken := make(map[string]*Host, len(claims)), make(map[string]*held, len(claims))
	for host, cs := range claims {
		all = append(all, cs...)
		hosts[host], taken[host] = &Host{}, newHeld()
	}
	slices.SortFunc(all, model.ByAge)
	below := map[string]*owners{} // of what a wildcard host covers, by that host
	for _, c := range all {
		h := hosts[c.Host]
		at := taken[c.Host].conflict(h.Winners, c, interNamespace)
		for at >= 0 && yields(h.Winners[at], c) {
			h.refuse(h.Winners[at], lost(h.Winners[at], c))
			h.Winners = slices.Delete(h.Winners, at, at+1)
			taken[c.Host] = newHeld(h.Winners...)
			at = taken[c.Host].conflict(h.Winners, c, interNamespace)
		}
		if at >= 0 {
			h.refuse(c, lost(c, h.Winners[at]))
			continue
		}
		if winner := wildcardOwner(hosts, taken, below, c); !interNamespace && winner != nil {
			h.refuse(c, blocked(c, winner))
			continue
		}
		if c = h.bounded(c, taken[c.Host]); c == nil {
			continue
		}
		h.Winners = append(h.Winners, c)
		taken[c.Host].add(c)
		if !wildcard(c) {
			w := match.Wildcard(c.Host)
			if below[w] == nil {
				below[w] = &owners{}
			}
			below[w].add(c)
		}
	}
	for _, h := range hosts {
		h.share()
		h.agree()
	}
	guard(hosts)
	for _, h := range hosts {
		h.Table = table(h.Winners, h.Guarded)
	}
	return hosts
}

// guard finds the hosts of which some paths protect what others do not. What a
// host leaves to its wildcard host counts as its own.
func guard(hosts map[string]*Host) {
	all := make(map[string]guards, len(hosts))
	for name, h := range hosts {
		all[name] = guardsOf(h.Winners)
	}
	for name, h := range hosts {
		wild := hosts[match.Wildcard(name)]
		if strings.HasPrefix(name, "*.") || wild == nil || takesAll(h.Winners) {
			h.Guarded = h.Guarded || all[name].mixed
			continue
		}
		if all[name].with(all[match.Wildcard(name)]).mixed {
			h.Guarded, wild.Guarded = true, true
		}
	}
}

// guards are what claims keep out: all the same, or not. A wildcard host's are
// compared with those of thousands of hosts below it.
type guards struct {
	first       string
	some, mixed bool
}

func guardsOf(claims []*model.Claim) guards {
	var all guards
	for _, c := range claims {
		if c.Termination != model.Passthrough { // it sees no path
			all = all.with(guards{first: c.Guard(), some: true})
		}
	}
	return all
}

func (g guards) with(o guards) guards {
	if !g.some {
		return o
	}
	g.mixed = g.mixed || o.mixed || o.some && o.first != g.first
	return g
}

// takesAll reports whether nothing is left of a host on either listener.
func takesAll(claims []*model.Claim) bool {
	return slices.ContainsFunc(claims, func(c *model.Claim) bool {
		return c.Ports() == model.HTTPPort|model.HTTPSPort && c.Termination != model.Passthrough && rule(c).Covers(match.Rule{})
	})
}

func wildcard(c *model.Claim) bool { return strings.HasPrefix(c.Host, "*.") }

// wildcardOwner returns the first winner of another namespace on the wildcard host that
// covers a claim's, or below the claim's wildcard host: these belong to one
// namespace.
func wildcardOwner(hosts map[string]*Host, taken map[string]*held, below map[string]*owners, c *model.Claim) *model.Claim {
	if wildcard(c) {
		return below[c.Host].other(c.Owner.Namespace)
	}
	wild := match.Wildcard(c.Host)
	if taken[wild] == nil {
		return nil
	}
	if at := taken[wild].other(c.Owner.Namespace); at >= 0 {
		return hosts[wild].Winners[at]
	}
	return nil
}

// owners are the first of some claims, and the first of another namespace than
// that one's.
type owners struct{ first, otherNamespace *model.Claim }

func (o *owners) add(c *model.Claim) {
	switch {
	case o.first == nil:
		o.first = c
	case o.otherNamespace == nil && c.Owner.Namespace != o.first.Owner.Namespace:
		o.otherNamespace = c
	}
}

// other is the first claim of another namespace than this one, or nil.
func (o *owners) other(namespace string) *model.Claim {
	switch {
	case o == nil || o.first == nil:
		return nil
	case o.first.Owner.Namespace != namespace:
		return o.first
	}
	return o.otherNamespace
}

// yields reports whether a winner gives its place to a younger claim of its namespace:
// what is there for paths that no claim names goes when a claim does, and what only
// redirects goes before what serves.
func yields(winner, c *model.Claim) bool {
	switch {
	case winner.Owner.Namespace != c.Owner.Namespace:
		return false
	case winner.Alias != c.Alias:
		return winner.Alias
	}
	return winner.Fallback && !c.Fallback
}

// blocked is the finding of a claim whose wildcard, or a host that it covers,
// belongs to another namespace.
func blocked(c, winner *model.Claim) api.Finding {
	f := claimed(c)
	if c.IsShared() {
		f.Reason = api.ReasonNotAllowedByListeners
	}
	f.Message = fmt.Sprintf("a %s in another namespace holds host %s, which blocks %s", noun(winner), winner.Host, c.Host)
	return f
}

// noun is what messages call the owner of a claim.
func noun(c *model.Claim) string { return strings.ToLower(string(c.Owner.Kind)) }

func claimed(c *model.Claim) api.Finding {
	if c.Alias {
		return api.Finding{Reason: api.ReasonHostAlreadyClaimed, Severity: api.SeverityWarning, Effect: "requests for " + c.NamedHost + " are not redirected"}
	}
	field := "spec.host"
	if c.IsShared() {
		field = "spec.hostnames"
	}
	return api.Finding{
		Field: field, Reason: api.ReasonHostAlreadyClaimed,
		Severity: api.SeverityError, Effect: "the " + noun(c) + " is not served",
	}
}

func lost(c, winner *model.Claim) api.Finding {
	if !c.Alias && (c.IsShared() || winner.IsShared() && c.Owner.Namespace == winner.Owner.Namespace) {
		return lostShared(c, winner)
	}
	f := claimed(c)
	switch {
	case c.Alias && winner.Owner.Namespace == c.Owner.Namespace:
		f.Message = fmt.Sprintf("%s %s already exposes %s", noun(winner), winner.Owner.Name, c.NamedHost)
	case yields(c, winner):
		f.Message = fmt.Sprintf("%s %s serves all of %s, so nothing is left for a default", noun(winner), winner.Owner.Name, c.NamedHost)
	case winner.Owner.Namespace == c.Owner.Namespace:
		f.Message = fmt.Sprintf("%s %s already exposes %s and is older", noun(winner), winner.Owner.Name, c.NamedHost)
	default:
		// A tenant must not see names in other namespaces.
		f.Message = fmt.Sprintf("a %s in another namespace holds %s and is older than %s", noun(winner), c.NamedHost, c.Owner.Name)
	}
	return f
}

// refuse notes why a claim loses. Most hosts refuse none and have no map.
func (h *Host) refuse(c *model.Claim, why api.Finding) {
	if h.Losers == nil {
		h.Losers = map[model.ClaimID]api.Finding{}
	}
	h.Losers[c.ID()] = why
}

// table derives the routing keys from the winners of one host.
func table(winners []*model.Claim, guarded bool) Table {
	var t Table
	if len(winners) == 0 {
		return t
	}
	t.Certificate, t.Listener = certificateOf(winners)
	var http, https []match.Rule
	for _, c := range inOrder(winners) {
		name := target(c)
		rule := match.RuleOf(c, name)
		switch {
		case c.Termination == model.Plain:
			http = append(http, rule)
			continue
		case !secure(c):
		case c.Termination == model.Passthrough:
			t.SNI = name
		default:
			https = append(https, rule)
			t.SNI = match.Terminate
		}
		if c.Ports()&model.HTTPPort == 0 {
			continue
		}
		// A TLS route also owns its path on the HTTP listener, so that a
		// request for it never falls to a shorter route.
		switch c.Insecure {
		case model.InsecureRedirect:
			rule.Value = match.Redirect(c.ToHTTPS)
		case model.InsecureAllow:
		case model.InsecureNone:
			rule.Value = match.Refuse
		}
		http = append(http, rule)
	}
	host := winners[0].Host
	if t.Clients = clientsOf(winners); t.Clients != nil {
		t.SNI = t.Clients.Mark
	}
	http = plainFirst(http)
	plain, secure := match.NewTable(host, http), match.NewTable(host, https)
	if guarded {
		plain.Guard(host, http)
		secure.Guard(host, https)
	}
	plain.Mark(host)
	t.HTTP, t.HTTPS = plain.Entries(), secure.Entries()
	return t
}

// target is what the keys of a claim lead to.
func target(c *model.Claim) string {
	if c.Answer != 0 {
		return match.OwnAnswer(int(c.Answer))
	}
	return c.Backend.Name()
}

// certificateOf returns that of the oldest Route of the host's owner that brings one, else the
// oldest listener.
func certificateOf(winners []*model.Claim) (of *model.Certificate, listener model.ScopeID) {
	for _, c := range winners {
		switch {
		case !endsTLS(c) || !secure(c) || c.Owner.Namespace != winners[0].Owner.Namespace:
		case c.Certificate != nil:
			return c.Certificate, ""
		case c.IsShared() && listener == "":
			listener = c.Shared.Listener
		}
	}
	return nil, listener
}

// inOrder returns winners in the order in which their conditions are asked.
func inOrder(winners []*model.Claim) []*model.Claim {
	if !slices.ContainsFunc(winners, func(c *model.Claim) bool { return c.Conditions != nil }) {
		return winners
	}
	return slices.SortedStableFunc(slices.Values(winners), match.ByConditions)
}

// plainFirst puts rules that serve before rules that refuse, for a passthrough
// route and a plain one that share a host: "" and "/" are the same key.
func plainFirst(rules []match.Rule) []match.Rule {
	slices.SortStableFunc(rules, func(a, b match.Rule) int {
		return rank(a) - rank(b)
	})
	return rules
}

func rank(r match.Rule) int {
	if r.Conditions != nil {
		return -1 // their order is another one
	}
	if strings.HasPrefix(r.Value, "!") {
		return 1
	}
	return 0
}
