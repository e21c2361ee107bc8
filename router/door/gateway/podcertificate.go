package gateway

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// fieldPodCertificate is where a Gateway names the certificate that it shows pods.
const fieldPodCertificate = "spec.tls.backend.clientCertificateRef"

// podCertificate is what a Gateway shows pods that a BackendTLSPolicy is for.
type podCertificate struct {
	// certificate is nil if what the Gateway names cannot be used. Then nothing gets to such
	// pods: what they let in depends on who asks.
	certificate *model.Certificate
	// reason and message are those of the Gateway's condition ResolvedRefs.
	reason  gatewayv1.GatewayConditionReason
	message string
}

func (c *podCertificate) condition() model.StatusCondition {
	return model.StatusCondition{
		Type: string(gatewayv1.GatewayConditionResolvedRefs), True: c.reason == gatewayv1.GatewayReasonResolvedRefs, Reason: string(c.reason), Message: c.message,
	}
}

// podSecret judges what a Gateway names for pods without a look at the Secret, and reports
// false if it names nothing.
func podSecret(g *gatewayv1.Gateway, grantsOf func(namespace string) []*gatewayv1.ReferenceGrant) (certificateRef, bool) {
	if g.Spec.TLS == nil || g.Spec.TLS.Backend == nil || g.Spec.TLS.Backend.ClientCertificateRef == nil {
		return certificateRef{}, false
	}
	return secretRef(gatewayObject(g), g.Spec.TLS.Backend.ClientCertificateRef, fieldPodCertificate, grantsOf), true
}

// forPods reads the certificate that a Gateway shows pods, nil if it names none.
func (k *keyRing) forPods(g *gatewayv1.Gateway) *podCertificate {
	ref, named := podSecret(g, grantsFrom(k.src))
	if !named {
		return nil
	}
	if ref.secret.Namespace != g.Namespace {
		k.depend(grantsOf(ref.secret.Namespace))
	}
	switch ref.reason {
	case gatewayv1.ListenerReasonResolvedRefs:
	case gatewayv1.ListenerReasonRefNotPermitted:
		return &podCertificate{reason: gatewayv1.GatewayReasonRefNotPermitted, message: ref.message}
	default:
		return &podCertificate{reason: gatewayv1.GatewayReasonInvalidClientCertificateRef, message: ref.message}
	}
	k.depend(ref.secret)
	texts, pending, err := tlsTexts(k.src, ref.secret)
	k.result.Pending = k.result.Pending || pending
	var c *model.Certificate
	if err == nil {
		// No other object has an owner of this kind and name, so the copy is its alone.
		c, err = k.past.Material.Certificate(k.owner, "\x00pods/"+string(k.owner.Kind), texts, k.settings.MaxRSABits)
	}
	if err == nil {
		err = certificate.Fits(c, k.settings.MaxCertificateBytes)
	}
	if err != nil {
		return &podCertificate{reason: gatewayv1.GatewayReasonInvalidClientCertificateRef, message: fmt.Sprintf("%s: %v", ref.message, err)}
	}
	return &podCertificate{certificate: c, reason: gatewayv1.GatewayReasonResolvedRefs}
}

func (k *keyRing) depend(o model.Object) {
	if !slices.Contains(k.result.Depends, o) {
		k.result.Depends = append(k.result.Depends, o)
	}
}

// tlsTexts returns what a Secret of type kubernetes.io/tls holds. Pending says that it is
// being read.
func tlsTexts(src door.Source, name model.Object) (texts certificate.Texts, pending bool, err error) {
	secret, err := src.Secret(name)
	var unread interface{ Pending() bool }
	switch {
	case err != nil:
		return texts, errors.As(err, &unread) && unread.Pending(), err //nolint:wrapcheck // it says all
	case secret == nil:
		return texts, false, fmt.Errorf("secret %q does not exist in namespace %q", name.Name, name.Namespace)
	case secret.Type != corev1.SecretTypeTLS:
		return texts, false, fmt.Errorf("secret %q must be of type %s, it is %s", name.Name, corev1.SecretTypeTLS, secret.Type)
	}
	return certificate.Texts{Chain: string(secret.Data[corev1.TLSCertKey]), Key: string(secret.Data[corev1.TLSPrivateKeyKey])}, false, nil
}

// podCertificate returns what a Gateway shows the pods of the route, nil if it names nothing.
func (b *builder) podCertificate(g *gatewayv1.Gateway) *podCertificate {
	key := gatewayObject(g)
	if shown, known := b.shown[key]; known {
		return shown
	}
	k := &keyRing{owner: b.result.Object, src: b.src, settings: b.settings, past: b.past, result: b.result}
	shown := k.forPods(g)
	if b.shown == nil {
		b.shown = map[model.Object]*podCertificate{}
	}
	b.shown[key] = shown
	return shown
}
