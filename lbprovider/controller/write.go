package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/allocator"
)

// write brings svc's status and annotation to out, if they differ, and reports
// to the user what happened. The notes are reported only with a write, so that a
// state that lasts is reported once.
func (r *reconciler) write(ctx context.Context, svc *corev1.Service, out allocator.Outcome) error {
	want := svc.DeepCopy()
	if !slices.EqualFunc(svc.Status.LoadBalancer.Ingress, out.Addresses, same) {
		want.Status.LoadBalancer = corev1.LoadBalancerStatus{}
		for _, addr := range out.Addresses {
			want.Status.LoadBalancer.Ingress = append(want.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: addr.String()})
		}
	}
	condition := metav1.Condition{
		Type: api.ConditionAllocated, Status: metav1.ConditionFalse, ObservedGeneration: svc.Generation,
		Reason: string(out.Reason), Message: out.Message,
	}
	if len(out.Addresses) > 0 {
		condition.Status = metav1.ConditionTrue
		metav1.SetMetaDataAnnotation(&want.ObjectMeta, api.AnnotationAllocatedFromPool, out.Pool)
	} else {
		delete(want.Annotations, api.AnnotationAllocatedFromPool)
	}
	meta.SetStatusCondition(&want.Status.Conditions, condition)
	return r.update(ctx, svc, want, out.Notes)
}

// same says whether an entry of the status is addr, however it is spelled.
func same(entry corev1.LoadBalancerIngress, addr netip.Addr) bool {
	is, err := netip.ParseAddr(entry.IP)
	return err == nil && is == addr
}

// forget removes what this controller wrote on a Service that is no longer of
// type LoadBalancer.
func (r *reconciler) forget(ctx context.Context, svc *corev1.Service) error {
	_, annotated := svc.Annotations[api.AnnotationAllocatedFromPool]
	if !annotated && meta.FindStatusCondition(svc.Status.Conditions, api.ConditionAllocated) == nil {
		return nil
	}
	want := svc.DeepCopy()
	delete(want.Annotations, api.AnnotationAllocatedFromPool)
	meta.RemoveStatusCondition(&want.Status.Conditions, api.ConditionAllocated)
	want.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	return r.update(ctx, svc, want, []allocator.Note{{
		Reason: api.ReasonClearAssignment, Message: "the service is not of type LoadBalancer any more",
	}})
}

// update writes want if it differs from svc. The annotation rides along with
// the status, so that the controller needs no right to change Services.
func (r *reconciler) update(ctx context.Context, svc, want *corev1.Service, notes []allocator.Note) error {
	if equality.Semantic.DeepEqual(svc.Status, want.Status) && equality.Semantic.DeepEqual(svc.Annotations, want.Annotations) {
		return nil
	}
	name := client.ObjectKeyFromObject(svc)
	notes = append(r.unsentNotes[name], notes...)
	delete(r.unsentNotes, name)
	if r.staleVersions.isStale(svc) {
		if len(notes) > 0 {
			r.unsentNotes[name] = notes
		}
		return nil // the event of what was written brings it here again
	}
	err := r.client.Status().Update(ctx, want)
	switch {
	case err == nil:
		r.staleVersions.noteWrite(svc, want)
		r.report(svc, notes)
		return nil
	case apierrors.IsNotFound(err):
		return nil
	}
	r.unsentNotes[name] = notes // what was decided is reported once it is written
	if apierrors.IsConflict(err) {
		// The cache is behind. What is decided stands; write it again soon.
		r.enqueueAfter(convergeService(name), conflictDelay)
		return nil
	}
	return fmt.Errorf("write status of service %s: %w", name, err)
}

func (r *reconciler) report(svc *corev1.Service, notes []allocator.Note) {
	for _, n := range notes {
		kind := corev1.EventTypeNormal
		if n.Warning {
			kind = corev1.EventTypeWarning
		}
		r.log.Info("service", "service", svc.Namespace+"/"+svc.Name, "reason", n.Reason, "message", n.Message)
		r.events.Event(svc, kind, string(n.Reason), short(n.Message))
	}
}

// short cuts a message to what an event can hold.
func short(s string) string {
	const limit = 1000 // the API server refuses more than 1024 bytes
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
