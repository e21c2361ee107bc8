package controller

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/foreign"
)

// guarded looks for another provider and makes a full pass if there is none
// and none was made yet.
func (r *reconciler) guarded(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	found, err := foreign.Find(ctx, r.reader)
	if err != nil {
		if !r.started { // else it goes on, and looks again
			text := "no address is given until it is seen whether another MetalLB runs: " + err.Error()
			r.blind.Store(&text)
		}
		return reconcile.Result{}, err
	}
	r.blind.Store(nil)
	if len(found) > 0 {
		r.refuse(found)
		r.later(guardRequest, foreign.Interval)
		return reconcile.Result{}, nil
	}
	if r.foreign.Swap(nil) != nil {
		r.log.Info("the other MetalLB is gone; addresses are given from now on")
	}
	r.metrics.foreign.Set(0)
	if req == guardRequest {
		r.later(guardRequest, foreign.Interval)
	}
	if r.started {
		return reconcile.Result{}, nil
	}
	if err := r.all(ctx); err != nil {
		return reconcile.Result{}, err
	}
	r.started = true
	return r.result(req), nil
}

// refuse stops the work as long as another provider runs: its addresses must
// be heard again before any is given, so everything starts anew then.
func (r *reconciler) refuse(found []foreign.Workload) {
	r.started = false
	r.metrics.foreign.Set(1)
	text := "another MetalLB runs in the cluster (" + foreign.Text(found) + "), so no address is given: " + foreign.Remedy
	if old := r.foreign.Swap(&text); old != nil && *old == text {
		return
	}
	r.log.Error(text)
	for _, w := range found {
		r.events.Event(&corev1.ObjectReference{APIVersion: "apps/v1", Kind: w.Kind, Namespace: w.Namespace, Name: w.Name},
			corev1.EventTypeWarning, string(api.ReasonForeignProvider), short(text))
	}
}

// ready fails while another provider runs, or may run, so that nobody waits for
// addresses without knowing why.
func (r *reconciler) ready(*http.Request) error {
	for _, why := range []*atomic.Pointer[string]{&r.foreign, &r.blind} {
		if text := why.Load(); text != nil {
			return errors.New(*text)
		}
	}
	return nil
}
