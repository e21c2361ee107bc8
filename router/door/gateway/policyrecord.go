package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// byListener reports whether what policies say depends on match and listener, and byMatch
// whether on the match.
func (p *policies) byListener() bool { return p.spec.Groups.Redirects != nil }

func (p *policies) byMatch() bool { return p.spec.Groups.Rewrite != nil }

// complete returns what HAProxy does to the requests of a match that come in by a listener: what
// policies say, and in place of their groups what fields of the rule say where these win.
func (p *policies) complete(b *builder, rule model.Policy, l *listener, r *rule, m int, name string) model.Policy {
	var out model.Policy
	p.spec.Compile(&out)
	out.Agent, out.APIKeys, out.Mirror = p.agent, p.keys, p.mirror
	out.Rewrite = p.spec.Rewrite(&r.matches[m])
	out.Tracing = policy.Trace(p.spec.Groups.Tracing, b.settings.Tracing)
	if p.own(policy.GroupCORS) {
		out.CORS = rule.CORS
	}
	if p.own(policy.GroupRedirects) {
		out.Redirects = rule.Redirects
	}
	if p.own(policy.GroupRewrite) {
		out.Rewrite, out.PodHost = rule.Rewrite, rule.PodHost
	}
	if p.own(policy.GroupTimeouts) {
		out.Timeouts = rule.Timeouts
	}
	if p.own(policy.GroupMirror) {
		out.Mirror = rule.Mirror
	}
	if p.own(policy.GroupRetries) {
		out.RetryAll = rule.RetryAll
	}
	out.RequestHeaders = p.withHeaders(b, "request", out.RequestHeaders, rule.RequestHeaders)
	out.ResponseHeaders = p.withHeaders(b, "response", out.ResponseHeaders, rule.ResponseHeaders)
	p.withoutLoops(b, &out, l, &r.matches[m])
	p.bound(b, &out)
	out.Pages = p.pages(b)
	out.UnidentifiedShared()
	counted, err := authentication.CompileCounted(b.result.Object, name, out.Shared)
	if err != nil { // without it, requests of the record get 503
		b.find(api.SeverityError, "", api.ReasonPolicyClosed, "limits of scope Shared: "+err.Error(), effectClosed)
	}
	out.Counted = counted
	return out
}

// withHeaders adds the changes of headers that a policy asks for to those of the rule. The
// source of the higher rank has the last word.
func (p *policies) withHeaders(b *builder, direction string, asked, own []model.HeaderAction) []model.HeaderAction {
	from := p.effective.Origin(policy.GroupHeaders)
	if len(asked) == 0 || from == nil {
		return own
	}
	if most := b.mostHeaderBytes(); headerBytes(asked)+headerBytes(own) > most {
		b.findOnce(api.SeverityWarning, api.ReasonPolicyNotApplicable, from.Title()+" "+from.Field(policy.GroupHeaders)+"."+direction+
			fmt.Sprintf(": adds up to more than %d bytes with the rule's own changes, which may not fit in HAProxy's buffer", most), "it has no effect")
		return own
	}
	if from.Rank < policy.RankAnnotations {
		return slices.Concat(own, asked)
	}
	return slices.Concat(asked, own)
}

// findOnce reports about a policy.
func (b *builder) findOnce(severity api.Severity, reason api.Reason, message, effect string) {
	f := api.Finding{Object: ref(b.result.Object), Reason: reason, Message: message, Severity: severity, Effect: effect}
	if !slices.Contains(b.result.Findings, f) {
		b.result.Findings = append(b.result.Findings, f)
	}
}

// withoutLoops takes out redirects of policies that lead to themselves, at any host of the
// route.
func (p *policies) withoutLoops(b *builder, out *model.Policy, l *listener, m *model.Match) {
	if p.own(policy.GroupRedirects) {
		return
	}
	secure := l.spec.Protocol == gatewayv1.HTTPSProtocolType
	for _, host := range b.hostsOf(l) {
		good, loops := policy.WithoutLoops(out.Redirects, policy.Site{Host: named(host), Path: match.Rule{Path: m.Path, Exact: m.Exact}, HTTP: !secure, HTTPS: secure})
		if out.Redirects = good; len(loops) > 0 {
			from := p.effective.Origin(policy.GroupRedirects)
			b.findOnce(api.SeverityWarning, api.ReasonRedirectLoop, from.Title()+" "+from.Field(policy.GroupRedirects)+": the address that it leads to is redirected, too, and so on without end", "it redirects nothing")
		}
	}
}

// bound leaves out what the router has no means for, or too little.
func (p *policies) bound(b *builder, out *model.Policy) {
	if b.settings.FirewallLack() != "" {
		out.Firewall = nil // what it would block is closed: unjudged
	}
	if !b.settings.Bandwidth {
		out.Bandwidth = model.Bandwidth{}
	}
	if !b.past.Unpatterned {
		return
	}
	say := func(g policy.Group, effect string) {
		from := p.effective.Origin(g)
		b.findOnce(api.SeverityWarning, api.ReasonLimitExceeded, from.Title()+" "+from.Field(g)+": "+b.settings.TooManyPatterns(b.result.Patterns), effect)
	}
	if r := out.Rewrite; r != nil && r.Regex != nil {
		r.Regex.Unused = true
		say(policy.GroupRewrite, "the path stays as it is")
	}
	if !model.Patterned(out.Redirects) {
		return
	}
	out.Redirects = model.Unpatterned(out.Redirects)
	say(policy.GroupRedirects, "redirects by expressions are not applied")
}

// pages reads the error pages that policies ask for, and reports those that cannot be shown.
func (p *policies) pages(b *builder) *model.Pages {
	from := p.effective.Origin(policy.GroupPages)
	if from == nil {
		return nil
	}
	namespace := cmp.Or(from.Key.Namespace, api.OperandNamespace)
	say := func(problem policy.Problem) {
		b.findOnce(problem.Severity, problem.Reason, from.Title()+" spec."+problem.Key+": "+problem.Message, problem.Effect)
	}
	refs := &door.References{Result: b.result, Source: b.src, Namespace: namespace, From: from.Key}
	reader := policy.PageReader{ConfigMap: refs.ConfigMap, Service: func(*v1alpha1.PageService, []int) (*policy.ServicePages, *policy.Problem) {
		return nil, &policy.Problem{Reason: api.ReasonPolicyNotApplicable, Message: "Services are asked for pages of Routes and Ingresses only", Effect: "it shows no page"}
	}}
	pages, problems := reader.Read(p.spec.Groups.Pages)
	for _, problem := range problems {
		say(problem)
	}
	if pages != nil && b.past.Unpaged {
		all, ofNamespace := b.settings.PageLimits()
		pages.Unused = true
		say(policy.Problem{
			Key: "pages", Severity: api.SeverityWarning, Reason: api.ReasonLimitExceeded, Effect: "the route shows none of its pages",
			Message: fmt.Sprintf("with those of older routes the pages are more than %d bytes in the namespace, or %d in the router", ofNamespace, all),
		})
	}
	return pages
}

// balance has pods share requests as policies say, and tried again.
func (p *policies) balance(profile *model.Profile, r *rule) {
	own := p.own(policy.GroupRetries)
	if own {
		r.filters.retry.profile(profile)
	} else {
		profile.Retry = p.spec.Retry()
	}
	if asked := p.spec.Balance(false); asked != "" && profile.Repeat.Attempts == 0 {
		profile.Balance = asked
	}
}

// hashByAddress has the balance KeyHash lead to servers by their addresses.
func (m *made) hashByAddress() {
	all := []*model.Backend{&m.backend}
	for i := range m.split {
		all = append(all, &m.split[i].Backend)
	}
	for _, backend := range all {
		backend.Servers = slices.Clone(backend.Servers)
		for i := range backend.Servers {
			backend.Servers[i].Options.HashByAddress = true
		}
	}
}
