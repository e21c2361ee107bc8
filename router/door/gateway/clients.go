package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// clients returns what the handshakes of a listener ask clients for, nil for nothing. A
// listener whose clients could not be verified is refused: served, it would let in any.
func (k *keyRing) clients(g *gatewayv1.Gateway, l *listener, r *resolution) *model.ListenerClients {
	v, field := gateway.Validation(g, int32(l.spec.Port))
	if v == nil || !l.served() {
		return nil
	}
	if k.settings.AsksClients {
		l.refuse(gatewayv1.ListenerReasonUnsupportedValue, field+": the IngressController asks all clients for certificates (spec.clientTLS), and one handshake can ask for those of one list of authorities only, so the listener is not served; remove one of the two")
		return nil
	}
	j := tlsJudge{src: k.src, past: k.past, owner: k.owner}
	text, reason, message := j.authoritiesOfClients(g, v, field)
	for _, o := range j.depends {
		k.depend(o)
	}
	k.result.Pending = k.result.Pending || j.pending
	if former := k.formerClients(l); j.pending && former != nil && former.LetsAllIn == gateway.LetsAllIn(v) {
		return former
	}
	ca, err := k.past.Material.Bundle(k.owner, text)
	if err != nil {
		reason, message = cmp.Or(reason, gatewayv1.ListenerReasonInvalidCACertificateRef), cmp.Or(message, field+".caCertificateRefs: "+err.Error())
	}
	if reason != "" {
		if k.owner.Kind == KindListenerSet { // whose owner may not read what the Gateway names
			message = "the Gateway asks clients for certificates, and not all authorities that it names can be used"
		}
		r.reason, r.message = reason, message
	}
	if err != nil {
		l.refuse(gatewayv1.ListenerReasonNoValidCACertificate, "clients cannot be verified, so the listener is not served: "+message)
		return nil
	}
	return &model.ListenerClients{CA: ca, LetsAllIn: gateway.LetsAllIn(v)}
}

// refuse overrules the verdict on a listener, which is then not served.
func (l *listener) refuse(reason gatewayv1.ListenerConditionReason, message string) {
	l.verdict.Reason, l.verdict.Message = reason, message
}

// formerClients returns what the handshakes of a listener ask clients for so far, or nil.
func (k *keyRing) formerClients(l *listener) *model.ListenerClients {
	for i := range k.past.Listeners {
		if k.past.Listeners[i].Scope == l.scope {
			return k.past.Listeners[i].Clients
		}
	}
	return nil
}

// authoritiesOfClients returns the texts of the references that can be used, together, and
// what is wrong with the first of the others.
func (j *tlsJudge) authoritiesOfClients(g *gatewayv1.Gateway, v *gatewayv1.FrontendTLSValidation, field string) (text string, reason gatewayv1.ListenerConditionReason, message string) {
	var texts []string
	for i := range v.CACertificateRefs {
		one, why, err := j.authorityOfClients(g, &v.CACertificateRefs[i])
		switch {
		case err == nil:
			texts = append(texts, one)
		case reason == "":
			reason, message = why, fmt.Sprintf("%s.caCertificateRefs[%d]: %v", field, i, err)
		}
	}
	return strings.Join(texts, "\n"), reason, message
}

func (j *tlsJudge) authorityOfClients(g *gatewayv1.Gateway, r *gatewayv1.ObjectReference) (string, gatewayv1.ListenerConditionReason, error) {
	key := model.Object{Kind: door.KindConfigMap, Namespace: g.Namespace, Name: string(r.Name)}
	if r.Namespace != nil {
		key.Namespace = string(*r.Namespace)
	}
	switch {
	case r.Group != "" || string(r.Kind) != string(door.KindConfigMap):
		return "", gatewayv1.ListenerReasonInvalidCACertificateKind, errors.New(`must be a ConfigMap: group "" and kind ConfigMap`)
	case len(validation.IsDNS1123Subdomain(key.Name)) > 0 || len(validation.IsDNS1123Label(key.Namespace)) > 0:
		return "", gatewayv1.ListenerReasonInvalidCACertificateRef, errors.New("is no name of a ConfigMap")
	}
	if key.Namespace != g.Namespace {
		j.depend(grantsOf(key.Namespace))
		// What is not permitted must not say whether the ConfigMap exists.
		if !granted(j.src, reference{string(KindGateway), g.Namespace, "", string(door.KindConfigMap), key.Namespace, key.Name}) {
			return "", gatewayv1.ListenerReasonRefNotPermitted, fmt.Errorf("no ReferenceGrant of namespace %s permits it", key.Namespace)
		}
	}
	text, err := j.configMap(key)
	if err == nil {
		_, err = j.past.Material.Bundle(j.owner, text)
	}
	return text, gatewayv1.ListenerReasonInvalidCACertificateRef, err
}
