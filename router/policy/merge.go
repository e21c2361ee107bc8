package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Rank says which of several sources wins: the smaller one.
type Rank int

// The ranks. That of the IngressController are the router's settings.
const (
	RankOverride    Rank = 1 // a ClusterRoutePolicy with mode Override
	RankAnnotations Rank = 2 // annotations of the object
	RankSection     Rank = 3 // a RoutePolicy that names a host of the Ingress, or a rule of the route
	RankObject      Rank = 4 // a RoutePolicy that names or selects the object, or that it names
	RankService     Rank = 5 // a RoutePolicy that names a Service of the object, or annotations of the Service
	RankNamespace   Rank = 6 // a RoutePolicy for its namespace, or one that the namespace names
	RankGateway     Rank = 7 // a RoutePolicy that names a Gateway which the object is attached to
	RankDefault     Rank = 8 // a ClusterRoutePolicy with mode Default

	ranks = RankDefault + 1
)

// speaksOf tells ranks apart for groups of which only one can hold. Annotations and
// policies that name the object all speak of it: none of them may undo another.
func (r Rank) speaksOf() Rank {
	if r == RankAnnotations || r == RankSection {
		return RankObject
	}
	return r
}

// String says it as explain does.
func (r Rank) String() string {
	switch r {
	case RankOverride:
		return "override of the cluster"
	case RankAnnotations:
		return "annotations"
	case RankSection:
		return "section"
	case RankObject:
		return "object"
	case RankService:
		return "Service"
	case RankNamespace:
		return "namespace"
	case RankGateway:
		return "Gateway"
	case RankDefault:
		return "default of the cluster"
	case ranks:
	}
	return "none"
}

// Source is a version of a policy, or the annotations of an object, as it applies to
// one object.
type Source struct {
	Rank       Rank
	Key        model.Object
	Created    time.Time
	UID        string
	Generation int64
	// Spec has all groups but access, which is in Access.
	Spec   *v1alpha1.PolicySpec
	Access *Access
	// Alone is true if the policy names one object, and can be meant for no other.
	Alone bool
	// Kept is true if no other source may drop the authentication of this one.
	Kept bool
	// Fields name what sets a group where that is not the field of its name, such as
	// an annotation.
	Fields map[Group]string
}

// Ref names the source's object in findings.
func (s *Source) Ref() api.ObjectRef {
	if IsKind(s.Key.Kind) {
		return Ref(s.Key)
	}
	return api.ObjectRef{Kind: string(s.Key.Kind), Namespace: s.Key.Namespace, Name: s.Key.Name}
}

// Own reports whether the source are the annotations of the object that they apply to.
func (s *Source) Own() bool { return s.Rank == RankAnnotations }

// Field names what sets a group.
func (s *Source) Field(g Group) string { return cmp.Or(s.Fields[g], "spec."+string(g)) }

// Title names the source as users do, such as "RoutePolicy demo/members".
func (s *Source) Title() string { return Title(s.Key) }

// Title names an object as users do.
func Title(key model.Object) string {
	if key.Namespace == "" {
		return string(key.Kind) + " " + key.Name
	}
	return fmt.Sprintf("%s %s/%s", key.Kind, key.Namespace, key.Name)
}

// Effective is what holds for one object, and where it comes from.
type Effective struct {
	// Access, and Limits of which each holds, are what all sources say together.
	Access Access
	Limits []Limit
	// Firewalls are those of all sources, each of which a request must pass.
	Firewalls []Firewall
	// Spec has the other groups, each of the source that wins it.
	Spec v1alpha1.PolicySpec
	// Either is the source of which addresses that it admits are enough, in place of what
	// else clients have to show; nil for none. Its list is not in Access.
	Either *Source
	// Origins are the sources in force, group by group; Losses are those that are
	// not.
	Origins []Origin
	Losses  []Loss
	// Closings say why no request may get through; none if requests may.
	Closings []Closing
	// Unapplied are parts that protect nothing and cannot be applied.
	Unapplied []Closing
	// Outside are paths of limits that requests of the object cannot have, and those of other objects
	// of the policy perhaps can.
	Outside []Outside
}

// Origin is a source of a group in force.
type Origin struct {
	Group  Group
	Source *Source
}

// Loss is a group of a source that another one replaces.
type Loss struct {
	Group  Group
	Source *Source
	Winner *Source
	// Conflict is true if both have the same rank, and the winner is only older.
	Conflict bool
}

// Closing is why the paths of an object are closed.
type Closing struct {
	// Key and Field name what is to be mended.
	Key     model.Object
	Field   string
	Reason  api.Reason
	Message string
	// Effect says what happens to a part that only cannot be applied, and Severity how much
	// that matters: a warning, if it is empty.
	Effect   string
	Severity api.Severity
}

// maxAddresses bounds what all sources together may list, because each is up to
// eight entries of a map for each object that they apply to.
const maxAddresses = 2 * maxAllow

// Merge decides what holds of several sources, whatever their order. A group that
// protects holds as all of them say together; of the others the source of the
// highest rank wins, of equal ones the oldest.
func Merge(sources []*Source) *Effective {
	e := &Effective{}
	sorted := slices.Clone(sources)
	slices.SortFunc(sorted, func(a, b *Source) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), older(a, b)) })
	held := e.holdBack(sorted)
	if i := slices.IndexFunc(sorted, func(s *Source) bool { return s.Spec.Authentication != nil && !held[s] }); i >= 0 && satisfiesAny(sorted[i].Spec) {
		e.Either = sorted[i]
	}
	for _, r := range groups {
		var winner *Source
		for _, s := range sorted {
			switch {
			case !r.has(s) || r.group == GroupAuthentication && held[s]:
			case winner == nil || r.combines:
				winner = s
				r.take(e, s)
				e.Origins = append(e.Origins, Origin{r.group, s})
			default:
				conflict := winner.Rank == s.Rank
				if r.exclusive && winner.Rank.speaksOf() == s.Rank.speaksOf() {
					conflict = true
					e.close(s, r.group, "", api.ReasonPolicyConflict, winner.Title()+" sets "+string(r.group)+", too, with the same rank; only one may")
				}
				e.Losses = append(e.Losses, Loss{r.group, s, winner, conflict})
			}
		}
	}
	e.checkAccess()
	return e
}

// holdBack finds the sources that would drop what they may not: authentication of none
// above that of an administrator who does not allow it.
func (e *Effective) holdBack(sorted []*Source) map[*Source]bool {
	var held map[*Source]bool
	for i, s := range sorted {
		if !asksNothing(s) {
			continue
		}
		for _, kept := range sorted[i+1:] {
			if !kept.Kept || kept.Spec.Authentication == nil || asksNothing(kept) {
				continue
			}
			if held == nil {
				held = map[*Source]bool{}
			}
			held[s] = true
			e.Unapplied = append(e.Unapplied, Closing{
				Key: s.Key, Field: s.Field(GroupAuthentication), Reason: api.ReasonNotAllowed,
				Message: kept.Title() + " does not allow to do without its authentication (optOut)", Effect: "it is asked for",
			})
			break
		}
	}
	return held
}

// asksNothing reports whether a source does without authentication.
func asksNothing(s *Source) bool {
	return s.Spec.Authentication != nil && s.Spec.Authentication.None
}

// takeAuthentication takes that of a source that wins, which may be none.
func (e *Effective) takeAuthentication(s *Source) {
	if e.Spec.Authentication = s.Spec.Authentication; asksNothing(s) {
		e.Spec.Authentication = nil
	}
}

// combineAccess admits whom all sources admit, and none of them denies.
func (e *Effective) combineAccess(s *Source) {
	a, from := &e.Access, s.Access
	switch {
	case !from.Restricted || s == e.Either:
	case !a.Restricted:
		a.Restricted, a.Allow = true, from.Allow
	default:
		a.Allow = intersection(a.Allow, from.Allow)
	}
	switch {
	case len(from.Deny) == 0:
	case len(a.Deny) == 0:
		a.Deny = from.Deny
	default:
		a.Deny = union(a.Deny, from.Deny)
	}
	if len(from.BadDeny) > 0 {
		e.close(s, GroupAccess, ".deny", api.ReasonInvalidPolicy, fmt.Sprintf("%q is not an IP address or CIDR, so it is not known whom the list refuses", from.BadDeny[0]))
	}
	if from.Restricted && len(from.Allow) == 0 {
		e.close(s, GroupAccess, ".allow", api.ReasonInvalidPolicy, fmt.Sprintf("%q is not an IP address or CIDR, and the list has no other item", slices.Concat(from.BadAllow, []string{""})[0]))
	}
}

func (e *Effective) combineLimits(s *Source) {
	e.Limits = append(e.Limits, Limit{s, s.Spec.Limits})
}

// checkAccess closes where the sources together ask for too much.
func (e *Effective) checkAccess() {
	for _, list := range []struct {
		field string
		n     int
	}{{".allow", len(e.Access.Allow)}, {".deny", len(e.Access.Deny)}} {
		if list.n <= maxAddresses {
			continue
		}
		for _, o := range slices.Backward(e.Origins) {
			if o.Group == GroupAccess {
				e.close(o.Source, GroupAccess, list.field, api.ReasonLimitExceeded, fmt.Sprintf("all policies of the object together list more than %d addresses", maxAddresses))
				break
			}
		}
		e.Access.Allow, e.Access.Deny = nil, nil
	}
}

func (e *Effective) close(s *Source, g Group, field string, reason api.Reason, message string) {
	e.Closings = append(e.Closings, Closing{Key: s.Key, Field: s.Field(g) + field, Reason: reason, Message: message})
}

// Origin returns the source that a group in force comes from, the last one where
// several combine; nil if no source sets it, or there is no policy at all.
func (e *Effective) Origin(g Group) *Source {
	if e == nil {
		return nil
	}
	var last *Source
	for _, o := range e.Origins {
		if o.Group == g {
			last = o.Source
		}
	}
	return last
}

// Closed reports whether no request may get through.
func (e *Effective) Closed() bool { return len(e.Closings) > 0 }
