package check

import (
	"crypto/x509"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/certificate"
)

// chain is a certificate that routers serve.
type chain struct {
	// object is the Route, or the IngressController of a default certificate; name is
	// its short form.
	object, name string
	host         string // empty for a default certificate
	certs        []*x509.Certificate
}

func (c *chain) leaf() *x509.Certificate { return c.certs[0] }

func certificates() []Rule {
	needs := []Source{SourceRoutes, SourceControllers, SourceSecrets}
	return []Rule{
		{ID: "FL101", Title: "A certificate has expired", State: Fail, Remedy: "renew the certificate", Needs: needs, Judge: having(certificate.Expired)},
		{ID: "FL102", Title: "A certificate is not valid yet", State: Fail, Remedy: "wait, or bring a certificate that is valid now", Needs: needs, Judge: having(certificate.NotYetValid)},
		{ID: "FL103", Title: "A certificate ends soon", State: Warn, Remedy: "renew the certificate", Needs: needs, Judge: having(certificate.EndsSoon)},
		{
			ID: "FL104", Title: "A certificate does not cover its host", State: Warn, Remedy: "bring a certificate with the host among its subjectAltNames",
			Needs: needs, Judge: having(certificate.NotCovering),
		},
		{
			ID: "FL105", Title: "The default certificate cannot be used", State: Fail, Remedy: "kubectl -n " + api.OperatorNamespace + " describe ingresscontroller NAME",
			Needs: []Source{SourceControllers}, Judge: noDefaultCertificate,
		},
		{ID: "FL106", Title: "A certificate chain is incomplete", State: Warn, Remedy: "append the certificates of the issuers to the chain", Needs: needs, Judge: having(certificate.ChainIncomplete)},
		{
			ID: "FL107", Title: "A certificate chain is out of order", State: Warn, Remedy: "write the certificates in order: that of the host first, each followed by that of its issuer",
			Needs: needs, Judge: having(certificate.ChainOutOfOrder),
		},
		{
			ID: "FL108", Title: "A certificate has a common name only", State: Warn, Remedy: "issue a certificate that has its hosts as subjectAltNames",
			Needs: needs, Judge: having(certificate.WithoutNames),
		},
	}
}

// having returns a judge that finds chains with a fault.
func having(fault certificate.Fault) func(*Snapshot) []Finding {
	return func(s *Snapshot) []Finding { return s.with(fault) }
}

// served returns the chains of admitted Routes and the default certificates.
func (s *Snapshot) served() []chain {
	if s.parsed {
		return s.chains
	}
	s.parsed = true
	for i := range s.Controllers {
		name := s.Controllers[i].Name
		if certs := certificate.Parse(s.Chains[api.OperandNamespace+"/"+api.CertificateSecretName(name)]); len(certs) > 0 {
			s.chains = append(s.chains, chain{object: object("ingresscontroller", &s.Controllers[i]), name: "router " + name, certs: certs})
		}
	}
	for i := range s.Routes {
		r := &s.Routes[i]
		if r.Spec.TLS == nil || len(s.admitted(r)) == 0 {
			continue
		}
		text := r.Spec.TLS.Certificate + "\n" + r.Spec.TLS.CACertificate
		if e := r.Spec.TLS.ExternalCertificate; e != nil {
			text = s.Chains[r.Namespace+"/"+e.Name]
		}
		if certs := certificate.Parse(text); len(certs) > 0 {
			s.chains = append(s.chains, chain{object: object("route", r), name: "route " + r.Namespace + "/" + r.Name, host: hostOf(r), certs: certs})
		}
	}
	return s.chains
}

// hostOf is the host of which clients check the certificate.
func hostOf(r *routev1.Route) string {
	for _, e := range r.Status.Ingress {
		if e.Host != "" {
			return e.Host
		}
	}
	return r.Spec.Host
}

// with returns a finding for each chain with a fault.
func (s *Snapshot) with(fault certificate.Fault) []Finding {
	var all []Finding
	list := s.served()
	for i := range list {
		c := &list[i]
		for _, p := range certificate.Judge(c.certs, c.host, s.Now, 0) {
			if p.Fault == fault {
				f := Finding{Object: c.object, Summary: "certificate of " + c.name + " " + p.Text}
				if route, ok := strings.CutPrefix(c.name, "route "); ok {
					f.Remedy = terminal.Command("kubectl", "fairlead", "certs", route)
				}
				all = append(all, f)
			}
		}
	}
	return all
}

func noDefaultCertificate(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		if c := condition(ic, "DefaultCertificateReady"); c != nil && c.Status == operatorv1.ConditionFalse {
			all = append(all, Finding{
				Object: object("ingresscontroller", ic), Summary: "router " + ic.Name + ": " + c.Message,
				Remedy: remedyOf(c, "kubectl -n "+api.OperatorNamespace+" describe ingresscontroller "+ic.Name),
			})
		}
	}
	return all
}

// remedyOf is the remedy of a condition's reason, or the given one.
func remedyOf(c *operatorv1.OperatorCondition, otherwise string) string {
	if r, ok := api.RemedyOf(api.Reason(c.Reason)); ok && r.Remedy != "" {
		return r.Remedy
	}
	return otherwise
}

// admitted returns the names of the routers that serve a Route.
func (s *Snapshot) admitted(r *routev1.Route) []string {
	var routers []string
	for _, e := range r.Status.Ingress {
		for _, c := range e.Conditions {
			if c.Type == routev1.RouteAdmitted && c.Status == corev1.ConditionTrue && s.own(e.RouterName) {
				routers = append(routers, e.RouterName)
			}
		}
	}
	return routers
}

// own says whether a router is one of those that are judged.
func (s *Snapshot) own(router string) bool { return s.Router == "" || s.Router == router }
