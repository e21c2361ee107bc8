package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/gateway/desired"
	"github.com/fairlead/fairlead/operator/pod"
)

// reconcileGateway gives a Gateway its slots, its Service with EndpointSlices, and its
// conditions, in this order: the routers know a slot before the first client is led there.
func (r *reconciler) reconcileGateway(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, err := apply.Get(ctx, r.client, req.NamespacedName, &gatewayv1.Gateway{})
	if err != nil {
		return reconcile.Result{}, err
	}
	if g == nil || !g.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.release(ctx, req.NamespacedName)
	}
	class, err := r.classNamed(ctx, g.Spec.GatewayClassName)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case class == nil:
		return reconcile.Result{}, nil // Deleted by force, or not yet there: nothing changes.
	case class.Spec.ControllerName != gateway.ControllerName:
		return reconcile.Result{}, r.release(ctx, req.NamespacedName)
	}
	in, err := r.observe(ctx, g, class)
	if err != nil {
		return reconcile.Result{}, err
	}
	in.Waited = r.silence.of(g, in.Silent(), in.Now)
	if err := r.ensureChildren(ctx, &in); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.writeStatus(ctx, in); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again(&in)}, nil
}

// again returns when a Gateway is to be looked at again, 0 for when something changes.
func again(in *desired.Input) time.Duration {
	next := in.Moving()
	sooner := func(pause time.Duration) {
		if next == 0 || pause < next {
			next = pause
		}
	}
	if len(in.Lacking) > 0 || in.SetsLack || in.Problem != "" {
		sooner(mostPause) // A slot that rests gets free without an event, and so does a quota.
	}
	if in.Silent() && in.Waited < desired.Patience {
		sooner(desired.Patience - in.Waited)
	}
	return next
}

// observe reads what the Gateway depends on. Its slots are those that it has.
func (r *reconciler) observe(ctx context.Context, g *gatewayv1.Gateway, object *gatewayv1.GatewayClass) (desired.Input, error) {
	in := desired.Input{Gateway: g, Now: r.options.Now()}
	var err error
	if in.Joint, err = r.joint(ctx, g); err != nil {
		return in, err
	}
	if in.Class, err = r.class(ctx, object); err != nil {
		return in, err
	}
	if in.Parameters, err = r.parameters(ctx, g, in.Class.IC); err != nil {
		return in, err
	}
	ic := in.Router()
	if ic == nil && !gateway.SharesAddress(g) {
		if ic, err = r.holder(ctx, g); err != nil {
			return in, err
		}
	}
	if ic == nil {
		return in, r.readService(ctx, &in)
	}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(
		// They are only read, by each Gateway.
		r.client.List(ctx, nodes, client.UnsafeDisableDeepCopy),
		r.client.List(ctx, pods, client.InNamespace(api.OperandNamespace), client.MatchingLabels(pod.Labels(ic.Name)), client.UnsafeDisableDeepCopy),
	); err != nil {
		return in, fmt.Errorf("read the routers of IngressController %s: %w", ic.Name, err)
	}
	in.Nodes, in.Pods = nodes.Items, pods.Items
	in.Settings = settingsOf(ic, r.options.Defaults)
	if in.AtRouter() {
		key := client.ObjectKey{Namespace: api.OperandNamespace, Name: desired.FrontName(in.Settings)}
		if in.Front, err = apply.Get(ctx, r.client, key, &corev1.Service{}); err != nil {
			return in, err
		}
	}
	return in, r.readService(ctx, &in)
}

// settingsOf returns the settings of an IngressController, without a strategy until it
// is admitted.
func settingsOf(ic *operatorv1.IngressController, defaults effective.Defaults) effective.Spec {
	s := effective.Of(ic, effective.Cluster{}, defaults)
	if ic.Status.EndpointPublishingStrategy == nil {
		s.Strategy = operatorv1.EndpointPublishingStrategy{}
	}
	return s
}

func (r *reconciler) readService(ctx context.Context, in *desired.Input) error {
	key := client.ObjectKey{Namespace: in.Gateway.Namespace, Name: gateway.ServiceName(in.Gateway.Name)}
	var err error
	in.Service, err = apply.Get(ctx, r.client, key, &corev1.Service{})
	return err
}

// ensureChildren writes slots, Service and EndpointSlices. What is refused is in.Problem.
func (r *reconciler) ensureChildren(ctx context.Context, in *desired.Input) error {
	if in.Forbidden() {
		in.Service, in.Slots = nil, nil
		return r.release(ctx, client.ObjectKeyFromObject(in.Gateway))
	}
	// First, because routers ask for the Secrets of a listener once it has a slot.
	if err := r.ensureAccess(ctx, in); err != nil {
		return err
	}
	if err := r.ensureSlots(ctx, in); err != nil {
		return err
	}
	if in.AtRouter() && in.Serves() { // it has none, and what it had leads nowhere
		in.Service = nil
		return r.withdraw(ctx, client.ObjectKeyFromObject(in.Gateway))
	}
	service, err := r.ensureService(ctx, in)
	problem, err := problemOf(err)
	if err != nil {
		return err
	}
	in.Problem = cmp.Or(in.Problem, problem)
	in.Service = service
	for _, want := range in.DesiredSlices() {
		live, err := apply.Get(ctx, r.client, client.ObjectKeyFromObject(want), &discoveryv1.EndpointSlice{})
		if err != nil {
			return err
		}
		_, err = ensure(ctx, r, in.Gateway, live, want, desired.ChangedSlice)
		problem, err := problemOf(err)
		if err != nil {
			return err
		}
		if in.Problem == "" {
			in.Problem = problem
		}
	}
	return nil
}

// ensureService returns the Service that belongs to the Gateway, nil if there is none.
func (r *reconciler) ensureService(ctx context.Context, in *desired.Input) (*corev1.Service, error) {
	want := in.DesiredService()
	if want != nil && in.Serves() {
		return ensure(ctx, r, in.Gateway, in.Service, want, desired.ChangedService)
	}
	if in.Service == nil {
		return nil, nil
	}
	if owner, ours := desired.Owner(in.Service); !ours || owner.UID != in.Gateway.UID {
		return nil, nil
	}
	return in.Service, nil
}

func (r *reconciler) writeStatus(ctx context.Context, in desired.Input) error {
	// Empty lists are left out, so that the API server removes what was ours of them.
	status := struct {
		Conditions []metav1.Condition               `json:"conditions"`
		Addresses  []gatewayv1.GatewayStatusAddress `json:"addresses,omitempty"`
	}{in.Conditions(), in.Addresses()}
	live := in.Gateway.Status
	if desired.Newer(live.Conditions, status.Conditions) || desired.Same(live.Conditions, status.Conditions) && desired.SameAddresses(live.Addresses, status.Addresses) {
		return nil
	}
	return r.applyStatus(ctx, "Gateway", client.ObjectKeyFromObject(in.Gateway), status)
}

// release frees the slots of a Gateway that is gone or of another controller, and
// deletes what was made for it.
func (r *reconciler) release(ctx context.Context, key client.ObjectKey) error {
	r.silence.forget(key)
	return errors.Join(r.withdraw(ctx, key), r.withdrawAccess(ctx, key), r.releaseSlots(ctx, key, ""))
}

// withdraw deletes the Service that was made for a Gateway, with its EndpointSlices.
func (r *reconciler) withdraw(ctx context.Context, key client.ObjectKey) error {
	match := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{gateway.LabelGateway: gateway.LabelValue(key.Name), gateway.LabelManagedBy: gateway.ManagedBy}}
	services, endpoints := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := errors.Join(r.client.List(ctx, services, match...), r.client.List(ctx, endpoints, match...)); err != nil {
		return fmt.Errorf("list what was made for Gateway %s: %w", key, err)
	}
	var made []client.Object
	for i := range services.Items {
		made = append(made, &services.Items[i])
	}
	for i := range endpoints.Items {
		made = append(made, &endpoints.Items[i])
	}
	var failed []error
	for _, o := range made {
		if owner, ours := desired.Owner(o); ours && owner.Name == key.Name {
			failed = append(failed, r.remove(ctx, o))
		}
	}
	return errors.Join(failed...)
}
