package dns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/operator/notice"
)

// reconciler publishes DNSRecords.
type reconciler struct {
	client  client.Client
	live    client.Reader
	notices *notice.Recorder
	metrics *metrics
	options Options
	failed  failures
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	o = o.withDefaults()
	notices, err := notice.New(mgr, "ingress-operator", o.Log)
	if err != nil {
		return err
	}
	r := &reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), notices: notices, metrics: m, options: o}
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	again := make(chan event.GenericEvent)
	if r.options.Hook != nil && len(r.options.Zones) == 0 {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return r.followZones(ctx, again) })); err != nil {
			return fmt.Errorf("add the reader of the cluster's zones: %w", err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("dnsrecord").
		WatchesRawSource(source.Channel(again, &handler.EnqueueRequestForObject{})).
		For(&iov1.DNSRecord{}, changed).
		// What one record frees may be what another waits for.
		Watches(&iov1.DNSRecord{}, handler.EnqueueRequestsFromMapFunc(r.rivals), changed).
		// Route 53 writes in one call what comes at the same time.
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// workers is how many records are looked at at the same time.
const workers = 8

// followZones looks at all records again when the cluster has other zones.
func (r *reconciler) followZones(ctx context.Context, again chan<- event.GenericEvent) error {
	return Follow(ctx, r.live, r.options.ClusterPoll, r.options.Log, func(*configv1.DNSSpec) {
		list := &iov1.DNSRecordList{}
		if err := r.client.List(ctx, list); err != nil {
			r.options.Log.Error("cannot list DNSRecords", "err", err)
			return
		}
		for i := range list.Items {
			select {
			case again <- event.GenericEvent{Object: &list.Items[i]}:
			case <-ctx.Done():
				return
			}
		}
	})
}

// rivals returns the other records of the same name.
func (r *reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	d, ok := o.(*iov1.DNSRecord)
	if !ok {
		return nil
	}
	list := &iov1.DNSRecordList{}
	if err := r.client.List(ctx, list); err != nil {
		r.options.Log.Error("cannot list DNSRecords", "err", err)
		return nil
	}
	var found []reconcile.Request
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != d.UID && sameName(other, d) {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
	}
	return found
}

// Reconcile brings the zones in line with one DNSRecord.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d := &iov1.DNSRecord{}
	err := r.client.Get(ctx, req.NamespacedName, d)
	switch {
	case apierrors.IsNotFound(err):
		r.metrics.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read DNSRecord %s: %w", req, err)
	case !d.DeletionTimestamp.IsZero():
		return r.remove(ctx, d)
	case r.options.Hook == nil:
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(d, api.FinalizerDNSRecord) {
		if err := r.client.Update(ctx, d); err != nil {
			return ignoreConflict(fmt.Errorf("add finalizer to DNSRecord %s: %w", req, err))
		}
	}
	outcomes, err := r.publish(ctx, d)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.report(ctx, d, outcomes); err != nil {
		return ignoreConflict(err)
	}
	return reconcile.Result{RequeueAfter: r.again(d, outcomes)}, nil
}

// again returns when to look at a record the next time.
func (r *reconciler) again(d *iov1.DNSRecord, outcomes []outcome) time.Duration {
	soonest, failed := r.options.Resync, false
	for _, o := range outcomes {
		switch {
		case o.retry > 0:
			soonest = min(soonest, o.retry)
		case o.status == operatorv1.ConditionFalse:
			failed = true
		}
	}
	if !failed {
		r.failed.forget(d.UID)
		return soonest
	}
	return min(soonest, r.failed.next(d.UID, d.Generation, r.options.Retry, r.options.MaxRetry))
}

// ignoreConflict asks for another try where the cache was behind.
func ignoreConflict(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: 50 * time.Millisecond}, nil
	}
	return reconcile.Result{}, err
}

// publish writes the record to all zones, and takes it out of zones that are
// not configured any more.
func (r *reconciler) publish(ctx context.Context, d *iov1.DNSRecord) ([]outcome, error) {
	all := &iov1.DNSRecordList{}
	if err := r.client.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list DNSRecords: %w", err)
	}
	first := nameHolder(d, all.Items)
	record := recordOf(d, r.options.Owner)
	problem := check(record)
	zones, err := r.zones(ctx)
	if err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, z := range zones {
		o := observed(d, z.DNSZone)
		switch {
		case d.Spec.DNSManagementPolicy == iov1.UnmanagedDNS:
			o.status, o.reason, o.message = operatorv1.ConditionUnknown, api.ReasonUnmanagedDNS, "spec.dnsManagementPolicy is Unmanaged: the record is not written, changed or removed"
		case problem != "":
			o.status, o.reason, o.message = operatorv1.ConditionFalse, api.ReasonDNSProviderError, problem+"; what was published stays"
		case d.Spec.RecordTTL <= 0:
			o.status, o.reason, o.message = operatorv1.ConditionFalse, api.ReasonZeroTTL, "spec.recordTTL is 0; what was published stays"
		case first != nil:
			o.status, o.reason = operatorv1.ConditionFalse, api.ReasonDomainAlreadyInUse
			o.message = fmt.Sprintf("DNSRecord %s/%s, which is older, has the name %s", first.Namespace, first.Name, d.Spec.DNSName)
		default:
			o = o.with(r.write(ctx, z, record))
		}
		outcomes = append(outcomes, o)
	}
	return append(outcomes, r.leave(ctx, d, zones, record)...), nil
}

// write writes a record to a zone. What changed under our hands is tried once
// more at once.
func (r *reconciler) write(ctx context.Context, z Zone, record *hook.Record) (*hook.RecordResult, error) {
	zone, err := r.options.Hook.ResolveZone(ctx, z.selector(record.Name))
	if err != nil {
		return nil, err
	}
	result, err := r.options.Hook.EnsureRecord(ctx, record, zone)
	if hook.ClassOf(err) == hook.ClassBusy {
		result, err = r.options.Hook.EnsureRecord(ctx, record, zone)
	}
	return result, err
}

// leave takes the record out of zones that it was written to and that are not
// configured any more. Those where that fails are returned.
func (r *reconciler) leave(ctx context.Context, d *iov1.DNSRecord, zones []Zone, record *hook.Record) []outcome {
	var left []outcome
	for _, s := range d.Status.Zones {
		configured := slices.ContainsFunc(zones, func(z Zone) bool { return sameZone(z.DNSZone, s.DNSZone) })
		if configured || !isWritten(s) || d.Spec.DNSManagementPolicy == iov1.UnmanagedDNS {
			continue
		}
		if err := r.erase(ctx, s.DNSZone, zones, record); err != nil {
			o := observed(d, s.DNSZone)
			o.retry = r.options.Retry
			o.message = "The zone is not configured any more, but the record could not be removed: " + err.Error()
			left = append(left, o)
		}
	}
	return left
}

// erase takes the record out of a zone. The status does not say whether that
// is a private one, which may be another account's, so where the configuration
// has it no more, both are asked.
func (r *reconciler) erase(ctx context.Context, zone configv1.DNSZone, configured []Zone, record *hook.Record) error {
	tries := []Zone{{DNSZone: zone}, {DNSZone: zone, Private: true}}
	if i := slices.IndexFunc(configured, func(z Zone) bool { return sameZone(z.DNSZone, zone) }); i >= 0 {
		tries = configured[i : i+1]
	}
	var failed error
	for _, z := range tries {
		found, err := r.options.Hook.ResolveZone(ctx, z.selector(record.Name))
		switch {
		case err == nil:
			return r.options.Hook.DeleteRecord(ctx, record, found)
		case hook.ClassOf(err) != hook.ClassNotFound: // With a zone, all of its names are gone.
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// remove takes a DNSRecord out of the zones that have it, and lets it go when
// resolvers have forgotten the name: what waits for the DNSRecord may then
// take down what it led to.
func (r *reconciler) remove(ctx context.Context, d *iov1.DNSRecord) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(d, api.FinalizerDNSRecord) {
		return reconcile.Result{}, nil
	}
	record := recordOf(d, r.options.Owner)
	zones, err := r.zones(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	outcomes, failed := r.eraseAll(ctx, d, zones, record)
	if err := r.report(ctx, d, outcomes); err != nil {
		return ignoreConflict(err)
	}
	if failed != nil {
		r.notices.Say(d, corev1.EventTypeWarning, api.ReasonDNSProviderError,
			fmt.Sprintf("%s could not be removed, which is tried again: %s", d.Spec.DNSName, failed))
		return reconcile.Result{RequeueAfter: r.failed.next(d.UID, d.Generation, r.options.Retry/2, r.options.MaxRetry)}, nil
	}
	now := r.options.Now()
	if left := forgotten(statusOf(d, outcomes, now), ttlOf(record), r.options.Drain, now); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	r.failed.forget(d.UID)
	controllerutil.RemoveFinalizer(d, api.FinalizerDNSRecord)
	if err := r.client.Update(ctx, d); client.IgnoreNotFound(err) != nil {
		return ignoreConflict(fmt.Errorf("remove finalizer of DNSRecord %s/%s: %w", d.Namespace, d.Name, err))
	}
	r.options.Log.Info("name removed", "dnsrecord", d.Namespace+"/"+d.Name, "name", d.Spec.DNSName)
	return reconcile.Result{}, nil
}

// eraseAll takes a record out of all zones, and returns how they stand then.
func (r *reconciler) eraseAll(ctx context.Context, d *iov1.DNSRecord, zones []Zone, record *hook.Record) ([]outcome, error) {
	var outcomes []outcome
	var failed error
	for _, s := range d.Status.Zones {
		o := observed(d, s.DNSZone)
		switch {
		case d.Spec.DNSManagementPolicy == iov1.UnmanagedDNS || !o.written:
		case r.options.Hook == nil:
			r.notices.Say(d, corev1.EventTypeWarning, api.ReasonDNSProviderError,
				fmt.Sprintf("the operator runs without a DNS provider; %s stays in zone %s", d.Spec.DNSName, s.DNSZone.ID))
		default:
			if err := r.erase(ctx, s.DNSZone, zones, record); err != nil {
				failed = errors.Join(failed, err)
				break
			}
			o.written = false
			o.status, o.reason, o.message = operatorv1.ConditionFalse, api.ReasonDNSRemoved, "The record was removed, because the DNSRecord is deleted"
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, failed
}

// report writes the status if it changed, and an event for every zone whose
// condition did.
func (r *reconciler) report(ctx context.Context, d *iov1.DNSRecord, outcomes []outcome) error {
	r.metrics.set(client.ObjectKeyFromObject(d), outcomes)
	status := statusOf(d, outcomes, r.options.Now())
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	old := d.Status
	updated := d.DeepCopy()
	updated.Status = status
	if err := r.client.Status().Patch(ctx, updated, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write status of DNSRecord %s/%s: %w", d.Namespace, d.Name, err)
	}
	for _, o := range outcomes {
		before := (*iov1.DNSZoneCondition)(nil)
		if s := statusZone(old.Zones, o.zone); s != nil {
			before = conditionOf(*s, iov1.DNSRecordPublishedConditionType)
		}
		if before != nil && before.Status == string(o.status) && before.Reason == string(o.reason) && before.Message == o.message {
			continue
		}
		kind := corev1.EventTypeWarning
		if o.status != operatorv1.ConditionFalse || o.reason == api.ReasonDNSRemoved {
			kind = corev1.EventTypeNormal
		}
		r.notices.Say(d, kind, o.reason, d.Spec.DNSName+": "+o.message)
	}
	return nil
}
