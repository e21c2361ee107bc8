package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// matchesOf returns which requests a rule is for: without matches, all. Unread are the numbers
// of those that cannot be read.
func (b *builder) matchesOf(r *gatewayv1.HTTPRouteRule, field string) (all []model.Match, unread map[int]bool) {
	if len(r.Matches) == 0 {
		return []model.Match{{}}, nil
	}
	all = make([]model.Match, len(r.Matches))
	for i := range r.Matches {
		before := b.refusals
		if all[i] = b.match(&r.Matches[i], fmt.Sprintf("%s.matches[%d]", field, i)); b.refusals == before {
			continue
		}
		if unread == nil {
			unread = map[int]bool{}
		}
		unread[i] = true
	}
	return all, unread
}

func (b *builder) match(m *gatewayv1.HTTPRouteMatch, field string) model.Match {
	var c model.Conditions
	out := b.path(m.Path, field, &c)
	if m.Method != nil {
		if c.Method = string(*m.Method); !methodToken(c.Method) {
			b.unsupported(field+".method", "is not a method")
		}
	}
	for i, h := range m.Headers {
		at := fmt.Sprintf("%s.headers[%d]", field, i)
		if !model.HeaderName(string(h.Name)) {
			b.unsupported(at+".name", "is not the name of a header")
		}
		c.Headers = first(c.Headers, b.value(model.Condition{Name: strings.ToLower(string(h.Name)), Value: h.Value}, deref(h.Type), at))
	}
	for i, q := range m.QueryParams {
		c.Queries = first(c.Queries, b.value(model.Condition{Name: string(q.Name), Value: q.Value}, deref(q.Type), fmt.Sprintf("%s.queryParams[%d]", field, i)))
	}
	if c.Method != "" || c.Headers != nil || c.Queries != nil || c.Path != nil {
		out.Conditions = &c
	}
	return out
}

// value reads what a header or parameter must be: a value, or an expression of some. Types of
// both have the same names.
func (b *builder) value(c model.Condition, kind, at string) model.Condition {
	switch gatewayv1.HeaderMatchType(kind) {
	case "", gatewayv1.HeaderMatchExact:
		return c
	case gatewayv1.HeaderMatchRegularExpression:
		e, err := regex.ParseValue(c.Value)
		if err != nil {
			b.unsupported(at+".value", err.Error())
			return c
		}
		c.Pattern, c.Longest, c.Certain = e.Pattern, e.Longest, e.Certain
		if b.past.Unpatterned {
			b.unpatterned(at + ".value")
		}
		return c
	}
	b.unsupported(at+".type", "must be Exact or RegularExpression")
	return c
}

// first adds a condition, unless there is one of the same name: the first one counts.
func first(all []model.Condition, c model.Condition) []model.Condition {
	if slices.ContainsFunc(all, func(o model.Condition) bool { return o.Name == c.Name }) {
		return all
	}
	return append(all, c)
}

// methodToken reports whether a text is a method as the API lists them, of upper-case
// letters.
func methodToken(m string) bool {
	return m != "" && len(m) <= 16 && !strings.ContainsFunc(m, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// pathField returns the field of a match that a part of its path is from.
func (b *builder) pathField(match, part string) string {
	if b.grpc() {
		return match + ".method"
	}
	return match + ".path." + part
}

func (b *builder) path(p *gatewayv1.HTTPPathMatch, match string, c *model.Conditions) model.Match {
	kind, value := gatewayv1.PathMatchPathPrefix, "/"
	if p != nil && p.Type != nil {
		kind = *p.Type
	}
	if p != nil && p.Value != nil {
		value = *p.Value
	}
	if kind == gatewayv1.PathMatchRegularExpression {
		return b.expression(value, b.pathField(match, "value"), c)
	}
	if problem := door.PathProblem(value); problem != "" || value == "" {
		b.unsupported(b.pathField(match, "value"), "must be a path: "+problem)
		return model.Match{}
	}
	switch kind {
	case gatewayv1.PathMatchExact:
		return model.Match{Path: value, Exact: true}
	case gatewayv1.PathMatchPathPrefix:
		return model.Match{Path: strings.TrimRight(value, "/")}
	case gatewayv1.PathMatchRegularExpression:
	}
	b.unsupported(b.pathField(match, "type"), "must be Exact, PathPrefix or RegularExpression")
	return model.Match{}
}

// expression reads a regular expression, which whole paths must match.
func (b *builder) expression(value, field string, c *model.Conditions) model.Match {
	_, err := regex.Parse(value) // what follows must not make sense of half an expression
	var e *regex.Matcher
	if err == nil {
		e, err = regex.ParseMatcher("(?:"+value+")$", false)
	}
	if err != nil {
		b.unsupported(field, err.Error())
		return model.Match{}
	}
	c.Path = &model.PathExpression{Written: value, Pattern: e.Pattern, Longest: e.Longest, Certain: e.Certain}
	if b.past.Unpatterned {
		b.unpatterned(field)
	}
	return model.Match{Path: e.Beginning}
}

// unpatterned refuses a route that has one expression too many.
func (b *builder) unpatterned(field string) {
	b.refused, b.tooMany = gatewayv1.RouteReasonUnsupportedValue, true
	b.refusedText = field + ": " + b.settings.TooManyPatterns(b.result.Patterns)
	b.find(api.SeverityWarning, "", api.ReasonLimitExceeded, b.refusedText, effectNotServed)
}

// placeholder is the claim of a route that has one expression too many: for no path, so
// that the route still counts among those that ask for one.
func (b *builder) placeholder() []*model.Claim {
	scopes := b.scopes()
	if !b.tooMany || len(scopes) == 0 {
		return nil
	}
	at := scopes[0]
	at.verdict.Shared = false // no host of the router's own
	c := b.bare(&at, 0, anyHost, 0, 0)
	c.Answer = answerNoBackend
	c.Match = model.Match{Path: "/", Conditions: &model.Conditions{Path: &model.PathExpression{Written: "", Pattern: model.NoPath, Longest: 1 << 20, Certain: true}}}
	return []*model.Claim{c}
}
