package controller

import (
	"context"
	"fmt"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/door/ingress"
)

// ledger holds what the Ingresses of each namespace take of its limits. What an
// Ingress has it keeps; what it wants more must fit in.
type ledger struct {
	mu         sync.Mutex
	namespaces map[string]*account
}

// account is that of one namespace.
type account struct {
	mu sync.Mutex
	// taken is nil until the Routes of the namespace have been counted.
	taken map[string]ingress.Usage
}

func newLedger() *ledger { return &ledger{namespaces: map[string]*account{}} }

func (l *ledger) of(namespace string) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.namespaces[namespace] == nil {
		l.namespaces[namespace] = &account{}
	}
	return l.namespaces[namespace]
}

func (l *ledger) forget(key client.ObjectKey) {
	a := l.of(key.Namespace)
	a.mu.Lock()
	delete(a.taken, key.Name)
	empty := len(a.taken) == 0
	a.mu.Unlock()
	if empty {
		l.mu.Lock()
		delete(l.namespaces, key.Namespace)
		l.mu.Unlock()
	}
}

// convert decides within the limits of the Ingress and of its namespace. No two
// Ingresses of a namespace are decided at the same time.
func (r *reconciler) convert(ctx context.Context, in ingress.Input) (ingress.Output, error) {
	name := in.Ingress.Name
	a := r.ledger.of(in.Ingress.Namespace)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := r.count(ctx, in.Ingress.Namespace, a); err != nil {
		return ingress.Output{}, err
	}
	in.Limits = a.left(name, r.options.Limits.Or(ingress.DefaultLimits()), r.options.NamespaceLimits.Or(ingress.DefaultNamespaceLimits()))
	out := ingress.Convert(in)
	a.taken[name] = ingress.UsageOf(out.Routes)
	return out, nil
}

// count reads once what a namespace has already.
func (r *reconciler) count(ctx context.Context, namespace string, a *account) error {
	if a.taken != nil {
		return nil
	}
	list := &routev1.RouteList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Routes of namespace %s: %w", namespace, err)
	}
	owned := map[string][]*routev1.Route{}
	for i := range list.Items {
		if name := ingress.Owner(&list.Items[i]); name != "" {
			owned[name] = append(owned[name], &list.Items[i])
		}
	}
	a.taken = map[string]ingress.Usage{}
	for name, routes := range owned {
		a.taken[name] = ingress.UsageOf(routes)
	}
	return nil
}

// left returns the limits of an Ingress: its own, and not more than the others
// leave, but never less than it has already.
func (a *account) left(name string, own, all ingress.Limits) ingress.Limits {
	var others ingress.Usage
	for other, u := range a.taken {
		if other != name {
			others.Routes += u.Routes
			others.Secrets += u.Secrets
			others.Bytes += u.Bytes
		}
	}
	has := a.taken[name]
	for _, n := range []struct {
		limit            *int
		all, others, has int
	}{
		{&own.Routes, all.Routes, others.Routes, has.Routes},
		{&own.Secrets, all.Secrets, others.Secrets, has.Secrets},
		{&own.Bytes, all.Bytes, others.Bytes, has.Bytes},
	} {
		if left := max(n.all-n.others, n.has, 1); left < *n.limit {
			*n.limit, own.Namespace = left, true
		}
	}
	return own
}
