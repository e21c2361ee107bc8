package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// grants returns a function that lists the ReferenceGrants of a namespace.
func (r *reconciler) grants(ctx context.Context, failed *error) func(string) []*gatewayv1.ReferenceGrant {
	return func(namespace string) (all []*gatewayv1.ReferenceGrant) {
		list := &gatewayv1.ReferenceGrantList{}
		if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			*failed = errors.Join(*failed, fmt.Errorf("list ReferenceGrants of namespace %s: %w", namespace, err))
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		return all
	}
}

// ensureAccess lets routers read the Secrets that the Gateway names, and no others. What is
// refused is in.Problem.
func (r *reconciler) ensureAccess(ctx context.Context, in *desired.Input) error {
	var failed error
	in.Grants = r.grants(ctx, &failed)
	wanted := in.Access()
	if failed != nil {
		return failed
	}
	var kept []string
	for _, a := range wanted {
		kept = append(kept, client.ObjectKeyFromObject(a.Role).String())
		err := ensureRight(ctx, r, a.Role, &rbacv1.Role{}, func(live *rbacv1.Role) bool {
			same := equality.Semantic.DeepEqual(live.Rules, a.Role.Rules)
			live.Rules = a.Role.Rules
			return same
		})
		if err == nil {
			err = ensureRight(ctx, r, a.Binding, &rbacv1.RoleBinding{}, func(live *rbacv1.RoleBinding) bool {
				same := live.RoleRef == a.Binding.RoleRef && equality.Semantic.DeepEqual(live.Subjects, a.Binding.Subjects)
				live.RoleRef, live.Subjects = a.Binding.RoleRef, a.Binding.Subjects
				return same
			})
		}
		problem, err := problemOf(err)
		if err != nil {
			return err
		}
		if in.Problem == "" {
			in.Problem = problem
		}
	}
	return r.withdrawAccess(ctx, client.ObjectKeyFromObject(in.Gateway), kept...)
}

// ensureRight brings a Role or RoleBinding in line, of which inLine puts right all that is
// not metadata, and reports whether it was so.
func ensureRight[P client.Object](ctx context.Context, r *reconciler, want, live P, inLine func(P) bool) error {
	key := client.ObjectKeyFromObject(want)
	what := fmt.Sprintf("%T %s", want, key)
	if gvk, err := r.client.GroupVersionKindFor(want); err == nil {
		what = gvk.Kind + " " + key.String()
	}
	err := r.client.Get(ctx, key, live)
	if apierrors.IsNotFound(err) {
		if err = r.client.Create(ctx, want); err == nil {
			r.options.Log.Info("created", "object", what, "gateway", desired.AccessOwner(want))
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return refused("create", what, err)
		}
		// The cache is behind, or does not have it: it lost our label, or is in a
		// namespace of the operator.
		err = r.live.Get(ctx, key, live)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", what, err)
	case desired.AccessOwner(live) != desired.AccessOwner(want):
		return &refusedError{fmt.Sprintf("%s exists and does not belong to the Gateway, whose certificates routers may not read without it; delete it", what)}
	}
	if same := inLine(live); same && equality.Semantic.DeepEqual(live.GetLabels(), want.GetLabels()) {
		return nil
	}
	live.SetLabels(want.GetLabels())
	err = r.client.Update(ctx, live)
	if apierrors.IsInvalid(err) { // the role of a binding cannot be changed; its end is an event
		return r.remove(ctx, live)
	}
	if err != nil {
		return refused("update", what, err)
	}
	r.options.Log.Info("updated", "object", what, "gateway", desired.AccessOwner(want))
	return nil
}

// withdrawAccess deletes what lets routers read Secrets for a Gateway, but some objects by
// "namespace/name".
func (r *reconciler) withdrawAccess(ctx context.Context, key client.ObjectKey, but ...string) error {
	match := client.MatchingLabels(desired.AccessLabels(key.Namespace, key.Name))
	roles, bindings := &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}
	if err := errors.Join(r.client.List(ctx, roles, match), r.client.List(ctx, bindings, match)); err != nil {
		return fmt.Errorf("list what lets routers read Secrets for Gateway %s: %w", key, err)
	}
	if key.Namespace == api.OperandNamespace || key.Namespace == api.OperatorNamespace { // of which the cache has the operator's own only
		own := client.InNamespace(key.Namespace)
		if err := errors.Join(r.live.List(ctx, roles, match, own), r.live.List(ctx, bindings, match, own)); err != nil {
			return fmt.Errorf("list what lets routers read Secrets for Gateway %s: %w", key, err)
		}
	}
	var failed []error
	remove := func(o client.Object) {
		if !slices.Contains(but, client.ObjectKeyFromObject(o).String()) && desired.AccessOwner(o) == key.String() {
			failed = append(failed, r.remove(ctx, o))
		}
	}
	for i := range bindings.Items {
		remove(&bindings.Items[i])
	}
	for i := range roles.Items {
		remove(&roles.Items[i])
	}
	return errors.Join(failed...)
}

// accessOwner wakes the Gateway that a Role or RoleBinding is for.
func accessOwner(_ context.Context, o client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(desired.AccessOwner(o), "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{request(namespace, name)}
}

// byGrant wakes the Gateways that name Secrets of the namespace of a ReferenceGrant, or have
// ListenerSets that do.
func (r *reconciler) byGrant(ctx context.Context, o client.Object) (found []reconcile.Request) {
	list := &gatewayv1.GatewayList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		r.options.Log.Error("cannot list Gateways", "err", err)
		return nil
	}
	for i := range list.Items {
		if g := &list.Items[i]; desired.NamesSecretsOf(g.Spec.Listeners, g.Namespace, o.GetNamespace()) || desired.ShowsSecretOf(g, o.GetNamespace()) {
			found = append(found, request(g.Namespace, g.Name))
		}
	}
	all, err := r.sets.list(ctx, r.client)
	if err != nil {
		r.options.Log.Error("cannot wake Gateways", "err", err)
	}
	for _, s := range all {
		if desired.NamesSecretsOf(gateway.SetEntries(s), s.Namespace, o.GetNamespace()) {
			found = append(found, setParent(ctx, s)...)
		}
	}
	return found
}
