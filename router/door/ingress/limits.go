package ingress

import (
	"fmt"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// Limits bound what Ingresses become: one of 1.1 MB names 9000 paths, and has
// annotations and labels that would be written into the Route of each.
type Limits struct {
	// Routes, Secrets and Bytes are the most of one Ingress; the bytes are those
	// of its Routes. Zero means the default.
	Routes, Secrets, Bytes int
	// Namespace says that the bounds are what is left of those of the namespace.
	Namespace bool
}

// DefaultLimits are those of one Ingress.
func DefaultLimits() Limits { return Limits{Routes: 1000, Secrets: 100, Bytes: 16 << 20} }

// DefaultNamespaceLimits are those of all Ingresses of a namespace together.
func DefaultNamespaceLimits() Limits {
	return Limits{Routes: 10_000, Secrets: 1000, Bytes: 64 << 20}
}

// Or returns the limits, with others where there is none.
func (l Limits) Or(others Limits) Limits {
	for _, n := range []struct{ of, other *int }{{&l.Routes, &others.Routes}, {&l.Secrets, &others.Secrets}, {&l.Bytes, &others.Bytes}} {
		if *n.of == 0 {
			*n.of = *n.other
		}
	}
	return l
}

// maxFindings is how many findings of one Ingress are reported. Its paths may all be
// wrong in the same way.
const maxFindings = 50

// Usage is what Routes take of the limits.
type Usage struct{ Routes, Secrets, Bytes int }

// UsageOf returns what Routes take.
func UsageOf(routes []*routev1.Route) Usage {
	u := Usage{Routes: len(routes), Secrets: len(ExternalSecrets(routes))}
	for _, r := range routes {
		u.Bytes += size(r)
	}
	return u
}

// routeOverhead is what a Route takes besides the texts in it.
const routeOverhead = 512

func size(r *routev1.Route) int {
	n := routeOverhead + len(r.Spec.Host) + len(r.Spec.Path) + textBytes(r.Annotations) + textBytes(r.Labels)
	if t := r.Spec.TLS; t != nil {
		n += len(t.Certificate) + len(t.Key) + len(t.CACertificate) + len(t.DestinationCACertificate)
	}
	return n
}

func textBytes(texts map[string]string) int {
	n := 0
	for k, v := range texts {
		n += len(k) + len(v)
	}
	return n
}

// wanted counts the Routes that an Ingress stands for, more or less.
func wanted(i *networkingv1.Ingress) int {
	n := 0
	if i.Spec.DefaultBackend != nil {
		n = max(1, len(i.Spec.Rules))
	}
	for _, rule := range i.Spec.Rules {
		if rule.HTTP != nil {
			n += len(rule.HTTP.Paths)
		}
	}
	return n
}

// tooLarge reports whether an Ingress has more than it may have, as far as that
// can be seen of it alone.
func (l Limits) tooLarge(i *networkingv1.Ingress, groupBytes int) bool {
	routes := wanted(i)
	return routes > l.Routes || routes*(routeOverhead+groupBytes+textBytes(meaningful(i.Annotations))+textBytes(i.Labels)) > l.Bytes
}

// checkSize closes the hosts of an Ingress that keeps requests away and is too
// large: its last paths get no Routes, and a shorter path of another Ingress
// would let through what this one keeps away.
func (c *conversion) checkSize() {
	if i := c.in.Ingress; c.in.Limits.tooLarge(i, c.groupBytes) && (c.closed || c.keepsOut()) {
		c.closed, c.hostwide = true, "spec.rules"
		c.find(api.SeverityError, "spec.rules", api.ReasonIngressTooLarge, "the Ingress keeps requests away, and is too large for Routes of all its paths",
			"all paths of its hosts answer 503, those of other Ingresses of the namespace too; split it into several Ingresses")
	}
}

// fits reports whether one more Route may be made, and counts those that may not.
func (c *conversion) fits(r *routev1.Route) bool {
	if len(c.routes) >= c.in.Limits.Routes || c.bytes+size(r) > c.in.Limits.Bytes {
		return false
	}
	c.bytes += size(r)
	return true
}

// reportSize says what was not made of an Ingress that is too large.
func (c *conversion) reportSize() {
	limit := "the limit of an Ingress"
	if c.in.Limits.Namespace {
		limit = "the rest of the limit of the namespace's Ingresses"
	}
	if c.tooMany > 0 {
		c.find(api.SeverityError, c.firstTooMany, api.ReasonIngressTooLarge,
			fmt.Sprintf("%s is %d Routes of together %d bytes, and this one needs %d more Routes", limit, c.in.Limits.Routes, c.in.Limits.Bytes, c.tooMany),
			"this path and those behind it are not served; split the Ingress, or remove long annotations and labels")
	}
	if c.secretsLeft > 0 {
		c.find(api.SeverityError, "spec.tls", api.ReasonIngressTooLarge,
			fmt.Sprintf("%s is %d Secrets, and this one names %d more", limit, c.in.Limits.Secrets, c.secretsLeft),
			"the others are not read, and Routes with them keep the certificate that they have; split the Ingress")
	}
	if c.unreported > 0 {
		c.findings = append(c.findings, api.Finding{
			Object: c.object(), Reason: api.ReasonMoreFindings, Severity: api.SeverityWarning,
			Message: fmt.Sprintf("%d more findings are not reported", c.unreported),
			Effect:  "they are reported when those before them are fixed",
		})
	}
}
