package model

// Match says which requests of its host a claim is for.
type Match struct {
	// Path is as the object has it; "" and "/" both mean every path.
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
	// Headers and Queries are conditions on single values, Queries on the parameters
	// of the URL.
	Headers, Queries []Condition
	// PathExpression is a regular expression (RE2) for the path, or empty.
	PathExpression string
}

// Condition compares the value of one header or parameter.
type Condition struct {
	Name, Value string
	// Expression says that Value is a regular expression (RE2).
	Expression bool
}

// Target is a further backend of a claim. The Canary of the claim's policy says which
// requests it gets; it has no policy of its own.
type Target struct {
	Backend Backend
}
