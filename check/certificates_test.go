package check

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/certificate"
)

// with gives the route a certificate.
func withCertificate(l leaf) scene {
	return func(t *testing.T, s *Snapshot) {
		t.Helper()
		s.Routes[0].Spec.TLS.Certificate = newAuthority(t).issue(t, l)
	}
}

const dayLong = 24 * time.Hour

func certificateRulings() map[string]ruling {
	www := []string{"www.example.com"}
	return map[string]ruling{
		"FL101": {
			withCertificate(leaf{names: www, end: now.Add(-dayLong)}), Fail, "route web/shop ended on 2026-11-21",
			func(t *testing.T, s *Snapshot) { // not served, so FL221 has it
				withCertificate(leaf{names: www, end: now.Add(-dayLong)})(t, s)
				said(&s.Routes[0]).Status = "False"
			},
		},
		"FL102": {
			withCertificate(leaf{names: www, from: now.Add(dayLong)}), Fail, "is valid from 2026-11-23T12:00:00Z on",
			withCertificate(leaf{names: www, from: now.Add(-time.Second)}),
		},
		"FL103": {
			withCertificate(leaf{names: www, end: now.Add(11 * dayLong), from: now.Add(-79 * dayLong)}), Warn, "ends in 11 days, on 2026-12-03",
			// One of six days is renewed in the last two.
			withCertificate(leaf{names: www, end: now.Add(3 * dayLong), from: now.Add(-3 * dayLong)}),
		},
		"FL104": {
			withCertificate(leaf{names: []string{"shop.example.com"}}), Warn, "is not for www.example.com, but for shop.example.com",
			withCertificate(leaf{names: []string{"*.example.com"}}),
		},
		"FL105": {
			func(_ *testing.T, s *Snapshot) {
				set(&s.Controllers[0], "DefaultCertificateReady", operatorv1.ConditionFalse, "DefaultCertificateNotFound", "no Secret x")
			}, Fail, "no Secret x",
			func(_ *testing.T, s *Snapshot) {
				set(&s.Controllers[0], "DefaultCertificateReady", operatorv1.ConditionTrue, "AsExpected", "")
			},
		},
		"FL106": {
			withCertificate(leaf{names: www, published: true}), Warn, "is sent without that of its issuer, CN=Test CA",
			func(t *testing.T, s *Snapshot) {
				ca := newAuthority(t)
				s.Routes[0].Spec.TLS.Certificate, s.Routes[0].Spec.TLS.CACertificate = ca.issue(t, leaf{names: www, published: true}), text(ca.cert.Raw)
			},
		},
		"FL107": {
			func(t *testing.T, s *Snapshot) {
				ca := newAuthority(t)
				s.Routes[0].Spec.TLS.Certificate = ca.issue(t, leaf{names: www}) + ca.issue(t, leaf{names: www}) + text(ca.cert.Raw)
			}, Warn, "out of order",
			func(t *testing.T, s *Snapshot) {
				ca := newAuthority(t)
				s.Routes[0].Spec.TLS.Certificate = ca.issue(t, leaf{names: www}) + text(ca.cert.Raw)
			},
		},
		"FL108": {
			withCertificate(leaf{}), Warn, "names its host in the common name only",
			withCertificate(leaf{names: www}),
		},
	}
}

// TestExternal: the certificate of a Secret is judged as that of its Route.
func TestExternal(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	s.Routes[0].Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge, ExternalCertificate: &routev1.LocalObjectReference{Name: "shop-tls"}}
	s.Chains["web/shop-tls"] = newAuthority(t).issue(t, leaf{names: []string{"www.example.com"}, end: now.Add(-dayLong)})
	if got := s.with(certificate.Expired); len(got) != 1 || got[0].Object != "route/web/shop" {
		t.Errorf("%+v", got)
	}
	s = healthy(t)
	s.Chains["openshift-ingress/router-certs-default"] = newAuthority(t).issue(t, leaf{names: []string{"*.apps.example.com"}, end: now.Add(-dayLong)})
	if got := s.with(certificate.Expired); len(got) != 1 || got[0].Object != "ingresscontroller/openshift-ingress-operator/default" {
		t.Errorf("%+v", got)
	}
}

// TestHostilePEM: what is no certificate is not judged, and harms nothing.
func TestHostilePEM(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	for _, bad := range []string{"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "\x00\x1b[2J", "-----BEGIN CERTIFICATE-----"} {
		s.Routes[0].Spec.TLS.Certificate = bad
		s.parsed, s.chains = false, nil
		if got := s.served(); len(got) != 1 {
			t.Errorf("%q: %d chains", bad, len(got))
		}
	}
}
