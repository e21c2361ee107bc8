package admit

import (
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// held is what the winners of one host hold, by what a further claim is compared
// with: a host may have thousands of claims, and each change of one decides all.
// Numbers are positions among the winners; -1 is none.
type held struct {
	count int
	// samePaths are winners by what match.Rule.NormalKey says.
	samePaths map[string][]int
	// namespace is the first winner's, other the first winner of another one.
	namespace  string
	otherFirst int
	// tls is the first winner with TLS, passthrough the first whose pod ends it.
	tls, passthrough int
	conditional
}

func newHeld(winners ...*model.Claim) *held {
	h := &held{samePaths: map[string][]int{}, otherFirst: -1, tls: -1, passthrough: -1}
	for _, w := range winners {
		h.add(w)
	}
	return h
}

// add notes the next winner.
func (h *held) add(c *model.Claim) {
	at := h.count
	h.count++
	key := rule(c).NormalKey()
	h.samePaths[key] = append(h.samePaths[key], at)
	switch {
	case at == 0:
		h.namespace = c.Owner.Namespace
	case h.otherFirst < 0 && c.Owner.Namespace != h.namespace:
		h.otherFirst = at
	}
	h.conditional.add(c, key)
	if h.tls < 0 && secure(c) {
		h.tls = at
	}
	if h.passthrough < 0 && c.Termination == model.Passthrough {
		h.passthrough = at
	}
}

// other is the first winner of another namespace than this one.
func (h *held) other(namespace string) int {
	if h.count > 0 && h.namespace != namespace {
		return 0
	}
	return h.otherFirst
}

// conflict returns the first winner that keeps a claim from being served.
func (h *held) conflict(winners []*model.Claim, c *model.Claim, interNamespace bool) int {
	passthrough, first := c.Termination == model.Passthrough, -1
	found := func(at int) {
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	// Every claim is on the HTTP listener, if only to redirect or
	// refuse, and a passthrough claim has all of the TLS listener.
	if !interNamespace || passthrough {
		found(h.other(c.Owner.Namespace))
	}
	// One host has either one passthrough backend or TLS at the router.
	if passthrough {
		found(h.tls)
	} else if secure(c) {
		found(h.passthrough)
	}
	for _, at := range h.samePaths[rule(c).NormalKey()] {
		if contend(winners[at], c) {
			found(at)
			break
		}
	}
	return first
}

// contend reports whether one of two claims for the same paths must lose: they
// are of two namespaces, the same with the same conditions, or would have different keys. Those of
// Gateways' listeners go by their order, as in their own scopes, and share decides between them
// and Routes.
func contend(a, b *model.Claim) bool {
	switch {
	case a.Ports()&b.Ports() == 0:
		return false
	case a.Owner.Namespace != b.Owner.Namespace:
		return true
	case a.IsShared() || b.IsShared():
		return false
	}
	return a.Path == b.Path && a.Exact == b.Exact && a.Conditions.Equal(b.Conditions) || !rule(a).SameKey(rule(b))
}

func rule(c *model.Claim) match.Rule { return match.RuleOf(c, "") }
