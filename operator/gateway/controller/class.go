package controller

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// reconcileClass writes the status of a GatewayClass, and holds it while Gateways use it.
func (r *reconciler) reconcileClass(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := &gatewayv1.GatewayClass{}
	if err := r.client.Get(ctx, req.NamespacedName, object); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read GatewayClass %s: %w", req.Name, err)
	} else if err != nil || object.Spec.ControllerName != gateway.ControllerName {
		return reconcile.Result{}, nil
	}
	err := r.holdClass(ctx, object)
	if err == nil {
		err = r.writeClassStatus(ctx, object)
	}
	if outdated(err) {
		return reconcile.Result{RequeueAfter: leastPause}, nil
	}
	return reconcile.Result{}, err
}

// holdClass keeps the finalizer on the class while Gateways use it.
func (r *reconciler) holdClass(ctx context.Context, object *gatewayv1.GatewayClass) error {
	before := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
	changed := false
	switch used := len(r.gatewaysOf(ctx, object.Name)) > 0; {
	case used && object.DeletionTimestamp.IsZero(): // The API server takes no new finalizer on what is being deleted.
		changed = controllerutil.AddFinalizer(object, gatewayv1.GatewayClassFinalizerGatewaysExist)
	case !used:
		changed = controllerutil.RemoveFinalizer(object, gatewayv1.GatewayClassFinalizerGatewaysExist)
	}
	if !changed {
		return nil
	}
	if err := r.client.Patch(ctx, object, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer of GatewayClass %s: %w", object.Name, err)
	}
	return nil
}

func (r *reconciler) writeClassStatus(ctx context.Context, object *gatewayv1.GatewayClass) error {
	if !object.DeletionTimestamp.IsZero() {
		return nil
	}
	class, err := r.class(ctx, object)
	if err != nil {
		return err
	}
	status := class.Status(r.options.Now())
	live := object.Status
	if desired.Newer(live.Conditions, status.Conditions) || desired.SameClass(live, status) {
		return nil
	}
	return r.applyStatus(ctx, "GatewayClass", client.ObjectKeyFromObject(object), status)
}

// class returns a GatewayClass with what it refers to.
func (r *reconciler) class(ctx context.Context, object *gatewayv1.GatewayClass) (desired.Class, error) {
	now := r.bundle.now()
	class := desired.Class{Object: object, Bundle: now.version, Channel: now.channel}
	name, err := gateway.IngressController(object)
	if err != nil {
		return class, nil // It is in the condition.
	}
	class.IC, err = r.ingressController(ctx, name)
	return class, err
}

// ingressController returns an IngressController, nil if there is none.
func (r *reconciler) ingressController(ctx context.Context, name string) (*operatorv1.IngressController, error) {
	return apply.Get(ctx, r.client, client.ObjectKey{Namespace: api.OperatorNamespace, Name: name}, &operatorv1.IngressController{})
}

// parameters returns the IngressController that a Gateway names and may name, nil if there is none. That of
// its class is permitted by the class.
func (r *reconciler) parameters(ctx context.Context, g *gatewayv1.Gateway, ofClass *operatorv1.IngressController) (*operatorv1.IngressController, error) {
	name, err := gateway.Parameters(g)
	if err != nil || name == "" {
		return nil, nil // What is wrong is in the condition.
	}
	if ofClass != nil && ofClass.Name == name {
		return ofClass, nil
	}
	ic, err := r.ingressController(ctx, name)
	if err != nil {
		return nil, err
	}
	namespace, err := apply.Get(ctx, r.client, client.ObjectKey{Name: g.Namespace}, &corev1.Namespace{})
	if err != nil || namespace == nil {
		return nil, err
	}
	return desired.Permitted(ic, namespace.Labels), nil
}

// classNamed returns a GatewayClass, nil if there is none.
func (r *reconciler) classNamed(ctx context.Context, name gatewayv1.ObjectName) (*gatewayv1.GatewayClass, error) {
	return apply.Get(ctx, r.client, client.ObjectKey{Name: string(name)}, &gatewayv1.GatewayClass{})
}
