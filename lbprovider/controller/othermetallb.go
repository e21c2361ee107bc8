package controller

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/othermetallb"
)

// checkOtherMetalLB looks for another provider and makes a full pass if there is none
// and none was made yet.
func (r *reconciler) checkOtherMetalLB(ctx context.Context, req request) (reconcile.Result, error) {
	found, err := othermetallb.Find(ctx, r.reader)
	if err != nil {
		if !r.started { // else it goes on, and looks again
			text := "no address is given until it is seen whether another MetalLB runs: " + err.Error()
			r.lookupFailed.Store(&text)
		}
		return reconcile.Result{}, err
	}
	r.lookupFailed.Store(nil)
	if len(found) > 0 {
		r.stopForOther(found)
		r.enqueueAfter(findOther{}, othermetallb.Interval)
		return reconcile.Result{}, nil
	}
	if r.otherMetalLB.Swap(nil) != nil {
		r.log.Info("the other MetalLB is gone; addresses are given from now on")
	}
	r.metrics.foreign.Set(0)
	if _, scheduled := req.(findOther); scheduled {
		r.enqueueAfter(findOther{}, othermetallb.Interval)
	}
	if r.started {
		return reconcile.Result{}, nil
	}
	if err := r.reconcileAll(ctx); err != nil {
		return reconcile.Result{}, err
	}
	r.started = true
	return r.result(req), nil
}

// stopForOther stops the work as long as another provider runs: its addresses must
// be read again before any is given, so everything starts from scratch then.
func (r *reconciler) stopForOther(found []othermetallb.Workload) {
	r.started = false
	r.metrics.foreign.Set(1)
	text := "another MetalLB runs in the cluster (" + othermetallb.Join(found) + "), so no address is given: " + othermetallb.Remedy
	if old := r.otherMetalLB.Swap(&text); old != nil && *old == text {
		return
	}
	r.log.Error(text)
	for _, w := range found {
		r.events.Event(&corev1.ObjectReference{APIVersion: "apps/v1", Kind: w.Kind, Namespace: w.Namespace, Name: w.Name},
			corev1.EventTypeWarning, string(api.ReasonForeignProvider), short(text))
	}
}

// ready fails while another provider runs, or may run, so that no user waits for
// addresses without knowing why.
func (r *reconciler) ready(*http.Request) error {
	for _, why := range []*atomic.Pointer[string]{&r.otherMetalLB, &r.lookupFailed} {
		if text := why.Load(); text != nil {
			return errors.New(*text)
		}
	}
	return nil
}
