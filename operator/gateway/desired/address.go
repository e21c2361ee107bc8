package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/operator/service"
)

// mostAddresses is how many the status of a Gateway may have.
const mostAddresses = 16

// unsupportedAddress says which address of the spec has a type that is not served,
// empty if none has.
func unsupportedAddress(g *gatewayv1.Gateway) string {
	for i, a := range g.Spec.Addresses {
		if a.Type != nil && *a.Type != gatewayv1.IPAddressType {
			return fmt.Sprintf("spec.addresses[%d] has type %q; use IPAddress", i, *a.Type)
		}
		if a.Value == "" {
			continue
		}
		if _, err := netip.ParseAddr(a.Value); err != nil {
			return fmt.Sprintf("spec.addresses[%d]: %q is no IP address", i, a.Value)
		}
	}
	return ""
}

// requested returns the addresses that a Gateway asks for. One without a value asks for
// any address, which it gets anyway.
func requested(g *gatewayv1.Gateway) []netip.Addr {
	var list []netip.Addr
	for _, a := range g.Spec.Addresses {
		if ip, err := netip.ParseAddr(a.Value); err == nil && !slices.Contains(list, ip.Unmap()) {
			list = append(list, ip.Unmap())
		}
	}
	return list
}

// unusable says why the requested addresses cannot be had whatever the pools are, empty
// if they may.
func (in Input) unusable() string {
	ips := requested(in.Gateway)
	switch {
	case len(ips) == 0:
		return ""
	case in.Settings.Strategy.Type != operatorv1.LoadBalancerServiceStrategyType:
		return fmt.Sprintf("spec.addresses: IngressController %s publishes by %s, where addresses cannot be chosen; remove them", in.Settings.Name, in.Settings.Strategy.Type)
	case in.Settings.CloudClass != "":
		return "spec.addresses: the load balancer of the cloud chooses its addresses itself; remove them"
	case len(ips) > 2 || len(ips) == 2 && ips[0].Is4() == ips[1].Is4():
		return "spec.addresses: a Gateway has one IPv4 and one IPv6 address at most; remove the others"
	}
	return ""
}

// Addresses returns where clients reach the Gateway, at most as many as the status holds.
func (in Input) Addresses() []gatewayv1.GatewayStatusAddress {
	var found []string
	if s := in.entry(); s != nil {
		found = service.Published(in.Settings.Strategy.Type, s, in.Nodes, in.Pods)
		if s.Spec.Type == corev1.ServiceTypeClusterIP {
			found = slices.DeleteFunc(slices.Clone(s.Spec.ClusterIPs), func(s string) bool { return s == "" || s == corev1.ClusterIPNone })
		}
	}
	var list []gatewayv1.GatewayStatusAddress
	for _, text := range found[:min(len(found), mostAddresses)] {
		kind := gatewayv1.IPAddressType
		if _, err := netip.ParseAddr(text); err != nil {
			kind = gatewayv1.HostnameAddressType
		}
		list = append(list, gatewayv1.GatewayStatusAddress{Type: &kind, Value: text})
	}
	return list
}

// missing returns the requested addresses that the Gateway does not have.
func (in Input) missing() []string {
	var has []netip.Addr
	for _, a := range in.Addresses() {
		if ip, err := netip.ParseAddr(a.Value); err == nil {
			has = append(has, ip)
		}
	}
	var list []string
	for _, ip := range requested(in.Gateway) {
		if !slices.Contains(has, ip) {
			list = append(list, ip.String())
		}
	}
	return list
}

func joined(ips []netip.Addr) string {
	texts := make([]string, 0, len(ips))
	for _, ip := range ips {
		texts = append(texts, ip.String())
	}
	return strings.Join(texts, ",")
}

// SameAddresses reports whether two lists of a status are equal.
func SameAddresses(a, b []gatewayv1.GatewayStatusAddress) bool {
	return slices.EqualFunc(a, b, func(a, b gatewayv1.GatewayStatusAddress) bool {
		return a.Value == b.Value && a.Type != nil && b.Type != nil && *a.Type == *b.Type
	})
}
