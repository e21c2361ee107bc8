package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// tlsVerdict says whether a BackendTLSPolicy can be applied to its targets. What is for
// them gets through only with a ca.
type tlsVerdict struct {
	// ca verifies the pods, or is nil.
	ca *model.CA
	// reason and message are those of the condition Accepted, refs and refsMessage those of
	// ResolvedRefs.
	reason, refs         gatewayv1.PolicyConditionReason
	message, refsMessage string
}

func (v *tlsVerdict) refuse(reason gatewayv1.PolicyConditionReason, message string) {
	if v.reason == gatewayv1.PolicyReasonAccepted {
		v.reason, v.message = reason, message
	}
}

// effect says what becomes of requests while the policy is not accepted.
func (v *tlsVerdict) effect() string {
	if v.ca == nil {
		return "requests for its Services are answered with 500; none of them reaches a pod"
	}
	return "it has no effect on this target"
}

// tlsJudge judges BackendTLSPolicies, each by itself, and notes what that depends on.
type tlsJudge struct {
	src  door.Source
	past door.Past
	// owner is the object that needs the authorities, system those of the router's image.
	owner   model.Object
	system  *model.CA
	depends []model.Object
	pending bool
}

func (j *tlsJudge) depend(o model.Object) {
	if !slices.Contains(j.depends, o) {
		j.depends = append(j.depends, o)
	}
}

// judge reads a policy. What it asks for and cannot be done refuses all of it.
func (j *tlsJudge) judge(p *gatewayv1.BackendTLSPolicy) tlsVerdict {
	v := tlsVerdict{reason: gatewayv1.PolicyReasonAccepted, refs: gatewayv1.BackendTLSPolicyReasonResolvedRefs}
	val := &p.Spec.Validation
	host := string(val.Hostname)
	if gateway.HostnameProblem(host) != "" || strings.HasPrefix(host, wildcard) {
		v.refuse(gatewayv1.PolicyReasonInvalid, "spec.validation.hostname: must be a DNS name in lower case")
	}
	for i, name := range val.SubjectAltNames {
		if len(val.SubjectAltNames) > 1 || name.Type != gatewayv1.HostnameSubjectAltNameType || string(name.Hostname) != host {
			v.refuse(gatewayv1.PolicyReasonInvalid, fmt.Sprintf("spec.validation.subjectAltNames[%d]: HAProxy verifies the name that it sends, and no other: leave subjectAltNames out, or name the hostname alone", i))
		}
	}
	if len(p.Spec.Options) > 0 {
		v.refuse(gatewayv1.PolicyReasonInvalid, "spec.options: none is known")
	}
	if known := val.WellKnownCACertificates; known != nil && *known != "" {
		j.wellKnown(p, &v)
		return v
	}
	text := j.authorities(p, &v)
	if text == "" {
		v.refuse(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate, cmp.Or(v.refsMessage, "spec.validation.caCertificateRefs: names nothing; name a ConfigMap with certificates of authorities"))
	}
	if v.reason != gatewayv1.PolicyReasonAccepted {
		return v
	}
	ca, err := j.past.Material.Bundle(j.owner, text)
	if err != nil {
		v.refs, v.refsMessage = gatewayv1.BackendTLSPolicyReasonInvalidCACertificateRef, "spec.validation.caCertificateRefs: "+err.Error()
		v.refuse(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate, v.refsMessage)
		return v
	}
	v.ca = ca
	return v
}

// wellKnown reads a policy that names authorities by a word.
func (j *tlsJudge) wellKnown(p *gatewayv1.BackendTLSPolicy, v *tlsVerdict) {
	const field = "spec.validation.wellKnownCACertificates: "
	switch val := &p.Spec.Validation; {
	case *val.WellKnownCACertificates != gatewayv1.WellKnownCACertificatesSystem:
		v.refuse(gatewayv1.PolicyReasonInvalid, field+"must be System")
	case len(val.CACertificateRefs) > 0:
		v.refuse(gatewayv1.PolicyReasonInvalid, field+"and caCertificateRefs are both set; name one of them")
	case j.system == nil:
		v.refuse(gatewayv1.PolicyReasonInvalid, field+"this router has no authorities of its own (--system-ca); name a ConfigMap in caCertificateRefs")
	}
	if v.reason == gatewayv1.PolicyReasonAccepted {
		v.ca = j.system
	}
}

// authorities returns the texts of the references that can be used, together, and notes what
// is wrong with the others.
func (j *tlsJudge) authorities(p *gatewayv1.BackendTLSPolicy, v *tlsVerdict) string {
	var texts []string
	wrong := func(reason gatewayv1.PolicyConditionReason, message string) {
		if v.refs == gatewayv1.BackendTLSPolicyReasonResolvedRefs {
			v.refs, v.refsMessage = reason, message
		}
	}
	for i, r := range p.Spec.Validation.CACertificateRefs {
		field := fmt.Sprintf("spec.validation.caCertificateRefs[%d]", i)
		if r.Group != "" || string(r.Kind) != string(door.KindConfigMap) {
			wrong(gatewayv1.BackendTLSPolicyReasonInvalidKind, field+": must be a ConfigMap: group \"\" and kind ConfigMap")
			continue
		}
		text, err := j.configMap(model.Object{Kind: door.KindConfigMap, Namespace: p.Namespace, Name: string(r.Name)})
		if err == nil {
			_, err = j.past.Material.Bundle(j.owner, text)
		}
		if err != nil {
			wrong(gatewayv1.BackendTLSPolicyReasonInvalidCACertificateRef, field+": "+err.Error())
			continue
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

// configMap returns the authorities that a ConfigMap has.
func (j *tlsJudge) configMap(key model.Object) (string, error) {
	j.depend(key)
	m, err := j.src.ConfigMap(key)
	var pending interface{ Pending() bool }
	switch {
	case err != nil:
		j.pending = j.pending || errors.As(err, &pending) && pending.Pending()
		return "", err //nolint:wrapcheck // it says all
	case m == nil:
		return "", fmt.Errorf("ConfigMap %q does not exist in namespace %q", key.Name, key.Namespace)
	case strings.TrimSpace(m.Authorities) == "":
		return "", fmt.Errorf("ConfigMap %q has no key ca.crt with certificates", key.Name)
	}
	return m.Authorities, nil
}
