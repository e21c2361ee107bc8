package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/ingress"
	"github.com/fairlead/fairlead/router/ingest"
)

// unwatchedRecheck is how often Secrets are read again that are not watched,
// because they are not of type kubernetes.io/tls, and how often Routes are tried
// again that the API server refused, for example for a right that is missing.
const unwatchedRecheck = time.Minute

type reconciler struct {
	client  client.Client
	live    client.Reader
	events  events.EventRecorder
	options Options
	told    *told
}

// conflictRetry is how soon a write is tried again that was based on an old
// state of its object. That is no error, just the cache being behind.
const conflictRetry = 50 * time.Millisecond

// Reconcile brings the Routes and the status of one Ingress in line with it.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	i := &networkingv1.Ingress{}
	if err := r.client.Get(ctx, req.NamespacedName, i); err != nil {
		r.told.forget(req.NamespacedName)
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
	if !ingress.Managed(i, class, r.options.Classless) {
		return reconcile.Result{}, r.release(ctx, i, owned)
	}
	in := ingress.Input{Ingress: i, Class: class, Routes: owned}
	if in.ClosedHosts, err = r.closedHosts(ctx, i); err != nil {
		return reconcile.Result{}, err
	}
	unwatched, err := r.gather(ctx, &in)
	if err != nil {
		return reconcile.Result{}, err
	}
	out := ingress.Convert(in)
	current, refused, err := r.apply(ctx, i, owned, out.Routes)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.publish(ctx, i, current); err != nil {
		return reconcile.Result{}, err
	}
	r.tell(i, slices.Concat(out.Findings, refused, ingress.Refusals(i, current)))
	if unwatched || len(refused) > 0 {
		return reconcile.Result{RequeueAfter: unwatchedRecheck}, nil
	}
	return reconcile.Result{}, nil
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
			if list.Items[n].Name != i.Name {
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

// gather reads the Services and Secrets that the Ingress names, and reports
// whether one of the Secrets is not watched.
func (r *reconciler) gather(ctx context.Context, in *ingress.Input) (bool, error) {
	in.Services, in.Secrets = map[string]*corev1.Service{}, map[string]*corev1.Secret{}
	for _, name := range ingress.ServiceNames(in.Ingress) {
		s := &corev1.Service{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: in.Ingress.Namespace, Name: name}, s)
		switch {
		case err == nil:
			in.Services[name] = s
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("read Service %s/%s: %w", in.Ingress.Namespace, name, err)
		}
	}
	unwatched := false
	for _, name := range ingress.SecretNames(in.Ingress) {
		key := client.ObjectKey{Namespace: in.Ingress.Namespace, Name: name}
		s := &corev1.Secret{}
		err := r.client.Get(ctx, key, s)
		if apierrors.IsNotFound(err) {
			// The cache has Secrets of type kubernetes.io/tls only.
			s = &corev1.Secret{}
			if err = r.live.Get(ctx, key, s); err == nil {
				unwatched = true
			}
		}
		switch {
		case err == nil:
			in.Secrets[name] = s
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("read Secret %s: %w", key, err)
		}
	}
	return unwatched, nil
}

// apply writes the Routes and deletes those that the Ingress does not stand
// for any more, in this order: a path that moves to another Route is served
// all the time. It returns the Routes as they are then.
func (r *reconciler) apply(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route, desired []*routev1.Route) ([]*routev1.Route, []api.Finding, error) {
	var current []*routev1.Route
	var refused []api.Finding
	var failed []error
	wanted := map[string]bool{}
	for _, d := range desired {
		wanted[d.Name] = true
		route, finding, err := r.write(ctx, i, owned[d.Name], d)
		switch {
		case err != nil:
			failed = append(failed, err)
		case finding != nil:
			refused = append(refused, *finding)
		}
		if route != nil {
			current = append(current, route)
		}
	}
	for name, route := range owned {
		if wanted[name] {
			continue
		}
		if err := r.client.Delete(ctx, route); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("delete Route %s/%s: %w", route.Namespace, name, err))
			continue
		}
		r.options.Log.Info("deleted route of ingress", "route", route.Namespace+"/"+name, "ingress", i.Name)
	}
	return current, refused, errors.Join(failed...)
}

// write creates or updates one Route. A refusal that trying again cannot heal
// is a finding; the live Route, if there is one, keeps serving.
func (r *reconciler) write(ctx context.Context, i *networkingv1.Ingress, live, desired *routev1.Route) (*routev1.Route, *api.Finding, error) {
	name := desired.Namespace + "/" + desired.Name
	finding := func(reason api.Reason, message, effect string) *api.Finding {
		return &api.Finding{
			Object: api.ObjectRef{Group: networkingv1.GroupName, Kind: "Ingress", Namespace: i.Namespace, Name: i.Name},
			Reason: reason, Message: message, Severity: api.SeverityWarning, Effect: effect,
		}
	}
	if live == nil {
		err := r.client.Create(ctx, desired)
		switch {
		case err == nil:
			r.options.Log.Info("created route of ingress", "route", name, "ingress", i.Name, "host", desired.Spec.Host)
			return desired, nil, nil
		case apierrors.IsInvalid(err):
			return nil, finding(api.ReasonRouteRefused, err.Error(), "the path is not served"), nil
		case !apierrors.IsAlreadyExists(err):
			return nil, nil, fmt.Errorf("create Route %s: %w", name, err)
		}
		// Either the cache is behind, or the Route is somebody else's.
		live = &routev1.Route{}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
			return nil, nil, fmt.Errorf("read Route %s: %w", name, err)
		}
		if ingress.Owner(live) != i.Name {
			return nil, finding(api.ReasonRouteNameTaken, "Route "+desired.Name+" exists and does not belong to the Ingress", "the path is not served"), nil
		}
	}
	updated, changed := ingress.Merge(i, live, desired)
	if !changed {
		return live, nil, nil
	}
	err := r.client.Update(ctx, updated)
	switch {
	case ingest.Closed(updated) && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)):
		// As it is it would go on letting requests through.
		if gone := r.client.Delete(ctx, live); client.IgnoreNotFound(gone) != nil {
			return live, nil, fmt.Errorf("delete Route %s, which cannot be closed: %w", name, gone)
		}
		return nil, finding(api.ReasonRouteRefused, err.Error(), "the path is not served"), nil
	case apierrors.IsInvalid(err):
		return live, finding(api.ReasonRouteRefused, err.Error(), "the path is served as before"), nil
	case err != nil:
		return live, nil, fmt.Errorf("update Route %s: %w", name, err)
	}
	r.options.Log.Info("updated route of ingress", "route", name, "ingress", i.Name)
	return updated, nil, nil
}

// publish writes the addresses of the routers that admitted the Routes into
// the status of the Ingress.
func (r *reconciler) publish(ctx context.Context, i *networkingv1.Ingress, routes []*routev1.Route) error {
	addresses, err := r.addresses(ctx, func(name string) bool { return slices.Contains(ingress.Routers(routes), name) })
	if err != nil {
		return err
	}
	return r.writeStatus(ctx, i, ingress.LoadBalancerStatus(addresses))
}

func (r *reconciler) writeStatus(ctx context.Context, i *networkingv1.Ingress, entries []networkingv1.IngressLoadBalancerIngress) error {
	if equality.Semantic.DeepEqual(i.Status.LoadBalancer.Ingress, entries) {
		return nil
	}
	updated := i.DeepCopy()
	updated.Status.LoadBalancer.Ingress = entries
	if err := r.client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("write status of Ingress %s/%s: %w", i.Namespace, i.Name, err)
	}
	return nil
}

// addresses returns those of the routers that are chosen, each once, in the
// order of the routers' names.
func (r *reconciler) addresses(ctx context.Context, chosen func(router string) bool) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(ingressController().GroupVersionKind())
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		return nil, fmt.Errorf("list IngressControllers: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	var found []string
	for n := range list.Items {
		if !chosen(list.Items[n].GetName()) {
			continue
		}
		for _, a := range addressesOf(&list.Items[n]) {
			if !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	return found, nil
}

// release takes back what an Ingress had from us that is ours no more.
func (r *reconciler) release(ctx context.Context, i *networkingv1.Ingress, owned map[string]*routev1.Route) error {
	r.told.forget(client.ObjectKeyFromObject(i))
	if len(owned) == 0 && len(i.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	if _, _, err := r.apply(ctx, i, owned, nil); err != nil {
		return err
	}
	ours, err := r.addresses(ctx, func(string) bool { return true })
	if err != nil {
		return err
	}
	return r.writeStatus(ctx, i, ingress.WithoutAddresses(i.Status.LoadBalancer.Ingress, ours))
}
