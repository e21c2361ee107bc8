package route

import (
	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// firewalls returns why nothing may get through where a firewall is to block and the router
// has none, and what of firewalls that only detect has no effect; e may be nil.
func (b *builder) firewalls(c *model.Claim, spec *policy.Spec, e *policy.Effective) (closings, unapplied []policy.Closing) {
	why := b.settings.FirewallLack()
	if why == "" || c.Termination == model.Passthrough {
		return nil, nil
	}
	add := func(key model.Object, at string, block bool) {
		if block {
			closings = append(closings, policy.Closing{Key: key, Field: at, Reason: api.ReasonPolicyClosed, Message: why})
			return
		}
		unapplied = append(unapplied, policy.Closing{Key: key, Field: at, Reason: api.ReasonPolicyNotApplicable, Message: why, Effect: "requests pass without being judged"})
	}
	if f := spec.Groups.Firewall; f != nil {
		add(b.result.Object, "metadata.annotations["+api.AnnotationIngressPolicy+"]", f.Mode == policy.FirewallBlock)
	}
	if e == nil {
		return closings, unapplied
	}
	for _, f := range e.Firewalls {
		at := f.From.Field(policy.GroupFirewall)
		if !policy.IsKind(f.From.Key.Kind) {
			at = "metadata.annotations[" + api.AnnotationIngressPolicy + "]"
		}
		add(f.From.Key, at, f.Mode == policy.FirewallBlock)
	}
	return closings, unapplied
}
