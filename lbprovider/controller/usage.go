package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/allocator"
)

// writeUsages writes, for each pool, who uses which address. The objects go
// with their pools, whose owner reference they have.
func (r *reconciler) writeUsages(ctx context.Context) error {
	var pools v1beta1.IPAddressPoolList
	if err := r.client.List(ctx, &pools, client.InNamespace(r.opts.Namespace)); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	uses := r.alloc.Uses()
	var errs []error
	for i := range pools.Items {
		pool := &pools.Items[i]
		if err := r.writeUsage(ctx, pool, uses[pool.Name]); err != nil {
			errs = append(errs, fmt.Errorf("write usage of pool %s: %w", pool.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *reconciler) writeUsage(ctx context.Context, pool *v1beta1.IPAddressPool, uses []allocator.Use) error {
	is := &v1alpha1.AddressUsage{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(pool), is)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	want := is.DeepCopy()
	want.Namespace, want.Name = pool.Namespace, pool.Name
	if err := controllerutil.SetOwnerReference(pool, want, r.client.Scheme(), controllerutil.WithBlockOwnerDeletion(false)); err != nil {
		return err
	}
	want.InUse, want.Omitted = int64(len(uses)), int64(max(0, len(uses)-v1alpha1.MaxAddresses))
	want.Addresses = nil
	for _, u := range uses[:len(uses)-int(want.Omitted)] {
		want.Addresses = append(want.Addresses, v1alpha1.AddressUse{Address: u.Address.String(), Services: u.Services})
	}
	switch {
	case missing:
		return client.IgnoreAlreadyExists(r.client.Create(ctx, want))
	case equality.Semantic.DeepEqual(is, want):
		return nil
	case r.staleVersions.isStale(is):
		r.enqueueAfter(updateUsage{}, usageDelay)
		return nil
	}
	if err := r.client.Update(ctx, want); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.staleVersions.noteWrite(is, want)
	return nil
}
