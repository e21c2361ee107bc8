package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
)

// clientKeys are the annotations about certificates of clients.
type clientKeys struct {
	secret, mode said
	// verify is the annotation that says that one is asked for.
	verify said
	// off is set where no certificate is asked for after all.
	off bool
	// pem is set where pods get the certificate as ssl-client-cert.
	pem bool
	// subject is the one common name that is let in, or empty.
	subject said
}

// clientSecret is a Secret of the Ingress's namespace with the authorities.
func clientSecret(value string, into *carried) error {
	namespace, name, other := strings.Cut(value, "/")
	if !other {
		namespace, name = into.ingress.Namespace, value
	}
	if namespace != into.ingress.Namespace {
		return fmt.Errorf("%q is a Secret of another namespace, which cannot be read; copy it into this one", value)
	}
	if err := checkAuthentication(clientAuthentication(name, "", "")); err != nil {
		return fmt.Errorf("%q is not the name of a Secret", value)
	}
	return one(&into.clients.secret, name, into)
}

// clientVerify says whether a certificate is needed.
func clientVerify(value string, into *carried) error {
	switch value {
	case "off":
		into.clients.off = true
		return nil
	case "on":
		into.clients.verify = said{value, into.field}
		return nil
	case "optional":
		into.clients.verify = said{value, into.field}
		return one(&into.clients.mode, authentication.ModeOptional, into)
	case "optional_no_ca":
		return errors.New("certificates of any authority are never let in; use optional, or an authenticating proxy before the pods")
	}
	return fmt.Errorf("%q has no equivalent; there are on, off and optional", value)
}

// clientOptional is clientVerify in the words of HAProxy Technologies' controller.
func clientOptional(value string, into *carried) error {
	switch value {
	case "true":
		return one(&into.clients.mode, authentication.ModeOptional, into)
	case "false":
		return nil
	}
	return fmt.Errorf("%q is neither true nor false", value)
}

// commonName is a pattern that is a name: the dot stands for itself.
var commonName = regexp.MustCompile(`^CN=([A-Za-z0-9 ._@-]{1,200})$`)

// clientName is a pattern that certificates must match.
func clientName(value string, into *carried) error {
	m := commonName.FindStringSubmatch(value)
	if m == nil {
		return fmt.Errorf("%q is not CN= and a name; other patterns are not supported, write a RoutePolicy with authentication.clientCertificate.subjects", value)
	}
	into.clients.subject = said{m[1], into.field}
	return nil
}

// clientDepth is how many authorities may stand between a certificate and one of the
// Secret.
func clientDepth(value string, into *carried) error {
	if value == "0" {
		return errors.New("certificates of authorities below those of the Secret are let in, too; there is no limit of depth")
	}
	into.differs = "there is no limit of depth"
	return nil
}

// clientHeader hands on the certificate.
func clientHeader(value string, into *carried) error {
	if enabled(value) {
		into.differs = "pods get it as X-SSL-Client-DER, in base64, and none as ssl-client-cert or X-SSL-Client-Cert"
	}
	return nil
}

// clientPEM hands on the certificate as ingress-nginx writes it.
func clientPEM(value string, into *carried) error {
	into.clients.pem = enabled(value)
	return nil
}

func clientAuthentication(secret, mode, subject string) *v1alpha1.Authentication {
	c := &v1alpha1.ClientCertificateAuthentication{CASecret: v1alpha1.ObjectReference(secret), Mode: mode}
	if subject != "" {
		c.Subjects = []v1alpha1.ClientSubject{{Attribute: "CN", Value: subject}}
	}
	return &v1alpha1.Authentication{ClientCertificate: c}
}

// finishClients asks for certificates of clients. These annotations were about whole
// hosts, so other Ingresses of the hosts ask for the same, or are closed: ClosedHosts.
func (c *conversion) finishClients(into *carried) {
	k := &into.clients
	switch {
	case k.subject.field != "" && (k.off || k.secret.field == ""):
		c.protect(k.subject.field, "no certificate is asked for whose name could be compared", true)
		return
	case k.off:
		return
	case k.secret.field == "" && k.verify.field != "":
		c.protect(k.verify.field, "there is no annotation auth-tls-secret beside it that names the Secret with the CA", true)
		return
	case k.secret.field == "" && k.mode.field != "":
		c.warn(k.mode.field, api.ReasonForeignAnnotation, "there is no annotation client-ca beside it that names the Secret with the CA", effectNone)
		return
	case k.secret.field == "":
		return
	case into.passthrough():
		c.protect(k.secret.field, "with passthrough the router sees no certificates of clients", true)
		return
	case !into.tls():
		c.protect(k.secret.field, "clients show certificates by TLS only; add spec.tls", true)
		return
	}
	own := clientAuthentication(k.secret.value, k.mode.value, k.subject.value).ClientCertificate
	if k.pem {
		own.Forward = "PEM"
	}
	if a := into.groups.Authentication; a != nil {
		both := *a
		both.ClientCertificate = own
		into.groups.Authentication = &both
	} else {
		into.groups.Authentication = &v1alpha1.Authentication{ClientCertificate: own}
	}
	c.clients = fmt.Sprint(*own)
}

// HostClients returns what an Ingress asks clients for, as text, if that is all that it
// demands for its whole hosts: another one that demands the same is not closed.
func HostClients(i *networkingv1.Ingress, limits Limits) string {
	c := newConversion(Input{Ingress: i, Limits: limits})
	c.carryVendorAnnotations()
	if c.hostwide != "" {
		return ""
	}
	return c.clients
}

// SameClients reports whether all that another Ingress demands for its whole hosts are the certificates of
// clients that this one asks for, too.
func SameClients(other, i *networkingv1.Ingress, limits Limits) bool {
	clients := HostClients(other, limits)
	return clients != "" && clients == HostClients(i, limits)
}
