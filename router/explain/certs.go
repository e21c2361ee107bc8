package explain

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Certs are the certificates that a router serves.
type Certs struct {
	Schema string `json:"schema"`
	Router string `json:"router"`
	Items  []Cert `json:"items"`
	// Partial says that something could not be read; Notes say what.
	Partial bool     `json:"partial"`
	Notes   []string `json:"notes"`
	// Handshake is there if one was asked for.
	Handshake *Handshake `json:"handshake,omitempty"`

	detail bool
	now    time.Time
}

// Cert is a certificate for one host.
type Cert struct {
	Host string `json:"host"`
	// Route is "namespace/name", and Listener such as "gateway/namespace/name#listener"; both are
	// empty for the default certificate.
	Route    string `json:"route,omitempty"`
	Listener string `json:"listener,omitempty"`
	// From is "route", "secret NAME", "ingress NAME, secret NAME", "default" for a
	// Route that brings none, or "generated" for a default certificate of the operator.
	From string `json:"from"`
	// State is "ok", or the worst of the problems: Expired, NotYetValid, NotCovering,
	// WithoutNames, ChainIncomplete, ChainOutOfOrder, EndsSoon; Refused if the router
	// cannot use it, NotServed if another Route has the host, Unknown if it could not
	// be read.
	State    string   `json:"state"`
	Problems []string `json:"problems"`
	// Fingerprint is the SHA-256 of the certificate.
	Fingerprint string     `json:"fingerprint,omitempty"`
	Subject     string     `json:"subject,omitempty"`
	Issuer      string     `json:"issuer,omitempty"`
	Key         string     `json:"key,omitempty"`
	NotBefore   *time.Time `json:"notBefore,omitempty"`
	NotAfter    *time.Time `json:"notAfter,omitempty"`
	Chain       []CertLink `json:"chain,omitempty"`
	// SameAs are the other Routes with the same certificate; Hosts counts the hosts
	// that get the default certificate.
	SameAs []string `json:"sameAs,omitempty"`
	Hosts  int      `json:"hosts,omitempty"`
	// CertManager is nil where there is no sign of cert-manager.
	CertManager *CertManager `json:"certManager,omitempty"`
	// Unread says that it is in a Secret that could not be read.
	Unread bool `json:"-"`

	quiet  bool
	faults []certificate.Problem
}

// CertLink is one certificate of a chain.
type CertLink struct {
	Subject  string    `json:"subject"`
	Issuer   string    `json:"issuer"`
	Key      string    `json:"key"`
	NotAfter time.Time `json:"notAfter"`
}

// States of a Cert beside the faults of package certificate.
const (
	certOK        = "ok"
	certRefused   = "Refused"
	certNotServed = "NotServed"
	certUnknown   = "Unknown"
)

// CertArgs choose what Certs shows.
type CertArgs struct {
	// Namespace is empty for all. Name is one Route of it, with all details.
	Namespace, Name string
	// Expiring is how long before its end a certificate counts as ending soon; zero is
	// three weeks, or a third of its life.
	Expiring time.Duration
}

// selects reports whether a line of a list is to be shown.
func (a CertArgs) selects(c *Cert) bool {
	namespace, _, _ := strings.Cut(c.Route, "/")
	if c.Listener != "" {
		_, rest, _ := strings.Cut(c.Listener, "/")
		namespace, _, _ = strings.Cut(rest, "/")
	}
	return !c.quiet && (a.Namespace == "" || a.Namespace == namespace)
}

// Certs returns the certificates of TLS that the router ends. The error says what to ask
// instead.
func (s *Snapshot) Certs(a CertArgs) (*Certs, error) {
	list := &Certs{
		Schema: SchemaCerts, Router: s.options.Router, Items: []Cert{}, Notes: append([]string{}, s.Notes()...),
		Partial: len(s.objects.Gaps) > 0, detail: a.Name != "", now: s.options.Now,
	}
	only := model.Object{Kind: route.Kind, Namespace: a.Namespace, Name: a.Name}
	if a.Name != "" && s.source.routes[only] == nil {
		return nil, s.missing("Route", only)
	}
	if a.Name != "" {
		s.certOf(list, only, a.Expiring)
		return list, nil
	}
	all, hosts := s.routeCerts(a.Expiring)
	all = append(all, s.listenerCerts(a.Expiring)...)
	share(all)
	for i := range all {
		if a.selects(&all[i]) {
			list.Items = append(list.Items, all[i])
		}
	}
	slices.SortStableFunc(list.Items, func(x, y Cert) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Route, y.Route), cmp.Compare(x.Listener, y.Listener))
	})
	list.Items = append(list.Items, s.defaultItem(hosts, a.Expiring)...)
	if s.defaultCert == nil && hosts > 0 {
		list.Notes = append(list.Notes, "the default certificate is not known here; it is for "+count(hosts, "host"))
	}
	for _, key := range s.source.keys() {
		if why := s.source.unreadable[key]; why != "" && !s.hides(key) && (a.Namespace == "" || a.Namespace == key.Namespace) {
			list.Notes = append(list.Notes, notChecked(key, why))
		}
	}
	return list, nil
}

func notChecked(key model.Object, why string) string {
	return "the certificate of route " + key.String() + " was not checked: " + why
}

// routeCerts returns what is shown for each Route, and how many hosts get the default
// certificate.
func (s *Snapshot) routeCerts(soon time.Duration) (all []Cert, hosts int) {
	byDefault := map[string]bool{}
	for _, key := range s.source.keys() {
		c, own := s.routeCert(key, soon)
		if c == nil || s.hides(key) {
			continue
		}
		if c.From == fromDefault {
			byDefault[c.Host] = true
		}
		// A Route that brings none, and is served with one that fits, needs no line.
		c.quiet = !own && (c.State == certOK || c.From != fromDefault || s.defaultCert == nil)
		all = append(all, *c)
	}
	return all, len(byDefault)
}

const fromDefault = "default"

// defaultText is the router's own certificate, "" if it is not known.
func (s *Snapshot) defaultText() string {
	if s.defaultCert == nil {
		return ""
	}
	return s.defaultCert.PEM
}

// routeCert returns what clients of a Route's host are shown, nil if the router ends no TLS
// for it, and whether the Route brings it.
func (s *Snapshot) routeCert(key model.Object, soon time.Duration) (c *Cert, own bool) {
	r := s.source.routes[key]
	if !s.source.selected[key] || r.Spec.TLS == nil || r.Spec.TLS.Termination == routev1.TLSTerminationPassthrough {
		return nil, false
	}
	c = &Cert{Host: r.Spec.Host, Route: key.Namespace + "/" + key.Name, From: s.certFrom(key, r), State: certOK, Problems: []string{}}
	all, served := s.pipeline.Claims(key)
	if len(all) > 0 {
		c.Host = all[0].Host
	}
	if own = c.From != fromDefault; own {
		c.CertManager = s.managerOfRoute(key, r)
	}
	switch {
	case s.source.unreadable[key] != "":
		c.State, c.Unread, c.Problems = certUnknown, true, append(c.Problems, s.source.unreadable[key])
		return c, own
	case len(served) == 0:
		c.State = certNotServed
		for _, f := range s.findingsOf(key) {
			if f.Severity == api.SeverityError {
				if strings.HasPrefix(f.Field, "spec.tls") {
					c.State = certRefused
				}
				c.Problems = append(c.Problems, strings.TrimPrefix(f.Field+": ", ": ")+f.Message)
			}
		}
		return c, own
	}
	if s.hidesAt(c.Host) {
		c.State, c.Problems = certUnknown, append(c.Problems, "routes of a namespace that you may not see have the host, too")
		return c, own
	}
	text, from := s.shown(c.Host)
	mine := served[0].Certificate
	switch {
	case mine == nil:
		c.From = from
		c.fill(certificate.Parse(text), s.options.Now, soon)
		if c.Fingerprint == "" {
			c.State = certUnknown
		}
		return c, false
	case mine.PEM != text:
		c.fill(certificate.Parse(mine.PEM), s.options.Now, soon)
		c.State, c.Problems = certNotServed, append(c.Problems, "clients of the host are shown another one, from "+from)
	default:
		c.fill(certificate.Parse(text), s.options.Now, soon)
	}
	return c, true
}

// shown returns the certificate that clients of a host are shown, and where it is from.
func (s *Snapshot) shown(host string) (text, from string) {
	name := strings.Replace(host, "*", anyLabel, 1)
	d := match.Decide(s.tables, match.Request{TLS: true, SNI: name, Host: name, Path: "/"})
	if d.Filter == match.Any || d.Filter == "" {
		return s.defaultText(), fromDefault
	}
	from = "another route"
	if owner, known := s.certOwners()[d.Certificate]; known {
		from = "route " + owner.String()
	}
	return s.pipeline.Want().Certs[d.Certificate], from
}

// certOwners are the owners of all names; they are looked for once.
func (s *Snapshot) certOwners() plan.Owners {
	if s.owners == nil {
		s.owners = s.pipeline.Owners()
	}
	return s.owners
}

// certFrom says where a Route's certificate is from.
func (s *Snapshot) certFrom(key model.Object, r *routev1.Route) string {
	from := fromDefault
	original := r
	if o := s.objects.Routes[key]; o != nil {
		original = o // with the Secret that could not be read
	}
	switch t := original.Spec.TLS; {
	case t == nil:
	case t.ExternalCertificate != nil:
		from = "secret " + t.ExternalCertificate.Name
	case t.Certificate != "":
		from = "route"
	}
	i := s.source.ingress[key]
	switch {
	case i != "" && from != fromDefault:
		from = strings.TrimSuffix("ingress "+i+", "+from, ", route")
	case i != "" && s.source.unreadable[key] != "": // its Secret could not be read
		from = "ingress " + i
	}
	return from
}

// defaultItem is the line of the router's own certificate.
func (s *Snapshot) defaultItem(hosts int, soon time.Duration) []Cert {
	chain := certificate.Parse(s.defaultText())
	if len(chain) == 0 {
		return nil
	}
	c := Cert{From: fromDefault, State: certOK, Problems: []string{}, Hosts: hosts}
	if s.settings.Domain != "" {
		c.Host = "*." + s.settings.Domain
	}
	key := model.Object{Kind: door.KindSecret, Namespace: api.OperandNamespace, Name: api.CertificateSecretName(s.options.Router)}
	if secret := s.objects.Secrets[key]; secret != nil {
		c.CertManager = managerOf(secret)
		c.From = cmp.Or(strings.Replace(secret.Annotations[api.AnnotationCertificateSource], "/", " ", 1), "secret "+key.Name)
	}
	c.fill(chain, s.options.Now, soon)
	return []Cert{c}
}

// fill adds what a chain says, and what clients find wrong with it.
func (c *Cert) fill(chain []*x509.Certificate, now time.Time, soon time.Duration) {
	if len(chain) == 0 {
		return
	}
	leaf := chain[0]
	from, end := leaf.NotBefore.UTC(), leaf.NotAfter.UTC()
	c.Fingerprint, c.Subject, c.Issuer = fingerprint(leaf), leaf.Subject.String(), issuerOf(leaf)
	c.Key, c.NotBefore, c.NotAfter = certificate.KeyType(leaf), &from, &end
	for _, link := range chain {
		c.Chain = append(c.Chain, CertLink{link.Subject.String(), link.Issuer.String(), certificate.KeyType(link), link.NotAfter.UTC()})
	}
	c.faults = certificate.Judge(chain, c.Host, now, soon)
	for _, p := range c.faults {
		c.Problems = append(c.Problems, "the certificate "+p.Text)
		if c.State == certOK || c.State == string(certificate.EndsSoon) {
			c.State = string(p.Fault)
		}
	}
}

// issuerOf is the name of an issuer that people know, or all of it.
func issuerOf(c *x509.Certificate) string {
	if slices.Equal(c.RawIssuer, c.RawSubject) {
		return "itself"
	}
	name := c.Issuer.CommonName
	if len(c.Issuer.Organization) > 0 && !strings.Contains(name, c.Issuer.Organization[0]) {
		name = strings.TrimSpace(c.Issuer.Organization[0] + " " + name)
	}
	return cmp.Or(name, c.Issuer.String())
}

// share notes who has the same certificate.
func share(all []Cert) {
	routes := map[string][]string{}
	for _, c := range all {
		if !c.quiet && c.Route != "" && c.From != fromDefault && c.Fingerprint != "" {
			routes[c.Fingerprint] = append(routes[c.Fingerprint], c.Route)
		}
	}
	for i := range all {
		for _, r := range routes[all[i].Fingerprint] {
			if r != all[i].Route && all[i].From != fromDefault {
				all[i].SameAs = append(all[i].SameAs, r)
			}
		}
	}
}

// Good reports whether clients accept all certificates. Expiring says that those that end
// soon count.
func (l *Certs) Good(expiring bool) bool {
	if l.Handshake != nil && !l.Handshake.AsPlanned {
		return false
	}
	return !slices.ContainsFunc(l.Items, func(c Cert) bool {
		switch c.State {
		case certOK, certNotServed, certUnknown:
			return false
		case string(certificate.EndsSoon):
			return expiring
		}
		return true
	})
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
