package explain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// listenerCerts are the certificates that listeners of Gateways and ListenerSets of this router name.
func (s *Snapshot) listenerCerts(soon time.Duration) (all []Cert) {
	g := s.gateways()
	if g == nil {
		return nil
	}
	for _, key := range slices.SortedFunc(maps.Keys(g.served), compareKeys) {
		if s.hides(key) {
			continue
		}
		o := s.objects.Gateways[key]
		rows := s.listenerRows(g, key, nil)
		refs := certificateRefs(o)
		for i := range min(len(rows), len(refs)) { // a row for each listener
			for n := range refs[i] {
				all = append(all, s.listenerCert(o, &rows[i], &refs[i][n], soon))
			}
		}
	}
	return all
}

// certificateRefs are those of each listener that ends TLS.
func certificateRefs(o metav1.Object) (refs [][]gatewayv1.SecretObjectReference) {
	of := func(t *gatewayv1.ListenerTLSConfig) []gatewayv1.SecretObjectReference {
		if t == nil || t.Mode != nil && *t.Mode == gatewayv1.TLSModePassthrough {
			return nil
		}
		return t.CertificateRefs
	}
	switch v := o.(type) {
	case *gatewayv1.Gateway:
		for i := range v.Spec.Listeners {
			refs = append(refs, of(v.Spec.Listeners[i].TLS))
		}
	case *gatewayv1.ListenerSet:
		for i := range v.Spec.Listeners {
			refs = append(refs, of(v.Spec.Listeners[i].TLS))
		}
	}
	return refs
}

// listenerCert is what a listener names.
func (s *Snapshot) listenerCert(o metav1.Object, row *Row, ref *gatewayv1.SecretObjectReference, soon time.Duration) Cert {
	secret := model.Object{Kind: door.KindSecret, Namespace: o.GetNamespace(), Name: string(ref.Name)}
	from := "secret " + secret.Name
	if ref.Namespace != nil && string(*ref.Namespace) != secret.Namespace {
		secret.Namespace = string(*ref.Namespace)
		from = "secret " + secret.Namespace + "/" + secret.Name
	}
	c := Cert{Host: row.Route.Host, Listener: kindAndName(keyOf(o)) + "#" + row.Listener, From: from, State: certOK, Problems: []string{}}
	found := s.objects.Secrets[secret]
	of := []metav1.Object{o}
	if found != nil {
		of = slices.Insert(of, 0, metav1.Object(found))
	}
	c.CertManager = managerOf(of...)
	switch why := s.objects.gapOf(secret, found != nil); {
	case found == nil && why != "":
		c.State, c.Unread = certUnknown, true
		c.Problems = append(c.Problems, fmt.Sprintf("Secret %s %s", secret, why))
		return c
	case found != nil && row.State != RowRefused:
		c.fill(certificate.Parse(string(found.Data["tls.crt"])), s.options.Now, soon)
	}
	if c.Fingerprint == "" {
		c.State = certRefused
		if row.Why != "" {
			c.Problems = append(c.Problems, row.Why)
		}
	}
	return c
}
