package policy

import (
	"fmt"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Identities are the limits that count by identity, in the order of Compile: the keys of
// those that HAProxy counts by, each at the place that the record has it at, and those that all replicas count together.
func (s *Spec) Identities() (keys []model.LimitKey, shared []model.RateLimit) {
	var p model.Policy
	for _, l := range s.Sizes {
		compileCounts(l, &p)
	}
	compileCounts(s.Groups.Limits, &p)
	for i := range p.Identified {
		keys = append(keys, p.Identified[i].Key)
	}
	if len(p.IdentifiedConcurrents) > 0 {
		keys = append(keys, make([]model.LimitKey, max(model.MaxIdentified-len(keys), 0))...)
	}
	for i := range p.IdentifiedConcurrents {
		keys = append(keys, p.IdentifiedConcurrents[i].Key)
	}
	return keys, p.SharedIdentified
}

// Unidentified is a limit by what authentication does not find out, so that requests are
// counted by the client's address.
type Unidentified struct {
	// From is the policy, nil for the annotation, and Part its field below the group limits.
	From    *Source
	Part    string
	Message string
}

// EffectUnidentified is what happens then.
const EffectUnidentified = "requests are counted by the client's address"

// Unidentified lists such limits; e may be nil.
func (s *Spec) Unidentified(e *Effective) (out []Unidentified) {
	add := func(from *Source, l *v1alpha1.Limits) {
		if l == nil {
			return
		}
		for i := range l.Requests {
			if message := unidentified(s.Groups.Authentication, l.Requests[i].Key); message != "" {
				out = append(out, Unidentified{from, fmt.Sprintf("requests[%d].key", i), message})
			}
		}
		if l.Concurrent != nil {
			if message := unidentified(s.Groups.Authentication, l.Concurrent.Key); message != "" {
				out = append(out, Unidentified{from, "concurrent.key", message})
			}
		}
	}
	if e != nil {
		for _, l := range e.Limits {
			add(l.From, l.Limits)
		}
	}
	add(nil, s.Groups.Limits)
	return out
}

// unidentified says why a key is never known, or nothing.
func unidentified(a *v1alpha1.Authentication, k *v1alpha1.LimitKey) string {
	tokens := a != nil && (a.JWT != nil || a.OIDC != nil)
	switch {
	case k == nil || tokens:
	case k.Type == string(model.KeyClaim):
		return "counts by a claim of tokens, and the group authentication asks for none (jwt, oidc)"
	case k.Type == string(model.KeyConsumer) && (a == nil || a.Basic == nil && a.APIKeys == nil):
		return "counts by the consumer, and the group authentication does not find out which (basic, jwt, oidc, apiKeys)"
	}
	return ""
}
