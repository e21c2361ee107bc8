package route

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// shareLimits returns why nothing may get through where limits are to be counted over all
// replicas and this router cannot do that; e may be nil.
func (b *builder) shareLimits(c *model.Claim, spec *policy.Spec, e *policy.Effective) []policy.Closing {
	from, some, n := spec.SharedLimits(e)
	b.result.SharedLimits, b.result.SharedLimitsBound = n, b.selection.SharedLimitsPerNamespace()
	why, reason := b.settings.AgentLack(), api.ReasonPolicyClosed
	switch {
	case !some || c.Termination == model.Passthrough:
		return nil
	case why != "":
		why = "scope Shared " + why
	case b.past.Uncounted && n > 0:
		why, reason = fmt.Sprintf("the Routes of the namespace may have %d limits of scope Shared; older ones leave fewer than the %d of this one", b.settings.SharedLimit(b.result.SharedLimitsBound), n), api.ReasonLimitExceeded
	default:
		return nil
	}
	key, at := b.result.Object, "metadata.annotations["+policy.AnnotationLimitScope+"]"
	if _, own := b.route.Annotations[policy.AnnotationLimitScope]; !own {
		at = "metadata.annotations[" + api.AnnotationIngressPolicy + "]"
	}
	if from != nil && policy.IsKind(from.Key.Kind) {
		key, at = from.Key, from.Field(policy.GroupLimits)+".requests"
	}
	return []policy.Closing{{Key: key, Field: at, Reason: reason, Message: why}}
}

// unidentified says which limits count by what authentication does not find out.
func (b *builder) unidentified(spec *policy.Spec, e *policy.Effective) {
	for _, u := range spec.Unidentified(e) {
		field, message := "metadata.annotations["+policy.AnnotationLimitKey+"]", u.Message
		if u.From != nil && policy.IsKind(u.From.Key.Kind) {
			field, message = "", u.From.Title()+" "+u.From.Field(policy.GroupLimits)+"."+u.Part+": "+u.Message
		}
		b.find(api.SeverityWarning, field, api.ReasonPolicyNotApplicable, message, policy.EffectUnidentified)
	}
}

// counted is what the policy agent counts.
func (b *builder) counted(c *model.Claim, shared []model.RateLimit) *model.Agent {
	out, err := authentication.CompileCounted(c.Owner, c.Rule, shared)
	if err != nil {
		b.find(api.SeverityError, "", api.ReasonPolicyClosed, "limits of scope Shared: "+err.Error(), effectClosed(c.Termination))
	}
	return out
}
