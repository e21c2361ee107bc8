package explain

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// join has answers about Routes come from the pipeline that decides about Gateways, too, if one of
// these shares the router's address. The Gateway API is read only then.
func (s *Snapshot) join() {
	for _, o := range s.objects.Gateways {
		of, is := o.(*gatewayv1.Gateway)
		if !is || !gatewayapi.SharesAddress(of) {
			continue
		}
		if g := s.gateways(); g != nil && g.joined {
			s.pipeline, s.tables, s.byBackend, s.reports = g.pipeline, g.tables, g.byBackend, g.reports
		}
		return
	}
}

// apart returns what is decided about the Gateway API by itself, nil if nothing is.
func (s *Snapshot) apart() *gateways {
	if g := s.gateways(); g != nil && !g.joined {
		return g
	}
	return nil
}

// isOwnAnswer reports whether a value is the router's answer for a rule without a target.
func isOwnAnswer(value string) bool {
	return value == match.OwnAnswer(500) || value == match.OwnAnswer(503)
}

// explainShared says what an HTTPRoute at the router's own address does with a request.
func (s *Snapshot) explainShared(e *Explanation, d decision, r *Request, c *model.Claim) {
	e.Listener = d.listener()
	g := s.gateways()
	if c == nil {
		e.Result = byRouter(d.value)
	} else {
		l := g.byScope[c.Listener()]
		e.Gateway = l.Gateway.String()
		s.answerAt(e, g, l, r)
	}
	e.Others = s.others(d, r, c)
	s.otherDoors(e)
}

// sharedOutcome is what becomes of a request that an HTTPRoute at the router's own address takes.
func (s *Snapshot) sharedOutcome(e *Explanation, d decision, r *Request, claim *model.Claim) *outcome {
	s.explainShared(e, d, r, claim)
	o := &outcome{text: plainly(r, e), served: e.Served, claim: claim}
	if r.Secure {
		o.certificate, o.shown = d.Certificate, func() string { return s.certificate(d, r).text() }
	}
	if claim == nil {
		return o
	}
	o.route = kindAndName(claim.Owner)
	if e.PodPath != r.Path {
		o.podPath = strings.ReplaceAll(e.PodPath, otherSegment, "…")
	}
	s.gateways().describe(o)
	return o
}
