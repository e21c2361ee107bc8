package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/notice"
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
	monitors monitors
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
	// A patch, because an update would drop the fields that the Go type lacks.
	before := client.MergeFromWithOptions(ic.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if controllerutil.AddFinalizer(ic, api.FinalizerIngressController) {
		if err := r.client.Patch(ctx, ic, before); err != nil {
			return reconcile.Result{}, fmt.Errorf("add finalizer to IngressController %s: %w", ic.Name, err)
		}
	}
	if err := r.handDown(ctx, ic); err != nil {
		return reconcile.Result{}, err
	}
	in, err := r.observe(ctx, ic)
	if err != nil {
		return reconcile.Result{}, err
	}
	var applyErr error
	if len(in.faults) == 0 {
		// Who looks at a new one sees at once what becomes of it.
		if ic.Status.ObservedGeneration == 0 {
			if _, err := r.report(ctx, &in); err != nil {
				return reconcile.Result{}, err
			}
		}
		applyErr = r.apply(ctx, &in)
	}
	again, err := r.report(ctx, &in)
	if err := errors.Join(applyErr, err); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// observe reads what the children and the status depend on.
func (r *Reconciler) observe(ctx context.Context, ic *operatorv1.IngressController) (statusInput, error) {
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return statusInput{}, fmt.Errorf("list nodes: %w", err)
	}
	ics := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, ics, client.InNamespace(api.OperatorNamespace)); err != nil {
		return statusInput{}, fmt.Errorf("list IngressControllers: %w", err)
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(api.OperandNamespace), client.MatchingLabels(podLabels(ic.Name))); err != nil {
		return statusInput{}, fmt.Errorf("list router pods: %w", err)
	}
	domain, err := r.readClusterDNS(ctx)
	if err != nil {
		return statusInput{}, err
	}
	in := statusInput{
		ic:    ic,
		s:     settingsOf(ic, cluster{nodes: nodes.Items, provider: r.provider(), dns: domain, haproxy: r.clusterWide()[api.AnnotationDefaultHAProxyVersion]}, r.options),
		pods:  pods.Items,
		nodes: nodes.Items,
		now:   r.options.Now(),

		clusterProfile: r.clusterProfile.Load(),
		dns:            r.options.DNS,
	}
	if in.groups, err = r.readSecurityGroups(ctx, ic, in.s); err != nil {
		return in, err
	}
	in.s.securityGroups = in.groups.wanted
	in.faults = validate(ic, in.s, ics.Items)
	if len(in.faults) == 0 {
		there := func(name string) bool {
			return slices.ContainsFunc(ics.Items, func(o operatorv1.IngressController) bool { return o.Name == name })
		}
		if holder := r.domains.claim(in.s.domain, ic.Name, there); holder != ic.Name {
			in.faults = append(in.faults, domainTaken(ic, in.s.domain, holder))
		}
	}
	key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.RouterName(ic.Name)}
	if in.deployment, err = getOrNil(ctx, r.client, key, &appsv1.Deployment{}); err != nil {
		return in, err
	}
	if in.loadBalancer, err = getOrNil(ctx, r.client, key, &corev1.Service{}); err != nil {
		return in, err
	}
	return in, r.observePassthrough(ctx, &in)
}

// outcome collects what goes wrong while children are written.
type outcome struct {
	in *statusInput
	// failed are errors of ours, to be tried again soon.
	failed []error
}

// note puts an error into the status, and reports whether there was none.
func (o *outcome) note(err error) bool {
	if err == nil {
		return true
	}
	conflict, missing := (*conflictError)(nil), (*missingConfigMapError)(nil)
	switch {
	// For the user to solve, and no error of ours: it is looked at again every
	// minute, as all that is degraded.
	case errors.As(err, &conflict):
		o.in.problems = append(o.in.problems, problem{api.ReasonConflictingObject, err.Error()})
		return false
	case errors.As(err, &missing):
		o.in.problems = append(o.in.problems, problem{api.ReasonConfigMapNotFound, err.Error()})
		return false
	case !outdated(err):
		o.in.problems = append(o.in.problems, problem{"ReconcileFailed", err.Error()})
	}
	o.failed = append(o.failed, err)
	return false
}

// apply writes the children in order. A child that fails is a problem in the
// status and does not keep back the ones after it, except that pods are not
// started without the Secrets that they mount.
func (r *Reconciler) apply(ctx context.Context, in *statusInput) error {
	o := &outcome{in: in}
	note := o.note
	s, owner := in.s, in.deployment
	certificate := note(r.ensureCertificate(ctx, in))
	_, err := ensure(ctx, r, child[*corev1.Secret]{
		ic: s.name, empty: &corev1.Secret{}, changed: changedStatsSecret,
		desired: ownedBy(desiredStatsSecret(s.name), owner),
	})
	if stats := note(err); !certificate || !stats {
		return errors.Join(o.failed...)
	}
	d, err := ensure(ctx, r, child[*appsv1.Deployment]{
		ic: s.name, empty: &appsv1.Deployment{}, desired: desiredDeployment(s), changed: changedDeployment,
	})
	if !note(err) {
		return errors.Join(o.failed...)
	}
	in.deployment = d

	note(r.ensureAdmitted(ctx, in))
	for _, c := range configMapCopies(in.ic) {
		note(r.ensureConfigMap(ctx, in, c))
	}
	note(r.ensureLoadBalancer(ctx, in))
	note(r.ensureDNSRecords(ctx, in))
	nodePort, wanted := desiredNodePortService(s)
	live, err := ensure(ctx, r, child[*corev1.Service]{
		ic: s.name, empty: &corev1.Service{}, desired: nodePort, unwanted: !wanted, changed: changedService,
	})
	if note(err) && wanted {
		in.canary.nodePort = live
	}
	live, err = ensure(ctx, r, child[*corev1.Service]{
		ic: s.name, empty: &corev1.Service{}, desired: ownedBy(desiredInternalService(s), d), changed: changedService,
	})
	if note(err) {
		in.canary.internal = live
	}
	note(r.ensureCanary(ctx, in))
	note(r.ensureServiceMonitor(ctx, in))
	budget, wanted := desiredPodDisruptionBudget(s)
	_, err = ensure(ctx, r, child[*policyv1.PodDisruptionBudget]{
		ic: s.name, empty: &policyv1.PodDisruptionBudget{}, changed: changedPodDisruptionBudget,
		desired: ownedBy(budget, d), unwanted: !wanted,
	})
	note(err)
	_, err = ensure(ctx, r, child[*networkingv1.IngressClass]{
		ic: s.name, empty: &networkingv1.IngressClass{}, changed: changedIngressClass, desired: desiredIngressClass(s.name),
	})
	note(err)
	return errors.Join(o.failed...)
}

// ensureLoadBalancer writes the Service that a load balancer serves, and keeps
// it in the input while it is there and wanted.
func (r *Reconciler) ensureLoadBalancer(ctx context.Context, in *statusInput) error {
	s := in.s
	desired, wanted := desiredLoadBalancerService(s)
	rangedService(desired, in.loadBalancer)
	cloudService(desired, in.loadBalancer, in.ic, s)
	namedService(desired, in.loadBalancer, s)
	live, err := ensureFrom(ctx, r, child[*corev1.Service]{
		ic: s.name, empty: &corev1.Service{}, desired: desired, unwanted: !wanted,
		changed: func(live, desired *corev1.Service) (*corev1.Service, bool) {
			updated, changed := changedLoadBalancerService(live, desired)
			return updated, withoutRangesAnnotation(updated, s) || changed
		},
	}, in.loadBalancer, in.loadBalancer != nil)
	if in.loadBalancer = nil; err == nil && wanted {
		in.loadBalancer = live
	}
	return err
}

// ensureCertificate writes the CA and the Secret with the default certificate.
func (r *Reconciler) ensureCertificate(ctx context.Context, in *statusInput) error {
	liveCA, err := getOrNil(ctx, r.client, client.ObjectKey{Namespace: api.OperatorNamespace, Name: api.RouterCASecret}, &corev1.Secret{})
	if err != nil {
		return err
	}
	ca, write, err := desiredCASecret(liveCA, in.now)
	if err != nil {
		return err
	}
	switch {
	case write && liveCA == nil:
		err = r.client.Create(ctx, ca)
	case write:
		err = r.client.Update(ctx, ca)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", api.RouterCASecret, err)
	}
	input := certificateInput{ic: in.ic, domain: in.s.domain, ca: pairOf(ca), now: in.now}
	key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.CertificateSecretName(in.ic.Name)}
	if input.live, err = getOrNil(ctx, r.client, key, &corev1.Secret{}); err != nil {
		return err
	}
	if ref := in.ic.Spec.DefaultCertificate; ref != nil {
		if ref.Name == key.Name && input.live != nil && input.live.Labels[api.LabelOwningIngressController] == "" {
			return nil // The administrator's own Secret stands where ours would; the pods mount it.
		}
		key.Name = ref.Name
		if input.named, err = getOrNil(ctx, r.client, key, &corev1.Secret{}); err != nil {
			return err
		}
	}
	desired, findings, err := desiredCertificateSecret(input)
	if err != nil {
		return err
	}
	in.certificate = findings
	_, err = ensureFrom(ctx, r, child[*corev1.Secret]{
		ic: in.ic.Name, empty: &corev1.Secret{}, desired: ownedBy(desired, in.deployment), changed: changedCertificateSecret,
	}, input.live, input.live != nil)
	return err
}

// getOrNil reads an object; the result is nil if it does not exist.
func getOrNil[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, key client.ObjectKey, into P) (P, error) {
	err := reader.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}

// logger returns the log with the IngressController's name.
func (r *Reconciler) logger(ic string) *slog.Logger {
	return r.options.Log.With("ingresscontroller", ic)
}

// withoutStatusOf returns the entries of a Route's status that are not of the router.
func withoutStatusOf[E any](entries []E, router string, name func(E) string) []E {
	return slices.DeleteFunc(slices.Clone(entries), func(e E) bool { return name(e) == router })
}
