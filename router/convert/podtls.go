package convert

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// caKey is the key of ConfigMaps that BackendTLSPolicies name.
const caKey = "ca.crt"

// podCheck is how pods of a Service's port show who they are.
type podCheck struct {
	ca, host string
	owner    string
}

// podTLS makes the BackendTLSPolicies of Routes with re-encrypt termination. A policy is for
// all routes to a port of a Service, so what Routes ask for must be the same.
func (c *conversion) podTLS() {
	checks := map[model.Object]podCheck{}
	for _, d := range c.drafts {
		if d.closed || d.claim.Termination != model.Reencrypt {
			continue
		}
		ca := strings.TrimSpace(d.Route.Spec.TLS.DestinationCACertificate)
		if ca == "" && c.in.Settings.DestinationCA == nil {
			c.close(d, "spec.tls.destinationCACertificate", "the certificates of its pods are not verified, and on a Gateway TLS to pods always is; set destinationCACertificate")
			continue
		}
		for _, b := range d.backends {
			key := model.Object{Kind: model.Kind(b.portName), Namespace: d.Route.Namespace, Name: b.name}
			want := podCheck{ca, cmp.Or(d.spec.ServerName, b.name+"."+d.Route.Namespace+".svc"), d.Route.Name}
			known, there := checks[key]
			switch {
			case !there:
				checks[key] = want
				c.backendTLSPolicy(d, &b, want)
			case known.ca != want.ca || known.host != want.host:
				c.close(d, "spec.tls.destinationCACertificate", "Route "+known.owner+" verifies pods of Service "+b.name+" in another way, and a BackendTLSPolicy is for all routes to a port; let both say the same, or give the Service a second port")
			}
		}
	}
	c.unencrypted(checks)
}

// unencrypted closes Routes that speak no TLS to a port for which others ask for it.
func (c *conversion) unencrypted(checks map[model.Object]podCheck) {
	for _, d := range c.drafts {
		if d.closed || d.claim.Termination == model.Reencrypt || d.claim.Termination == model.Passthrough {
			continue
		}
		for _, b := range d.backends {
			if other, there := checks[model.Object{Kind: model.Kind(b.portName), Namespace: d.Route.Namespace, Name: b.name}]; there && !d.closed {
				c.close(d, "spec.tls.termination", "Route "+other.owner+" speaks TLS to the same port of Service "+b.name+", and on a Gateway all routes to it do; use termination reencrypt, or another port")
			}
		}
	}
}

// backendTLSPolicy makes the policy of a Service's port, and the ConfigMap with its authorities.
func (c *conversion) backendTLSPolicy(d *draft, b *backendRef, check podCheck) {
	wanted := b.name
	if b.portName != "" {
		wanted += "-" + b.portName
	}
	ca := c.name("ConfigMap", d.Route.Namespace, wanted+"-ca")
	if check.ca != "" {
		c.add(&corev1.ConfigMap{ObjectMeta: meta(d.Route.Namespace, ca, d.from()), Data: map[string]string{caKey: check.ca + "\n"}})
		if d.spec.ServerName == "" {
			c.find(d.Source, api.SeverityWarning, "spec.tls.destinationCACertificate", api.ReasonConversionDiffers,
				"a BackendTLSPolicy also checks the name in the certificates of pods, and the Route names none", "pods must have certificates for "+check.host+"; others get no request, and clients 503")
		}
	} else {
		c.find(d.Source, api.SeverityWarning, "spec.tls.destinationCACertificate", api.ReasonConversionNeeds,
			"its pods are verified by the router's own CA for pods, which Gateways do not have", "requests are answered with 500 until ConfigMap "+ca+" has that CA in the key "+caKey)
	}
	p := &gatewayv1.BackendTLSPolicy{ObjectMeta: meta(d.Route.Namespace, c.name("BackendTLSPolicy", d.Route.Namespace, wanted), d.from())}
	target := gatewayv1.LocalPolicyTargetReferenceWithSectionName{LocalPolicyTargetReference: gatewayv1.LocalPolicyTargetReference{Kind: "Service", Name: gatewayv1.ObjectName(b.name)}}
	if b.portName != "" {
		section := gatewayv1.SectionName(b.portName)
		target.SectionName = &section
	}
	p.Spec.TargetRefs = []gatewayv1.LocalPolicyTargetReferenceWithSectionName{target}
	p.Spec.Validation = gatewayv1.BackendTLSPolicyValidation{
		Hostname:          gatewayv1.PreciseHostname(check.host),
		CACertificateRefs: []gatewayv1.LocalObjectReference{{Kind: "ConfigMap", Name: gatewayv1.ObjectName(ca)}},
	}
	c.add(p)
}
