package ingress

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
)

// tls returns the TLS part of the Route of a host, nil for plain HTTP.
//
// TLS is on if a TLS entry of the Ingress is for the host, if there is an
// entirely empty entry, or if the annotation route.openshift.io/termination
// says so.
func (c *conversion) tls(host string, live *routev1.Route) *routev1.TLSConfig {
	termination, explicit := c.termination()
	var liveTLS *routev1.TLSConfig
	if live != nil {
		liveTLS = live.Spec.TLS
	}
	entry, index := c.tlsEntry(host, liveTLS)
	if entry == nil && !explicit {
		return nil
	}
	t := &routev1.TLSConfig{
		Termination:                   termination,
		InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyRedirect,
	}
	if liveTLS != nil {
		t.InsecureEdgeTerminationPolicy = liveTLS.InsecureEdgeTerminationPolicy
	}
	if c.insecure != "" {
		t.InsecureEdgeTerminationPolicy = c.insecure
	}
	if termination == routev1.TLSTerminationPassthrough {
		if t.InsecureEdgeTerminationPolicy == routev1.InsecureEdgeTerminationPolicyAllow {
			t.InsecureEdgeTerminationPolicy = routev1.InsecureEdgeTerminationPolicyRedirect
		}
		return t
	}
	if liveTLS != nil && liveTLS.Termination != routev1.TLSTerminationPassthrough {
		t.CACertificate = liveTLS.CACertificate
	}
	if entry != nil && entry.SecretName != "" {
		c.certificate(t, fmt.Sprintf("spec.tls[%d].secretName", index), entry.SecretName, host, liveTLS)
	}
	if termination == routev1.TLSTerminationReencrypt {
		t.DestinationCACertificate = c.destinationCA(liveTLS)
	}
	return t
}

// termination returns the termination, and whether the annotation asks for TLS.
func (c *conversion) termination() (routev1.TLSTerminationType, bool) {
	value, ok := c.in.Ingress.Annotations[annotationTermination]
	switch t := routev1.TLSTerminationType(value); t {
	case routev1.TLSTerminationEdge, routev1.TLSTerminationReencrypt, routev1.TLSTerminationPassthrough:
		return t, true
	}
	if ok {
		c.warn("metadata.annotations["+annotationTermination+"]", api.ReasonInvalidAnnotation,
			fmt.Sprintf("%q is none of edge, reencrypt and passthrough", value), "edge is used where the Ingress has TLS")
	}
	return routev1.TLSTerminationEdge, false
}

// tlsEntry returns the entry for a host: one that names the host, else one
// with a wildcard that covers it, else one without hosts whose certificate
// covers it, else the empty entry, which means the router's own certificate.
func (c *conversion) tlsEntry(host string, live *routev1.TLSConfig) (*networkingv1.IngressTLS, int) {
	all, e := c.in.Ingress.Spec.TLS, c.tlsEntries()
	_, parent, _ := strings.Cut(host, ".")
	for _, name := range []string{host, "*." + parent} {
		if i, ok := e.byHost[name]; ok {
			return &all[i], i
		}
	}
	copied := sync.OnceValue(func() bool {
		return live != nil && live.Certificate != "" && certificate.Pair{Certificate: []byte(live.Certificate)}.Covers(anyHost(host)) == nil
	})
	for _, i := range e.withoutHosts {
		if c.coveredBy(i, host, live, copied) {
			return &all[i], i
		}
	}
	if e.empty >= 0 {
		return &all[e.empty], e.empty
	}
	return nil, -1
}

// coveredBy reports whether the certificate of an entry without hosts is for a
// host. If that is not known, the entry stays that of Routes that have it: a
// Secret that is gone must not leave its hosts without TLS.
func (c *conversion) coveredBy(index int, host string, live *routev1.TLSConfig, copied func() bool) bool {
	name := c.in.Ingress.Spec.TLS[index].SecretName
	verdict := c.judge(name)
	if verdict.Problem == "" {
		return verdict.covers(host) == nil
	}
	if live != nil && live.ExternalCertificate != nil && live.ExternalCertificate.Name == name || copied() {
		return true
	}
	c.warn(fmt.Sprintf("spec.tls[%d].secretName", index), api.ReasonCertificateInvalid,
		verdict.Problem+", and the entry has no hosts", "its hosts are served without TLS until it can be used; write them into the entry")
	return false
}

// certificate refers to the Secret with the certificate, or copies it if the
// Ingress asks for that. If it cannot be used, what the Route had stays; if it
// had nothing yet, the router's default certificate serves, so that a host is
// reachable while its first certificate is being issued.
func (c *conversion) certificate(t *routev1.TLSConfig, field, name, host string, live *routev1.TLSConfig) {
	verdict := c.judge(name)
	if verdict.Problem != "" {
		c.warn(field, api.ReasonCertificateInvalid, verdict.Problem, c.lastCertificate(t, name, live))
		return
	}
	if c.copies {
		pair := pairOf(c.in.Secrets[name])
		t.Certificate, t.Key = string(pair.Certificate), string(pair.Key)
	} else {
		t.ExternalCertificate = &routev1.LocalObjectReference{Name: name}
	}
	if err := verdict.covers(host); err != nil {
		c.warn(field, api.ReasonCertificateHostMismatch, fmt.Sprintf("Secret %s: %v", name, err), "it is served, and clients will refuse it")
	}
}

// lastCertificate keeps what a Route had, where the Secret of a name cannot be
// used, and says what happens now. The default certificate never takes the place
// of one that was there: clients would see another server without a finding
// on the Route.
func (c *conversion) lastCertificate(t *routev1.TLSConfig, name string, live *routev1.TLSConfig) string {
	const effectWithdrawn = "its hosts are not served until it can be used"
	switch {
	case live == nil || live.ExternalCertificate == nil && live.Certificate == "":
		return "the router's default certificate is served"
	case live.ExternalCertificate != nil && live.ExternalCertificate.Name != name:
		t.ExternalCertificate = live.ExternalCertificate
		return "Secret " + live.ExternalCertificate.Name + " stays in use"
	case live.ExternalCertificate != nil:
		t.ExternalCertificate = live.ExternalCertificate
		if s := c.in.Secrets[name]; s != nil && s.Type == corev1.SecretTypeTLS {
			return "the last good certificate is served" // Routers keep it.
		}
		return effectWithdrawn
	case c.copies:
		t.Certificate, t.Key = live.Certificate, live.Key
		return "the last good certificate is served"
	}
	t.ExternalCertificate = &routev1.LocalObjectReference{Name: name} // Without copies there is no key in any Route.
	return effectWithdrawn
}

// destinationCA returns the CA with which the router checks the pods: that of
// the annotation, else the value that a user wrote into the Route.
func (c *conversion) destinationCA(live *routev1.TLSConfig) string {
	name, ok := c.in.Ingress.Annotations[annotationDestinationCA]
	kept := ""
	if live != nil && live.Termination == routev1.TLSTerminationReencrypt {
		kept = live.DestinationCACertificate
	}
	if !ok {
		return kept
	}
	s := c.in.Secrets[name]
	if s != nil && (s.Type == corev1.SecretTypeTLS || s.Type == corev1.SecretTypeOpaque) && len(s.Data[corev1.TLSCertKey]) > 0 {
		return string(s.Data[corev1.TLSCertKey])
	}
	effect := "the last good CA stays"
	if kept == "" {
		// Without it the pods would be taken for what they say they are.
		c.unverified, effect = true, "the paths answer 503 until it can be used"
	}
	c.warn("metadata.annotations["+annotationDestinationCA+"]", api.ReasonCertificateInvalid,
		fmt.Sprintf("Secret %s does not exist, or has no tls.crt, or is of another type than %s and %s", name, corev1.SecretTypeTLS, corev1.SecretTypeOpaque), effect)
	return kept
}

// anyHost returns a host that a wildcard covers.
func anyHost(host string) string {
	if parent, ok := strings.CutPrefix(host, "*."); ok {
		return "any." + parent
	}
	return host
}

func pairOf(s *corev1.Secret) certificate.Pair {
	return certificate.Pair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
}

// SecretNames returns the Secrets that are read for an Ingress, each once, sorted.
func SecretNames(i *networkingv1.Ingress, limits Limits) []string {
	names := CertificateNames(i, limits)
	if name := DestinationCAName(i); name != "" {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CertificateNames returns the Secrets of spec.tls that may be read, each once,
// in order.
func CertificateNames(i *networkingv1.Ingress, limits Limits) []string {
	names := certificateNames(i)
	return names[:min(len(names), limits.Or(DefaultLimits()).Secrets)]
}

// DestinationCAName returns the Secret of the CA of the pods, or "".
func DestinationCAName(i *networkingv1.Ingress) string { return i.Annotations[annotationDestinationCA] }

func certificateNames(i *networkingv1.Ingress) []string {
	var names []string
	seen := map[string]bool{}
	for _, t := range i.Spec.TLS {
		if t.SecretName != "" && !seen[t.SecretName] {
			seen[t.SecretName] = true
			names = append(names, t.SecretName)
		}
	}
	return names
}

// ServiceNames returns the Services that an Ingress names, each once, sorted: those of
// its paths, and those that annotations of another controller ask about clients, or send
// copies of requests to.
func ServiceNames(i *networkingv1.Ingress) []string {
	names := backendNames(i)
	for _, name := range []string{authServiceName(i), mirrorServiceName(i)} {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// backendNames returns the Services of the paths.
func backendNames(i *networkingv1.Ingress) []string {
	var names []string
	if b := i.Spec.DefaultBackend; b != nil && b.Service != nil {
		names = append(names, b.Service.Name)
	}
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if p.Backend.Service != nil {
				names = append(names, p.Backend.Service.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
