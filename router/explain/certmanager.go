package explain

import (
	"cmp"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// CertManager is what cert-manager has written down about a certificate that it renews: into the Secret,
// or what users ask it for in the annotations of a Route, Ingress or Gateway.
type CertManager struct {
	// Certificate is the name of the Certificate that owns the Secret, in its namespace; empty if the
	// Secret could not be read.
	Certificate string `json:"certificate,omitempty"`
	// Issuer is "KIND NAME", such as "ClusterIssuer letsencrypt".
	Issuer string `json:"issuer,omitempty"`
}

// Text is the same as one text.
func (m *CertManager) Text() string {
	switch {
	case m == nil:
		return ""
	case m.Certificate == "":
		return m.Issuer
	case m.Issuer == "":
		return "Certificate " + m.Certificate
	}
	return "Certificate " + m.Certificate + ", " + m.Issuer
}

// Annotations of cert-manager: of Secrets and Routes, and the short ones of Ingresses and Gateways.
const (
	managerCertificate   = "cert-manager.io/certificate-name"
	managerIssuer        = "cert-manager.io/issuer-name"
	managerIssuerKind    = "cert-manager.io/issuer-kind"
	managerShort         = "cert-manager.io/issuer"
	managerClusterIssuer = "cert-manager.io/cluster-issuer"
)

// managerOf reads the annotations of objects, the one that knows most first; nil if they have none.
func managerOf(objects ...metav1.Object) *CertManager {
	for _, o := range objects {
		of := o.GetAnnotations()
		m := CertManager{Certificate: of[managerCertificate]}
		switch name := cmp.Or(of[managerIssuer], of[managerShort]); {
		case name != "":
			m.Issuer = cmp.Or(of[managerIssuerKind], "Issuer") + " " + name
		case of[managerClusterIssuer] != "":
			m.Issuer = "ClusterIssuer " + of[managerClusterIssuer]
		}
		if m != (CertManager{}) {
			return &m
		}
	}
	return nil
}

// managerOfRoute is that of the certificate that a Route brings.
func (s *Snapshot) managerOfRoute(key model.Object, r *routev1.Route) *CertManager {
	original := r
	if o := s.objects.Routes[key]; o != nil {
		original = o // with the Secret that could not be read
	}
	var of []metav1.Object
	name := ""
	if t := original.Spec.TLS; t != nil && t.ExternalCertificate != nil {
		name = t.ExternalCertificate.Name
	}
	if i := s.objects.Ingresses[model.Object{Kind: "Ingress", Namespace: key.Namespace, Name: s.source.ingress[key]}]; i != nil {
		for _, t := range i.Spec.TLS {
			if slices.Contains(t.Hosts, original.Spec.Host) {
				name = cmp.Or(name, t.SecretName)
			}
		}
		of = append(of, i)
	} else {
		of = append(of, original)
	}
	if secret := s.objects.Secrets[model.Object{Kind: door.KindSecret, Namespace: key.Namespace, Name: name}]; secret != nil {
		of = slices.Insert(of, 0, metav1.Object(secret))
	}
	return managerOf(of...)
}
