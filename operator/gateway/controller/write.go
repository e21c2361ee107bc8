package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// refusedError says that something stands in the way that only a user can remove.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return e.message }

// outdated reports whether a write was based on an old state.
func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// ensure creates or updates an object of a Gateway and returns it as it is then. Live is
// nil if there is none. What the API server refuses, and an object of the same name that
// was made by another program, are a refusedError.
func ensure[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *reconciler, g *gatewayv1.Gateway, live, want P, changed func(live, want P) (P, bool)) (P, error) {
	what := fmt.Sprintf("%T %s", want, client.ObjectKeyFromObject(want))
	if gvk, err := r.client.GroupVersionKindFor(want); err == nil {
		what = gvk.Kind + " " + want.GetName()
	}
	if live == nil {
		if err := r.client.Create(ctx, want); err != nil {
			return nil, refused("create", what, err)
		}
		r.options.Log.Info("created", "object", what, "gateway", g.Namespace+"/"+g.Name)
		return want, nil
	}
	owner, ours := desired.Owner(live)
	switch {
	case !ours || owner.Name != g.Name:
		return nil, &refusedError{fmt.Sprintf("%s exists and does not belong to the Gateway, which is not reachable without it; delete it or rename the Gateway", what)}
	case owner.UID != g.UID || !live.GetDeletionTimestamp().IsZero():
		// That of a former Gateway of this name. Its end is an event.
		return nil, r.remove(ctx, live)
	}
	updated, differs := changed(live, want)
	if !differs {
		return live, nil
	}
	if err := r.client.Update(ctx, updated); err != nil {
		return live, refused("update", what, err)
	}
	r.options.Log.Info("updated", "object", what, "gateway", g.Namespace+"/"+g.Name)
	return updated, nil
}

// refused turns refusals that trying again at once cannot heal into a refusedError.
func refused(verb, what string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return &refusedError{fmt.Sprintf("cannot %s %s: %v", verb, what, err)}
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}

// problemOf returns what a refusedError says, and other errors as they are.
func problemOf(err error) (string, error) {
	if r := (*refusedError)(nil); errors.As(err, &r) {
		return r.message, nil
	}
	return "", err
}

// remove deletes an object that the operator made, unless another one has its name now.
func (r *reconciler) remove(ctx context.Context, o client.Object) error {
	if !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := o.GetUID()
	if err := r.client.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", o, client.ObjectKeyFromObject(o), err)
	}
	r.options.Log.Info("deleted", "object", fmt.Sprintf("%T", o), "name", client.ObjectKeyFromObject(o).String())
	return nil
}

// applyStatus writes what is ours of a status: conditions of others, and what the
// routers write, stay.
func (r *reconciler) applyStatus(ctx context.Context, kind string, key client.ObjectKey, status any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Status any `json:"status"`
	}{status})
	if err != nil {
		return fmt.Errorf("write the status of %s %s: %w", kind, key, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: kind})
	u.SetName(key.Name)
	u.SetNamespace(key.Namespace)
	err = r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s %s: %w", kind, key, err)
	}
	return nil
}
