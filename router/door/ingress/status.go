package ingress

import (
	"net/netip"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// Routers returns the routers that admitted one of the Routes, sorted.
func Routers(routes []*routev1.Route) []string {
	var names []string
	for _, r := range routes {
		for _, e := range r.Status.Ingress {
			if a := admitted(e); a != nil && a.Status == corev1.ConditionTrue {
				names = append(names, e.RouterName)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Refusals returns a finding for every Route that routers refuse and none
// admits: a user of Ingress does not look at Routes.
func Refusals(i *networkingv1.Ingress, routes []*routev1.Route) []api.Finding {
	var findings []api.Finding
	for _, r := range routes {
		var refused *routev1.RouteIngressCondition
		anywhere := false
		for _, e := range r.Status.Ingress {
			switch a := admitted(e); {
			case a == nil:
			case a.Status == corev1.ConditionTrue:
				anywhere = true
			case a.Status == corev1.ConditionFalse:
				refused = a
			}
		}
		if anywhere || refused == nil {
			continue
		}
		findings = append(findings, api.Finding{
			Object:   api.ObjectRef{Group: networkingv1.GroupName, Kind: "Ingress", Namespace: i.Namespace, Name: i.Name},
			Reason:   api.Reason(refused.Reason),
			Message:  hostText(r) + ", path " + r.Spec.Path + " (Route " + r.Name + "): " + refused.Message,
			Severity: api.SeverityWarning,
			Effect:   "the path is not served",
		})
	}
	return findings
}

func hostText(r *routev1.Route) string {
	if r.Annotations[api.AnnotationAnyHost] == "true" {
		return "any host"
	}
	return "host " + r.Spec.Host
}

func admitted(e routev1.RouteIngress) *routev1.RouteIngressCondition {
	for i := range e.Conditions {
		if e.Conditions[i].Type == routev1.RouteAdmitted {
			return &e.Conditions[i]
		}
	}
	return nil
}

// LoadBalancerStatus returns the status for addresses and host names.
func LoadBalancerStatus(addresses []string) []networkingv1.IngressLoadBalancerIngress {
	var list []networkingv1.IngressLoadBalancerIngress
	for _, a := range addresses {
		if _, err := netip.ParseAddr(a); err == nil {
			list = append(list, networkingv1.IngressLoadBalancerIngress{IP: a})
		} else {
			list = append(list, networkingv1.IngressLoadBalancerIngress{Hostname: a})
		}
	}
	return list
}

// MergeStatus returns the entries for addresses, and behind them those of others:
// the entries there are that are no address which one of our routers has or had.
func MergeStatus(entries []networkingv1.IngressLoadBalancerIngress, addresses []string, ours func(address string) bool) []networkingv1.IngressLoadBalancerIngress {
	merged := LoadBalancerStatus(addresses)
	for _, e := range entries {
		if e.IP != "" && ours(e.IP) || e.Hostname != "" && ours(e.Hostname) || slices.Contains(addresses, e.IP) || slices.Contains(addresses, e.Hostname) {
			continue
		}
		merged = append(merged, e)
	}
	return merged
}
