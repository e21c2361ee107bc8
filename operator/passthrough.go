package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/api"
)

// conditionPassthrough is ours: TLS ends before the router, so passthrough
// Routes, whose pods end it, cannot work. It is there only if it is true.
const conditionPassthrough = "PassthroughUnsupported"

// shownRoutes is how many Routes a message names.
const shownRoutes = 3

// tlsEndsBefore reports whether the load balancer ends TLS on the port that
// passthrough Routes need.
func tlsEndsBefore(service *corev1.Service) bool {
	if service == nil || !cloudServed(service) {
		return false
	}
	if service.Annotations[awsPrefix+"type"] == "alb" {
		return true
	}
	if service.Annotations[awsPrefix+"ssl-cert"] == "" {
		return false
	}
	ports := strings.FieldsFunc(service.Annotations[awsPrefix+"ssl-ports"], func(r rune) bool { return r == ',' || r == ' ' })
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p string) bool { return p == "*" || p == "https" || p == "443" })
}

// observePassthrough finds the passthrough Routes that a router serves although
// TLS ends before it.
func (r *Reconciler) observePassthrough(ctx context.Context, in *statusInput) error {
	if !tlsEndsBefore(in.loadBalancer) {
		return nil
	}
	routes := &routev1.RouteList{}
	if err := r.client.List(ctx, routes); err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	in.passthrough = passthroughRoutes(routes.Items, in.ic.Name)
	return nil
}

// passthroughRoutes returns the admitted passthrough Routes of a router.
func passthroughRoutes(routes []routev1.Route, router string) []string {
	var names []string
	for _, route := range routes {
		if route.Spec.TLS == nil || route.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
			continue
		}
		admitted := slices.ContainsFunc(route.Status.Ingress, func(i routev1.RouteIngress) bool {
			return i.RouterName == router && slices.ContainsFunc(i.Conditions, func(c routev1.RouteIngressCondition) bool {
				return c.Type == routev1.RouteAdmitted && c.Status == corev1.ConditionTrue
			})
		})
		if admitted {
			names = append(names, route.Namespace+"/"+route.Name)
		}
	}
	slices.Sort(names)
	return names
}

func passthroughConditions(in statusInput) []condition {
	if len(in.passthrough) == 0 {
		return nil
	}
	shown := in.passthrough
	more := ""
	if len(shown) > shownRoutes {
		more = fmt.Sprintf(" and %d more", len(shown)-shownRoutes)
		shown = shown[:shownRoutes]
	}
	return []condition{isTrue(conditionPassthrough, api.ReasonTLSEndsAtLoadBalancer,
		"The load balancer ends TLS on the port https, so these passthrough Routes cannot work: "+strings.Join(shown, ", ")+more)}
}

// byPassthrough wakes the IngressControllers behind whose load balancer a
// passthrough Route cannot work. One that is of another termination now, or
// gone, wakes them by its old state; other Routes wake none.
func (r *Reconciler) byPassthrough(ctx context.Context, o client.Object) []reconcile.Request {
	route, ok := o.(*routev1.Route)
	if !ok || route.Spec.TLS == nil || route.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
		return nil
	}
	var found []reconcile.Request
	for _, i := range route.Status.Ingress {
		service := &corev1.Service{}
		key := client.ObjectKey{Namespace: api.OperandNamespace, Name: api.RouterName(i.RouterName)}
		if err := r.client.Get(ctx, key, service); err != nil {
			continue // no load balancer, or none yet: then its Service wakes it
		}
		if tlsEndsBefore(service) {
			found = append(found, request(i.RouterName))
		}
	}
	return found
}
