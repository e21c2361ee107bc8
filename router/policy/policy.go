// Package policy reads what users may ask of a router for one route or Ingress:
// one table of annotations leads to one typed Spec. It is pure.
package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Spec is what annotations ask for. The zero value of a field is the router's
// default, unless its comment says otherwise.
type Spec struct {
	// DisableCookies turns the sticky cookie off, whatever the group affinity says.
	DisableCookies bool
	// CookieSameSite is the attribute of a sticky cookie that is Secure, unless the group
	// affinity has one. Empty means None.
	CookieSameSite string
	// MaxConn bounds the connections to each endpoint.
	MaxConn int
	// CheckInterval is the time between health checks, and never zero.
	CheckInterval time.Duration
	// Exact and Fallback say how the path matches; the default is by prefix.
	Exact, Fallback bool
	AdjustCase      bool
	Forwarded       model.Forwarded
	// HSTS is the value of Strict-Transport-Security.
	HSTS string
	// Restricted admits only clients in Allow.
	Restricted bool
	Allow      []netip.Prefix
	// Limits are zero unless they are switched on.
	Limits model.Limits
	// ServerName is what the certificate of a pod must be for.
	ServerName string
	// Deny and Sizes are what policies add: clients that are refused, and limits of
	// which each holds.
	Deny  []netip.Prefix
	Sizes []*v1alpha1.Limits
	// Firewalls are those of policies, each of which a request must pass.
	Firewalls []*v1alpha1.Firewall
	// Listed are addresses that are enough in place of what the group authentication asks
	// for (satisfy Any). They are not in Allow.
	Listed []netip.Prefix
	// Measure is how requests are counted.
	Measure model.Measure
	// NamedIn is the namespace of what the group authentication names; empty means that
	// of the object.
	NamedIn string
	// UpstreamIn is the same for the group upstream.
	UpstreamIn string
	// MirrorIn is the same for the group mirror.
	MirrorIn string
	// Groups are the typed groups that annotations fill. A group is never changed
	// once it is read, so Specs may share it.
	Groups v1alpha1.PolicySpec

	limit bool
}

// Compile adds what annotations and policies ask for to a policy, beyond what each termination has
// of its own. Nothing is wrong with what was read.
func (s *Spec) Compile(p *model.Policy) {
	p.Restricted, p.Allow, p.Limits, p.Deny = s.Restricted, s.Allow, s.Limits, slices.Clone(s.Deny)
	for _, l := range s.Sizes {
		compileSizes(l, p)
		compileCounts(l, p)
	}
	for _, f := range s.Firewalls {
		compileFirewall(f, p)
	}
	Compile(&s.Groups, p)
}

// Compile adds typed groups to what a policy has, and returns what is wrong with
// them. What protects only ever gets stricter by it.
func Compile(g *v1alpha1.PolicySpec, p *model.Policy) []Problem {
	return slices.Concat(compileAccess(g.Access, p), compileRedirects(g.Redirects, p), compileCORS(g.CORS, p),
		compileMaintenance(g.Maintenance, p), compileLog(g.Log, p), compileSizes(g.Limits, p), compileCounts(g.Limits, p), compileTimeouts(g.Timeouts, p),
		compileRewrite(g.Rewrite, p), compileHeaders(g.Headers, p), compileCookies(g.Cookies, p), compileLocation(g.Location, p),
		compileRetries(g.Retries, p), compileHealth(g.Health), compileLoadBalancing(g.LoadBalancing, p), compileAffinity(g.Affinity), compileUpstream(g.Upstream), compileCanary(g.Canary, p), compileFault(g.Fault, p), compileMirror(g.Mirror), compileBandwidth(g.Bandwidth, p), compileTracing(g.Tracing), compileFirewall(g.Firewall, p))
}

// Problem is what is wrong with one annotation, or with one field of a policy.
type Problem struct {
	// Key is the annotation, or the path of the field below spec.
	Key      string
	Severity api.Severity
	Reason   api.Reason
	// Message and Effect are as in api.Finding; the effect of what closes is the
	// door's to name.
	Message, Effect string
	// Closes means that no request of the object may reach a pod, because it is
	// not known which ones are to be kept out.
	Closes bool
}

func closing(key, message string) Problem {
	return Problem{Key: key, Severity: api.SeverityError, Reason: api.ReasonPolicyClosed, Message: message, Closes: true}
}

// effectDefault is what happens to what cannot be used and protects nothing.
const effectDefault = "the default is used"

// Read returns what annotations ask for, on top of the defaults, and what is
// wrong with them, in the order of the table. If closed is true, no request gets
// through anyway: then what protects is not looked at.
func Read(annotations map[string]string, defaults Spec, t model.Termination, closed bool) (Spec, []Problem) {
	s := defaults
	s.Groups = v1alpha1.PolicySpec{}
	var problems []Problem
	for i := range table {
		row := &table[i]
		v, set := annotations[row.Key]
		if !set || row.set == nil || row.protects != nil && closed {
			continue
		}
		before := s
		err := row.set(&s, v)
		switch {
		case err == nil && !row.Applies(t) && row.demands:
			problems = append(problems, closing(row.Key, inapplicable(t)))
		case err == nil && !row.Applies(t):
			s = row.withoutEffect(&before, &s)
			problems = append(problems, row.ignored("has no effect with "+terminationName(t)+" termination"))
		case err == nil && row.limit && !s.limit:
			problems = append(problems, row.ignored("has no effect without "+api.AnnotationLimit+`: "true"`))
		case err == nil:
		case row.protects != nil && row.protects(&before):
			problems = append(problems, closing(row.Key, err.Error()))
		default:
			s = before
			p := Problem{Key: row.Key, Severity: api.SeverityWarning, Reason: ReasonOf(err, api.ReasonInvalidAnnotation), Message: err.Error(), Effect: effectDefault}
			if row.wrong != nil {
				p.Effect = row.wrong(&s)
			}
			problems = append(problems, p)
		}
	}
	if !s.limit {
		s.Limits = model.Limits{}
	}
	problems = append(problems, s.alone(annotations, problems)...)
	if closed {
		return s, problems
	}
	if message := s.TooManyLimits(); message != "" {
		problems = append(problems, closing(AnnotationLimit, message))
	}
	for _, p := range []*Problem{s.readAllowlist(annotations), s.setAllow(annotations)} {
		if p != nil {
			problems = append(problems, *p)
		}
	}
	return s, append(problems, unknown(annotations)...)
}

// inapplicable says why what a route must not be served without cannot be applied.
func inapplicable(t model.Termination) string {
	if t == model.Plain {
		return "cannot be applied without TLS; set spec.tls"
	}
	return "cannot be applied with " + terminationName(t) + " termination, whose requests the router does not see"
}

// Protection returns the same as Read for what protects, and whether something
// that protects cannot be read: then it is not known what it keeps out.
func Protection(annotations map[string]string, defaults Spec) (s Spec, unreadable bool) {
	s, problems := Read(annotations, defaults, model.Plain, false)
	return s, slices.ContainsFunc(problems, func(p Problem) bool { return p.Closes })
}

// alone finds annotations that say more about what no other one asks for.
func (s *Spec) alone(annotations map[string]string, wrong []Problem) []Problem {
	var problems []Problem
	for _, of := range [][2]string{
		{AnnotationCORSCredentials, AnnotationCORSOrigins},
		{AnnotationLimitKey, AnnotationLimit},
		{AnnotationLimitScope, AnnotationLimit},
		{AnnotationBasicRealm, AnnotationBasicSecret},
		{AnnotationAuthSignIn, AnnotationAuthURL},
		{AnnotationAuthResponseHeaders, AnnotationAuthURL},
		{AnnotationAuthCache, AnnotationAuthURL},
		{AnnotationClientCertificate, AnnotationClientCA},
	} {
		if _, set := annotations[of[0]]; !set || slices.ContainsFunc(wrong, func(p Problem) bool { return p.Key == of[0] }) {
			continue
		}
		if _, set := annotations[of[1]]; !set {
			problems = append(problems, withoutEffect(of[0], of[1]))
		}
	}
	if _, set := annotations[AnnotationRedirectCode]; set && annotations[AnnotationRedirect]+annotations[AnnotationRedirectPattern] == "" &&
		!slices.ContainsFunc(wrong, func(p Problem) bool { return p.Key == AnnotationRedirectCode }) {
		problems = append(problems, withoutEffect(AnnotationRedirectCode, AnnotationRedirect+" or "+AnnotationRedirectPattern))
	}
	unread := slices.ContainsFunc(wrong, func(p Problem) bool { return p.Key == AnnotationSatisfy })
	if _, set := annotations[AnnotationSatisfy]; set && !unread && s.Groups.Authentication == nil && annotations[AnnotationBasicSecret]+annotations[AnnotationAuthURL] == "" {
		problems = append(problems, withoutEffect(AnnotationSatisfy, AnnotationBasicSecret+" or "+AnnotationAuthURL))
	}
	_, set := annotations[AnnotationCORSOrigins]
	if _, converted := annotations[api.AnnotationIngressPolicy]; !set && !converted {
		s.Groups.CORS = nil
	}
	return problems
}

func withoutEffect(key, without string) Problem {
	return Problem{Key: key, Severity: api.SeverityInfo, Reason: api.ReasonAnnotationIgnored, Message: "has no effect without " + without}
}

// withoutEffect returns what holds after an annotation that does not apply: a policy may
// have a use for the group that the annotation is a part of.
func (a *Annotation) withoutEffect(before, after *Spec) Spec {
	if a.Group == GroupAffinity || a.Key == api.AnnotationSLO {
		return *before
	}
	return *after
}

// ignored describes an annotation that is right and changes nothing. One that is
// meant to protect is more than a hint.
func (a *Annotation) ignored(why string) Problem {
	p := Problem{Key: a.Key, Severity: api.SeverityInfo, Reason: api.ReasonAnnotationIgnored, Message: why}
	if a.protects != nil {
		p.Severity = api.SeverityWarning
	}
	return p
}

// Applies reports whether routes with a termination have any use for an
// annotation.
func (a *Annotation) Applies(t model.Termination) bool {
	return slices.Contains(a.Terminations, terminationName(t))
}

// Protects reports whether an annotation of ours can keep requests away.
func Protects(key string) bool {
	return slices.ContainsFunc(table, func(a Annotation) bool { return a.Key == key && a.protects != nil })
}

func terminationName(t model.Termination) string { return cmp.Or(string(t), "plain") }
