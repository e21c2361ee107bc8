package service

import (
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/pod"
)

// Published returns where clients reach the routers: IP addresses
// first, each once, in a stable order.
func Published(t operatorv1.EndpointPublishingStrategyType, loadBalancer *corev1.Service, nodes []corev1.Node, pods []corev1.Pod) []string {
	var found []string
	switch t {
	case operatorv1.LoadBalancerServiceStrategyType:
		found = Addresses(loadBalancer)
	case operatorv1.HostNetworkStrategyType, operatorv1.NodePortServiceStrategyType:
		// Behind a NodePort the traffic policy is Local too, so only nodes
		// with a ready router answer.
		for _, n := range nodes {
			if slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == n.Name && pod.Ready(p) }) {
				found = append(found, nodeAddresses(n)...)
			}
		}
	case operatorv1.PrivateStrategyType:
	}
	slices.SortFunc(found, compareAddresses)
	return slices.Compact(found)
}

// Addresses returns the addresses and host names in the status of a Service, which may be nil.
func Addresses(s *corev1.Service) []string {
	if s == nil {
		return nil
	}
	var found []string
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.IP != "" {
			found = append(found, i.IP)
		}
		if i.Hostname != "" {
			found = append(found, i.Hostname)
		}
	}
	return found
}

// nodeAddresses returns the external addresses of a node, else the internal ones.
func nodeAddresses(n corev1.Node) []string {
	var external, internal []string
	for _, a := range n.Status.Addresses {
		switch a.Type {
		case corev1.NodeExternalIP:
			external = append(external, a.Address)
		case corev1.NodeInternalIP:
			internal = append(internal, a.Address)
		case corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeExternalDNS:
		}
	}
	if len(external) > 0 {
		return external
	}
	return internal
}

// compareAddresses orders IPv4 before IPv6 before host names, each by value.
func compareAddresses(a, b string) int {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	switch {
	case errX == nil && errY == nil:
		return x.Compare(y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}
