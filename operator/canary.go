package operator

import (
	"context"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/status"
)

// hasCanary says whether an IngressController has the canary.
func (r *Reconciler) hasCanary(ic string) bool {
	return r.options.CanaryImage != "" && ic == api.DefaultIngressController
}

// ensureCanary writes the objects of the canary. What goes wrong is in the
// canary's own condition: routers serve clients all the same.
func (r *Reconciler) ensureCanary(ctx context.Context, in *status.Input) error {
	if in.IC.Name != api.DefaultIngressController {
		return nil
	}
	if !r.hasCanary(in.IC.Name) {
		return r.removeCanary(ctx, true)
	}
	in.Canary.Looked = true
	in.Canary.Ready, in.Canary.Route, in.Canary.Trouble = canary.Ensure(ctx, r.writer(), in.IC, r.options.CanaryImage, r.canary.Verdict().Rotate)
	if outdated(in.Canary.Trouble) {
		return in.Canary.Trouble
	}
	return nil
}

// removeCanary deletes the objects of the canary. They are not watched where it is
// switched off, and there may be neither the namespace nor the right then.
func (r *Reconciler) removeCanary(ctx context.Context, off bool) error {
	if off && r.canaryGone.Load() {
		return nil
	}
	r.canary.Aim(nil)
	if err := canary.Remove(ctx, r.writer()); err != nil {
		return err
	}
	r.canaryGone.Store(off)
	return nil
}

// aimCanary gives the prober its target, and takes what it knows.
func (r *Reconciler) aimCanary(in *status.Input) {
	if in.IC.Name != api.DefaultIngressController {
		return
	}
	if in.Canary.Looked {
		in.Canary.Target = status.CanaryTarget(*in)
		r.canary.Aim(in.Canary.Target)
	}
	in.Canary.On = r.hasCanary(in.IC.Name)
	in.Canary.Verdict = r.canary.Verdict()
}

// announceCanary writes an event when the canary stops answering, and when it
// answers again.
func (r *Reconciler) announceCanary(in status.Input, written operatorv1.IngressControllerStatus) {
	old, now := status.Find(in.IC.Status.Conditions, status.ConditionCanary), status.Find(written.Conditions, status.ConditionCanary)
	wasFalse := old != nil && old.Status == operatorv1.ConditionFalse
	switch {
	case now == nil:
	case now.Status == operatorv1.ConditionFalse && (!wasFalse || old.Message != now.Message):
		r.notices.Say(in.IC, corev1.EventTypeWarning, api.ReasonCanaryFailing, now.Message)
	case now.Status == operatorv1.ConditionTrue && wasFalse:
		r.notices.Say(in.IC, corev1.EventTypeNormal, api.ReasonCanarySucceeding, now.Message)
	}
}

// setupCanary makes the prober; it asks while this operator leads.
func setupCanary(o Options, changed func(context.Context), add func(func(context.Context) error) error, m canary.Options) (*canary.Prober, error) {
	m.Interval, m.Dial, m.Log = o.CanaryInterval, o.CanaryDial, o.Log
	p, err := canary.New(m, changed)
	if err != nil || o.CanaryImage == "" {
		return p, err
	}
	return p, add(p.Run)
}
