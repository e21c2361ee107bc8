// Package authorize evaluates the rules of a policy about who may do what. It is
// pure.
//
// The first rule whose conditions all hold decides. If there are rules and none
// decides, the request is refused. A condition about something that the request does
// not have, such as a claim, never holds: a missing claim is not an empty one.
package authorize

import (
	"net/netip"
	"slices"
	"strings"
)

// Action is what a rule does.
type Action string

// The actions. A rule with any other value refuses.
const (
	Allow Action = "Allow"
	Deny  Action = "Deny"
)

// MaxRules is the largest number of rules of a policy.
const MaxRules = 50

// Rule is one rule. Conditions that are not set hold.
type Rule struct {
	Action    Action         `json:"action"`
	Methods   []string       `json:"methods,omitempty"`
	Paths     []Path         `json:"paths,omitempty"`
	Claims    []Claim        `json:"claims,omitempty"`
	Scopes    []string       `json:"scopes,omitempty"`
	Groups    []string       `json:"groups,omitempty"`
	Consumers []string       `json:"consumers,omitempty"`
	CIDRs     []netip.Prefix `json:"cidrs,omitempty"`
	Headers   []Header       `json:"headers,omitempty"`
}

// Path is a path, or with Prefix all paths below it on segment boundaries.
type Path struct {
	Value  string `json:"value"`
	Prefix bool   `json:"prefix,omitempty"`
}

// Claim is a condition on a claim: one of Values, a Prefix, or that it exists.
type Claim struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
	Prefix string   `json:"prefix,omitempty"`
	Exists bool     `json:"exists,omitempty"`
}

// Header is a condition on a header, which must be there exactly once.
type Header struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
}

// Input is what a request has.
type Input struct {
	Method string
	// Path is the path without the query.
	Path     string
	Client   netip.Addr
	Consumer string
	// Claim returns the values of a claim as texts: one, or the items of a list.
	Claim func(name string) (values []string, found bool)
	// Header returns the value of a header, given in lower case, and how often it is there.
	Header func(name string) (value string, count int)
}

// Evaluate returns whether the request may go on, and which rule decided: -1 if
// none did.
func Evaluate(rules []Rule, in Input) (allowed bool, rule int) {
	for i := range rules {
		if rules[i].holds(in) {
			return rules[i].Action == Allow, i
		}
	}
	return len(rules) == 0, -1
}

// ByIdentity reports whether the rules ask for nothing but who the client is, so that a
// decision holds for all requests of that client.
func ByIdentity(rules []Rule) bool {
	return !slices.ContainsFunc(rules, func(r Rule) bool {
		return len(r.Methods)+len(r.Paths)+len(r.CIDRs)+len(r.Headers) > 0
	})
}

func (r *Rule) holds(in Input) bool {
	return (len(r.Methods) == 0 || slices.Contains(r.Methods, in.Method)) &&
		(len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(p Path) bool { return p.holds(in.Path) })) &&
		(len(r.CIDRs) == 0 || slices.ContainsFunc(r.CIDRs, func(p netip.Prefix) bool { return p.Contains(in.Client.Unmap()) })) &&
		(len(r.Consumers) == 0 || in.Consumer != "" && slices.Contains(r.Consumers, in.Consumer)) &&
		all(r.Claims, func(c Claim) bool { return c.holds(in) }) &&
		all(r.Headers, func(h Header) bool { return h.holds(in) }) &&
		r.inScope(in) && r.inGroup(in)
}

func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !holds(v) })
}

func (p Path) holds(path string) bool {
	if !p.Prefix {
		return path == p.Value
	}
	value := strings.TrimRight(p.Value, "/")
	rest, found := strings.CutPrefix(path, value)
	return found && (rest == "" || rest[0] == '/')
}

func (c Claim) holds(in Input) bool {
	values, found := in.claim(c.Name)
	if !found {
		return false
	}
	switch {
	case len(c.Values) > 0:
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(c.Values, v) })
	case c.Prefix != "":
		return slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, c.Prefix) })
	}
	return c.Exists
}

func (h Header) holds(in Input) bool {
	if in.Header == nil {
		return false
	}
	v, n := in.Header(strings.ToLower(h.Name))
	return n == 1 && (len(h.Values) == 0 || slices.Contains(h.Values, v))
}

// inScope wants all scopes, from the claim "scope" (words) or "scp" (a list or words).
func (r *Rule) inScope(in Input) bool {
	if len(r.Scopes) == 0 {
		return true
	}
	var have []string
	for _, name := range []string{"scope", "scp"} {
		values, _ := in.claim(name)
		for _, v := range values {
			have = append(have, strings.Fields(v)...)
		}
	}
	return all(r.Scopes, func(s string) bool { return slices.Contains(have, s) })
}

// inGroup wants one of the groups, from the claim "groups".
func (r *Rule) inGroup(in Input) bool {
	if len(r.Groups) == 0 {
		return true
	}
	have, _ := in.claim("groups")
	return slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(have, g) })
}

func (in Input) claim(name string) ([]string, bool) {
	if in.Claim == nil {
		return nil, false
	}
	return in.Claim(name)
}
