package route

import (
	"cmp"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// aliasRule is the rule of the claim of the second host.
const aliasRule = "www"

// redirects finds out how plain HTTP is redirected, and which second host the route asks
// for.
func (b *builder) redirects(c *model.Claim, spec *policy.Spec) {
	if c.Insecure == model.InsecureRedirect {
		c.ToHTTPS = spec.ToHTTPS()
		c.ToHTTPS.Port = cmp.Or(c.ToHTTPS.Port, uint16(b.settings.RedirectPort))
	}
	if c.Termination == model.Passthrough {
		return // which is reported
	}
	other, err := spec.OtherName(c.Host)
	if err != nil {
		b.wwwFinding(api.ReasonAnnotationIgnored, api.ReasonPolicyNotApplicable, err.Error(), "no other name is redirected")
	}
	b.otherName = other
}

// wwwFinding reports what is wrong with the second host.
func (b *builder) wwwFinding(ofAnnotation, ofPolicy api.Reason, message, effect string) {
	reason, field := ofAnnotation, "metadata.annotations["+policy.AnnotationWWW+"]"
	if from := b.result.Effective.Origin(policy.GroupRedirects); from != nil && policy.IsKind(from.Key.Kind) {
		reason, field, message = ofPolicy, "", from.Title()+" "+from.Field(policy.GroupRedirects)+".www: "+message
	}
	b.find(api.SeverityWarning, field, reason, message, effect)
}

// alias returns the claim of the second host: on the listeners and paths of the first
// one, for the same clients. It redirects and has no pods; if the first one is closed,
// so is this.
func (b *builder) alias(c *model.Claim) []*model.Claim {
	if b.otherName == "" {
		return nil
	}
	own := c.Backend.Policy()
	if slices.ContainsFunc(own.Redirects, func(r model.Redirect) bool { return r.Host == b.otherName }) {
		b.wwwFinding(api.ReasonRedirectLoop, api.ReasonRedirectLoop, "the Route redirects to "+b.otherName+" itself", "requests for "+b.otherName+" are not redirected")
		return nil
	}
	a := *c
	a.Rule, a.Alias, a.Host, a.NamedHost = aliasRule, true, b.otherName, b.otherName
	a.Checks, a.Split = 0, nil
	a.Certificate = b.aliasCertificate(&a)
	if c.Closed {
		return []*model.Claim{a.Barred()}
	}
	a.Backend = model.Backend{
		Kind: c.Backend.Kind, Owner: a.Owner, Rule: a.Rule, Profile: model.Profile{Balance: cmp.Or(b.settings.Balance, model.Random)},
		Asks: &model.Policy{
			Restricted: own.Restricted, Allow: own.Allow, Deny: own.Deny, Unlogged: own.Unlogged,
			Redirects: []model.Redirect{{Status: 308, Host: c.Host, Query: true}},
		},
	}
	return []*model.Claim{&a}
}

// aliasCertificate returns the certificate of the route for its second host, or nil for the
// router's default if it does not cover that.
func (b *builder) aliasCertificate(a *model.Claim) *model.Certificate {
	if a.Certificate == nil {
		return nil
	}
	cert, err := certificate.For(a.Certificate, a.Owner, a.Host)
	if err != nil {
		b.wwwFinding(api.ReasonCertificateHostMismatch, api.ReasonCertificateHostMismatch, "the certificate of the Route does not cover "+a.Host, "the router's default certificate is served there, and clients may refuse it")
	}
	return cert
}
