package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/allocator"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Reconcile brings one Service, or everything, to what it should be.
func (r *reconciler) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	r.metrics.update(err)
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	beside := r.otherMetalLB.Load() != nil
	_, look := req.(findOther)
	switch {
	case look || !r.started && !beside:
		// The first pass is always a full one: Services that hold addresses
		// must be read before any gets a new one.
		return r.checkOtherMetalLB(ctx, req)
	case beside:
		return reconcile.Result{}, nil // the pass after its end reads everything
	}
	switch req := req.(type) {
	case updateStatus:
		return reconcile.Result{}, r.writeStatuses(ctx)
	case updateUsage:
		return reconcile.Result{}, r.writeUsages(ctx)
	case convergeService:
		return r.reconcileChanged(ctx, req)
	default:
		return reconcile.Result{}, r.reconcileAll(ctx)
	}
}

// reconcileChanged decides about a Service that has changed, and about those that
// wait if it released an address.
func (r *reconciler) reconcileChanged(ctx context.Context, req convergeService) (reconcile.Result, error) {
	released, err := r.reconcileService(ctx, types.NamespacedName(req))
	if err != nil {
		return reconcile.Result{}, err
	}
	if released {
		if err := r.retryPending(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.enqueueStatusWrites()
	return r.result(req), nil
}

// enqueueStatusWrites has the statuses written that follow from what was decided.
func (r *reconciler) enqueueStatusWrites() {
	r.enqueueAfter(updateStatus{}, statusDelay)
	r.enqueueAfter(updateUsage{}, usageDelay)
}

func (r *reconciler) result(req request) reconcile.Result {
	if svc, ok := req.(convergeService); ok && r.pending[types.NamespacedName(svc)] {
		return reconcile.Result{RequeueAfter: pendingRetry}
	}
	return reconcile.Result{}
}

// reconcileAll reads the configuration and converges every Service, holders first.
func (r *reconciler) reconcileAll(ctx context.Context) error {
	var list corev1.ServiceList
	if err := r.client.List(ctx, &list); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	if err := r.load(ctx, list.Items); err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Service) int {
		return cmp.Or(
			-cmp.Compare(len(a.Status.LoadBalancer.Ingress), len(b.Status.LoadBalancer.Ingress)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	present := map[string]bool{}
	for i := range list.Items {
		present[list.Items[i].Namespace+"/"+list.Items[i].Name] = true
	}
	for _, key := range r.alloc.Keys() {
		if !present[key] {
			r.alloc.Release(key)
		}
	}
	var errs []error
	released := false
	for i := range list.Items {
		rel, err := r.converge(ctx, &list.Items[i])
		released = released || rel
		errs = append(errs, err)
	}
	if released {
		errs = append(errs, r.retryPending(ctx))
	}
	r.enqueueStatusWrites()
	return errors.Join(errs...)
}

// reconcileService converges the Service of that name. It says whether others may now succeed.
func (r *reconciler) reconcileService(ctx context.Context, name types.NamespacedName) (released bool, err error) {
	var svc corev1.Service
	if err := r.client.Get(ctx, name, &svc); apierrors.IsNotFound(err) {
		delete(r.pending, name)
		delete(r.reportedForeign, name)
		delete(r.unsentNotes, name)
		return r.alloc.Release(name.String()), nil
	} else if err != nil {
		return false, fmt.Errorf("get service %s: %w", name, err)
	}
	return r.converge(ctx, &svc)
}

// retryPending tries the Services that wait for an address, oldest first.
func (r *reconciler) retryPending(ctx context.Context) error {
	var waiting []*corev1.Service
	for name := range r.pending {
		var svc corev1.Service
		if err := r.client.Get(ctx, name, &svc); err == nil {
			waiting = append(waiting, &svc)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var errs []error
	for _, svc := range waiting {
		_, err := r.converge(ctx, svc)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// converge decides about svc and writes the decision.
func (r *reconciler) converge(ctx context.Context, svc *corev1.Service) (released bool, err error) {
	name := client.ObjectKeyFromObject(svc)
	if !r.opts.Classes.Ours(svc) {
		delete(r.pending, name)
		released = r.alloc.Release(name.String())
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			return released, nil // another provider's: never touched
		}
		return released, r.forget(ctx, svc)
	}
	req, problem := service.Read(svc)
	held, names := service.StatusAddresses(svc)
	_, ours := service.Annotation(svc, api.AnnotationAllocatedFromPool)
	out := r.alloc.Converge(req, allocator.Held{Addresses: held, Ours: ours, Names: names}, problem)
	if out.Foreign {
		delete(r.pending, name)
		if !r.reportedForeign[name] {
			r.reportedForeign[name] = true
			r.report(svc, out.Notes)
		}
		return false, nil
	}
	if out.Wanting {
		r.pending[name] = true
	} else {
		delete(r.pending, name)
	}
	if len(req.Deprecated) > 0 {
		out.Notes = append(out.Notes, allocator.Note{
			Reason: api.ReasonDeprecatedAnnotation, Warning: true,
			Message: fmt.Sprintf("%v: use the prefix metallb.io/", req.Deprecated),
		})
	}
	return out.Released, r.write(ctx, svc, out)
}
