package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// ensureTime and deleteTime are how long one pass of the hook may take.
const (
	ensureTime = time.Minute
	deleteTime = time.Minute
)

// Reconcile brings the load balancer of one Service in line with it.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req.NamespacedName)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: 50 * time.Millisecond}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	service := &corev1.Service{}
	err := r.client.Get(ctx, key, service)
	switch {
	case apierrors.IsNotFound(err):
		r.forget(key)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read Service %s: %w", key, err)
	}
	held := controllerutil.ContainsFinalizer(service, api.FinalizerCloudLoadBalancer)
	switch {
	case r.ours(service) && r.foreign(service) != "" && !held:
		return reconcile.Result{}, r.reportForeign(ctx, service)
	case r.ours(service):
		lease, err := r.other.running(ctx)
		switch {
		case held: // what exists is served on, whatever else runs
		case err != nil:
			return reconcile.Result{}, err
		case lease != "":
			return reconcile.Result{RequeueAfter: otherRecheck}, r.reportOther(ctx, service, lease)
		}
		return r.ensure(ctx, service)
	case held:
		return r.remove(ctx, service)
	}
	r.forget(key)
	return reconcile.Result{}, nil
}

func (r *reconciler) memory(key types.NamespacedName) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.known[key]
	if m == nil {
		m = &memory{}
		r.known[key] = m
	}
	return m
}

func (r *reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	r.metrics.health(key.String(), nil)
}

// gather reads what a Spec is made of.
func (r *reconciler) gather(ctx context.Context, service *corev1.Service) (objects, error) {
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return objects{}, fmt.Errorf("list nodes: %w", err)
	}
	list := &discoveryv1.EndpointSliceList{}
	err := r.client.List(ctx, list, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return objects{}, fmt.Errorf("list EndpointSlices of Service %s: %w", service.Name, err)
	}
	return objects{service: service, nodes: nodes.Items, slices: list.Items, now: r.opts.Now()}, nil
}

// ensure has the hook make or change the load balancer, if there is a reason.
func (r *reconciler) ensure(ctx context.Context, service *corev1.Service) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(service)
	m := r.memory(key)
	in, err := r.gather(ctx, service)
	if err != nil {
		return reconcile.Result{}, err
	}
	spec, again := specOf(r.opts.Cluster, in)
	if r.opts.NamePending != nil {
		if spec.NamePending, err = r.opts.NamePending(ctx, service); err != nil {
			return reconcile.Result{}, err
		}
	}
	specHash, targetHash := hashes(spec)
	wait := m.asked(specHash, r.opts.Now())
	if problems := r.opts.Hook.Validate(ctx, spec); refused(problems) {
		m.spec, m.targets = "", ""
		return reconcile.Result{}, r.reportInvalid(ctx, service, problems)
	}
	if wait > 0 {
		// It failed, and what is asked for has not changed since.
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if specHash == m.spec {
		// Only targets may have changed, and many change at once.
		if wait := r.debounce.wait(key, r.opts.Now()); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	if err := r.addFinalizers(ctx, service); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if left := m.again.Sub(r.opts.Now()); left > 0 && specHash == m.spec && targetHash == m.targets {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	due := m.done.IsZero() || r.opts.Now().Sub(m.done) >= r.opts.Resync-r.opts.Resync/8
	if specHash == m.spec && !due {
		if targetHash == m.targets {
			return r.next(m, again), nil
		}
		return r.updateTargets(ctx, service, spec, m, targetHash, again)
	}
	return r.ensureAll(ctx, service, spec, m, again)
}

// addFinalizers puts the finalizer on a Service before the first call that makes
// anything: then nothing can be left over if the Service is deleted.
func (r *reconciler) addFinalizers(ctx context.Context, service *corev1.Service) error {
	before := service.DeepCopy()
	added := false
	for _, f := range r.finalizers() {
		added = controllerutil.AddFinalizer(service, f) || added
	}
	if !added {
		return nil
	}
	// An update would do for other kinds, but it creates a Service again that was
	// deleted in the meantime.
	if err := r.client.Patch(ctx, service, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer to Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	r.event(service, corev1.EventTypeNormal, api.ReasonEnsuringLoadBalancer, "making a load balancer")
	return nil
}

func (r *reconciler) ensureAll(ctx context.Context, service *corev1.Service, spec *hook.Spec, m *memory, again time.Duration) (reconcile.Result, error) {
	within, cancel := context.WithTimeout(ctx, ensureTime)
	defer cancel()
	start := r.opts.Now()
	result, err := r.opts.Hook.Ensure(within, spec)
	r.metrics.pass(r.opts.Now().Sub(start), err)
	if result != nil {
		r.metrics.health(spec.Ref.String(), result.Targets)
	}
	if err != nil {
		m.spec, m.targets, m.done = "", "", time.Time{}
		return r.pause(ctx, service, m, failure{err: err, result: result, event: api.ReasonSyncLoadBalancerFailed})
	}
	m.succeeded()
	m.spec, m.targets = hashes(spec)
	result.Problems = append(result.Problems, r.warnings(ctx, spec, result.Targets)...)
	if err := r.reportSucceeded(ctx, service, result); err != nil {
		return reconcile.Result{}, err
	}
	if after := result.RetryAfter.Std(); after > 0 {
		m.done = time.Time{}
		return reconcile.Result{RequeueAfter: m.poll(after, 8, time.Minute, r.opts.Now())}, nil
	}
	m.polls, m.done = 0, r.opts.Now()
	return r.next(m, again), nil
}

// pause reports a pass that failed, and waits before the next one.
func (r *reconciler) pause(ctx context.Context, service *corev1.Service, m *memory, f failure) (reconcile.Result, error) {
	wait := m.failed(f.err, r.opts.Now())
	f.times = m.failures
	if err := r.reportFailed(ctx, service, f); err != nil {
		m.rest = time.Time{} // it is still to be reported
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

func (r *reconciler) updateTargets(ctx context.Context, service *corev1.Service, spec *hook.Spec, m *memory, hash string, again time.Duration) (reconcile.Result, error) {
	within, cancel := context.WithTimeout(ctx, ensureTime)
	defer cancel()
	result, err := r.opts.Hook.UpdateTargets(within, spec)
	switch hook.ClassOf(err) {
	case "":
	case hook.ClassNotFound, hook.ClassUnsupported:
		return r.ensureAll(ctx, service, spec, m, again)
	default:
		return r.pause(ctx, service, m, failure{err: err, event: api.ReasonUpdateLoadBalancerFailed})
	}
	m.succeeded()
	m.targets = hash
	r.metrics.health(spec.Ref.String(), result.Targets)
	r.warningEvents(service, append(result.Problems, r.warnings(ctx, spec, result.Targets)...))
	if result.Registered+result.Deregistered > 0 {
		r.event(service, corev1.EventTypeNormal, api.ReasonUpdatedLoadBalancer,
			fmt.Sprintf("targets of all ports: %d registered, %d deregistered", result.Registered, result.Deregistered))
		// New targets become healthy later, which the next pass sees.
		m.done = time.Time{}
		return reconcile.Result{RequeueAfter: max(result.RetryAfter.Std(), time.Second)}, nil
	}
	return r.next(m, again), nil
}

// next returns when to look again: at the next resync, a tenth sooner or
// later so that not all come at once, or when a grace period ends.
func (r *reconciler) next(m *memory, again time.Duration) reconcile.Result {
	left := r.opts.Resync - r.opts.Now().Sub(m.done)
	spread := r.opts.Resync / 10
	left += time.Duration(rand.Int64N(int64(2*spread)+1)) - spread //nolint:gosec // no secret depends on it
	left = max(left, time.Second)
	if again > 0 && again < left {
		left = again
	}
	return reconcile.Result{RequeueAfter: left}
}

// remove has the hook delete the load balancer, and then releases the Service.
func (r *reconciler) remove(ctx context.Context, service *corev1.Service) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(service)
	m := r.memory(key)
	ref := hook.Ref{
		Cluster: r.opts.Cluster, Namespace: service.Namespace, Name: service.Name, UID: string(service.UID),
		Handle: service.Annotations[api.AnnotationLoadBalancerHandle],
	}
	if m.spec != "deleting" {
		m.spec = "deleting"
		r.event(service, corev1.EventTypeNormal, api.ReasonDeletingLoadBalancer, "deleting the load balancer")
	}
	// Annotations may forbid it, and be removed later.
	wait := m.asked("deleting "+hashOf(service.Annotations), r.opts.Now())
	if wait = max(wait, m.again.Sub(r.opts.Now())); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	within, cancel := context.WithTimeout(ctx, deleteTime)
	defer cancel()
	start := r.opts.Now()
	result, err := r.opts.Hook.Delete(within, &hook.Deletion{Ref: ref, Annotations: service.Annotations})
	r.metrics.pass(r.opts.Now().Sub(start), err)
	switch {
	case err != nil:
		result, err := r.pause(ctx, service, m, failure{err: err, event: api.ReasonSyncLoadBalancerFailed})
		return result, client.IgnoreNotFound(err)
	case !result.Done:
		m.succeeded()
		r.log.Info("deletion waits", "service", key.String(), "for", result.Waiting)
		return reconcile.Result{RequeueAfter: m.poll(max(result.RetryAfter.Std(), time.Second), 6, 30*time.Second, r.opts.Now())}, nil
	}
	if err := r.release(ctx, service); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if result.Left != "" {
		r.event(service, corev1.EventTypeWarning, api.ReasonSyncLoadBalancerFailed, result.Left)
	}
	r.event(service, corev1.EventTypeNormal, api.ReasonDeletedLoadBalancer, "the load balancer is deleted")
	r.forget(key)
	return reconcile.Result{}, nil
}

// hashes returns what shows whether a Spec, without and with its targets, has
// changed.
func hashes(spec *hook.Spec) (without, targets string) {
	targets = hashOf(spec.Targets)
	c := *spec
	c.Targets = hook.TargetSet{}
	c.Ref.Handle = ""     // we write it ourselves
	c.NamePending = false // matters only if there is more to do anyway
	c.Annotations = map[string]string{}
	for k, v := range spec.Annotations {
		if k != api.AnnotationLoadBalancerHandle && k != api.AnnotationTargetZone && k != api.AnnotationTargetDualStack {
			c.Annotations[k] = v
		}
	}
	return hashOf(c), targets
}

func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error() // plain values can always be marshalled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func equalJSON(a, b any) bool { return hashOf(a) == hashOf(b) }
