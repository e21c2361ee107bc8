package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
	"github.com/fairlead/fairlead/lbprovider/allocator"
	"github.com/fairlead/fairlead/lbprovider/config"
)

// writeStatuses brings the status of the configuration objects up to date:
// counts and conditions, each written only on change.
func (r *reconciler) writeStatuses(ctx context.Context) error {
	usage := r.alloc.Usage()
	r.metrics.usage(usage)
	var states v1beta1.ConfigurationStateList
	if err := r.client.List(ctx, &states, client.InNamespace(r.opts.Namespace)); err != nil {
		return fmt.Errorf("list configuration states: %w", err)
	}
	var errs []error
	for _, k := range kinds() {
		if err := r.client.List(ctx, k.list); err != nil {
			return fmt.Errorf("list %T: %w", k.list, err)
		}
		errs = append(errs, meta.EachListItem(k.list, func(o runtime.Object) error {
			is, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", o)
			}
			want, _ := is.DeepCopyObject().(client.Object)
			if peer, ok := is.(*v1beta2.BGPPeer); ok {
				r.passwordless(peer, states.Items)
			}
			news := r.validity(k.name, want, k.conditions(want))
			if pool, ok := want.(*v1beta1.IPAddressPool); ok {
				r.poolStatus(pool, usage)
			}
			errs = append(errs, r.writeStatus(ctx, is, want, news))
			return nil
		}))
	}
	return errors.Join(errs...)
}

// poolStatus sets the counts of a pool, and who announces it.
func (r *reconciler) poolStatus(pool *v1beta1.IPAddressPool, usage map[string]allocator.Usage) {
	u := usage[pool.Name]
	if pool.Namespace != r.opts.Namespace {
		u = allocator.Usage{} // not a pool of ours
	}
	pool.Status.AssignedIPv4, pool.Status.AvailableIPv4 = u.AssignedIPv4, u.AvailableIPv4
	pool.Status.AssignedIPv6, pool.Status.AvailableIPv6 = u.AssignedIPv6, u.AvailableIPv6
	r.advertised(pool, &pool.Status.Conditions)
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
		condition.Reason, condition.Message = string(findings[0].Reason), ""
		if config.Invalid(findings) {
			condition.Status = metav1.ConditionFalse
		}
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

// passwordless adds what speakers say of the Secret that a peer names, which
// this process may not read.
func (r *reconciler) passwordless(peer *v1beta2.BGPPeer, states []v1beta1.ConfigurationState) {
	const field = "spec.passwordSecret"
	object := api.ObjectRef{Group: v1beta1.Group, Kind: "BGPPeer", Namespace: peer.Namespace, Name: peer.Name}
	r.findings[object] = slices.DeleteFunc(r.findings[object], func(f api.Finding) bool { return f.Field == field && f.Reason == api.ReasonMissingReference })
	if peer.Spec.PasswordSecret.Name == "" {
		return
	}
	for i := range states {
		node := states[i].Labels[v1beta1.LabelNodeName]
		if node == "" {
			continue
		}
		if text := config.Told(&states[i].Status, object, field); text != "" {
			r.findings[object] = append([]api.Finding{{
				Object: object, Field: field, Reason: api.ReasonMissingReference, Severity: api.SeverityError,
				Message: fmt.Sprintf("the speaker of node %s: %s", node, text),
			}}, r.findings[object]...)
			return // the others say the same
		}
	}
}

func (r *reconciler) advertised(pool *v1beta1.IPAddressPool, conditions *[]metav1.Condition) {
	used := r.cfg.Pool(pool.Name)
	if used == nil || pool.Namespace != r.opts.Namespace {
		meta.RemoveStatusCondition(conditions, api.ConditionAdvertised)
		return
	}
	condition := metav1.Condition{
		Type: api.ConditionAdvertised, Status: metav1.ConditionTrue, ObservedGeneration: pool.Generation,
		Reason: string(api.ReasonAdvertised),
	}
	var by []string
	for _, ad := range used.L2 {
		by = append(by, "L2Advertisement "+ad.Name)
	}
	for _, ad := range used.BGP {
		by = append(by, "BGPAdvertisement "+ad.Name)
	}
	condition.Message = strings.Join(by, ", ")
	if len(by) == 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, string(api.ReasonNoAdvertisement)
		condition.Message = "no L2Advertisement and no BGPAdvertisement selects this pool, so no node answers for its addresses"
	}
	meta.SetStatusCondition(conditions, condition)
}

func (r *reconciler) writeStatus(ctx context.Context, is, want client.Object, news []api.Finding) error {
	if equality.Semantic.DeepEqual(is, want) {
		return nil
	}
	if r.staleVersions.isStale(is) {
		r.enqueueAfter(updateStatus{}, statusDelay)
		return nil
	}
	if err := r.client.Status().Update(ctx, want); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of %T %s: %w", want, want.GetName(), err)
	}
	r.staleVersions.noteWrite(is, want)
	for _, f := range news {
		r.log.Info("configuration", "finding", f.String())
		kind := corev1.EventTypeWarning
		if f.Severity == api.SeverityInfo {
			kind = corev1.EventTypeNormal
		}
		r.events.Event(want, kind, string(f.Reason), short(f.Text()))
	}
	return nil
}
