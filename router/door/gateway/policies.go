package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policies are what policies say about the requests of a rule that come in by some listeners.
type policies struct {
	selection *policy.Selection
	// effective is nil where no policy is for them.
	effective *policy.Effective
	spec      policy.Spec
	// object is the route.
	object model.Object
	// suffix ends the names of backends, where a rule has several of these.
	suffix string
	// agent is what the policy agent decides, keys are what HAProxy looks up, and mirror is
	// what is copied; each may be nil.
	agent  *model.Agent
	keys   *model.APIKeys
	mirror *model.Mirror
}

// closed reports whether no request may get through.
func (p *policies) closed() bool { return p.effective != nil && p.effective.Closed() }

// own reports whether a field of the rule says what holds of a group.
func (p *policies) own(g policy.Group) bool { return p.effective == nil || p.effective.FromOwn(g) }

// readPolicies reads what was selected for a rule, as the nth for it.
func (b *builder) readPolicies(r *rule, s *policy.Selection, n int) *policies {
	p := &policies{selection: s, object: b.result.Object, spec: policy.Spec{CheckInterval: cmp.Or(b.settings.CheckInterval, usualCheck), Forwarded: b.settings.Forwarded}}
	if n > 0 {
		p.suffix = fmt.Sprintf("-p%d", n)
	}
	b.dependOnPolicies(s)
	if s.Empty() {
		return p
	}
	if most := s.PatternsPerNamespace(); most > 0 {
		b.result.Patterns = most
	}
	e := s.Effective(policy.FromFields(b.result.Object, r.fields()))
	p.effective = e
	p.spec.Apply(e)
	p.spec.LeaveOwn(e)
	if slices.ContainsFunc(r.matches, func(m model.Match) bool { n, _ := m.Conditions.Expressions(); return n > 0 }) {
		s.BoundPath(e, b.result.Object, fmt.Sprintf("spec.rules[%d].matches", r.index))
	}
	e.OutOfReach(rulesOf(r.matches), b.wholePaths(), false)
	name := fmt.Sprintf("%03d%s", r.index, p.suffix)
	b.authenticate(p, name)
	b.countTogether(p)
	p.unidentified()
	b.unjudged(p)
	b.mirrorBy(p, name)
	b.unserved(p, r)
	b.sayPolicies(e)
	return p
}

// fields are the groups of policies that fields of the rule set, by these.
func (r *rule) fields() map[policy.Group]string {
	at := fmt.Sprintf("spec.rules[%d].", r.index)
	out := map[policy.Group]string{}
	for g, set := range map[policy.Group]bool{
		policy.GroupCORS: r.filters.cors != nil, policy.GroupRedirects: r.filters.redirect != nil,
		policy.GroupRewrite: r.filters.rewrite != nil, policy.GroupMirror: r.filters.mirror != nil,
	} {
		if set {
			out[g] = at + "filters"
		}
	}
	if r.filters.timeouts != (timeouts{}) {
		out[policy.GroupTimeouts] = at + "timeouts"
	}
	if r.filters.retry != (retry{}) {
		out[policy.GroupRetries] = at + "retry"
	}
	return out
}

// sayPolicies says what of policies keeps requests out, or has no effect, each once.
func (b *builder) sayPolicies(e *policy.Effective) {
	for _, f := range e.Findings(effectClosed) {
		f.Object = ref(b.result.Object)
		if f.Reason == api.ReasonPolicyClosed && b.closedText == "" {
			b.closedText = effectClosed + ": " + strings.TrimSpace(f.Field+" "+f.Message)
		}
		if !slices.Contains(b.result.Findings, f) {
			b.result.Findings = append(b.result.Findings, f)
		}
	}
}

// effectClosed is what clients get where what protects cannot be applied.
const effectClosed = "paths answer 503"

// close closes the paths for a part of a group in force, and leave leaves one out.
func (p *policies) close(g policy.Group, part string, reason api.Reason, message string) {
	p.effective.Closings = append(p.effective.Closings, p.complaint(g, part, reason, message, ""))
}

func (p *policies) leave(g policy.Group, part string, message, effect string) {
	p.effective.Unapplied = append(p.effective.Unapplied, p.complaint(g, part, api.ReasonPolicyNotApplicable, message, effect))
}

func (p *policies) complaint(g policy.Group, part string, reason api.Reason, message, effect string) policy.Closing {
	from := cmp.Or(p.effective.Origin(g), p.effective.Origin(policy.GroupAuthorization), &policy.Source{Key: p.object})
	return policy.Closing{Key: from.Key, Field: strings.TrimSuffix(from.Field(g)+"."+part, "."), Reason: reason, Message: message, Effect: effect}
}

// references returns what the source of a group may name: of the namespace that the
// administrators' have, else of its own.
func (b *builder) references(p *policies, g policy.Group, administrators string) *door.References {
	namespace := cmp.Or(administrators, b.route.Namespace)
	if from := p.effective.Origin(g); administrators == "" && from != nil {
		namespace = cmp.Or(from.Key.Namespace, namespace)
	}
	refs := &door.References{Result: b.result, Source: b.src, Namespace: namespace}
	if from := p.effective.Origin(g); from != nil {
		refs.From = from.Key
	}
	return refs
}

// mayAsk returns which hosts tenants may have asked, nil for each.
func (p *policies) mayAsk(administrators string) func(string) bool {
	if administrators != "" {
		return nil
	}
	return p.selection.MayAsk
}

// authenticate turns what clients have to show, and may do, into what the policy agent and
// HAProxy decide by.
func (b *builder) authenticate(p *policies, name string) {
	a, rules := p.spec.Groups.Authentication, p.spec.Groups.Authorization
	if a == nil && rules == nil {
		return
	}
	if a != nil && a.ClientCertificate != nil {
		p.close(policy.GroupAuthentication, "clientCertificate", api.ReasonPolicyNotApplicable, "clients of Gateways are asked for certificates by spec.tls.frontend of the Gateway")
	}
	if a != nil && a.OIDC != nil {
		p.close(policy.GroupAuthentication, "oidc", api.ReasonPolicyNotApplicable, "logins are for Routes and Ingresses; a Gateway's route can ask an auth server (external) or for tokens (jwt)")
	}
	if p.closed() {
		return
	}
	refs := b.references(p, policy.GroupAuthentication, p.spec.NamedIn)
	identities, limits := p.spec.Identities()
	asked, problems := authentication.Compile(authentication.Input{
		Spec: a, Rules: rules, Listed: p.spec.Listed, Route: b.result.Object, Rule: name, Namespace: refs.Namespace, References: refs,
		MayAsk: p.mayAsk(p.spec.NamedIn), Key: b.settings.Key, Identities: identities, Limits: limits,
		Now: b.past.Now, // certificates of clients are no Gateway's: closed above
	})
	b.result.Pending = b.result.Pending || refs.Pending
	for _, problem := range problems {
		if g := policy.Group(problem.Group); problem.Closes {
			p.close(g, problem.Field, cmp.Or(problem.Reason, api.ReasonPolicyClosed), problem.Message)
		} else {
			p.leave(g, problem.Field, problem.Message, "the policy is applied")
		}
	}
	if refs.Idle != "" {
		p.leave(policy.GroupAuthentication, "external.service", "no pod of Service "+refs.Idle+" is ready, which is asked about each request", "requests get 503")
	}
	p.keys = asked.Keys
	if p.agent = asked.Agent; p.agent != nil && b.settings.AgentLack() != "" {
		g := policy.GroupAuthentication
		if a == nil {
			g = policy.GroupAuthorization
		}
		p.close(g, "", api.ReasonPolicyClosed, b.settings.AgentLack())
	}
}

// countTogether closes where limits are to be counted over all replicas, and this router cannot
// do that.
func (b *builder) countTogether(p *policies) {
	from, some, n := p.spec.SharedLimits(p.effective)
	b.result.SharedLimits += n
	b.result.SharedLimitsBound = p.selection.SharedLimitsPerNamespace()
	if !some || from == nil {
		return
	}
	add := func(reason api.Reason, message string) {
		p.effective.Closings = append(p.effective.Closings, policy.Closing{Key: from.Key, Field: from.Field(policy.GroupLimits) + ".requests", Reason: reason, Message: message})
	}
	switch why := b.settings.AgentLack(); {
	case why != "":
		add(api.ReasonPolicyClosed, "scope Shared "+why)
	case b.past.Uncounted && n > 0:
		add(api.ReasonLimitExceeded, fmt.Sprintf("the routes of the namespace may have %d limits of scope Shared; older ones leave fewer than this one has", b.settings.SharedLimit(b.result.SharedLimitsBound)))
	}
}

// unidentified says which limits count by what authentication does not find out.
func (p *policies) unidentified() {
	for _, u := range p.spec.Unidentified(p.effective) {
		if u.From == nil {
			continue // there are no annotations
		}
		p.effective.Unapplied = append(p.effective.Unapplied, policy.Closing{
			Key: u.From.Key, Field: u.From.Field(policy.GroupLimits) + "." + u.Part, Reason: api.ReasonPolicyNotApplicable, Message: u.Message, Effect: policy.EffectUnidentified,
		})
	}
}

// unjudged closes where a firewall is to block, and the router has none.
func (b *builder) unjudged(p *policies) {
	why := b.settings.FirewallLack()
	if why == "" {
		return
	}
	for _, f := range p.effective.Firewalls {
		c := policy.Closing{Key: f.From.Key, Field: f.From.Field(policy.GroupFirewall), Reason: api.ReasonPolicyClosed, Message: why}
		if f.Mode == policy.FirewallBlock {
			p.effective.Closings = append(p.effective.Closings, c)
			continue
		}
		c.Reason, c.Effect = api.ReasonPolicyNotApplicable, "requests pass without being judged"
		p.effective.Unapplied = append(p.effective.Unapplied, c)
	}
}

// mirrorBy turns copies that a policy asks for into what the policy agent sends.
func (b *builder) mirrorBy(p *policies, name string) {
	m := p.spec.Groups.Mirror
	if m == nil {
		return
	}
	if why := b.settings.AgentLack(); why != "" {
		p.leave(policy.GroupMirror, "", why, policy.EffectNoMirror)
		return
	}
	refs := b.references(p, policy.GroupMirror, p.spec.MirrorIn)
	out, problems := authentication.CompileMirror(authentication.Input{
		Route: b.result.Object, Rule: name, Namespace: refs.Namespace, References: refs, MayAsk: p.mayAsk(p.spec.MirrorIn), Calls: b.grpc(),
	}, m)
	for _, problem := range problems {
		reason := cmp.Or(problem.Reason, api.ReasonPolicyNotApplicable)
		p.effective.Unapplied = append(p.effective.Unapplied, p.complaint(policy.GroupMirror, problem.Field, reason, problem.Message, policy.EffectNoMirror))
	}
	if refs.Idle != "" {
		p.leave(policy.GroupMirror, "", "no pod of Service "+refs.Idle+" is ready", policy.EffectNoMirror)
	}
	p.mirror = out
}

// unused is a group, or a part of one, that routes of Gateways have no use for, and why.
type unused struct {
	group   policy.Group
	part    string
	set     bool
	message string
	effect  string
}

// unserved closes, or leaves out, what routes of Gateways cannot have.
func (b *builder) unserved(p *policies, r *rule) {
	g := &p.spec.Groups
	if g.Upstream != nil && g.Upstream.TLS != nil {
		p.close(policy.GroupUpstreamTLS, "", api.ReasonPolicyNotApplicable, "is for Routes with re-encrypt termination; write a BackendTLSPolicy for the Service")
	}
	const none = "it has no effect"
	balanced := p.spec.Balance(false) != "" && r.filters.retry.repeat.Attempts > 0 && p.own(policy.GroupRetries)
	for _, u := range []unused{
		{policy.GroupAffinity, "", g.Affinity != nil, "sticky cookies are for Routes and Ingresses", none},
		{policy.GroupCanary, "", g.Canary != nil, "weights of backendRefs, and rules with matches, say it in the route", none},
		{policy.GroupHealth, "", g.Health != nil, "is for Routes and Ingresses", "HAProxy checks the endpoints by connections"},
		{policy.GroupUpstream, "", g.Upstream != nil && p.effective.Origin(policy.GroupUpstream) != nil, "is for Routes and Ingresses; the appProtocol of the Service's port says what pods speak", none},
		{policy.GroupBandwidth, "", g.Bandwidth != nil && !b.settings.Bandwidth, "unsupportedConfigOverrides.bandwidthLimits of the IngressController is not Enabled", "bandwidth is not limited"},
		{policy.GroupTracing, "", policy.Untraced(g.Tracing, b.settings.Tracing) != "", policy.Untraced(g.Tracing, b.settings.Tracing), policy.EffectUntraced},
		{policy.GroupPages, "noEndpoints", g.Pages != nil && g.Pages.NoEndpoints != nil, "is for Routes and Ingresses", none},
		{policy.GroupLoadBalancing, "", balanced, "the rule's retry has requests go to pods at random", none},
		{policy.GroupRedirects, "www", g.Redirects != nil && g.Redirects.WWW != "", "is for Routes and Ingresses; write an HTTPRoute with RequestRedirect for the other host", none},
		{policy.GroupRedirects, "https", g.Redirects != nil && g.Redirects.HTTPS != nil, "is for Routes and Ingresses; write an HTTPRoute with RequestRedirect for the listener of HTTP", none},
	} {
		if u.set {
			p.leave(u.group, u.part, u.message, u.effect)
		}
	}
	g.Affinity, g.Canary, g.Health = nil, nil, nil
}
