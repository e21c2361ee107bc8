package model

import "slices"

// Match says which requests of its host a claim is for.
type Match struct {
	// Path is as the object has it; "" and "/" both mean every path. Where an expression
	// says which paths, it is the text that these begin with.
	Path string
	// Exact claims match Path and nothing below it.
	Exact bool
	// Fallback claims give way to others of their namespace with the same path.
	Fallback bool
	// Conditions are what a request must have beside its host and path. They are nil
	// for claims that only these decide, which is nearly all.
	Conditions *Conditions
}

// Conditions are what a request must have beside its host and path. All of them
// must hold. docs/decisions/guarded-claims.md is the design.
type Conditions struct {
	// Method is empty for any.
	Method string
	// Headers and Queries are what single headers and parameters of the URL must have.
	Headers, Queries []Condition
	// Path is an expression that the path must match, or nil. The Path of the claim is
	// then the text that all of these paths begin with.
	Path *PathExpression
}

// Condition is the value that one header or parameter must have.
type Condition struct {
	// Value is the value, or an expression as the object has it.
	Name, Value string
	// Pattern is the expression as it is applied (regex.Pattern.Text), or empty where the
	// value must be equal.
	Pattern string
	// Longest and Certain are those of the expression, as of one for paths.
	Longest int
	Certain bool
}

// PathExpression is a regular expression that is compared with paths.
type PathExpression struct {
	// Written is the expression as the object has it, Pattern as it is applied
	// (regex.Pattern.Text).
	Written, Pattern string
	// Longest is the longest path that it is compared with, in bytes.
	Longest int
	// Certain expressions take about as many steps as a path has bytes.
	Certain bool
}

// Expression returns the expression of the claim's paths, or nil.
func (m *Match) Expression() *PathExpression {
	if m.Conditions == nil {
		return nil
	}
	return m.Conditions.Path
}

// NoPath is the expression that matches no path: of claims that only count.
const NoPath = `\A\z`

// Nothing reports whether no request is the claim's.
func (m *Match) Nothing() bool {
	e := m.Expression()
	return e != nil && e.Pattern == NoPath
}

// Expressions counts the expressions of conditions, and those of them that are not certain.
func (c *Conditions) Expressions() (all, uncertain int) {
	if c == nil {
		return 0, 0
	}
	count := func(certain bool) {
		all++
		if !certain {
			uncertain++
		}
	}
	if c.Path != nil {
		count(c.Path.Certain)
	}
	for _, list := range [][]Condition{c.Headers, c.Queries} {
		for i := range list {
			if list[i].Pattern != "" {
				count(list[i].Certain)
			}
		}
	}
	return all, uncertain
}

// Equal reports whether two claims have the same conditions.
func (c *Conditions) Equal(o *Conditions) bool {
	if c == nil || o == nil {
		return c == o
	}
	same := c.Method == o.Method && slices.Equal(c.Headers, o.Headers) && slices.Equal(c.Queries, o.Queries)
	return same && (c.Path == o.Path || c.Path != nil && o.Path != nil && *c.Path == *o.Path)
}

// Target is a further backend of a claim. The Canary of the claim's policy says which
// requests it gets; it has no policy of its own.
type Target struct {
	Backend Backend
}
