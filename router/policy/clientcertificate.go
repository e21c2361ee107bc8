package policy

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// Annotations about client certificates.
const (
	AnnotationClientCA          = "fairlead.dev/client-ca"
	AnnotationClientCertificate = "fairlead.dev/client-certificate"
)

var clientCARow = Annotation{
	Key: AnnotationClientCA, Values: "name of a Secret", Default: "none", Terminations: tls,
	Doc:      "Clients need a certificate that an authority of this Secret (key ca.crt) has signed. All routes of the host have the same CA.",
	protects: always, demands: true, set: setClientCA,
}

var clientCertificateRow = Annotation{
	Key: AnnotationClientCertificate, Values: "Required or Optional", Default: "Required", Terminations: tls,
	Doc:      "With Optional, clients of fairlead.dev/client-ca may come without a certificate.",
	protects: always, set: setClientCertificate,
}

// SubjectRegex is the type of subjects that are regular expressions.
const SubjectRegex = "Regex"

// SubjectExpression returns which subject of a group, which may be nil, is the first regular
// expression, or -1 if none is one.
func SubjectExpression(a *v1alpha1.Authentication) int {
	if a == nil || a.ClientCertificate == nil {
		return -1
	}
	return slices.IndexFunc(a.ClientCertificate.Subjects, func(s v1alpha1.ClientSubject) bool { return s.Type == SubjectRegex })
}

func setClientCA(s *Spec, v string) error {
	if len(validation.IsDNS1123Subdomain(v)) > 0 {
		return errors.New("must be the name of a Secret of the namespace")
	}
	s.setAuthentication(func(a *v1alpha1.Authentication) {
		a.ClientCertificate = &v1alpha1.ClientCertificateAuthentication{CASecret: v1alpha1.ObjectReference(v)}
	})
	return nil
}

// setClientCertificate comes after the row of the CA.
func setClientCertificate(s *Spec, v string) error {
	if v != "Required" && v != "Optional" {
		return errors.New("must be Required or Optional")
	}
	if a := s.Groups.Authentication; a != nil && a.ClientCertificate != nil {
		c := *a.ClientCertificate
		c.Mode = v
		s.setAuthentication(func(a *v1alpha1.Authentication) { a.ClientCertificate = &c })
	}
	return nil
}
