package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// gatewayOutcome answers what stands for a class of a Gateway's requests, or of connections or
// datagrams to it.
func (s *Snapshot) gatewayOutcome(c *class) *outcome {
	g := s.gateways()
	if g == nil || g.served[c.at.gateway] == nil {
		return &outcome{text: "no connection: there is no such Gateway"}
	}
	if c.at.whole != "" {
		return s.wholeOutcome(g, c)
	}
	r := c.request
	e, err := s.ExplainAt(&r, c.at.gateway.Namespace, c.at.gateway.Name)
	if err != nil {
		return &outcome{text: "the connection is handed on whole"}
	}
	o := &outcome{text: plainly(&r, e), served: e.Served}
	l, _ := g.listenerAt(c.at.gateway, c.at.number)
	if l, _ = g.named(l, &r); l.Slot == 0 || endsTLS(l) != r.Secure || e.Result.Status == misdirected {
		return o
	}
	_, claim, _ := g.owner(l, match.Request{Host: r.Host, Path: r.Path, Asked: r.asked()})
	if claim == nil {
		return o
	}
	o.route, o.claim = kindAndName(claim.Owner), claim
	o.refused = claim.Closed || slices.Contains([]int{400, 401, 403, 413, 429}, e.Result.Status)
	if e.PodPath != "" && e.PodPath != r.Path {
		o.podPath = strings.ReplaceAll(e.PodPath, otherSegment, "…")
	}
	if result, ok := answered(claim, &r, s.options.Now); ok && result.Location != "" && !claim.Closed {
		o.redirect, o.text = true, strings.ReplaceAll(fmt.Sprintf("redirect %d to %s", result.Status, result.Location), otherSegment, "…")
	}
	g.describe(o)
	return o
}

// wholeOutcome says where connections or datagrams go.
func (s *Snapshot) wholeOutcome(g *gateways, c *class) *outcome {
	claim := g.wholeClaim(c)
	if claim == nil {
		return &outcome{text: "no connection: no route takes it"}
	}
	o := &outcome{route: kindAndName(claim.Owner), claim: claim}
	if claim.Datagrams != nil {
		o.text, o.served = g.relayed(s, claim)
	} else {
		o.text, o.served = g.targets(s, claim)
	}
	g.describe(o)
	return o
}

// wholeClaim returns the claim that has connections or datagrams, or nil: of the most specific
// name, the oldest.
func (g *gateways) wholeClaim(c *class) (found *model.Claim) {
	best := ""
	for key := range g.served {
		_, served := g.pipeline.Claims(key)
		for _, claim := range served {
			scope := claim.Listener()
			l, known := g.byScope[scope]
			if !known || portOf(l, claim) != *c.at || handsOn(l) && !g.comesBy(l, c.host) {
				continue
			}
			switch host := claimHost(l, claim); {
			case !covers(host, c.host):
			case found == nil, host != best && covers(best, host), host == best && model.ByAge(claim, found) < 0:
				found, best = claim, host
			}
		}
	}
	return found
}

// describe adds what is to be compared of a claim that decides.
func (g *gateways) describe(o *outcome) {
	o.record, o.treated = fmt.Sprint(o.claim.Guard(), o.claim.Backend.CA != nil), map[string]string{}
	for b := range o.claim.Backends() {
		o.record += fmt.Sprint("\x00", b.Record(), b.Profile)
	}
	for _, p := range groups(g.pipeline.EffectiveOf(o.claim)) {
		o.treated[p.Name] = p.Value
	}
	if o.podPath != "" {
		o.treated["path that pods see"] = o.podPath
	}
	if o.served {
		o.services = g.shares(o.claim)
		o.text = "served by " + sharesText(o.services)
	}
}

// shares says which Services share what a claim is for, in percent.
func (g *gateways) shares(c *model.Claim) map[string]float64 {
	shares, total := map[string]float64{}, 0.0
	for _, ref := range g.refsOf(c) {
		weight := 1.0
		if ref.Weight != nil {
			weight = float64(*ref.Weight)
		}
		name := string(ref.Name)
		if ref.Namespace != nil && string(*ref.Namespace) != c.Owner.Namespace {
			name = string(*ref.Namespace) + "/" + name
		}
		if weight > 0 {
			shares[name] += weight
			total += weight
		}
	}
	for name := range shares {
		shares[name] *= 100 / total
	}
	return shares
}

// refsOf returns the backends of the rule of a claim, whose name begins with the rule's number.
func (g *gateways) refsOf(c *model.Claim) []gatewayv1.BackendRef {
	i := ruleNumber(c)
	switch v := g.served[c.Owner].(type) {
	case *gatewayv1.HTTPRoute:
		if i < len(v.Spec.Rules) {
			return backendRefs(v.Spec.Rules[i].BackendRefs, func(r gatewayv1.HTTPBackendRef) gatewayv1.BackendRef { return r.BackendRef })
		}
	case *gatewayv1.GRPCRoute:
		if i < len(v.Spec.Rules) {
			return backendRefs(v.Spec.Rules[i].BackendRefs, func(r gatewayv1.GRPCBackendRef) gatewayv1.BackendRef { return r.BackendRef })
		}
	case *gatewayv1.TLSRoute:
		if len(v.Spec.Rules) > 0 {
			return v.Spec.Rules[0].BackendRefs
		}
	case *gatewayv1.TCPRoute:
		if len(v.Spec.Rules) > 0 {
			return v.Spec.Rules[0].BackendRefs
		}
	case *gatewayv1.UDPRoute:
		if len(v.Spec.Rules) > 0 {
			return v.Spec.Rules[0].BackendRefs
		}
	}
	return nil
}

func backendRefs[R any](from []R, of func(R) gatewayv1.BackendRef) (all []gatewayv1.BackendRef) {
	for _, r := range from {
		all = append(all, of(r))
	}
	return all
}

// untouchedRoutes counts the routes of Gateways that are served and answer nothing otherwise.
func (g *gateways) untouchedRoutes(touched map[string]bool) (n int) {
	if g == nil {
		return 0
	}
	for key := range g.served {
		if _, served := g.pipeline.Claims(key); len(served) > 0 && slices.Contains(gateway.RouteKinds(), key.Kind) && !touched[kindAndName(key)] {
			n++
		}
	}
	return n
}

// ruleNumber returns the number of the rule that a claim is of.
func ruleNumber(c *model.Claim) int {
	number, _, _ := strings.Cut(c.Rule, "-")
	i, err := strconv.Atoi(number)
	if err != nil {
		return math.MaxInt
	}
	return i
}
