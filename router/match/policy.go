package match

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Client is what of a request the policy of its route looks at.
type Client struct {
	Method string
	// Origin and RequestMethod are the headers of CORS, empty where they are missing.
	Origin, RequestMethod string
	// Host is the Host header in lower case.
	Host string
	// Address is invalid if it is not known: then what goes by addresses is not
	// judged.
	Address netip.Addr
	// Path is the raw path, Query what follows it with its "?", or empty.
	Path, Query string
	// Shows says whether the client shows a certificate.
	Shows Shows
	// Subject is the name in that certificate, as RFC 2253 writes it, and CommonName the last
	// common name; both are empty where the name is not known, which then is not judged.
	Subject, CommonName string
	// Body is what the request says about the length of its body.
	Body BodyLength
	// HeaderBytes is the length of all headers, or 0 if it is not known.
	HeaderBytes int
	// Now is when the request comes. Where it is zero, maintenance has not ended.
	Now time.Time
	// Value returns what the request has of a name; nil if that is not known.
	Value func(model.CanarySource, string) (string, bool)
}

// Shows says whether the client shows a certificate that the router lets in. By plain
// HTTP, none does.
type Shows uint8

// Where it is not known, what goes by certificates is not judged.
const (
	ShowsUnknown Shows = iota
	ShowsNone
	ShowsCertificate
)

// BodyLength is what a request says about its body. The zero value is no body.
type BodyLength struct {
	// Unknown bodies do not say how long they are.
	Unknown bool
	Bytes   int64
}

// Answer is what the router itself answers to a request that its route takes.
type Answer struct {
	Status int
	// Location is that of a redirect.
	Location string
	// Why completes the sentence "… because".
	Why string
	// Group is the one of a policy's groups that answers, as logs and metrics name it.
	Group string
}

// The groups of policies that answer requests by themselves. templates/refusals.lua has the same
// names.
const (
	groupAccess         = "access"
	groupAuthentication = "authentication"
	groupCORS           = "cors"
	groupFault          = "fault"
	groupLimits         = "limits"
	groupMaintenance    = "maintenance"
	groupRedirects      = "redirects"
	groupRewrite        = "rewrite"
)

// StatusForbidden is the answer to clients that a route does not admit.
const StatusForbidden = 403

// Judge decides a request as the rules of a policy do (render.policyRules), in their
// order. It reports false if the request goes on to a pod.
func Judge(p *model.Policy, c *Client) (Answer, bool) {
	for _, part := range []func(*model.Policy, *Client) (Answer, bool){clientCertificate, maintenance, lists, redirects, preflight, sizes, longPath, fault} {
		if a, answered := part(p, c); answered {
			return a, true
		}
	}
	return Answer{}, false
}

func clientCertificate(p *model.Policy, c *Client) (Answer, bool) {
	switch {
	case p.Certificate == nil:
		return Answer{}, false
	case c.Shows == ShowsCertificate && c.Subject+c.CommonName != "" && !AdmitsSubject(p.Certificate, c.Subject, c.CommonName):
		return Answer{Status: StatusForbidden, Why: "the policy does not let in the subject of the client's certificate", Group: groupAuthentication}, true
	case !p.Certificate.Demanded() || c.Shows != ShowsNone:
		return Answer{}, false
	}
	return Answer{Status: StatusForbidden, Why: "the route needs a client certificate", Group: groupAuthentication}, true
}

func maintenance(p *model.Policy, c *Client) (Answer, bool) {
	m := p.Maintenance
	if m == nil || m.Until != 0 && !c.Now.IsZero() && c.Now.Unix() >= m.Until || slices.ContainsFunc(m.Exempt, func(n netip.Prefix) bool { return c.Address.IsValid() && n.Contains(c.Address) }) {
		return Answer{}, false
	}
	why := "the route is under maintenance"
	if m.Until != 0 {
		why += " until " + time.Unix(m.Until, 0).UTC().Format(time.RFC3339)
	}
	return Answer{Status: 503, Why: why, Group: groupMaintenance}, true
}

func lists(p *model.Policy, c *Client) (Answer, bool) {
	if !c.Address.IsValid() {
		return Answer{}, false
	}
	has := func(n netip.Prefix) bool { return n.Contains(c.Address) }
	switch {
	case slices.ContainsFunc(p.Deny, has):
		return Answer{Status: StatusForbidden, Why: "the route refuses " + c.Address.String(), Group: groupAccess}, true
	case p.Restricted && !slices.ContainsFunc(p.Allow, has):
		return Answer{Status: StatusForbidden, Why: "the route's allow-list does not have " + c.Address.String(), Group: groupAccess}, true
	}
	return Answer{}, false
}

func preflight(p *model.Policy, c *Client) (Answer, bool) {
	if p.CORS == nil || p.CORS.Forward || c.Method != "OPTIONS" || c.Origin == "" || c.RequestMethod == "" {
		return Answer{}, false
	}
	why := "the route does not admit origin " + c.Origin
	if o := Origin(p.CORS, c.Origin); o != "" {
		why = "the route admits origin " + o
	}
	return Answer{Status: 204, Why: why, Group: groupCORS}, true
}

// Origin returns what admits an origin, or an empty text.
func Origin(c *model.CORS, origin string) string {
	scheme, rest, _ := strings.Cut(origin, "://")
	label, domain, several := strings.Cut(rest, ".")
	wanted := []string{origin}
	if several && label != "" && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
		wanted = append(wanted, scheme+"://*."+domain)
	}
	for _, w := range append(wanted, model.AnyOrigin) {
		if slices.Contains(c.Origins, w) {
			return w
		}
	}
	return ""
}

// longPath refuses what a pattern is not applied to.
func longPath(p *model.Policy, c *Client) (Answer, bool) {
	r := p.Rewrite.Applied()
	if r == nil || len(c.Path) <= r.Longest {
		return Answer{}, false
	}
	return Answer{Status: 414, Why: fmt.Sprintf("the route's pattern is for paths of %d bytes at most", r.Longest), Group: groupRewrite}, true
}

func sizes(p *model.Policy, c *Client) (Answer, bool) {
	s := &p.Sizes
	over := func(status int, what string, most int64) (Answer, bool) {
		return Answer{Status: status, Why: fmt.Sprintf("the route takes %s of %d bytes at most", what, most), Group: groupLimits}, true
	}
	switch {
	case s.URI > 0 && len(c.Path)+len(c.Query) > s.URI:
		return over(414, "a path with query", int64(s.URI))
	case s.Headers > 0 && c.HeaderBytes > s.Headers:
		return over(431, "headers", int64(s.Headers))
	case s.Body > 0 && c.Body.Unknown:
		return Answer{Status: 411, Why: "the route limits bodies, and this one does not say its length", Group: groupLimits}, true
	case s.Body > 0 && c.Body.Bytes > s.Body:
		return over(413, "a body", s.Body)
	}
	return Answer{}, false
}
