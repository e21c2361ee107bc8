package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// writePools brings the status of pools and advertisements up to date: counts
// and conditions, each written only on change.
func (r *reconciler) writePools(ctx context.Context) error {
	usage := r.alloc.Usage()
	r.metrics.usage(usage)
	var pools v1beta1.IPAddressPoolList
	if err := r.client.List(ctx, &pools); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	var errs []error
	for i := range pools.Items {
		pool := &pools.Items[i]
		want := pool.DeepCopy()
		u := usage[pool.Name]
		if pool.Namespace != r.opts.Namespace {
			u = usage[""] // not a pool of ours: nothing
		}
		want.Status.AssignedIPv4, want.Status.AvailableIPv4 = u.AssignedIPv4, u.AvailableIPv4
		want.Status.AssignedIPv6, want.Status.AvailableIPv6 = u.AssignedIPv6, u.AvailableIPv6
		valid := r.validity("IPAddressPool", pool, &want.Status.Conditions)
		r.advertised(pool, &want.Status.Conditions)
		errs = append(errs, r.writeStatus(ctx, want, valid, equality.Semantic.DeepEqual(pool.Status, want.Status)))
	}
	var ads v1beta1.L2AdvertisementList
	if err := r.client.List(ctx, &ads); err != nil {
		return fmt.Errorf("list advertisements: %w", err)
	}
	for i := range ads.Items {
		ad := &ads.Items[i]
		want := ad.DeepCopy()
		valid := r.validity("L2Advertisement", ad, &want.Status.Conditions)
		errs = append(errs, r.writeStatus(ctx, want, valid, equality.Semantic.DeepEqual(ad.Status, want.Status)))
	}
	return errors.Join(errs...)
}

// validity sets the condition Valid from the findings on obj. It returns them
// if they are news.
func (r *reconciler) validity(kind string, obj client.Object, conditions *[]metav1.Condition) []api.Finding {
	findings := r.findings[api.ObjectRef{Group: v1beta1.Group, Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}]
	condition := metav1.Condition{
		Type: api.ConditionValid, Status: metav1.ConditionTrue, ObservedGeneration: obj.GetGeneration(),
		Reason: string(api.ReasonUsed), Message: "the object is used as it is written",
	}
	if len(findings) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, string(findings[0].Reason), ""
		for i, f := range findings {
			if i > 0 {
				condition.Message += ". "
			}
			condition.Message += f.Text()
		}
	}
	old := meta.FindStatusCondition(*conditions, api.ConditionValid)
	news := old == nil || old.Message != condition.Message
	meta.SetStatusCondition(conditions, condition)
	if news {
		return findings
	}
	return nil
}

func (r *reconciler) advertised(pool *v1beta1.IPAddressPool, conditions *[]metav1.Condition) {
	used := r.cfg.Pool(pool.Name)
	if used == nil || pool.Namespace != r.opts.Namespace {
		meta.RemoveStatusCondition(conditions, api.ConditionAdvertised)
		return
	}
	condition := metav1.Condition{
		Type: api.ConditionAdvertised, Status: metav1.ConditionTrue, ObservedGeneration: pool.Generation,
		Reason: string(api.ReasonAdvertised), Message: "L2Advertisement",
	}
	for i, ad := range used.L2 {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		condition.Message += sep + ad.Name
	}
	if len(used.L2) == 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, string(api.ReasonNoAdvertisement)
		condition.Message = "no L2Advertisement selects this pool, so nobody answers for its addresses"
	}
	meta.SetStatusCondition(conditions, condition)
}

func (r *reconciler) writeStatus(ctx context.Context, want client.Object, news []api.Finding, same bool) error {
	if same {
		return nil
	}
	if err := r.client.Status().Update(ctx, want); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of %T %s: %w", want, want.GetName(), err)
	}
	for _, f := range news {
		r.log.Info("configuration", "finding", f.String())
		r.events.Event(want, corev1.EventTypeWarning, string(f.Reason), short(f.Text()))
	}
	return nil
}
