package route

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policy turns annotations and header actions into what HAProxy's rules read.
func (b *builder) policy(c *model.Claim, spec *policy.Spec) (model.Policy, bool) {
	var p model.Policy
	spec.Compile(&p)
	if c.Termination == model.Passthrough {
		p.Limits.Requests, p.Sizes, p.Redirects, p.CORS, p.Maintenance, p.Unlogged, p.Timeouts = 0, model.Sizes{}, nil, nil, nil, 0, model.Timeouts{}
		p.RequestHeaders, p.ResponseHeaders, p.PodHost, p.RequestID = nil, nil, "", model.RequestIDNone
		p.Cookies, p.Location, p.Fault, p.Mirror, p.Firewall = nil, nil, nil, nil, nil
		p.Bandwidth, p.Tracing = model.Bandwidth{}, model.Tracing{}
		p.Rates, p.Concurrents, p.Identified, p.IdentifiedConcurrents, p.Shared, p.SharedIdentified = nil, nil, nil, nil, nil, nil
		p.Canary, p.Hash, p.RetryAll = nil, nil, false
		return p, true
	}
	p.Agent, p.APIKeys, p.ClientCertificate = b.agent, b.keys, b.upstream.client
	p.Certificate, p.Mirror = b.client, b.mirror
	p.UnidentifiedShared()
	p.Counted = b.counted(c, p.Shared)
	b.unidentified(spec, b.result.Effective)
	if b.settings.FirewallLack() != "" {
		p.Firewall = nil // what it would block is closed: firewalls
	}
	b.boundBandwidth(&p)
	b.trace(&p, spec)
	b.withoutLoops(c, &p)
	if spec.Forwarded != model.ForwardedAppend {
		p.Forwarded = spec.Forwarded
	}
	p.Rewrite = spec.Rewrite(&c.Match)
	b.boundPatterns(&p)
	p.Pages = b.pages(spec)
	if c.Termination != model.Plain {
		p.HSTS = spec.HSTS
	}
	var own routev1.RouteHTTPHeaderActions
	if h := b.route.Spec.HTTPHeaders; h != nil {
		own = h.Actions
	}
	request, ok1 := b.headers("request", "req", own.Request)
	response, ok2 := b.headers("response", "res", own.Response)
	p.RequestHeaders = b.withPolicy("request", p.RequestHeaders, request)
	p.ResponseHeaders = b.withPolicy("response", p.ResponseHeaders, response)
	return p, ok1 && ok2
}

// boundPatterns leaves the patterns of a route out that is one too many.
func (b *builder) boundPatterns(p *model.Policy) {
	if !b.past.Unpatterned {
		return
	}
	find := func(group policy.Group, key, part, effect string) {
		field, message := "metadata.annotations["+key+"]", b.settings.TooManyPatterns(b.result.Patterns)
		if from := b.result.Effective.Origin(group); from != nil && policy.IsKind(from.Key.Kind) {
			field, message = "", from.Title()+" "+from.Field(group)+part+": "+message
		}
		b.find(api.SeverityWarning, field, api.ReasonLimitExceeded, message, effect)
	}
	if r := p.Rewrite; r != nil && r.Regex != nil {
		r.Regex.Unused = true
		find(policy.GroupRewrite, policy.AnnotationRewrite, ".regex", "the path stays as it is")
	}
	if !model.Patterned(p.Redirects) {
		return
	}
	p.Redirects = model.Unpatterned(p.Redirects)
	find(policy.GroupRedirects, policy.AnnotationRedirectPattern, ".rules", "redirects by expressions are not applied")
}

// boundBandwidth leaves limits out that the router has no filters for.
func (b *builder) boundBandwidth(p *model.Policy) {
	if p.Bandwidth == (model.Bandwidth{}) || b.settings.Bandwidth {
		return
	}
	p.Bandwidth = model.Bandwidth{}
	field, message := "metadata.annotations["+policy.AnnotationDownload+"]", "unsupportedConfigOverrides.bandwidthLimits of the IngressController is not Enabled"
	if _, set := b.route.Annotations[policy.AnnotationDownload]; !set {
		field = "metadata.annotations[" + policy.AnnotationUpload + "]"
	}
	if from := b.result.Effective.Origin(policy.GroupBandwidth); from != nil && policy.IsKind(from.Key.Kind) {
		field, message = "", from.Title()+" "+from.Field(policy.GroupBandwidth)+": "+message
	}
	b.find(api.SeverityWarning, field, api.ReasonPolicyNotApplicable, message, "bandwidth is not limited")
}

// trace has requests traced as the router and policies say.
func (b *builder) trace(p *model.Policy, spec *policy.Spec) {
	p.Tracing = policy.Trace(spec.Groups.Tracing, b.settings.Tracing)
	message := policy.Untraced(spec.Groups.Tracing, b.settings.Tracing)
	if message == "" {
		return
	}
	field := "metadata.annotations[" + api.AnnotationIngressPolicy + "]"
	if from := b.result.Effective.Origin(policy.GroupTracing); from != nil && policy.IsKind(from.Key.Kind) {
		field, message = "", from.Title()+" "+from.Field(policy.GroupTracing)+": "+message
	}
	b.find(api.SeverityWarning, field, api.ReasonPolicyNotApplicable, message, policy.EffectUntraced)
}

// asked returns nothing for a policy that asks for nothing: thousands of claims do, and
// a policy is as large as the rest of a claim.
func asked(p model.Policy) *model.Policy {
	if reflect.ValueOf(p).IsZero() {
		return nil
	}
	return &p
}

// cookie returns the sticky cookie of a claim.
func (b *builder) cookie(c *model.Claim, spec *policy.Spec) model.Cookie {
	secure := c.Termination != model.Plain && c.Insecure != model.InsecureAllow
	out, problems := spec.StickyCookie(defaultCookieName(c.Owner), c.Host, secure)
	for _, p := range problems {
		field, message := "metadata.annotations["+api.AnnotationIngressPolicy+"]", p.Key+": "+p.Message
		if from := b.result.Effective.Origin(policy.GroupAffinity); from != nil && policy.IsKind(from.Key.Kind) {
			field, message = "", from.Title()+" spec."+message
		}
		b.find(p.Severity, field, p.Reason, message, p.Effect)
	}
	return out
}

// withPolicy adds the changes of headers that a policy asks for to those of the route.
// The source of the higher rank has the last word. If both together do not fit into
// HAProxy's buffer, those of the policy are left out: the route was checked alone.
func (b *builder) withPolicy(direction string, asked, own []model.HeaderAction) []model.HeaderAction {
	if len(asked) == 0 {
		return own
	}
	from := b.result.Effective.Origin(policy.GroupHeaders)
	if from == nil { // the annotation of the operator, without any policy
		from = &policy.Source{Rank: policy.RankAnnotations, Key: b.result.Object, Fields: map[policy.Group]string{
			policy.GroupHeaders: "metadata.annotations[" + api.AnnotationIngressPolicy + "]",
		}}
	}
	if total, most := headerBytes(asked)+headerBytes(own), b.headerBytes(); total > most {
		b.find(api.SeverityWarning, "", api.ReasonPolicyNotApplicable,
			fmt.Sprintf("%s %s.%s: adds up to more than %d bytes with the Route's own changes, which may not fit in HAProxy's buffer", from.Title(), from.Field(policy.GroupHeaders), direction, most),
			"it has no effect")
		return own
	}
	if from.Rank < policy.RankAnnotations {
		return slices.Concat(own, asked)
	}
	return slices.Concat(asked, own)
}

func headerBytes(actions []model.HeaderAction) (total int) {
	for _, a := range actions {
		total += len(a.Name) + len(a.Value)
	}
	return total
}

// headerBytes is how much changes of headers may add to a message.
func (b *builder) headerBytes() int { return cmp.Or(b.settings.HeaderBytes, defaultHeaderBytes) }

// withoutLoops takes out redirects that lead to themselves.
func (b *builder) withoutLoops(c *model.Claim, p *model.Policy) {
	site := policy.Site{
		Host: c.Host, Path: match.Rule{Path: c.Path, Exact: c.Exact}, HTTP: c.Termination == model.Plain || c.Insecure == model.InsecureAllow, HTTPS: c.Termination != model.Plain,
	}
	good, loops := policy.WithoutLoops(p.Redirects, site)
	if len(loops) > 0 {
		field, message := "metadata.annotations["+policy.AnnotationRedirect+"]", "the address that it leads to is redirected, too, and so on without end"
		if from := b.result.Effective.Origin(policy.GroupRedirects); from != nil && policy.IsKind(from.Key.Kind) {
			field, message = "", from.Title()+" "+from.Field(policy.GroupRedirects)+": "+message
		}
		b.find(api.SeverityWarning, field, api.ReasonRedirectLoop, message, "it redirects nothing")
	}
	p.Redirects = good
}

// defaultHeaderBytes is the default of Settings.HeaderBytes.
const defaultHeaderBytes = 8192

// headers checks the header actions of one direction.
func (b *builder) headers(direction, fetch string, actions []routev1.RouteHTTPHeader) ([]model.HeaderAction, bool) {
	field := "spec.httpHeaders.actions." + direction
	var out []model.HeaderAction
	for _, a := range actions {
		item := field + "[" + a.Name + "]"
		h := model.HeaderAction{Name: a.Name, Delete: a.Action.Type == routev1.Delete}
		if a.Action.Set != nil {
			h.Value = a.Action.Set.Value
		}
		if f, problem := h.Problem(fetch, a.Action.Type == routev1.Set, model.ReservedHeaders()); problem != "" {
			return nil, b.refuse(item+f, api.ReasonInvalidField, problem)
		}
		out = append(out, h)
	}
	if most := b.headerBytes(); headerBytes(out) > most {
		return nil, b.refuse(field, api.ReasonInvalidField,
			fmt.Sprintf("adds up to more than %d bytes, which may not fit in HAProxy's buffer (spec.tuningOptions.headerBufferMaxRewriteBytes of the IngressController)", most))
	}
	return out, true
}

// readAnnotations reads what the route's annotations ask for, and whether one that
// protects something cannot be used: then nothing may get through.
func (b *builder) readAnnotations(c *model.Claim) (spec policy.Spec, closed bool) {
	spec, problems := policy.Read(b.route.Annotations, defaults(b.settings), c.Termination, Closed(b.route))
	for _, p := range problems {
		if p.Closes {
			closed = true
			p.Effect = effectClosed(c.Termination)
		}
		b.find(p.Severity, "metadata.annotations["+p.Key+"]", p.Reason, p.Message, p.Effect)
	}
	if m := spec.Measure; m.Asks() {
		b.result.Measure = &m
	}
	// What the table says of plain routes, it has reported.
	if spec.ToHTTPS() != (model.ToHTTPS{}) && c.Insecure != model.InsecureRedirect && c.Termination != model.Plain {
		b.find(api.SeverityInfo, "metadata.annotations["+policy.RedirectStatus+"]", api.ReasonAnnotationIgnored,
			"has no effect unless spec.tls.insecureEdgeTerminationPolicy is Redirect", "")
	}
	return spec, closed
}

// effectClosed is what clients get of a route whose protection cannot be read.
func effectClosed(t model.Termination) string {
	if t == model.Passthrough {
		return "connections are closed"
	}
	return "paths answer 503"
}

// defaults are what holds without annotations.
func defaults(s door.Settings) policy.Spec {
	return policy.Spec{CheckInterval: cmp.Or(s.CheckInterval, 5*time.Second), Forwarded: s.Forwarded}
}

// defaultCookieName is what OpenShift's router calls a route's cookie.
func defaultCookieName(k model.Object) string {
	return backend.MD5(" " + k.Namespace + ":" + k.Name)
}
