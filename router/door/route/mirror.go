package route

import (
	"cmp"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// mirrors turns copies of requests that a route asks for into what the policy agent sends.
// It returns what of them cannot be used, which keeps no request from its pod; e may be nil.
func (b *builder) mirrors(c *model.Claim, spec *policy.Spec, e *policy.Effective) (unapplied []policy.Closing) {
	m := spec.Groups.Mirror
	if m == nil || c.Termination == model.Passthrough || Closed(b.route) {
		return nil
	}
	key, at := b.result.Object, "metadata.annotations["+policy.AnnotationMirror+"]"
	if _, own := b.route.Annotations[policy.AnnotationMirror]; !own {
		at = "metadata.annotations[" + api.AnnotationIngressPolicy + "]"
	}
	ofPolicy := false
	if o := e.Origin(policy.GroupMirror); o != nil && policy.IsKind(o.Key.Kind) {
		key, at, ofPolicy = o.Key, o.Field(policy.GroupMirror), true
	}
	leave := func(field string, reason api.Reason, message string) {
		to := at
		if ofPolicy && field != "" {
			to += "." + field
		}
		unapplied = append(unapplied, policy.Closing{Key: key, Field: to, Reason: cmp.Or(reason, api.ReasonPolicyNotApplicable), Message: message, Effect: policy.EffectNoMirror})
	}
	if why := b.settings.AgentLack(); why != "" {
		leave("", "", why)
		return unapplied
	}
	r := b.references(e, policy.GroupMirror, spec.MirrorIn)
	var mayAsk func(string) bool
	if spec.MirrorIn == "" { // administrators may name each
		mayAsk = b.selection.MayAsk
	}
	out, problems := authentication.CompileMirror(authentication.Input{Route: c.Owner, Rule: c.Rule, Namespace: r.Namespace, References: r, MayAsk: mayAsk}, m)
	for _, p := range problems {
		leave(p.Field, p.Reason, p.Message)
	}
	if r.Idle != "" {
		b.find(api.SeverityInfo, at, api.ReasonNoEndpoints, "no pod of Service "+r.Idle+" is ready", policy.EffectNoMirror)
	}
	b.mirror = out
	return unapplied
}
