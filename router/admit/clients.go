package admit

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Clients is what the clients of one host have to show in the handshake, before any path
// is known.
type Clients struct {
	// CA must have signed the certificate, and Mark stands for its content.
	CA   *model.CA
	Mark string
	// Required ends the handshake with a client that has none: no path is for these.
	Required bool
	// Owner brings the CA.
	Owner model.Object
}

// asksClients reports whether a claim asks for certificates.
func asksClients(c *model.Claim) bool {
	return c.Backend.Policy().Certificate != nil && endsTLS(c) && c.Host != match.Any
}

// endsTLS reports whether the TLS of the claim's clients ends at the router.
func endsTLS(c *model.Claim) bool {
	return c.Termination == model.Edge || c.Termination == model.Reencrypt
}

// clientsOf returns what the oldest claim that asks for certificates demands, for all of
// them: the others have the same authorities, or are closed.
func clientsOf(winners []*model.Claim) *Clients {
	var out *Clients
	required := true
	for _, c := range winners {
		certificate := c.Backend.Policy().Certificate
		switch {
		case !endsTLS(c) || c.Closed:
			continue
		case certificate == nil:
			required = false
			continue
		case out == nil && asksClients(c):
			out = &Clients{CA: certificate.CA, Mark: certificate.Mark(), Owner: c.Owner}
		}
		required = required && certificate.Required
	}
	if out != nil {
		out.Required = required
	}
	return out
}

// agree closes claims that ask for certificates of other authorities than an older one of
// the host: a handshake can ask for one only.
func (h *Host) agree() {
	var first *model.Claim
	for i, c := range h.Winners {
		switch {
		case !asksClients(c):
		case first == nil:
			first = c
		case first.Backend.Policy().Certificate.Mark() != c.Backend.Policy().Certificate.Mark():
			h.close(c, disagrees(c, first))
			h.Winners[i] = c.Barred()
		}
	}
}

// close notes why nothing of a winner is served.
func (h *Host) close(c *model.Claim, why api.Finding) {
	if h.Closed == nil {
		h.Closed = map[model.ClaimID]api.Finding{}
	}
	h.Closed[c.ID()] = why
}

// disagrees is the finding of a claim that agree closes.
func disagrees(c, first *model.Claim) api.Finding {
	with := fmt.Sprintf("%s %s", noun(first), first.Owner.Name)
	if first.Owner.Namespace != c.Owner.Namespace {
		with = "a " + noun(first) + " in another namespace" // whose names a tenant must not see
	}
	return api.Finding{
		Reason: api.ReasonPolicyClosed, Severity: api.SeverityError, Field: "spec.host",
		Message: fmt.Sprintf("%s, which is older, asks clients of %s for certificates of another CA, and one handshake can ask for one only; use the same CA, or another host", with, c.NamedHost),
		Effect:  "paths answer 503",
	}
}
