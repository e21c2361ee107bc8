package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/notice"
	"github.com/fairlead/fairlead/operator/servicemonitor"
)

// Reconciler keeps the children of every IngressController in the desired state.
type Reconciler struct {
	client   client.Client
	live     client.Reader // without a cache, for what is not worth watching
	notices  *notice.Recorder
	metrics  *metrics
	options  Options
	provider func() bool
	// clusterProfile is the cluster's TLS profile, nil if it has none; wake
	// asks to look at every IngressController again.
	clusterProfile atomic.Pointer[configv1.TLSSecurityProfile]
	// clusterDNS is what dns.config.openshift.io/cluster said last, nil before
	// it was asked.
	clusterDNS atomic.Pointer[clusterDNS]
	// clusterAnnotations are those of ingresses.config.openshift.io/cluster, nil
	// before it was seen.
	clusterAnnotations atomic.Pointer[map[string]string]
	wake               chan event.GenericEvent
	// reported has the addresses last written to the status of each
	// IngressController, leaving what its deletion was last said to wait for,
	// and domains which of them has which domain.
	reported, leaving, domains memory
	// canary asks whether the routers of "default" answer, and canaryGone says
	// that nothing is left of one that was switched off.
	canary     *canary.Prober
	canaryGone atomic.Bool
	// monitors remembers whether the cluster has ServiceMonitors.
	monitors servicemonitor.Keeper
}

// conflictRetry is how soon a write is tried again that was based on an old
// state of its object. That is no error, just the cache being behind.
const conflictRetry = 50 * time.Millisecond

// Reconcile brings one IngressController's children and status in line with it.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	if outdated(err) {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return result, err
}

// outdated reports whether a write was based on an old state: another worker, or
// another program, was first.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ic := &operatorv1.IngressController{}
	if err := r.client.Get(ctx, req.NamespacedName, ic); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
			return reconcile.Result{}, r.makeDefault(ctx, req.Name)
		}
		return reconcile.Result{}, fmt.Errorf("read IngressController %s: %w", req.Name, err)
	}
	if !ic.DeletionTimestamp.IsZero() {
		return r.remove(ctx, ic)
	}
	if err := r.addFinalizer(ctx, ic); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.handDown(ctx, ic); err != nil {
		return reconcile.Result{}, err
	}
	in, err := r.observe(ctx, ic)
	if err != nil {
		return reconcile.Result{}, err
	}
	// A new IngressController gets its first status before its children.
	if admitted := len(in.Faults) == 0; admitted && ic.Status.ObservedGeneration == 0 {
		if _, err := r.report(ctx, &in); err != nil {
			return reconcile.Result{}, err
		}
	}
	applyErr := r.apply(ctx, &in)
	again, err := r.report(ctx, &in)
	if err := errors.Join(applyErr, err); err != nil {
		return reconcile.Result{}, err
	}
	if again == 0 || again > keysLook {
		again = keysLook
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// keysLook is how often the keys of sessions and the certificates of agents are looked at,
// which are replaced each day or sooner.
const keysLook = time.Hour

// addFinalizer holds the IngressController until its children are gone. It sends
// a patch, because an update would drop the fields that the Go type lacks.
func (r *Reconciler) addFinalizer(ctx context.Context, ic *operatorv1.IngressController) error {
	before := client.MergeFromWithOptions(ic.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if !controllerutil.AddFinalizer(ic, api.FinalizerIngressController) {
		return nil
	}
	if err := r.client.Patch(ctx, ic, before); err != nil {
		return fmt.Errorf("add finalizer to IngressController %s: %w", ic.Name, err)
	}
	return nil
}

// logger returns the log with the IngressController's name.
func (r *Reconciler) logger(ic string) *slog.Logger {
	return r.options.Log.With("ingresscontroller", ic)
}
