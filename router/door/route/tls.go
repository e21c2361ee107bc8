package route

import (
	"errors"
	"fmt"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// routeCertificate returns the certificate that a route brings, or nil.
func (b *builder) routeCertificate(owner model.Object, host string, t *routev1.TLSConfig) (*model.Certificate, model.Object, error) {
	if t.ExternalCertificate == nil || t.ExternalCertificate.Name == "" {
		if t.Certificate == "" {
			return nil, model.Object{}, b.past.Material.Unused(t.Key, t.CACertificate)
		}
		cert, err := b.read(owner, host, certificate.Texts{Chain: t.Certificate, Key: t.Key, CA: t.CACertificate})
		return cert, model.Object{}, err
	}
	name := model.Object{Kind: door.KindSecret, Namespace: owner.Namespace, Name: t.ExternalCertificate.Name}
	secret, err := b.src.Secret(name)
	if err != nil {
		var p interface{ Pending() bool }
		return nil, name, &externalError{err.Error(), errors.As(err, &p) && p.Pending()}
	}
	if secret == nil {
		return nil, name, &externalError{message: fmt.Sprintf("secret %q not found", name.Name)}
	}
	if secret.Type != corev1.SecretTypeTLS {
		return nil, name, &externalError{message: fmt.Sprintf("secret %q must be of type %s, it is %s", name.Name, corev1.SecretTypeTLS, secret.Type)}
	}
	cert, err := b.read(owner, host, certificate.Texts{
		Chain: string(secret.Data[corev1.TLSCertKey]), Key: string(secret.Data[corev1.TLSPrivateKeyKey]), CA: t.CACertificate,
	})
	return cert, name, err
}

// read checks a certificate's texts, within the bounds of the router.
func (b *builder) read(owner model.Object, host string, in certificate.Texts) (*model.Certificate, error) {
	cert, err := b.past.Material.Certificate(owner, host, in, b.settings.MaxRSABits)
	if err != nil {
		return nil, err
	}
	if err := certificate.Fits(cert, b.settings.MaxCertificateBytes); err != nil {
		return nil, err
	}
	return cert, nil
}

// externalError is a Secret that cannot be used, as opposed to its content.
type externalError struct {
	message string
	// pending is true while the Secret is still being fetched.
	pending bool
}

func (e *externalError) Error() string { return e.message }
