package service

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
)

// ChangedLoadBalancer is Changed for the Service that gets an address. It also
// removes what the operator annotated once and does not want any more, and the
// annotation that a field of the IngressController has replaced.
func ChangedLoadBalancer(s effective.Spec, live, desired *corev1.Service) (*corev1.Service, bool) {
	updated, changed := Changed(live, desired)
	former := withoutFormer(updated, live, desired)
	replaced := withoutRangesAnnotation(updated, s)
	return updated, changed || former || replaced
}

// Changed returns the live Service brought in line with the desired
// one, and whether that changes anything. What the API server allocated (IPs,
// node ports, the health check port, IP families) stays.
func Changed(live, desired *corev1.Service) (*corev1.Service, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	want, have := &desired.Spec, &updated.Spec
	if have.Type != want.Type {
		have.Type, changed = want.Type, true
	}
	if have.SessionAffinity != "" && have.SessionAffinity != corev1.ServiceAffinityNone {
		// It would bind many clients behind one address to one router.
		have.SessionAffinity, have.SessionAffinityConfig, changed = corev1.ServiceAffinityNone, nil, true
	}
	if p := have.InternalTrafficPolicy; p != nil && *p != corev1.ServiceInternalTrafficPolicyCluster {
		have.InternalTrafficPolicy, changed = new(corev1.ServiceInternalTrafficPolicyCluster), true
	}
	if want.ExternalTrafficPolicy != "" && have.ExternalTrafficPolicy != want.ExternalTrafficPolicy {
		have.ExternalTrafficPolicy, changed = want.ExternalTrafficPolicy, true
	}
	if !slices.Equal(have.LoadBalancerSourceRanges, want.LoadBalancerSourceRanges) {
		have.LoadBalancerSourceRanges, changed = want.LoadBalancerSourceRanges, true
	}
	if !maps.Equal(have.Selector, want.Selector) {
		have.Selector, changed = want.Selector, true
	}
	if have.PublishNotReadyAddresses {
		have.PublishNotReadyAddresses, changed = false, true
	}
	ports := slices.Clone(want.Ports)
	for i := range ports {
		for _, p := range have.Ports {
			if p.Name == ports[i].Name {
				ports[i].NodePort = p.NodePort
			}
		}
	}
	if !slices.Equal(have.Ports, ports) {
		have.Ports, changed = ports, true
	}
	return updated, changed
}
