package certificate

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/router/certificate"
)

const (
	sourceGenerated = "generated"
	keyCA           = "ca.crt"
)

// input is what the default certificate of an IngressController depends on.
type input struct {
	ic     *operatorv1.IngressController
	domain string
	ca     certificate.Pair
	// named is the Secret of spec.defaultCertificate; nil if it does not exist.
	named *corev1.Secret
	// live is the Secret router-certs-NAME; nil if it does not exist.
	live *corev1.Secret
	now  time.Time
}

// desired returns the Secret that the routers mount.
//
// It is always router-certs-NAME, wherever the certificate is from: a change of
// the certificate then needs no rollout, and if the Secret of an administrator
// goes missing or breaks, its last good content keeps serving. The findings say so.
func desired(in input) (*corev1.Secret, []api.Finding, error) {
	if in.ic.Spec.DefaultCertificate == nil || in.ic.Spec.DefaultCertificate.Name == api.CertificateSecretName(in.ic.Name) {
		secret, err := generated(in)
		return secret, nil, err
	}
	name := in.ic.Spec.DefaultCertificate.Name
	source := "secret/" + name
	finding := checkNamed(in, name)
	if finding == nil || finding.Severity == api.SeverityInfo {
		var hints []api.Finding
		if finding != nil {
			hints = append(hints, *finding)
		}
		return secret(in.ic.Name, source, map[string][]byte{
			corev1.TLSCertKey:       in.named.Data[corev1.TLSCertKey],
			corev1.TLSPrivateKeyKey: in.named.Data[corev1.TLSPrivateKeyKey],
		}), hints, nil
	}
	if in.live != nil && usable(in.live) == nil {
		source := in.live.Annotations[api.AnnotationCertificateSource]
		if source != sourceGenerated {
			finding.Effect = fmt.Sprintf("the routers keep serving the last good certificate (from %s)", source)
			return secret(in.ic.Name, source, in.live.Data), []api.Finding{*finding}, nil
		}
	}
	finding.Effect = "the routers serve a generated certificate"
	secret, err := generated(in)
	return secret, []api.Finding{*finding}, err
}

// checkNamed says what is wrong with the Secret of spec.defaultCertificate.
func checkNamed(in input, name string) *api.Finding {
	f := &api.Finding{Object: effective.Ref(in.ic), Field: "spec.defaultCertificate.name", Severity: api.SeverityError}
	if in.named == nil {
		f.Reason = api.ReasonDefaultCertificateNotFound
		f.Message = fmt.Sprintf("Secret %s does not exist in namespace %s", name, api.OperandNamespace)
		return f
	}
	if err := usable(in.named); err != nil {
		f.Reason = api.ReasonDefaultCertificateInvalid
		f.Message = fmt.Sprintf("Secret %s: %v", name, err)
		return f
	}
	if pairOf(in.named).WithoutNames() {
		f.Severity, f.Reason = api.SeverityInfo, api.ReasonDefaultCertificateWithoutNames
		f.Message = fmt.Sprintf("Secret %s: the certificate has no subjectAltName, only a common name, so browsers and most clients refuse it", name)
		f.Effect = "it is served as it is; issue one with the names *." + in.domain + " and " + in.domain + " as subjectAltName"
		return f
	}
	return nil
}

// usable says why routers could not serve the certificate in a Secret: they
// refuse what would cost them too much as well.
func usable(s *corev1.Secret) error {
	p := pairOf(s)
	if err := p.Check(); err != nil {
		return err
	}
	_, err := certificate.Default(string(p.Certificate), string(p.Key))
	return err
}

// generated keeps the generated certificate while it is good.
func generated(in input) (*corev1.Secret, error) {
	if in.live != nil && in.live.Annotations[api.AnnotationCertificateSource] == sourceGenerated &&
		UsableWildcard(pairOf(in.live), in.ca, in.domain, in.now) {
		return secret(in.ic.Name, sourceGenerated, in.live.Data), nil
	}
	pair, err := NewWildcard(in.ca, in.domain, in.now)
	if err != nil {
		return nil, fmt.Errorf("make the default certificate: %w", err)
	}
	return secret(in.ic.Name, sourceGenerated, map[string][]byte{
		corev1.TLSCertKey:       pair.Certificate,
		corev1.TLSPrivateKeyKey: pair.Key,
		keyCA:                   in.ca.Certificate,
	}), nil
}

func secret(ic, source string, data map[string][]byte) *corev1.Secret {
	meta := child.Meta(ic, api.CertificateSecretName(ic))
	meta.Annotations = map[string]string{api.AnnotationCertificateSource: source}
	return &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: data}
}

// changed returns the live Secret brought in line with the
// desired one, and whether that changes anything.
func changed(live, desired *corev1.Secret) (*corev1.Secret, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !maps.EqualFunc(live.Data, desired.Data, bytes.Equal) {
		updated.Data = desired.Data
		changed = true
	}
	return updated, changed
}

// desiredCA returns the Secret with the operator's CA: the live one
// while it is good, else a new one. The second result says if it is new.
func desiredCA(live *corev1.Secret, now time.Time) (*corev1.Secret, bool, error) {
	if live != nil && UsableCA(pairOf(live), now) {
		return live, false, nil
	}
	pair, err := NewCA(now)
	if err != nil {
		return nil, false, fmt.Errorf("make the CA: %w", err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS}
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: api.RouterCASecret}
	if live != nil {
		secret = live.DeepCopy()
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}
	return secret, true, nil
}

func pairOf(s *corev1.Secret) certificate.Pair {
	return certificate.Pair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
}
