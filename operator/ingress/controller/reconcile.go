package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/notice"
	"github.com/fairlead/fairlead/router/door/ingress"
)

// unwatchedRecheck is how often Secrets are read again that are not watched,
// because they are not of type kubernetes.io/tls, and how often Routes are tried
// again that the API server refused, for example for a right that is missing.
const unwatchedRecheck = time.Minute

type reconciler struct {
	client  client.Client
	live    client.Reader
	notices *notice.Recorder
	options Options
	granted *granted
	ledger  *ledger
	secrets *secrets
	ours    *ours
	metrics *metrics
}

// conflictRetry is how soon a write is tried again that was based on an old
// state of its object. That is no error, just the cache being behind.
const conflictRetry = 50 * time.Millisecond

// Reconcile brings the Routes and the status of one Ingress in line with it.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	case errors.Is(err, errTurnEnds):
		return reconcile.Result{RequeueAfter: nextTurn}, nil
	case errors.Is(err, errBudgetUsed):
		return reconcile.Result{RequeueAfter: writesPause}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	i := &networkingv1.Ingress{}
	if err := r.client.Get(ctx, req.NamespacedName, i); err != nil {
		r.forget(req.NamespacedName)
		r.metrics.forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err) // Its Routes go with their owner.
	}
	if !i.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	owned, err := r.ownedRoutes(ctx, i)
	if err != nil {
		return reconcile.Result{}, err
	}
	class, err := r.class(ctx, i)
	if err != nil {
		return reconcile.Result{}, err
	}
	managed := ingress.Managed(i, class, r.options.Classless)
	r.metrics.set(i, owned, managed)
	if !managed {
		return reconcile.Result{}, r.release(ctx, i, owned)
	}
	in := ingress.Input{Ingress: i, Class: class, Routes: owned}
	if in.ClosedHosts, err = r.closedHosts(ctx, i); err != nil {
		return reconcile.Result{}, err
	}
	if in.Relatives, err = r.relatives(ctx, i); err != nil {
		return reconcile.Result{}, err
	}
	unwatched, wait, err := r.gather(ctx, &in)
	if err != nil || wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, err
	}
	out, err := r.convert(ctx, in)
	if err != nil {
		return reconcile.Result{}, err
	}
	current, refused, err := r.serve(ctx, i, owned, out.Routes)
	if errors.Is(err, errBudgetUsed) {
		r.notices.Publish(i, append(out.Findings, *routeFinding(i, api.ReasonIngressTooLarge,
			"for the Ingresses of the namespace too many Routes were written in a short time",
			"changes that do not close a path are written slowly")))
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.publish(ctx, i, current); err != nil {
		return reconcile.Result{}, err
	}
	findings := slices.Concat(out.Findings, withoutEchoes(ingress.Refusals(i, current), out.Findings))
	if len(refused) > 0 && r.granted.settling(req.NamespacedName) {
		r.notices.Publish(i, findings)
		return reconcile.Result{RequeueAfter: accessRetry}, nil // What is refused now may be granted already.
	}
	published := r.notices.Publish(i, slices.Concat(findings, refused))
	if unwatched || len(refused) > 0 || out.Cut || !published {
		return reconcile.Result{RequeueAfter: unwatchedRecheck}, nil
	}
	return reconcile.Result{}, nil
}

// withoutEchoes drops what routers say of a Secret that is reported already.
func withoutEchoes(refusals, published []api.Finding) []api.Finding {
	if !slices.ContainsFunc(published, func(f api.Finding) bool { return f.Reason == api.ReasonCertificateInvalid }) {
		return refusals
	}
	return slices.DeleteFunc(refusals, func(f api.Finding) bool { return f.Reason == api.ReasonExternalCertificateValidationFailed })
}

// serve writes the Routes, with the rights that they need before, and takes back
// what they need no more when they are written.
func (r *reconciler) serve(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route, desired []*routev1.Route) ([]*routev1.Route, []api.Finding, error) {
	before := ingress.ExternalSecrets(slices.Collect(maps.Values(owned)))
	needed := slices.Concat(before, ingress.ExternalSecrets(desired))
	slices.Sort(needed)
	needed = slices.Compact(needed)
	refusal, err := r.access(ctx, i, needed)
	if err != nil {
		return nil, nil, err
	}
	current, refused, err := r.apply(ctx, i, owned, desired)
	if err != nil {
		return nil, nil, err
	}
	if left := ingress.ExternalSecrets(current); !slices.Equal(left, needed) && refusal == nil {
		refusal, err = r.access(ctx, i, left)
	}
	if refusal != nil {
		refused = append(refused, *refusal)
	}
	return current, refused, err
}

// forget drops what is remembered of an Ingress.
func (r *reconciler) forget(key client.ObjectKey) {
	r.notices.Forget(key)
	r.granted.forget(key)
	r.ledger.forget(key)
}

// closedHosts returns those of its hosts that other Ingresses of the namespace
// close. It is all the same whose class these have: while Ingresses move one by
// one, the one that protects a host may not have moved yet.
func (r *reconciler) closedHosts(ctx context.Context, i *networkingv1.Ingress) (map[string]string, error) {
	closed := map[string]string{}
	for _, host := range ingress.Hosts(i) {
		list := &networkingv1.IngressList{}
		if err := r.client.List(ctx, list, client.InNamespace(i.Namespace), client.MatchingFields{indexCloses: host}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list Ingresses that close host %q: %w", host, err)
		}
		for n := range list.Items {
			if other := &list.Items[n]; other.Name != i.Name && !ingress.SameClients(other, i, r.options.Limits) {
				closed[host] = list.Items[n].Name
			}
		}
	}
	return closed, nil
}

func (r *reconciler) ownedRoutes(ctx context.Context, i *networkingv1.Ingress) (map[string]*routev1.Route, error) {
	list := &routev1.RouteList{}
	if err := r.client.List(ctx, list, client.InNamespace(i.Namespace), client.MatchingFields{indexOwner: i.Name}); err != nil {
		return nil, fmt.Errorf("list Routes of Ingress %s/%s: %w", i.Namespace, i.Name, err)
	}
	owned := make(map[string]*routev1.Route, len(list.Items))
	for n := range list.Items {
		owned[list.Items[n].Name] = &list.Items[n]
	}
	return owned, nil
}

func (r *reconciler) class(ctx context.Context, i *networkingv1.Ingress) (*networkingv1.IngressClass, error) {
	name := ingress.ClassOf(i)
	if name == "" {
		return nil, nil
	}
	class := &networkingv1.IngressClass{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read IngressClass %s: %w", name, err)
	}
	return class, nil
}

// gather reads the Services and Secrets that the Ingress names. It reports whether
// a Secret was read that is not watched, or, with the time to wait, that the
// budget of the namespace is used up.
func (r *reconciler) gather(ctx context.Context, in *ingress.Input) (unwatched bool, wait time.Duration, err error) {
	in.Services = map[string]*corev1.Service{}
	for _, name := range ingress.ServicesOf(in) {
		if err := readInto(ctx, r.client, in.Services, in.Ingress.Namespace, name, &corev1.Service{}); err != nil {
			return false, 0, err
		}
	}
	return r.secrets.gather(ctx, in, r.options.Limits)
}

// readInto adds an object to what is known by name, if it exists.
func readInto[T client.Object](ctx context.Context, from client.Reader, known map[string]T, namespace, name string, empty T) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := from.Get(ctx, key, empty)
	switch {
	case err == nil:
		known[name] = empty
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read %T %s: %w", empty, key, err)
	}
	return nil
}

// release takes back what an Ingress had from us that is ours no more.
func (r *reconciler) release(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route) error {
	r.forget(client.ObjectKeyFromObject(i))
	if len(owned) == 0 && len(i.Status.LoadBalancer.Ingress) == 0 {
		_, err := r.access(ctx, i, nil)
		return err
	}
	if _, _, err := r.serve(ctx, i, owned, nil); err != nil {
		return err // also when its turn ends: the queue gives it another
	}
	if _, err := r.addresses(ctx, func(string) bool { return false }); err != nil {
		return err
	}
	return r.writeStatus(ctx, i, ingress.MergeStatus(i.Status.LoadBalancer.Ingress, nil, r.ours.has))
}
