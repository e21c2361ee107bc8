package route

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// authenticate turns what clients have to show, and may do, into what the policy agent
// decides by. It returns why nothing may get through, if it cannot be used; e may be nil.
func (b *builder) authenticate(c *model.Claim, spec *policy.Spec, e *policy.Effective) []policy.Closing {
	if spec.Groups.Authentication == nil && spec.Groups.Authorization == nil || c.Termination == model.Passthrough {
		return nil // which is closed already
	}
	r := b.references(e, policy.GroupAuthentication, spec.NamedIn)
	var mayAsk func(string) bool
	if spec.NamedIn == "" { // administrators may ask each
		mayAsk = b.selection.MayAsk
	}
	identities, limits := spec.Identities()
	asked, problems := authentication.Compile(authentication.Input{
		Spec: spec.Groups.Authentication, Rules: spec.Groups.Authorization, Listed: spec.Listed,
		Route: c.Owner, Rule: c.Rule, Host: c.Host, Path: c.Path, Exact: c.Exact, Namespace: r.Namespace, References: r, MayAsk: mayAsk, Key: b.settings.Key,
		Bundle: b.clientAuthorities, Now: b.past.Now, Identities: identities, Limits: limits,
	})
	problems = append(problems, b.boundSubjects(spec.Groups.Authentication)...)
	b.result.Pending = b.result.Pending || r.Pending
	b.result.Until = asked.Until
	from := origins{b, e}
	if r.Idle != "" {
		_, at := from.of(policy.GroupAuthentication, "external.service")
		b.find(api.SeverityInfo, at, api.ReasonNoEndpoints, "no pod of Service "+r.Idle+" is ready, which is asked about each request", "requests get 503")
	}
	var closings []policy.Closing
	for _, p := range problems {
		key, at := from.of(policy.Group(p.Group), p.Field)
		if p.Closes {
			closings = append(closings, policy.Closing{Key: key, Field: at, Reason: cmp.Or(p.Reason, api.ReasonPolicyClosed), Message: p.Message})
			continue
		}
		b.find(api.SeverityWarning, at, cmp.Or(p.Reason, api.ReasonInvalidField), p.Message, cmp.Or(p.Effect, "the policy is applied"))
	}
	if why := b.unaskable(c); asked.Certificate != nil && why != "" {
		key, at := from.of(policy.GroupAuthentication, "clientCertificate")
		closings = append(closings, policy.Closing{Key: key, Field: at, Reason: api.ReasonPolicyNotApplicable, Message: why})
	}
	if a := spec.Groups.Authentication; a != nil && a.OIDC != nil && c.Termination == model.Plain {
		key, at := from.of(policy.GroupAuthentication, "oidc")
		closings = append(closings, policy.Closing{Key: key, Field: at, Reason: api.ReasonPolicyNotApplicable, Message: "browsers send the cookies of a session by TLS only; set spec.tls of the Route"})
	}
	b.client = asked.Certificate
	needs := ""
	switch {
	case len(closings) > 0:
	case asked.Agent == nil:
		b.keys = asked.Keys
	case b.settings.AgentLack() != "":
		needs = b.settings.AgentLack()
	default:
		b.agent, b.keys = asked.Agent, asked.Keys
	}
	if needs != "" {
		group := policy.GroupAuthentication
		if spec.Groups.Authentication == nil {
			group = policy.GroupAuthorization
		}
		key, at := from.of(group, "")
		closings = append(closings, policy.Closing{Key: key, Field: at, Reason: api.ReasonPolicyClosed, Message: needs})
	}
	return closings
}

// boundSubjects closes a route with expressions for subjects that is one too many.
func (b *builder) boundSubjects(a *v1alpha1.Authentication) []authentication.Problem {
	i := policy.SubjectExpression(a)
	if b.result.Patterned = i >= 0; !b.result.Patterned || !b.past.Unpatterned {
		return nil
	}
	return []authentication.Problem{{
		Group: string(policy.GroupAuthentication), Field: fmt.Sprintf("clientCertificate.subjects[%d]", i), Reason: api.ReasonLimitExceeded,
		Message: b.settings.TooManyPatterns(b.result.Patterns), Closes: true,
	}}
}

// references returns what the source of a group may name: of the namespace that the
// administrators' have, else of the Route's.
func (b *builder) references(e *policy.Effective, g policy.Group, administrators string) *door.References {
	r := &door.References{Result: b.result, Source: b.src, Namespace: cmp.Or(administrators, b.route.Namespace)}
	if o := e.Origin(g); o != nil {
		r.From = o.Key
	}
	return r
}

// clientAuthorities reads authorities, and revocation lists if there are any.
func (b *builder) clientAuthorities(authorities, revocations string) (*model.CA, certificate.Lists, error) {
	if strings.TrimSpace(revocations) == "" {
		ca, err := b.past.Material.Bundle(b.result.Object, authorities)
		return ca, certificate.Lists{}, err //nolint:wrapcheck // the caller names the object
	}
	return b.past.Material.RevocableBundle(b.result.Object, authorities, revocations, b.settings.MaxCertificateBytes) //nolint:wrapcheck // the caller names the object
}

// unaskable says why no client can be asked for a certificate, or nothing.
func (b *builder) unaskable(c *model.Claim) string {
	switch {
	case c.Termination == model.Plain:
		return "clients show certificates by TLS only; set spec.tls of the Route"
	case c.Host == match.Any:
		return "clients are asked for certificates by their server name, and the Route has no host"
	case b.settings.AsksClients:
		return "the IngressController asks all clients for certificates (spec.clientTLS), and one handshake can ask for those of one CA only"
	}
	return ""
}

// origins tell where a field of a group in force stands.
type origins struct {
	b         *builder
	effective *policy.Effective
}

func (f origins) of(g policy.Group, field string) (key model.Object, at string) {
	if o := f.effective.Origin(g); o != nil && policy.IsKind(o.Key.Kind) {
		return o.Key, strings.TrimSuffix(o.Field(g)+"."+field, ".")
	}
	return f.b.result.Object, f.b.annotationOf(field)
}

// annotationOf names the annotation that sets a field of the group authentication.
func (b *builder) annotationOf(field string) string {
	key, method := policy.AnnotationBasicSecret, policy.AnnotationBasicSecret
	switch {
	case strings.HasPrefix(field, "external"):
		method = policy.AnnotationAuthURL
	case strings.HasPrefix(field, "clientCertificate"):
		method, key = policy.AnnotationClientCA, policy.AnnotationClientCA
	}
	_, own := b.route.Annotations[method]
	_, converted := b.route.Annotations[api.AnnotationIngressPolicy]
	switch {
	case converted && !own:
		key = api.AnnotationIngressPolicy
	case field == "clientCertificate.mode":
		key = policy.AnnotationClientCertificate
	case strings.HasPrefix(field, "basic.realm"):
		key = policy.AnnotationBasicRealm
	case strings.HasPrefix(field, "external.signIn"):
		key = policy.AnnotationAuthSignIn
	case strings.HasPrefix(field, "external.responseHeaders"):
		key = policy.AnnotationAuthResponseHeaders
	case strings.HasPrefix(field, "external.cache"):
		key = policy.AnnotationAuthCache
	case strings.HasPrefix(field, "external"):
		key = policy.AnnotationAuthURL
	case field == "satisfy":
		key = policy.AnnotationSatisfy
	case field == "":
		return "metadata.annotations"
	}
	return "metadata.annotations[" + key + "]"
}
