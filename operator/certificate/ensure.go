package certificate

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/child"
)

// Ensure writes the CA and the Secret with the default certificate
// of an IngressController with the domain. The Secret goes with the owner, which
// may be nil. The findings say what is wrong with spec.defaultCertificate.
func Ensure(ctx context.Context, w apply.Writer, ic *operatorv1.IngressController, domain string, owner *appsv1.Deployment, now time.Time) ([]api.Finding, error) {
	ca, err := ensureCA(ctx, w, now)
	if err != nil {
		return nil, err
	}
	input := input{ic: ic, domain: domain, ca: pairOf(ca), now: now}
	key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.CertificateSecretName(ic.Name)}
	if input.live, err = apply.Get(ctx, w.Client, key, &corev1.Secret{}); err != nil {
		return nil, err
	}
	if ref := ic.Spec.DefaultCertificate; ref != nil {
		if ref.Name == key.Name && input.live != nil && input.live.Labels[api.LabelOwningIngressController] == "" {
			return nil, nil // The administrator's own Secret has the name of ours; the pods mount it.
		}
		key.Name = ref.Name
		if input.named, err = apply.Get(ctx, w.Client, key, &corev1.Secret{}); err != nil {
			return nil, err
		}
	}
	desired, findings, err := desired(input)
	if err != nil {
		return nil, err
	}
	_, err = apply.EnsureFrom(ctx, w, apply.Child[*corev1.Secret]{
		IC: ic.Name, Empty: &corev1.Secret{}, Desired: child.OwnedBy(desired, owner), Changed: changed,
	}, input.live, input.live != nil)
	return findings, err
}

// ensureCA writes the Secret with the operator's CA and returns it.
func ensureCA(ctx context.Context, w apply.Writer, now time.Time) (*corev1.Secret, error) {
	live, err := apply.Get(ctx, w.Client, client.ObjectKey{Namespace: api.OperatorNamespace, Name: api.RouterCASecret}, &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	ca, write, err := desiredCA(live, now)
	if err != nil {
		return nil, err
	}
	switch {
	case write && live == nil:
		err = w.Client.Create(ctx, ca)
	case write:
		err = w.Client.Update(ctx, ca)
	}
	if err != nil {
		return nil, fmt.Errorf("write Secret %s: %w", api.RouterCASecret, err)
	}
	return ca, nil
}
