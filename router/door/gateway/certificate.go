package gateway

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// mostCertificates bounds what HAProxy holds for one Gateway or ListenerSet: an RSA and
	// an ECDSA certificate for each of 64 listeners.
	mostCertificates = 128
	// mostOwnNames is how many of the names that are in a certificate lead to it, besides
	// the hostname of its listener.
	mostOwnNames = 16
)

// certificateRef is a reference to a Secret with a certificate. The reason is
// ListenerReasonResolvedRefs if the Secret may be read.
type certificateRef struct {
	secret  model.Object
	reason  gatewayv1.ListenerConditionReason
	message string
}

// certificateRefs judges what needs no look at the Secrets.
func (l *listener) certificateRefs(grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) (refs []certificateRef) {
	if l.spec.TLS == nil {
		return nil
	}
	for i := range l.spec.TLS.CertificateRefs {
		refs = append(refs, secretRef(l.owner, &l.spec.TLS.CertificateRefs[i], fmt.Sprintf("tls.certificateRefs[%d]", i), grantsOf))
	}
	return refs
}

// secretRef judges a reference of an object to a Secret, in a field.
func secretRef(owner model.Object, r *gatewayv1.SecretObjectReference, field string, grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) certificateRef {
	ref := certificateRef{
		secret: model.Object{Kind: door.KindSecret, Namespace: owner.Namespace, Name: string(r.Name)},
		reason: gatewayv1.ListenerReasonResolvedRefs, message: field,
	}
	if r.Namespace != nil {
		ref.secret.Namespace = string(*r.Namespace)
	}
	to := reference{string(owner.Kind), owner.Namespace, "", string(door.KindSecret), ref.secret.Namespace, ref.secret.Name}
	switch {
	case len(validation.IsDNS1123Subdomain(string(r.Name))) > 0 || len(validation.IsDNS1123Label(ref.secret.Namespace)) > 0:
		ref.reason, ref.message = gatewayv1.ListenerReasonInvalidCertificateRef, field+": is no name of a Secret"
	case r.Group != nil && *r.Group != "" || r.Kind != nil && string(*r.Kind) != string(door.KindSecret):
		ref.reason, ref.message = gatewayv1.ListenerReasonInvalidCertificateRef, field+": must be a Secret"
	case to.fromNamespace != to.namespace && !permitted(grantsOf(to.namespace), to):
		ref.reason, ref.message = gatewayv1.ListenerReasonRefNotPermitted, field+": no ReferenceGrant of namespace "+to.namespace+" permits it"
	}
	return ref
}

// Secrets returns those that routers may read for a Gateway: what its listeners name, and
// what it shows pods, as far as in other namespaces a ReferenceGrant permits it. Each is there
// once, sorted.
func Secrets(g *gatewayv1.Gateway, grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) []model.Object {
	all := secretsOf(listenersOf(g), grantsOf)
	if ref, named := podSecret(g, grantsOf); named && ref.reason == gatewayv1.ListenerReasonResolvedRefs {
		all = append(all, ref.secret)
	}
	return sortedOnce(all)
}

// SetSecrets returns those that routers may read for a ListenerSet, as Secrets does.
func SetSecrets(v *gateway.SetVerdict, grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) []model.Object {
	return sortedOnce(secretsOf(judgedEntries(v), grantsOf))
}

func secretsOf(listeners []listener, grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) (all []model.Object) {
	for i := range listeners {
		if l := &listeners[i]; l.secure() && l.served() {
			for _, ref := range l.certificateRefs(grantsOf) {
				if ref.reason == gatewayv1.ListenerReasonResolvedRefs {
					all = append(all, ref.secret)
				}
			}
		}
	}
	return all
}

func sortedOnce(all []model.Object) []model.Object {
	slices.SortFunc(all, func(a, b model.Object) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// secure reports whether the listener ends TLS.
func (l *listener) secure() bool { return gateway.EndsTLS(l.spec) }

// keyRing reads the certificates of the listeners of a Gateway or ListenerSet.
type keyRing struct {
	owner    model.Object
	src      door.Source
	settings door.Settings
	past     door.Past
	result   *door.Result
	// held counts the certificates that the object has.
	held int
}

// read returns the certificates of a listener, and notes what is wrong. What is wrong with one
// leaves the others alone.
func (k *keyRing) read(l *listener, has bool, r *resolution) (all []model.ListenerCertificate) {
	wrong := func(why gatewayv1.ListenerConditionReason, text string) {
		if r.reason == gatewayv1.ListenerReasonResolvedRefs {
			r.reason, r.message = why, text
		}
	}
	r.lacking = true
	waits := false
	refs := l.certificateRefs(grantsFrom(k.src))
	if len(refs) == 0 {
		wrong(gatewayv1.ListenerReasonInvalidCertificateRef, "tls.certificateRefs: names no certificate")
	}
	for _, ref := range refs {
		if ref.reason != gatewayv1.ListenerReasonResolvedRefs {
			wrong(ref.reason, ref.message)
			continue
		}
		if !has || !l.served() {
			r.lacking = false
			continue // nothing is shown, so nothing is read
		}
		h, err := k.fromSecret(l, ref.secret)
		var unknown interface{ Unknown() bool }
		if errors.As(err, &unknown) && unknown.Unknown() {
			r.lacking = false // the router may well have it
			continue
		}
		if err != nil {
			wrong(gatewayv1.ListenerReasonInvalidCertificateRef, ref.message+": "+err.Error())
		}
		if h != nil {
			all, r.lacking = append(all, *h), false
			k.held++
		}
		waits = waits || h == nil && err == nil
	}
	if waits {
		all = k.keep(l, all)
		r.lacking = r.lacking && len(all) == 0
	}
	return all
}

// keep adds what a listener has shown so far, while a Secret that it has come to name is being
// read: else clients would be shown nothing until then. What it may no longer name goes.
func (k *keyRing) keep(l *listener, all []model.ListenerCertificate) []model.ListenerCertificate {
	for i := range k.past.Listeners {
		if k.past.Listeners[i].Scope != l.scope {
			continue
		}
		for _, c := range k.past.Listeners[i].Certificates {
			switch to := (reference{string(l.owner.Kind), l.owner.Namespace, "", string(door.KindSecret), c.Secret.Namespace, c.Secret.Name}); {
			case slices.ContainsFunc(all, func(h model.ListenerCertificate) bool { return h.Secret == c.Secret }), k.held == mostCertificates:
			case to.fromNamespace != to.namespace && !permitted(grantsFrom(k.src)(to.namespace), to):
			case l.hostname == "" && c.Algorithm == x509.Ed25519.String():
			default:
				all = append(all, c)
				k.held++
			}
		}
	}
	return all
}

// fromSecret reads a certificate. Where the Secret has come to hold what cannot be used, and
// while it is being read, the last good one of it is shown.
func (k *keyRing) fromSecret(l *listener, name model.Object) (*model.ListenerCertificate, error) {
	k.depend(name)
	if k.held == mostCertificates {
		return nil, fmt.Errorf("a %s can show %d certificates; this is one more", k.owner.Kind, mostCertificates)
	}
	texts, pending, err := tlsTexts(k.src, name)
	switch {
	case pending:
		k.result.Pending = true
		return k.former(l, name), nil
	case err != nil:
		return nil, err
	}
	c, err := k.past.Material.Certificate(k.owner, name.String(), texts, k.settings.MaxRSABits)
	if err == nil {
		err = certificate.Fits(c, k.settings.MaxCertificateBytes)
	}
	if err != nil {
		return k.former(l, name), fmt.Errorf("secret %q: %w", name.Name, err)
	}
	h := listenerCertificate(c, name)
	if l.hostname == "" && h.Algorithm == x509.Ed25519.String() {
		return nil, fmt.Errorf("secret %q has an Ed25519 key, which a listener without a hostname cannot show; use ECDSA or RSA", name.Name)
	}
	return h, nil
}

// former returns the certificate of a Secret that the listener has shown so far, or nil.
func (k *keyRing) former(l *listener, secret model.Object) *model.ListenerCertificate {
	for i := range k.past.Listeners {
		if k.past.Listeners[i].Scope != l.scope {
			continue
		}
		all := k.past.Listeners[i].Certificates
		for n := range all {
			if all[n].Secret == secret {
				return &all[n]
			}
		}
	}
	return nil
}

func listenerCertificate(c *model.Certificate, secret model.Object) *model.ListenerCertificate {
	leaf := certificate.Parse(c.PEM)[0]
	return &model.ListenerCertificate{Certificate: c, Secret: secret, Algorithm: leaf.PublicKeyAlgorithm.String(), Names: ownNames(leaf)}
}

// ownNames returns the first names that are in the certificate, of those that HAProxy can
// look up.
func ownNames(leaf *x509.Certificate) (names []string) {
	for _, name := range leaf.DNSNames {
		name = strings.ToLower(name)
		if len(names) < mostOwnNames && gateway.HostnameProblem(name) == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
