package policy

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// FromAnnotations returns the groups that annotations of an object set, as they were
// read, or nil if they set none.
func FromAnnotations(o model.Object, annotations map[string]string, spec *Spec) *Source {
	s := &Source{Rank: RankAnnotations, Key: o, Spec: &v1alpha1.PolicySpec{}, Fields: map[Group]string{}}
	if len(spec.Allow) > 0 { // a list without any closes by itself
		key, _ := allowlistOf(annotations)
		s.Access, s.Fields[GroupAccess] = &Access{Restricted: true, Allow: normal(spec.Allow)}, field(key)
	}
	if len(s.groups()) == 0 {
		return nil
	}
	return s
}

func field(key string) string { return "metadata.annotations[" + key + "]" }

// refuseUnapplied closes, or leaves out, what this version of the router does not apply
// yet.
func (e *Effective) refuseUnapplied() {
	for _, o := range e.Origins {
		var what string
		switch {
		case o.Group != GroupAccess:
			what = string(o.Group)
		case len(o.Source.Access.Deny) > 0:
			what = "access.deny"
		default:
			continue
		}
		c := Closing{Key: o.Source.Key, Field: "spec." + what, Reason: api.ReasonPolicyNotApplicable, Message: "this version of the router does not apply it"}
		if o.Group.Protects() {
			e.Closings = append(e.Closings, c)
		} else {
			e.Unapplied = append(e.Unapplied, c)
		}
	}
}

// Apply replaces the groups that annotations ask for by what holds.
func (s *Spec) Apply(e *Effective) {
	s.Restricted, s.Allow = e.Access.Restricted, e.Access.Allow
}

// Findings are what the user of an object has to know. Closed is what clients get
// where the paths are closed.
func (e *Effective) Findings(closed string) []api.Finding {
	var out []api.Finding
	for _, c := range e.Closings {
		f := api.Finding{Reason: api.ReasonPolicyClosed, Severity: api.SeverityError, Field: c.Field, Message: c.Message, Effect: closed}
		if IsKind(c.Key.Kind) {
			f.Field, f.Message = "", strings.TrimSpace(Title(c.Key)+" "+c.Field)+": "+c.Message
		}
		out = append(out, f)
	}
	for _, c := range e.Unapplied {
		out = append(out, api.Finding{
			Reason: c.Reason, Severity: api.SeverityWarning, Message: Title(c.Key) + " " + c.Field + ": " + c.Message, Effect: "it has no effect",
		})
	}
	for _, l := range e.Losses {
		winner := l.Winner.Title()
		switch {
		case l.Conflict:
			out = append(out, api.Finding{
				Reason: api.ReasonPolicyConflict, Severity: api.SeverityWarning,
				Message: fmt.Sprintf("%s and %s both set %s with the same rank", winner, l.Source.Title(), l.Group),
				Effect:  "that of " + winner + " is applied, because it is older",
			})
		case !IsKind(l.Source.Key.Kind):
			out = append(out, api.Finding{
				Reason: api.ReasonPolicyOverridden, Severity: api.SeverityInfo, Field: l.Source.Field(l.Group),
				Message: winner + " sets " + string(l.Group), Effect: "the annotation has no effect",
			})
		}
	}
	return out
}
