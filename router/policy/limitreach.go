package policy

import (
	"cmp"
	"fmt"
	"maps"
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
// policy for several objects may have limits for the paths of others. Part is what a policy is for
// that names a part of the object, and whole is what one for the object is for.
//
// A policy for a whole namespace, Gateway or cluster, or for an Ingress, of which the object is a
// piece, is for all paths of its objects together: Outside has what this one cannot have, and Tally
// finds what none has.
func (e *Effective) OutOfReach(part, whole []match.Rule, piece bool) {
	for _, l := range e.Limits {
		own := whole
		if l.From.Rank == RankSection {
			own = part
		}
		if slices.ContainsFunc(own, uncertain) {
			continue
		}
		find := e.outOfReach
		if piece || l.From.Rank != RankSection && l.From.Rank != RankObject {
			find = e.noteOutside
		}
		for i := range l.Requests {
			field := fmt.Sprintf(".requests[%d]", i)
			find(l.From, field, pathsOutside(l.Requests[i].Match, own), own)
		}
		if l.Concurrent != nil {
			find(l.From, ".concurrent", pathsOutside(l.Concurrent.Match, own), own)
		}
	}
}

// outsidePaths are paths of a limit, those that no request of an object can have by their numbers.
type outsidePaths struct {
	all     []model.RequestPath
	outside []int
}

// pathsOutside compares the paths of a limit with those of an object.
func pathsOutside(m *v1alpha1.LimitMatch, own []match.Rule) (out outsidePaths) {
	read, err := readMatch(m)
	if err != nil { // which closes
		return out
	}
	out.all = read.Paths
	for i, p := range read.Paths {
		if !slices.ContainsFunc(own, func(r match.Rule) bool { return meets(r, p) }) {
			out.outside = append(out.outside, i)
		}
	}
	return out
}

// Outside is a path of a limit that no request of an object can have.
type Outside struct {
	// Key is the policy's, Field the place of the path in it.
	Key         model.Object
	Field, Path string
}

func (e *Effective) noteOutside(from *Source, field string, paths outsidePaths, _ []match.Rule) {
	for _, i := range paths.outside {
		e.Outside = append(e.Outside, Outside{from.Key, from.Field(GroupLimits) + fmt.Sprintf("%s.match.paths[%d]", field, i), paths.all[i].Value})
	}
}

func (e *Effective) outOfReach(from *Source, field string, paths outsidePaths, own []match.Rule) {
	outside := paths.outside
	if len(outside) == 0 {
		return
	}
	at := fmt.Sprintf("%s.match.paths[%d]", field, outside[0])
	message := fmt.Sprintf("%s is outside of the object's own path %s, so no request has it; paths are compared before a rewrite, and from the host on", paths.all[outside[0]].Value, ownPath(own))
	if len(outside) == len(paths.all) && from.Alone {
		e.close(from, GroupLimits, at, api.ReasonInvalidPolicy, message)
		return
	}
	for _, i := range outside {
		e.Unapplied = append(e.Unapplied, Closing{
			Key: from.Key, Field: from.Field(GroupLimits) + fmt.Sprintf("%s.match.paths[%d]", field, i), Reason: api.ReasonPolicyNotApplicable,
			Message: fmt.Sprintf("%s is outside of the object's own path %s", paths.all[i].Value, ownPath(own)), Effect: effectCountsNothing,
		})
	}
}

// reach is which paths of a policy's limits requests of its objects can have.
type reach struct {
	// limited counts the objects that have limits of the policy, and outside those that cannot
	// have a path.
	limited int
	outside map[Outside]int
	// unknown is true if something is not known of an object.
	unknown bool
}

// add takes in an object that the policy is for.
func (r *reach) add(policy model.Object, e *Effective) {
	if e == nil {
		r.unknown = true
		return
	}
	if !slices.ContainsFunc(e.Origins, func(o Origin) bool { return o.Group == GroupLimits && o.Source.Key == policy }) {
		return
	}
	r.limited++
	for _, o := range e.Outside {
		if o.Key != policy {
			continue
		}
		if r.outside == nil {
			r.outside = map[Outside]int{}
		}
		r.outside[o]++
	}
}

// with returns what is known of the objects of both.
func (r *reach) with(o *reach) reach {
	out := reach{r.limited + o.limited, maps.Clone(r.outside), r.unknown || o.unknown}
	for path, n := range o.outside {
		if out.outside == nil {
			out.outside = map[Outside]int{}
		}
		out.outside[path] += n
	}
	return out
}

// findings say which paths no object has.
func (r *reach) findings() (list []api.Finding) {
	for path, n := range r.outside {
		if n == r.limited && !r.unknown {
			list = append(list, api.Finding{
				Object: Ref(path.Key), Field: path.Field, Reason: api.ReasonPolicyNotApplicable, Severity: api.SeverityWarning,
				Message: fmt.Sprintf("%s is outside of the own paths of all objects that the policy applies to, so no request has it; paths are compared before a rewrite, and from the host on", path.Path),
				Effect:  effectCountsNothing + ": correct the path, or remove it",
			})
		}
	}
	slices.SortFunc(list, func(a, b api.Finding) int { return cmp.Compare(a.Field, b.Field) })
	return list
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
