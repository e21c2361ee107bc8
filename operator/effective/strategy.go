package effective

import (
	operatorv1 "github.com/openshift/api/operator/v1"
)

// strategyOf returns how the routers are published. The type never changes
// once it is in use; the parameters follow the spec.
func strategyOf(ic *operatorv1.IngressController, provider bool) operatorv1.EndpointPublishingStrategy {
	var s operatorv1.EndpointPublishingStrategy
	if ic.Spec.EndpointPublishingStrategy != nil {
		s = *ic.Spec.EndpointPublishingStrategy.DeepCopy()
	}
	used := ic.Status.EndpointPublishingStrategy
	switch {
	case used != nil && used.Type != s.Type:
		s = *used.DeepCopy()
		if s.LoadBalancer != nil && ic.Spec.EndpointPublishingStrategy == nil {
			// It may be Unmanaged because the name was not ours, which may end.
			s.LoadBalancer.DNSManagementPolicy = ""
		}
	case s.Type == "" && provider:
		s.Type = operatorv1.LoadBalancerServiceStrategyType
	case s.Type == "":
		s.Type = operatorv1.HostNetworkStrategyType
	}
	return withStrategyDefaults(s)
}

func withStrategyDefaults(s operatorv1.EndpointPublishingStrategy) operatorv1.EndpointPublishingStrategy {
	protocol := func(p operatorv1.IngressControllerProtocol) operatorv1.IngressControllerProtocol {
		if p == operatorv1.DefaultProtocol {
			return operatorv1.TCPProtocol
		}
		return p
	}
	switch s.Type {
	case operatorv1.LoadBalancerServiceStrategyType:
		if s.LoadBalancer == nil {
			s.LoadBalancer = &operatorv1.LoadBalancerStrategy{Scope: operatorv1.ExternalLoadBalancer}
		}
		if s.LoadBalancer.DNSManagementPolicy == "" {
			s.LoadBalancer.DNSManagementPolicy = operatorv1.ManagedLoadBalancerDNS
		}
	case operatorv1.HostNetworkStrategyType:
		if s.HostNetwork == nil {
			s.HostNetwork = &operatorv1.HostNetworkStrategy{}
		}
		h := s.HostNetwork
		h.Protocol = protocol(h.Protocol)
		h.HTTPPort = orDefault(h.HTTPPort, DefaultHTTPPort)
		h.HTTPSPort = orDefault(h.HTTPSPort, DefaultHTTPSPort)
		h.StatsPort = orDefault(h.StatsPort, DefaultStatsPort)
	case operatorv1.NodePortServiceStrategyType:
		if s.NodePort == nil {
			s.NodePort = &operatorv1.NodePortStrategy{}
		}
		s.NodePort.Protocol = protocol(s.NodePort.Protocol)
	case operatorv1.PrivateStrategyType:
		if s.Private == nil {
			s.Private = &operatorv1.PrivateStrategy{}
		}
		s.Private.Protocol = protocol(s.Private.Protocol)
	}
	return s
}

func orDefault(port, fallback int32) int32 {
	if port == 0 {
		return fallback
	}
	return port
}

func portsOf(s operatorv1.EndpointPublishingStrategy) ports {
	if s.Type == operatorv1.HostNetworkStrategyType && s.HostNetwork != nil {
		return ports{HTTP: s.HostNetwork.HTTPPort, HTTPS: s.HostNetwork.HTTPSPort, Stats: s.HostNetwork.StatsPort}
	}
	return ports{HTTP: DefaultHTTPPort, HTTPS: DefaultHTTPSPort, Stats: DefaultStatsPort}
}

func sourceRangesOf(ic *operatorv1.IngressController) []string {
	e := ic.Spec.EndpointPublishingStrategy
	if e == nil || e.LoadBalancer == nil {
		return nil
	}
	var ranges []string
	for _, r := range e.LoadBalancer.AllowedSourceRanges {
		ranges = append(ranges, string(r))
	}
	return ranges
}
