package operator

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/agentcertificates"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/certificate"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/configmap"
	"github.com/fairlead/fairlead/operator/deployment"
	"github.com/fairlead/fairlead/operator/disruption"
	"github.com/fairlead/fairlead/operator/dnsrecord"
	"github.com/fairlead/fairlead/operator/ingressclass"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/operator/sessionkeys"
	"github.com/fairlead/fairlead/operator/statssecret"
	"github.com/fairlead/fairlead/operator/status"
)

// outcome collects what goes wrong while children are written.
type outcome struct {
	in *status.Input
	// failed are errors of ours, to be tried again soon.
	failed []error
}

// note puts an error into the status, and reports whether there was none.
func (o *outcome) note(err error) bool {
	if err == nil {
		return true
	}
	conflict, missing := (*apply.ConflictError)(nil), (*configmap.MissingError)(nil)
	switch {
	// For the user to solve, and no error of ours: it is looked at again every
	// minute, as all that is degraded.
	case errors.As(err, &conflict):
		o.in.Problems = append(o.in.Problems, status.Problem{Reason: api.ReasonConflictingObject, Message: err.Error()})
		return false
	case errors.As(err, &missing):
		o.in.Problems = append(o.in.Problems, status.Problem{Reason: api.ReasonConfigMapNotFound, Message: err.Error()})
		return false
	case !outdated(err):
		o.in.Problems = append(o.in.Problems, status.Problem{Reason: "ReconcileFailed", Message: err.Error()})
	}
	o.failed = append(o.failed, err)
	return false
}

// apply writes the children of an admitted IngressController in order; a refused
// one keeps those it has. A child that fails is a problem in the status and does
// not keep back the ones after it, except that pods are not started without the
// Secrets that they mount.
func (r *Reconciler) apply(ctx context.Context, in *status.Input) error {
	if len(in.Faults) > 0 {
		return nil
	}
	o := &outcome{in: in}
	note := o.note
	s, w := in.Settings, r.writer()
	findings, err := certificate.Ensure(ctx, w, in.IC, s.Domain, in.Deployment, in.Now)
	in.Certificate = findings
	certificate := note(err)
	_, err = apply.Ensure(ctx, w, apply.Child[*corev1.Secret]{
		IC: s.Name, Empty: &corev1.Secret{}, Changed: statssecret.Changed,
		Desired: child.OwnedBy(statssecret.Desired(s.Name), in.Deployment),
	})
	if stats := note(err); !certificate || !stats {
		return errors.Join(o.failed...)
	}
	// Pods start without them: they refuse logins, and requests with shared limits.
	note(r.ensureSessionKeys(ctx, in))
	note(r.ensureAgentCertificates(ctx, in))
	d, err := apply.Ensure(ctx, w, apply.Child[*appsv1.Deployment]{
		IC: s.Name, Empty: &appsv1.Deployment{}, Desired: deployment.Desired(s), Changed: deployment.Changed,
	})
	if !note(err) {
		return errors.Join(o.failed...)
	}
	in.Deployment = d

	note(configmap.EnsureAdmitted(ctx, w, in.IC, d))
	for _, c := range configmap.Copies(in.IC) {
		note(configmap.EnsureCopy(ctx, w, s.Name, c, d))
	}
	in.LoadBalancer, err = service.EnsureLoadBalancer(ctx, w, s, in.IC, in.LoadBalancer)
	note(err)
	in.Records, err = dnsrecord.Ensure(ctx, w, s, in.IC, in.LoadBalancer)
	note(err)
	nodePort, wanted := service.DesiredNodePort(s)
	live, err := apply.Ensure(ctx, w, apply.Child[*corev1.Service]{
		IC: s.Name, Empty: &corev1.Service{}, Desired: nodePort, Unwanted: !wanted, Changed: service.Changed,
	})
	if note(err) && wanted {
		in.Canary.NodePort = live
	}
	live, err = apply.Ensure(ctx, w, apply.Child[*corev1.Service]{
		IC: s.Name, Empty: &corev1.Service{}, Desired: child.OwnedBy(service.DesiredInternal(s), d), Changed: service.Changed,
	})
	if note(err) {
		in.Canary.Internal = live
	}
	note(r.ensureCanary(ctx, in))
	note(r.monitors.Ensure(ctx, w, s, d, in.Now, r.options.ClusterPoll))
	budget, wanted := disruption.Desired(s)
	_, err = apply.Ensure(ctx, w, apply.Child[*policyv1.PodDisruptionBudget]{
		IC: s.Name, Empty: &policyv1.PodDisruptionBudget{}, Changed: disruption.Changed,
		Desired: child.OwnedBy(budget, d), Unwanted: !wanted,
	})
	note(err)
	_, err = apply.Ensure(ctx, w, apply.Child[*networkingv1.IngressClass]{
		IC: s.Name, Empty: &networkingv1.IngressClass{}, Changed: ingressclass.Changed, Desired: ingressclass.Desired(s.Name),
	})
	note(err)
	return errors.Join(o.failed...)
}

// ensureSessionKeys writes the keys that routers encrypt cookies of sessions with.
func (r *Reconciler) ensureSessionKeys(ctx context.Context, in *status.Input) error {
	_, err := apply.Ensure(ctx, r.writer(), apply.Child[*corev1.Secret]{
		IC: in.Settings.Name, Empty: &corev1.Secret{}, Changed: sessionkeys.Changed, Unwanted: !in.Settings.Agent,
		Desired: child.OwnedBy(sessionkeys.Desired(in.Settings.Name, in.Now), in.Deployment),
	})
	return err
}

// ensureAgentCertificates writes the certificates that agents show each other.
func (r *Reconciler) ensureAgentCertificates(ctx context.Context, in *status.Input) error {
	desired, err := agentcertificates.Desired(in.Settings.Name, in.Now)
	if err != nil {
		return err
	}
	_, err = apply.Ensure(ctx, r.writer(), apply.Child[*corev1.Secret]{
		IC: in.Settings.Name, Empty: &corev1.Secret{}, Changed: agentcertificates.Changed, Unwanted: !in.Settings.Agent,
		Desired: child.OwnedBy(desired, in.Deployment),
	})
	return err
}

// writer writes the children.
func (r *Reconciler) writer() apply.Writer {
	return apply.Writer{Client: r.client, Live: r.live, Log: r.options.Log}
}
