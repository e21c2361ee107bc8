package policy

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// effectCountsNothing is what happens to the paths of a limit that no request can have.
const effectCountsNothing = "the limit counts no request there"

// OutOfReach finds limits for paths that no request of the object has, whose own paths are
// these. A limit that a policy has for this object alone, all of whose paths are outside, is a
// mistake about what to protect, so it closes the object. What else is outside has no effect: a
// policy for several objects may have limits for the paths of others, and one for a whole
// namespace, Gateway or cluster is not looked at. Part is what a policy is for that names a part
// of the object, and whole is what one for the object is for.
func (e *Effective) OutOfReach(part, whole []match.Rule) {
	for _, l := range e.Limits {
		own := whole
		if l.From.Rank == RankSection {
			own = part
		}
		if l.From.Rank != RankSection && l.From.Rank != RankObject || slices.ContainsFunc(own, uncertain) {
			continue
		}
		for i := range l.Requests {
			e.outOfReach(l.From, fmt.Sprintf(".requests[%d]", i), l.Requests[i].Match, own)
		}
		if l.Concurrent != nil {
			e.outOfReach(l.From, ".concurrent", l.Concurrent.Match, own)
		}
	}
}

func (e *Effective) outOfReach(from *Source, field string, m *v1alpha1.LimitMatch, own []match.Rule) {
	read, err := readMatch(m)
	if err != nil { // which closes
		return
	}
	var outside []int
	for i, p := range read.Paths {
		if !slices.ContainsFunc(own, func(r match.Rule) bool { return meets(r, p) }) {
			outside = append(outside, i)
		}
	}
	if len(outside) == 0 {
		return
	}
	at := fmt.Sprintf("%s.match.paths[%d]", field, outside[0])
	message := fmt.Sprintf("%s is outside of the object's own path %s, so no request has it; paths are compared before a rewrite, and from the host on", read.Paths[outside[0]].Value, ownPath(own))
	if len(outside) == len(read.Paths) && from.Alone {
		e.close(from, GroupLimits, at, api.ReasonInvalidPolicy, message)
		return
	}
	for _, i := range outside {
		e.Unapplied = append(e.Unapplied, Closing{
			Key: from.Key, Field: from.Field(GroupLimits) + fmt.Sprintf("%s.match.paths[%d]", field, i), Reason: api.ReasonPolicyNotApplicable,
			Message: fmt.Sprintf("%s is outside of the object's own path %s", read.Paths[i].Value, ownPath(own)), Effect: effectCountsNothing,
		})
	}
}

// uncertain reports whether a path is not known as programs read it: it is an expression, or
// encoded.
func uncertain(r match.Rule) bool {
	normal, plain := match.Normal(r.Path)
	return r.Conditions != nil && r.Conditions.Path != nil || r.Path != "" && (!plain || normal != r.Path)
}

// meets reports whether a request of a rule can have a path of a limit.
func meets(r match.Rule, p model.RequestPath) bool {
	r.Conditions = nil
	limit := match.Rule{Path: p.Value, Exact: p.Exact}
	return r.Covers(limit) || limit.Covers(r)
}

// ownPath names the paths of an object in messages.
func ownPath(own []match.Rule) string {
	if len(own) == 0 || own[0].Path == "" {
		return "/"
	}
	if len(own) > 1 {
		return own[0].Path + " (and others)"
	}
	return own[0].Path
}
