package explain

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// info describes a route and what it claims.
func (s *Snapshot) info(key model.Object) RouteInfo {
	info := RouteInfo{Namespace: key.Namespace, Name: key.Name, Ingress: s.source.ingress[key]}
	r := s.source.routes[key]
	if r == nil {
		return info
	}
	info.File = s.objects.Files[refOf(r)]
	info.Host, info.Path = r.Spec.Host, r.Spec.Path
	if t := r.Spec.TLS; t != nil {
		info.Termination, info.Insecure = string(t.Termination), string(t.InsecureEdgeTerminationPolicy)
	}
	if c, _ := s.pipeline.Claim(key); c != nil {
		info.Host, info.Path, info.Exact = c.Host, c.Path, c.Exact
		if e := c.Expression(); e != nil {
			info.Path = e.Written
		}
		info.Termination, info.Insecure = string(c.Termination), string(c.Insecure)
	}
	if t := r.CreationTimestamp; !t.IsZero() && (!s.objects.Offline || !t.Time.Equal(s.options.Now)) {
		utc := t.UTC()
		info.Created = &utc
	}
	return info
}

// endpoints lists the servers with their shares of requests.
func endpoints(b *model.Backend, r *Request) []Endpoint {
	total := 0
	for _, s := range b.Servers {
		total += s.Weight
	}
	cookie := cookieValue(r, b.Cookie.Name)
	out := make([]Endpoint, 0, len(b.Servers))
	for i := range b.Servers {
		s := &b.Servers[i]
		e := Endpoint{Name: s.Name(), Address: s.Address.String(), Weight: s.Weight}
		if total > 0 {
			e.Share = percent(s.Weight, total)
		}
		e.Sticky = cookie != "" && cookie == s.Options.Cookie
		out = append(out, e)
	}
	return out
}

// cookieValue returns the value of a request's cookie. Several Cookie lines,
// which browsers must not send (RFC 6265 5.4), are not looked into.
func cookieValue(r *Request, name string) string {
	var lines []string
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "Cookie") {
			lines = append(lines, h.Value)
		}
	}
	if name == "" || len(lines) != 1 {
		return ""
	}
	for pair := range strings.SplitSeq(lines[0], ";") {
		if k, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && k == name {
			return v
		}
	}
	return ""
}

// certificate describes what a TLS client is shown.
func (s *Snapshot) certificate(d decision, r *Request) *Certificate {
	if d.Listener == match.ListenerPassthrough {
		return &Certificate{Source: "pod", Note: "the pod ends TLS and shows its own certificate"}
	}
	sni := match.ServerName(r.SNI)
	if d.Filter == match.Any || d.Filter == "" {
		return s.servedDefault(sni, r)
	}
	c := s.describe(s.pipeline.Want().Certs[d.Certificate], sni)
	c.Source = "route"
	if owner, known := s.certOwners()[d.Certificate]; known {
		c.Route = owner.String()
	}
	return c
}

// servedDefault describes the router's own certificate, and says why it is used.
func (s *Snapshot) servedDefault(sni string, r *Request) *Certificate {
	why := "no route of " + sni + " brings a certificate"
	if sni == "" {
		why = "the client sends no server name"
	}
	for _, c := range s.claimsFor(sni) {
		if why := s.source.unreadable[c.Owner]; why != "" {
			return &Certificate{Source: "unknown", Note: why}
		}
	}
	if s.defaultCert == nil {
		return &Certificate{Source: "default", Note: why + "; the default certificate itself is not known here"}
	}
	name := sni
	if name == "" {
		name = strings.Trim(hostOnly(strings.ToLower(r.Host)), "[]")
	}
	c := s.describe(s.defaultCert.PEM, name)
	c.Source, c.Note = "default", why
	return c
}

// describe reads the leaf of a PEM text.
func (s *Snapshot) describe(text, name string) *Certificate {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return &Certificate{}
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return &Certificate{}
	}
	expires := leaf.NotAfter.UTC()
	covers := leaf.VerifyHostname(name) == nil
	c := &Certificate{Subject: leaf.Subject.String(), Expires: &expires, Covers: &covers}
	c.Expired = s.options.Now.After(leaf.NotAfter)
	c.Names = slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		c.Names = append(c.Names, ip.String())
	}
	return c
}

// findingsOf returns what the router has to say about a route.
func (s *Snapshot) findingsOf(key model.Object) []Finding {
	if known, _ := s.pipeline.Known(key); !known {
		return nil
	}
	var out []Finding
	for _, f := range s.pipeline.Status(key).Findings {
		if f.Reason == api.ReasonNoEndpoints && len(s.unknownServices(key)) > 0 {
			continue
		}
		if (f.Reason == api.ReasonPortNotFound || f.Reason == api.ReasonForeignProtection) && s.source.ingress[key] != "" {
			continue // a finding of the Ingress says it better
		}
		out = append(out, s.finding(f))
	}
	return append(out, s.extraFindings(key)...)
}

// finding adds what a finding means and where its manifest stands.
func (s *Snapshot) finding(f api.Finding) Finding {
	out := Finding{
		Object: objectText(f.Object), File: s.objects.Files[f.Object], Field: f.Field, Reason: f.Reason,
		Severity: f.Severity, Message: s.said(f.Message), Effect: f.Effect,
	}
	if remedy, ok := api.RemedyOf(f.Reason); ok {
		out.Cause, out.Remedy = remedy.Cause, remedy.Remedy
	}
	return out
}

// objectText names an object as users type it.
func objectText(r api.ObjectRef) string {
	if r == (api.ObjectRef{}) {
		return ""
	}
	r.Kind = strings.ToLower(r.Kind)
	return r.String()
}

// word is what a router says in a route's status.
type word struct {
	ok              bool
	reason, message string
}

// admittedBy reads the Admitted condition that a router wrote.
func admittedBy(r *routev1.Route, router string) (word, bool) {
	for _, i := range r.Status.Ingress {
		if i.RouterName != router {
			continue
		}
		for _, c := range i.Conditions {
			if c.Type == routev1.RouteAdmitted {
				return word{c.Status == corev1.ConditionTrue, c.Reason, c.Message}, true
			}
		}
	}
	return word{}, false
}

// admittingRouters returns the routers that admitted a route, sorted.
func admittingRouters(r *routev1.Route) []string {
	var names []string
	for _, i := range r.Status.Ingress {
		if a, ok := admittedBy(r, i.RouterName); ok && a.ok {
			names = append(names, i.RouterName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// claimText writes host and path as users read them.
func claimText(host, path string, exact bool) string {
	if path == "" {
		path = "/"
	}
	if exact {
		return fmt.Sprintf("%s%s (exact)", host, path)
	}
	return host + path
}
