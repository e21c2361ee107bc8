package configmap

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/child"
)

// MissingError says that what an IngressController names is not there.
type MissingError struct {
	copied Copy
	served bool
}

// Error says which ConfigMap it is and what is used instead.
func (e *MissingError) Error() string {
	effect := "nothing is used in its place"
	if e.served {
		effect = "its last copy stays in use"
	}
	return fmt.Sprintf("%s: ConfigMap %s does not exist in namespace %s; %s", e.copied.field, e.copied.Source, api.ConfigNamespace, effect)
}

// EnsureCopy keeps a copy. A source that goes away leaves its copy, for a
// deletion by mistake must not be an outage; taking the name out of the
// IngressController removes it.
func EnsureCopy(ctx context.Context, w apply.Writer, ic string, c Copy, owner *appsv1.Deployment) error {
	var source *corev1.ConfigMap
	if c.Source != "" {
		var err error
		key := client.ObjectKey{Namespace: api.ConfigNamespace, Name: c.Source}
		if source, err = apply.Get(ctx, w.Client, key, &corev1.ConfigMap{}); err != nil {
			return err
		}
		if source == nil {
			live, err := apply.Get(ctx, w.Client, client.ObjectKey{Namespace: api.OperandNamespace, Name: c.target}, &corev1.ConfigMap{})
			if err != nil {
				return err
			}
			return &MissingError{copied: c, served: live != nil}
		}
	}
	_, err := apply.Ensure(ctx, w, apply.Child[*corev1.ConfigMap]{
		IC: ic, Empty: &corev1.ConfigMap{}, Changed: changed,
		Desired: child.OwnedBy(desired(ic, c, source), owner), Unwanted: source == nil,
	})
	return err
}

// EnsureAdmitted writes down the spec that has just been admitted.
func EnsureAdmitted(ctx context.Context, w apply.Writer, ic *operatorv1.IngressController, owner *appsv1.Deployment) error {
	desired, err := desiredAdmitted(ic)
	if err != nil {
		return err
	}
	_, err = apply.Ensure(ctx, w, apply.Child[*corev1.ConfigMap]{
		IC: ic.Name, Empty: &corev1.ConfigMap{}, Desired: child.OwnedBy(desired, owner), Changed: changed,
	})
	return err
}
