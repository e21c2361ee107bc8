package authentication

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

var methodText = regexp.MustCompile(`^[A-Z]+(-[A-Z]+)*$`)

// Bounds of the lists of a rule.
const (
	mostConditions = 16
	mostNames      = 64
	longestWord    = 256
	longestPath    = 1024
)

// authorization reads what clients may do.
func (c *compiler) authorization(a *v1alpha1.Authorization) {
	if len(a.Rules) == 0 || len(a.Rules) > authorize.MaxRules {
		c.close("rules", "must have 1 to %d rules", authorize.MaxRules)
		return
	}
	for i := range a.Rules {
		field := fmt.Sprintf("rules[%d]", i)
		rule := authorize.Rule{Action: authorize.Action(a.Rules[i].Action)}
		c.oneOf(field+".action", a.Rules[i].Action, string(authorize.Allow), string(authorize.Deny))
		if a.Rules[i].Action == "" {
			c.close(field+".action", "must be Allow or Deny")
		}
		if w := a.Rules[i].When; w != nil {
			c.when(field+".when", w, &rule)
		}
		c.out.Authorization = append(c.out.Authorization, rule)
	}
	c.methods = append(c.methods, fmt.Sprintf("authorization: %d rules", len(a.Rules)))
}

func (c *compiler) when(field string, w *v1alpha1.AuthorizationMatch, out *authorize.Rule) {
	c.identity(field, w)
	c.words(field+".methods", w.Methods, mostConditions, methodText.MatchString, "must be a method such as GET")
	c.words(field+".scopes", w.Scopes, mostConditions, word, notWord)
	c.words(field+".groups", w.Groups, mostNames, word, notWord)
	c.words(field+".consumers", w.Consumers, mostNames, word, notWord)
	out.Methods, out.Scopes, out.Groups, out.Consumers = w.Methods, w.Scopes, w.Groups, w.Consumers
	c.bound(field+".paths", len(w.Paths), mostConditions)
	for i, p := range w.Paths {
		at := fmt.Sprintf("%s.paths[%d]", field, i)
		c.oneOf(at+".type", p.Type, "Exact", "Prefix")
		if normal, same := match.Normal(p.Value); !same || normal != p.Value || !strings.HasPrefix(p.Value, "/") || len(p.Value) > longestPath || !visible(p.Value) {
			c.close(at+".value", "must be a path that begins with /, as programs read it: without encoding, empty and dot segments")
		}
		out.Paths = append(out.Paths, authorize.Path{Value: p.Value, Prefix: p.Type != "Exact"})
	}
	c.bound(field+".cidrs", len(w.CIDRs), mostNames)
	for i, text := range w.CIDRs {
		prefix, ok := policy.ParsePrefix(string(text))
		if !ok {
			c.close(fmt.Sprintf("%s.cidrs[%d]", field, i), "%q is not an IP address or CIDR", text)
		}
		out.CIDRs = append(out.CIDRs, prefix)
	}
	c.claims(field, w, out)
}

func (c *compiler) claims(field string, w *v1alpha1.AuthorizationMatch, out *authorize.Rule) {
	c.bound(field+".claims", len(w.Claims), mostKeys)
	for i, m := range w.Claims {
		at := fmt.Sprintf("%s.claims[%d]", field, i)
		if !word(m.Name) {
			c.close(at+".name", "must be the name of a claim")
		}
		ways := 0
		for _, set := range []bool{len(m.Values) > 0, m.Prefix != "", m.Exists} {
			if set {
				ways++
			}
		}
		if ways != 1 {
			c.close(at, "must have one of values, prefix, exists")
		}
		c.bound(at+".values", len(m.Values), 2*mostConditions)
		out.Claims = append(out.Claims, authorize.Claim{Name: m.Name, Values: m.Values, Prefix: m.Prefix, Exists: m.Exists})
	}
	c.bound(field+".headers", len(w.Headers), mostKeys)
	for i, h := range w.Headers {
		at := fmt.Sprintf("%s.headers[%d]", field, i)
		if !model.HeaderName(string(h.Name)) {
			c.close(at+".name", "%q is not the name of a header", h.Name)
		}
		c.bound(at+".values", len(h.Values), 2*mostConditions)
		out.Headers = append(out.Headers, authorize.Header{Name: string(h.Name), Values: h.Values})
	}
}

// identity closes where a rule asks for what no method of the group authentication
// finds out: such a condition never holds, and what it was to deny would get through.
func (c *compiler) identity(field string, w *v1alpha1.AuthorizationMatch) {
	tokens := c.in.Spec != nil && (c.in.Spec.JWT != nil || c.in.Spec.OIDC != nil)
	if len(w.Claims)+len(w.Scopes)+len(w.Groups) > 0 && !tokens {
		c.close(field, "asks about claims of tokens, and the group authentication asks for none (jwt, oidc)")
	}
	if len(w.Consumers) > 0 && !tokens && (c.in.Spec == nil || c.in.Spec.Basic == nil && c.in.Spec.APIKeys == nil) {
		c.close(field+".consumers", "asks who the client is, and the group authentication does not find out (basic, jwt, oidc, apiKeys)")
	}
}

func (c *compiler) bound(field string, n, most int) {
	if n > most {
		c.close(field, "has %d items; at most %d are possible", n, most)
	}
}

const notWord = "must have 1 to 256 bytes without control characters"

func (c *compiler) words(field string, list []string, most int, good func(string) bool, problem string) {
	c.bound(field, len(list), most)
	if i := slices.IndexFunc(list, func(s string) bool { return !good(s) }); i >= 0 {
		c.close(fmt.Sprintf("%s[%d]", field, i), "%s", problem)
	}
}

func word(s string) bool { return s != "" && len(s) <= longestWord && visible(s) }

func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
