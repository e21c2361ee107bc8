package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func refused(problems []hook.FieldProblem) bool {
	return slices.ContainsFunc(problems, func(p hook.FieldProblem) bool { return !p.Warning })
}

// verdict is what status and events say of a Service.
type verdict struct {
	ready       metav1.ConditionStatus
	reason      api.Reason
	message     string
	progressing metav1.ConditionStatus
	// change and changeMessage are those of the condition Progressing.
	change        api.Reason
	changeMessage string
	// warnings become events if they are new.
	warnings []hook.Problem
	result   *hook.Result
	// event is the reason of the event about a failure; the default is
	// SyncLoadBalancerFailed.
	event api.Reason
}

// reportInvalid names annotations and fields that cannot be used. What exists in
// the cloud stays as it is.
func (r *reconciler) reportInvalid(ctx context.Context, service *corev1.Service, problems []hook.FieldProblem) error {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		if !p.Warning {
			texts = append(texts, p.String())
		}
	}
	effect := "; no load balancer is made"
	ready := metav1.ConditionFalse
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		effect = "; the load balancer stays as it is"
		ready = metav1.ConditionTrue
	}
	message := strings.Join(texts, "; ") + effect
	return r.write(ctx, service, verdict{
		ready: ready, reason: api.ReasonInvalidConfiguration, message: message,
		progressing: metav1.ConditionTrue, change: api.ReasonInvalidConfiguration, changeMessage: message,
	})
}

// quietFailures is how many failures in a row of the cloud itself are not
// reported to users.
const quietFailures = 3

// failure is a pass that failed.
type failure struct {
	err error
	// result is what exists anyway; may be nil.
	result *hook.Result
	// times is how many passes have failed in a row.
	times int
	event api.Reason
}

// reportFailed says why a pass failed. A published address stays published.
func (r *reconciler) reportFailed(ctx context.Context, service *corev1.Service, f failure) error {
	e := hook.AsError(f.err)
	r.log.Info("pass failed", "service", client.ObjectKeyFromObject(service).String(), "class", e.Class, "times", f.times, "err", f.err)
	passing := e.Class == hook.ClassThrottled || e.Class == hook.ClassUnavailable
	if passing && f.times < quietFailures {
		return nil
	}
	v := verdict{
		ready: metav1.ConditionFalse, reason: reasonOf(e), message: f.err.Error(), result: f.result, event: f.event,
		progressing: metav1.ConditionTrue, change: reasonOf(e), changeMessage: f.err.Error(),
	}
	if old := meta.FindStatusCondition(service.Status.Conditions, api.ConditionCloudReady); old != nil && old.Status == metav1.ConditionTrue {
		// It served before, and nothing says that it stopped.
		v.ready = metav1.ConditionTrue
	}
	return r.write(ctx, service, v)
}

func reasonOf(e *hook.Error) api.Reason {
	switch e.Class {
	case hook.ClassQuota:
		return api.ReasonQuotaExceeded
	case hook.ClassInvalidConfig, hook.ClassUnsupported:
		return api.ReasonInvalidConfiguration
	case hook.ClassConflict:
		return api.ReasonOwnershipConflict
	case hook.ClassDenied:
		return api.ReasonCloudCredentialsInvalid
	case hook.ClassProtected:
		return api.ReasonDeletionProtected
	case hook.ClassThrottled, hook.ClassUnavailable:
		return api.ReasonCloudUnavailable
	case hook.ClassBusy, hook.ClassNotFound, hook.ClassInternal:
	}
	return api.ReasonSyncLoadBalancerFailed
}

// reportSucceeded says how far the load balancer is.
func (r *reconciler) reportSucceeded(ctx context.Context, service *corev1.Service, result *hook.Result) error {
	v := verdict{
		ready: metav1.ConditionTrue, reason: api.ReasonLoadBalancerProvisioned, message: "the load balancer takes connections",
		progressing: metav1.ConditionFalse, change: api.ReasonLoadBalancerProvisioned, warnings: result.Problems, result: result,
	}
	if result.State == hook.StatePending {
		v.ready, v.reason, v.message = metav1.ConditionFalse, api.Reason(result.Reason), result.Message
		v.progressing, v.change, v.changeMessage = metav1.ConditionTrue, api.ReasonCloudChange, result.Message
	}
	if result.State == hook.StateReady && result.Message != "" {
		v.progressing, v.change, v.changeMessage = metav1.ConditionTrue, api.ReasonCloudChange, result.Message
	}
	if result.State == hook.StateDegraded && result.Reason != "" {
		v.reason, v.message = api.Reason(result.Reason), result.Message
	}
	for _, p := range result.Problems {
		if p.Progressing {
			v.progressing, v.change, v.changeMessage = metav1.ConditionTrue, api.Reason(p.Reason), p.Message
		}
	}
	if v.reason == "" {
		v.reason = api.ReasonLoadBalancerPending
	}
	return r.write(ctx, service, v)
}

// reportForeign says that another controller serves the Service.
func (r *reconciler) reportForeign(ctx context.Context, service *corev1.Service) error {
	message := fmt.Sprintf("another controller serves this Service: it has the finalizer %s. Fairlead leaves it alone", r.foreign(service))
	return r.write(ctx, service, verdict{
		ready: metav1.ConditionFalse, reason: api.ReasonServedByAnother, message: message,
		progressing: metav1.ConditionFalse, change: api.ReasonServedByAnother,
	})
}

// write brings status and annotations of a Service to a verdict, and writes events
// of what is new in it.
func (r *reconciler) write(ctx context.Context, service *corev1.Service, v verdict) error {
	updated := service.DeepCopy()
	if result := v.result; result != nil && len(result.Ingress) > 0 {
		annotate(updated, api.AnnotationLoadBalancerHandle, result.Handle)
		annotate(updated, api.AnnotationTargetZone, result.HostedZone)
		stack := ""
		if result.DualStack {
			stack = "true"
		}
		annotate(updated, api.AnnotationTargetDualStack, stack)
		updated.Status.LoadBalancer.Ingress = nil
		for _, i := range result.Ingress {
			updated.Status.LoadBalancer.Ingress = append(updated.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{Hostname: i.Hostname, IP: i.IP})
		}
	}
	old := meta.FindStatusCondition(service.Status.Conditions, api.ConditionCloudReady)
	meta.SetStatusCondition(&updated.Status.Conditions, metav1.Condition{
		Type: api.ConditionCloudReady, Status: v.ready, Reason: string(v.reason), Message: short(v.message), ObservedGeneration: service.Generation,
	})
	meta.SetStatusCondition(&updated.Status.Conditions, metav1.Condition{
		Type: api.ConditionCloudProgressing, Status: v.progressing, Reason: string(v.change), Message: short(v.changeMessage), ObservedGeneration: service.Generation,
	})
	r.warningEvents(service, v.warnings)
	if equality.Semantic.DeepEqual(service.Status, updated.Status) && equality.Semantic.DeepEqual(service.Annotations, updated.Annotations) {
		return nil
	}
	// Annotations ride along with the status: the API server takes both.
	if err := r.client.Status().Patch(ctx, updated, client.MergeFromWithOptions(service, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status of Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	if old == nil || old.Reason != string(v.reason) || old.Message != short(v.message) {
		r.verdictEvent(service, v)
	}
	return nil
}

func annotate(service *corev1.Service, key, value string) {
	if value == "" {
		delete(service.Annotations, key)
		return
	}
	metav1.SetMetaDataAnnotation(&service.ObjectMeta, key, value)
}

// verdictEvent writes the event about a verdict. A failure has the reason that
// OpenShift's operator and others look for; its own comes first in the text.
func (r *reconciler) verdictEvent(service *corev1.Service, v verdict) {
	switch {
	case v.reason == api.ReasonLoadBalancerProvisioned:
		r.event(service, corev1.EventTypeNormal, api.ReasonEnsuredLoadBalancer, v.message)
	case v.result != nil && v.change == api.ReasonCloudChange:
		r.event(service, corev1.EventTypeNormal, v.reason, v.message)
	default:
		r.event(service, corev1.EventTypeWarning, cmp.Or(v.event, api.ReasonSyncLoadBalancerFailed), string(v.reason)+": "+v.message)
	}
}

// unavailable warns if a load balancer has nothing to lead to: no node may be a
// target, and no target stays.
func unavailable(spec *hook.Spec, targets []hook.TargetHealth) []hook.Problem {
	serves := func(t hook.TargetHealth) bool { return t.State != hook.HealthDraining }
	if len(spec.Targets.Nodes) > 0 || slices.ContainsFunc(targets, serves) {
		return nil
	}
	return []hook.Problem{{Reason: string(api.ReasonUnAvailableLoadBalancer), Message: "there are no available nodes for the load balancer"}}
}

func (r *reconciler) warningEvents(service *corev1.Service, problems []hook.Problem) {
	m := r.memory(client.ObjectKeyFromObject(service))
	reported := map[string]bool{}
	for _, p := range problems {
		text := p.Message
		if p.Field != "" {
			text = p.Field + ": " + text
		}
		reported[p.Reason+text] = true
		if !m.reported[p.Reason+text] {
			r.event(service, corev1.EventTypeWarning, api.Reason(p.Reason), text)
		}
	}
	m.reported = reported
}

func (r *reconciler) event(service *corev1.Service, kind string, reason api.Reason, message string) {
	r.log.Info("service", "service", client.ObjectKeyFromObject(service).String(), "reason", reason, "message", message)
	r.events.Event(service, kind, string(reason), short(message))
}

// short cuts a message to what an event can hold.
func short(s string) string {
	const limit = 1000
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// release removes what we wrote, and the finalizer last.
func (r *reconciler) release(ctx context.Context, service *corev1.Service) error {
	updated := service.DeepCopy()
	updated.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	for _, c := range []string{api.ConditionCloudReady, api.ConditionCloudProgressing} {
		meta.RemoveStatusCondition(&updated.Status.Conditions, c)
	}
	if !equality.Semantic.DeepEqual(service.Status, updated.Status) {
		if err := r.client.Status().Patch(ctx, updated, client.MergeFromWithOptions(service, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("clear the status of Service %s/%s: %w", service.Namespace, service.Name, err)
		}
	}
	free := updated.DeepCopy()
	for _, f := range r.finalizers() {
		controllerutil.RemoveFinalizer(free, f)
	}
	for _, key := range []string{api.AnnotationLoadBalancerHandle, api.AnnotationTargetZone, api.AnnotationTargetDualStack} {
		delete(free.Annotations, key)
	}
	if err := r.client.Patch(ctx, free, client.MergeFromWithOptions(updated, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("remove the finalizer of Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}
