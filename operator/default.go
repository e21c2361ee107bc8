package operator

import (
	"context"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
)

// defaultRetry is how often creating the default IngressController is tried.
const defaultRetry = 5 * time.Second

// startDefault creates the IngressController "default" if there is none at the
// start. From then on its end is an event.
func (r *Reconciler) startDefault(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, defaultRetry, true, func(ctx context.Context) (bool, error) {
		err := r.makeDefault(ctx, api.DefaultIngressController)
		if err != nil {
			r.logger(api.DefaultIngressController).Error("cannot create the default IngressController", "err", err)
		}
		return err == nil, nil
	})
}

// makeDefault creates the IngressController if it is "default" and there is none,
// unless the operator's namespace says otherwise, as before Fairlead is removed.
func (r *Reconciler) makeDefault(ctx context.Context, name string) error {
	if name != api.DefaultIngressController {
		return nil
	}
	namespace, err := apply.Get(ctx, r.client, client.ObjectKey{Name: api.OperatorNamespace}, &corev1.Namespace{})
	if err != nil {
		return err
	}
	if namespace != nil && (namespace.DeletionTimestamp != nil || namespace.Annotations[api.AnnotationCreateDefault] == "false") {
		return nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	ic := &operatorv1.IngressController{}
	ic.Namespace, ic.Name = api.OperatorNamespace, name
	// Without a number, "kubectl scale" cannot work (the API server finds
	// no spec.replicas), so the default is written down.
	replicas := effective.Of(ic, effective.Cluster{Nodes: nodes.Items}, r.options.Defaults).Replicas
	ic.Spec.Replicas = &replicas
	err = r.client.Create(ctx, ic)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsMethodNotSupported(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // Fairlead is being removed.
	case err != nil:
		return fmt.Errorf("create the IngressController %s: %w", name, err)
	}
	r.logger(name).Info("created the default IngressController", "replicas", replicas)
	return nil
}

// defaultMayBeMissing looks for "default" when the namespace of the operator
// changes, which may say now that there is one.
func defaultMayBeMissing(_ context.Context, o client.Object) []reconcile.Request {
	if o.GetName() != api.OperatorNamespace {
		return nil
	}
	return []reconcile.Request{request(api.DefaultIngressController)}
}
