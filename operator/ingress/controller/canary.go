package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/router/door/ingress"
)

// relatives returns the canaries at the hosts of an Ingress, and for a canary all
// Ingresses there.
func (r *reconciler) relatives(ctx context.Context, i *networkingv1.Ingress) ([]*networkingv1.Ingress, error) {
	index := indexCanary
	if ingress.IsCanary(i) {
		index = indexHost
	}
	found := map[string]*networkingv1.Ingress{}
	for _, host := range ingress.Hosts(i) {
		list := &networkingv1.IngressList{}
		if err := r.client.List(ctx, list, client.InNamespace(i.Namespace), client.MatchingFields{index: host}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list Ingresses at host %q: %w", host, err)
		}
		for n := range list.Items {
			if o := &list.Items[n]; o.Name != i.Name && o.DeletionTimestamp.IsZero() {
				found[o.Name] = o
			}
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// relativesOf wakes the Ingresses for which a changed one is a canary, or whose canary
// they are.
func (r *reconciler) relativesOf(ctx context.Context, o client.Object) []reconcile.Request {
	i, ok := o.(*networkingv1.Ingress)
	if !ok {
		return nil
	}
	index := indexCanary
	if ingress.IsCanary(i) {
		index = indexHost
	}
	var requests []reconcile.Request
	for _, host := range ingress.Hosts(i) {
		requests = append(requests, r.list(ctx, client.InNamespace(i.Namespace), client.MatchingFields{index: host})...)
	}
	return requests
}

// usersOf wakes the Ingresses that name a Service, and those whose canary does.
func (r *reconciler) usersOf(ctx context.Context, o client.Object) []reconcile.Request {
	list := &networkingv1.IngressList{}
	if err := r.client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{indexService: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		r.options.Log.Error("cannot list Ingresses", "err", err)
		return nil
	}
	var requests []reconcile.Request
	for n := range list.Items {
		i := &list.Items[n]
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(i)})
		if ingress.IsCanary(i) {
			requests = append(requests, r.relativesOf(ctx, i)...)
		}
	}
	return requests
}

// contentMatters drops changes of Ingresses that change nothing for others, such as
// those of their status. An Ingress that was a canary and is none any more is one of
// both versions.
func contentMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}}
}
