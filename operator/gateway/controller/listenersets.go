package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
)

// sets are the ListenerSets, of which the API server may not have the CRD.
type sets struct {
	controller controller.Controller
	// watched is true once the API server has them.
	watched atomic.Bool
}

// findSets looks whether the API server has ListenerSets and lets the operator read them. An
// error says that it is not known: without them the Gateways would lose their ports.
func (r *reconciler) findSets(ctx context.Context, kinds meta.RESTMapper) (bool, error) {
	_, err := kinds.RESTMapping(schema.GroupKind{Group: gatewayv1.GroupName, Kind: "ListenerSet"}, gatewayv1.GroupVersion.Version)
	if err == nil {
		err = r.live.List(ctx, &gatewayv1.ListenerSetList{}, client.Limit(1))
	}
	switch {
	case err == nil:
		return true, nil
	case meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return false, nil
	}
	return false, fmt.Errorf("ListenerSets cannot be read: %w", err)
}

// setsSource wakes the Gateways that ListenerSets name.
func setsSource(mgr ctrl.Manager) source.Source {
	return source.Kind(mgr.GetCache(), &gatewayv1.ListenerSet{}, handler.TypedEnqueueRequestsFromMapFunc(setParent), predicate.TypedGenerationChangedPredicate[*gatewayv1.ListenerSet]{})
}

// watchSets begins to watch ListenerSets once they are there.
func (r *reconciler) watchSets(ctx context.Context, mgr ctrl.Manager) {
	if r.sets.watched.Load() {
		return
	}
	has, err := r.findSets(ctx, mgr.GetRESTMapper())
	if err == nil && has {
		r.sets.watched.Store(true)
		err = r.sets.controller.Watch(setsSource(mgr))
	}
	if err != nil && ctx.Err() == nil {
		r.options.Log.Error("cannot watch ListenerSets", "err", err)
	}
}

// list returns all ListenerSets, or those that options choose. They are only read.
func (s *sets) list(ctx context.Context, from client.Reader, options ...client.ListOption) (all []*gatewayv1.ListenerSet, err error) {
	if !s.watched.Load() {
		return nil, nil
	}
	list := &gatewayv1.ListenerSetList{}
	if err := from.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list ListenerSets: %w", err)
	}
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// setParent wakes the Gateway that a ListenerSet names.
func setParent(_ context.Context, s *gatewayv1.ListenerSet) []reconcile.Request {
	parent, ok := gateway.SetParent(s)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: parent}}
}

// byNamespace wakes the Gateways that ListenerSets of a namespace name, and those of the namespace that name
// an IngressController: its labels may decide whether they are allowed.
func (r *reconciler) byNamespace(ctx context.Context, o client.Object) (found []reconcile.Request) {
	all, err := r.sets.list(ctx, r.client, client.InNamespace(o.GetName()))
	if err != nil {
		r.options.Log.Error("cannot wake Gateways", "err", err)
	}
	for _, s := range all {
		found = append(found, setParent(ctx, s)...)
	}
	return append(found, r.gateways(ctx, gateway.HasParameters, client.InNamespace(o.GetName()))...)
}

// joint judges the listeners of a Gateway with those of its ListenerSets, as routers do.
func (r *reconciler) joint(ctx context.Context, g *gatewayv1.Gateway) (*gateway.Joint, error) {
	var named []*gatewayv1.ListenerSet
	all, err := r.sets.list(ctx, r.client)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if parent, ok := gateway.SetParent(s); ok && parent == (types.NamespacedName{Namespace: g.Namespace, Name: g.Name}) {
			named = append(named, s)
		}
	}
	var failed error
	j := gateway.Join(g, named, func(namespace string) (map[string]string, bool) {
		n, err := apply.Get(ctx, r.client, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("read namespace %s: %w", namespace, err))
		}
		if n == nil || err != nil {
			return nil, false
		}
		return n.Labels, true
	})
	return j, failed
}
