package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// What the policy agent finds out while it decides, as findings about the policy.

// untilText is how times stand in messages, in UTC. Minutes are enough, and two workers that read
// the same thing at the same time say the same.
const untilText = "2006-01-02 15:04 MST"

// addAgent notes what the agent says about an object that has its authentication from this
// policy.
func (t *Tally) addAgent(title string, f *Fate) {
	t.troubles = snapshot.Worst(t.troubles, f.Troubles)
	if f.Unusable == "" {
		return
	}
	t.closed++
	t.closedBy()
	least(&t.unusable, f.Unusable)
	least(&t.firstClosed, title+": the policy agent cannot use the policy: "+f.Unusable)
}

// finding says that something cannot be read: what, why, what holds now and what to do.
func (t *Tally) finding(one snapshot.Trouble) api.Finding {
	f := api.Finding{
		Object: Ref(t.policy.Key), Field: "spec.authentication.oidc.issuer", Reason: api.ReasonIssuerUnreachable, Severity: api.SeverityError,
		Message: fmt.Sprintf("%s cannot be read: %s", one.Address, one.Cause),
		Effect:  "logins answer 503, and so do sessions whose tokens end, until it can be read",
	}
	what := "what it said last"
	if one.Kind == snapshot.KindAuthServer {
		return AuthServerError(Ref(t.policy.Key), "spec.authentication.external", one)
	}
	if one.Kind == snapshot.KindKeys {
		f.Field, f.Reason = fmt.Sprintf("spec.authentication.jwt.issuers[%d].jwks.uri", one.Place), api.ReasonJWKSUnavailable
		f.Effect = "requests with tokens of this issuer answer 503 until it can be read"
		what = "the keys that were read last"
	}
	if one.Until != 0 {
		f.Severity = api.SeverityWarning
		f.Effect = fmt.Sprintf("%s serve until %s, then requests answer 503", what, time.Unix(one.Until, 0).UTC().Format(untilText))
		if one.Kind == snapshot.KindIssuer {
			f.Effect = fmt.Sprintf("%s holds until %s, then logins answer 503", what, time.Unix(one.Until, 0).UTC().Format(untilText))
		}
	}
	f.Effect += "; the router goes on trying. Check the address, its certificate, and whether the router's pods reach it"
	return f
}

// AuthServerError is the finding that an auth server fails. It is no condition, because it is about
// some requests only, and lasts as long as there are such.
func AuthServerError(o api.ObjectRef, field string, one snapshot.Trouble) api.Finding {
	return api.Finding{
		Object: o, Field: field, Reason: api.ReasonAuthServerError, Severity: api.SeverityWarning,
		Message: fmt.Sprintf("the auth server %s fails: %s", one.Address, one.Cause),
		Effect:  "requests that it does not decide answer 503. Check its pods, its address and its certificate, and how long it takes to answer",
	}
}

// findings are those of the agent, the ones that close paths first.
func (t *Tally) findings() (list []api.Finding) {
	if t.unusable != "" {
		list = append(list, api.Finding{
			Object: Ref(t.policy.Key), Field: "spec.authentication", Reason: api.ReasonPolicyClosed, Severity: api.SeverityError,
			Message: "the policy agent cannot use the policy: " + t.unusable, Effect: "its paths answer 503 until the policy is changed",
		})
	}
	for _, closes := range []bool{true, false} {
		for _, one := range t.troubles {
			if (one.Until == 0) == closes {
				list = append(list, t.finding(one))
			}
		}
	}
	return list
}

// unread returns the first finding about something that cannot be read, and how many there are.
func unread(list []api.Finding) (first api.Finding, count int) {
	for _, f := range list {
		if f.Reason == api.ReasonIssuerUnreachable || f.Reason == api.ReasonJWKSUnavailable {
			if count++; count == 1 {
				first = f
			}
		}
	}
	return first, count
}

// FromAgent reports whether a condition of a policy says what only the agent of a running router
// can know.
func FromAgent(reason string) bool {
	return slices.Contains([]api.Reason{api.ReasonIssuerUnreachable, api.ReasonJWKSUnavailable, api.ReasonAgentUnavailable}, api.Reason(reason))
}
