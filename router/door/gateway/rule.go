package gateway

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// rule is one of the route's, read once for all of its claims.
type rule struct {
	index   int
	matches []model.Match
	filters filters
	targets targets
	// secured are those of connections whose TLS the router ends, nil where they are the same.
	secured *targets
	// unread are the matches that cannot be read, by their numbers.
	unread map[int]bool
	// place is what policies find the rule by, nil until it is asked for, and policies are what
	// they say, each for some listeners.
	place      *policy.Place
	policies   []*policies
	byListener map[model.ScopeID]*policies
	// made are the backends that claims of the rule have so far, by name.
	made map[string]*made
	// shown are the targets by the Gateways that show pods a certificate.
	shown map[model.Object]*targets
}

// made is what claims of a rule share.
type made struct {
	backend model.Backend
	split   []model.Target
}

// rules reads the rules of the route.
func (b *builder) rules() []rule {
	out := make([]rule, len(b.route.Spec.Rules))
	for i := range b.route.Spec.Rules {
		r, field := &b.route.Spec.Rules[i], fmt.Sprintf("spec.rules[%d]", i)
		out[i] = rule{index: i, made: map[string]*made{}, shown: map[model.Object]*targets{}}
		out[i].matches, out[i].unread = b.matchesOf(r, field)
		out[i].filters = b.filters(r, field)
		if out[i].filters.redirect == nil {
			out[i].targets = b.targets(r, field)
			out[i].secured = b.securedTargets(r, field)
		}
		if r.SessionPersistence != nil {
			b.unsupported(field+".sessionPersistence", "is not served")
		}
	}
	return out
}

// target says where the requests of a claim go. Claims share a backend unless what is done
// to requests depends on their match or listener.
func (b *builder) target(c *model.Claim, l *listener, r *rule, m int) {
	p := &policies{}
	if b.policed() {
		p = b.policiesOf(r, l)
	}
	if p.effective != nil {
		b.noteEffective(c, p.effective)
	}
	if p.closed() {
		*c = *closed(c)
		return
	}
	t := b.targetsAt(l, r)
	if c.Answer = t.answer; c.Answer != 0 {
		return
	}
	name := ruleName(r, t)
	switch {
	case r.filters.redirect != nil || p.byListener():
		name = fmt.Sprintf("%s-%03d-%s", name, m, l.scope)
	case r.filters.byMatch() || t.byMatch() || p.byMatch() || r.filters.retry.all(&r.matches[m]):
		name = fmt.Sprintf("%s-%03d", name, m)
	}
	name += p.suffix
	known := r.made[name]
	if known == nil {
		known = b.make(l, r, m, name, p)
		r.made[name] = known
		c.Checks = t.checks(!t.counted)
		t.counted = true
	}
	c.Backend, c.Split = known.backend, known.split
}

// ruleName tells apart the backends of a rule, of each Gateway that shows pods a certificate.
func ruleName(r *rule, t *targets) string { return fmt.Sprintf("%03d", r.index) + t.by }

// targetsAt returns the targets of requests that come in by a listener.
func (b *builder) targetsAt(l *listener, r *rule) *targets {
	base := &r.targets
	if r.secured != nil && l.secure() {
		base = r.secured
	}
	if !base.verified() {
		return base
	}
	shown, key := b.podCertificate(l.gateway), gatewayObject(l.gateway)
	if shown == nil {
		return base
	}
	if r.shown[key] == nil {
		r.shown[key] = base.showing(shown, "-"+string(model.NewScope(key, "")))
		if shown.certificate == nil {
			b.find(api.SeverityWarning, fmt.Sprintf("spec.rules[%d]", r.index), api.ReasonInvalidClientCertificateRef,
				fmt.Sprintf("pods are to be shown the certificate of Gateway %s/%s, which cannot be used", key.Namespace, key.Name),
				b.shownNothing(base))
		}
	}
	return r.shown[key]
}

// shownNothing says what becomes of what comes in by a Gateway without a certificate for pods.
func (b *builder) shownNothing(t *targets) string {
	if b.stream() {
		return "connections that come in by that Gateway, and whose TLS ends there, are closed"
	}
	return fmt.Sprintf("requests that come in by that Gateway are answered with %d", t.answerInvalid)
}

// make makes the backends of claims.
func (b *builder) make(l *listener, r *rule, m int, name string, of *policies) *made {
	profile := model.Profile{Balance: cmp.Or(b.settings.Balance, model.Random)}
	if profile.Balance == model.KeyHash {
		profile.Balance = model.Random
	}
	of.balance(&profile, r)
	t := b.targetsAt(l, r)
	out := &made{backend: model.Backend{Kind: model.KindHTTP, Owner: b.result.Object, Rule: name, Profile: profile}}
	if b.stream() {
		out.backend.Kind, out.backend.Profile.TCP = model.KindTCP, true
		var p model.Policy
		if out.split = t.share(&p, &out.backend, &r.matches[m], ruleName(r, t)); p.Canary != nil {
			out.backend.Asks = &p
		}
		return out
	}
	p := r.filters.policy(l, &r.matches[m])
	p.RetryAll = r.filters.retry.all(&r.matches[m])
	p.Tracing = b.settings.Tracing
	if of.effective != nil {
		p = of.complete(b, p, l, r, m, name)
	}
	if profile.Balance != model.KeyHash {
		p.Hash = nil
	}
	p.Forwarded = b.settings.Forwarded
	if p.Forwarded == model.ForwardedAppend {
		p.Forwarded = ""
	}
	if b.grpc() {
		// Calls stay open without a message for as long as client and pod want.
		p.Timeouts.Idle = cmp.Or(p.Timeouts.Idle, b.settings.Tunnel, model.DefaultTunnel)
	}
	p.ClientCertificate = t.shown
	out.split = t.share(&p, &out.backend, &r.matches[m], ruleName(r, t))
	if profile.Balance == model.KeyHash {
		out.hashByAddress()
	}
	if !reflect.ValueOf(p).IsZero() {
		out.backend.Asks = &p
	}
	return out
}

// share has branches of the policy get what the first target does not: each valid one its
// own weight, and the router's own answer that of those that are not.
func (t *targets) share(p *model.Policy, own *model.Backend, m *model.Match, rule string) (split []model.Target) {
	if len(t.branches) > 0 {
		own.Servers, own.CA = t.branches[0].servers, t.branches[0].ca
		t.branches[0].filters.change(p, m, "")
	}
	if len(t.branches) < 2 && t.invalid == 0 {
		return nil
	}
	k := &model.Canary{Total: t.invalid}
	for i, from := range t.branches {
		k.Total += from.weight
		if i == 0 {
			continue
		}
		to := *own
		to.Rule, to.Servers = model.BranchRule(rule, strconv.Itoa(i)), from.servers
		to.CA = from.ca
		split = append(split, model.Target{Backend: to})
		from.filters.change(p, m, to.Name())
		k.Branches = append(k.Branches, model.Branch{Backend: to.Name(), Weight: from.weight, ID: model.BranchID(to.Rule)})
	}
	if t.invalid > 0 {
		answer := model.AnswerBackend(int(t.answerInvalid))
		k.Branches = append(k.Branches, model.Branch{Backend: answer, Weight: t.invalid, ID: model.BranchID(answer)})
	}
	p.Canary = k
	return split
}
