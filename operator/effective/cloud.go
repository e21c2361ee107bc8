package effective

import (
	"cmp"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// CloudClass returns the load-balancer class that an IngressController's
// Service gets, or "" if no cloud hook serves it: providerParameters name
// another platform, or the operator runs without a hook.
func CloudClass(strategy operatorv1.EndpointPublishingStrategy, o Defaults) string {
	lb := strategy.LoadBalancer
	if strategy.Type != operatorv1.LoadBalancerServiceStrategyType || lb == nil {
		return ""
	}
	platform := o.dialect().Platform()
	if p := lb.ProviderParameters; p != nil && platform != "" && string(p.Type) != platform {
		return ""
	}
	return o.CloudClass
}

func (o Defaults) dialect() hook.Dialect {
	if o.Dialect == nil {
		return hook.NoDialect{}
	}
	return o.Dialect
}

// Wish is what the load balancer of a cloud is asked for. The names of fields
// are those of the IngressController's API; what they mean to a cloud is the
// business of its hook.
func (s Spec) Wish() hook.Wish {
	lb := s.Strategy.LoadBalancer
	w := hook.Wish{Scheme: hook.SchemeInternetFacing, SecurityGroups: s.SecurityGroups, Detailed: lb.ProviderParameters != nil}
	if lb.Scope == operatorv1.InternalLoadBalancer {
		w.Scheme = hook.SchemeInternal
	}
	if lb.ProviderParameters == nil || lb.ProviderParameters.AWS == nil {
		return w
	}
	n := cmp.Or(lb.ProviderParameters.AWS.NetworkLoadBalancerParameters, &operatorv1.AWSNetworkLoadBalancerParameters{})
	c := cmp.Or(lb.ProviderParameters.AWS.ClassicLoadBalancerParameters, &operatorv1.AWSClassicLoadBalancerParameters{})
	w.ProxyProtocol = isProxy(string(n.Protocol))
	w.Allocations = texts(n.EIPAllocations)
	w.IdleTimeout = c.ConnectionIdleTimeout.Duration
	if subnets := cmp.Or(n.Subnets, c.Subnets); subnets != nil {
		w.Subnets = append(texts(subnets.IDs), texts(subnets.Names)...)
	}
	return w
}

func texts[T ~string](list []T) []string {
	var all []string
	for _, item := range list {
		all = append(all, string(item))
	}
	return all
}

// ProxyProtocol reports whether routers expect the PROXY protocol of all clients.
func ProxyProtocol(s operatorv1.EndpointPublishingStrategy) bool {
	switch {
	case s.HostNetwork != nil:
		return isProxy(string(s.HostNetwork.Protocol))
	case s.NodePort != nil:
		return isProxy(string(s.NodePort.Protocol))
	case s.Private != nil:
		return isProxy(string(s.Private.Protocol))
	case s.LoadBalancer == nil || s.LoadBalancer.ProviderParameters == nil:
		return false
	}
	p := s.LoadBalancer.ProviderParameters
	return p.AWS != nil && p.AWS.NetworkLoadBalancerParameters != nil && isProxy(string(p.AWS.NetworkLoadBalancerParameters.Protocol)) ||
		p.IBM != nil && isProxy(string(p.IBM.Protocol))
}

func isProxy(protocol string) bool {
	return strings.EqualFold(protocol, string(operatorv1.ProxyProtocol))
}

// GroupsPath is where spec and status have the security groups of a network
// load balancer. The Go type of the pinned API lacks the field.
func GroupsPath(part string) []string {
	return []string{part, "endpointPublishingStrategy", "loadBalancer", "providerParameters", "aws", "networkLoadBalancer", "securityGroups"}
}

// HasGroups reports whether an IngressController published in this way may have
// security groups.
func HasGroups(s operatorv1.EndpointPublishingStrategy) bool {
	return s.LoadBalancer != nil && s.LoadBalancer.ProviderParameters != nil && s.LoadBalancer.ProviderParameters.AWS != nil &&
		s.LoadBalancer.ProviderParameters.AWS.NetworkLoadBalancerParameters != nil
}
