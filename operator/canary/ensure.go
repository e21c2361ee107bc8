package canary

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/service"
)

// Ensure writes the objects of the canary and returns how many of its pods
// are ready, and its Route, nil if there is none. Turn moves a Route that rotates
// to its other port.
func Ensure(ctx context.Context, w apply.Writer, ic *operatorv1.IngressController, image string, turn bool) (ready int32, route *routev1.Route, err error) {
	d, err := apply.Ensure(ctx, w, apply.Child[*appsv1.DaemonSet]{
		IC: ic.Name, Empty: &appsv1.DaemonSet{}, Desired: DesiredDaemonSet(image), Changed: changedDaemonSet,
	})
	if err != nil {
		return 0, nil, err
	}
	ready = d.Status.NumberReady
	if _, err := apply.Ensure(ctx, w, apply.Child[*corev1.Service]{
		IC: ic.Name, Empty: &corev1.Service{}, Desired: desiredService(), Changed: service.Changed,
	}); err != nil {
		return ready, nil, err
	}
	live, err := apply.Get(ctx, w.Client, client.ObjectKey{Namespace: api.CanaryNamespace, Name: RouteName}, &routev1.Route{})
	if err != nil {
		return ready, nil, err
	}
	if live != nil && live.Labels[api.LabelOwningIngressController] == ic.Name && live.Spec.Host != "" {
		// It would be admitted with a host that has nothing to do with the domain.
		if err := w.Client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return ready, nil, fmt.Errorf("delete Route %s, which has a host: %w", RouteName, err)
		}
		return ready, nil, nil // Its end is an event.
	}
	rotates := ic.Annotations[api.AnnotationRotateCanary] == "true"
	port := port(live, rotates, turn)
	route, err = apply.EnsureFrom(ctx, w, apply.Child[*routev1.Route]{
		IC: ic.Name, Empty: &routev1.Route{}, Desired: DesiredRoute(port), Changed: changedRoute,
	}, live, live != nil)
	return ready, route, err
}

// Remove deletes what Ensure writes.
func Remove(ctx context.Context, w apply.Writer) error {
	for _, object := range []client.Object{
		&routev1.Route{ObjectMeta: meta(RouteName)},
		&corev1.Service{ObjectMeta: meta(Name)},
		&appsv1.DaemonSet{ObjectMeta: meta(Name)},
	} {
		key := client.ObjectKeyFromObject(object)
		err := w.Live.Get(ctx, key, object)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			continue
		case err == nil && object.GetLabels()[api.LabelOwningIngressController] == api.DefaultIngressController && object.GetDeletionTimestamp().IsZero():
			err = client.IgnoreNotFound(w.Client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		}
		if err != nil {
			return fmt.Errorf("remove the canary's %T %s: %w", object, key, err)
		}
	}
	return nil
}
