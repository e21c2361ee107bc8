package effective

import (
	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// CloudClass returns the load-balancer class that an IngressController's
// Service gets, or "" if no cloud hook serves it: providerParameters name
// another platform, or the operator runs without a hook.
func CloudClass(strategy operatorv1.EndpointPublishingStrategy, class string) string {
	lb := strategy.LoadBalancer
	if strategy.Type != operatorv1.LoadBalancerServiceStrategyType || lb == nil {
		return ""
	}
	if p := lb.ProviderParameters; p != nil && p.Type != operatorv1.AWSLoadBalancerProvider && class == api.LoadBalancerClassAWS {
		return ""
	}
	return class
}
