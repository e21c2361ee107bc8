package status

import (
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// conditionPassthrough is ours: TLS ends before the router, so passthrough
// Routes, whose pods end it, cannot work. It is there only if it is true.
const conditionPassthrough = "PassthroughUnsupported"

// shownRoutes is how many Routes a message names.
const shownRoutes = 3

// PassthroughRoutes returns the admitted passthrough Routes of a router.
func PassthroughRoutes(routes []routev1.Route, router string) []string {
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

func passthroughConditions(in Input) []condition {
	if len(in.Passthrough) == 0 {
		return nil
	}
	shown := in.Passthrough
	more := ""
	if len(shown) > shownRoutes {
		more = fmt.Sprintf(" and %d more", len(shown)-shownRoutes)
		shown = shown[:shownRoutes]
	}
	return []condition{isTrue(conditionPassthrough, api.ReasonTLSEndsAtLoadBalancer,
		"The load balancer ends TLS on the port https, so these passthrough Routes cannot work: "+strings.Join(shown, ", ")+more)}
}
