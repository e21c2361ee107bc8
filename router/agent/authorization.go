package agent

import (
	"strings"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/match"
)

// authorize asks the rules. If not ok, the answer refuses the request.
func (p *policy) authorize(q *Question, id *identity, consumer string) (refused Answer, ok bool) {
	if len(p.rules) == 0 {
		return Answer{}, true
	}
	id.consumer = consumer
	in, readable := input(q, id)
	if p.byPath && !readable {
		refused = refuse(badRequest, groupAuthorization, "ambiguous path")
		refused.Body = "Bad Request\n"
		return refused, false
	}
	if ok, _ := authorize.Evaluate(p.rules, in); ok {
		return Answer{}, true
	}
	refused = refuse(forbidden, groupAuthorization, "no rule allows it")
	refused.Consumer, refused.Body = consumer, "Forbidden\n"
	return refused, false
}

// input is what rules look at. It is not readable if programs differ in what the path
// means.
func input(q *Question, id *identity) (in authorize.Input, readable bool) {
	path, _, _ := strings.Cut(q.Target, "?")
	path, readable = match.Normal(path)
	return authorize.Input{
		Method: q.Method, Path: path, Client: q.Client, Consumer: id.consumer, Claim: id.claims.Values,
		Header: func(name string) (string, int) {
			v, n := q.Headers.Get(name)
			return string(v), n
		},
	}, readable
}
