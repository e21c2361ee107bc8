package service

import (
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
)

// annotationSecurityGroups is the annotation by which a Service tells the
// security groups of its load balancer.
const annotationSecurityGroups = AWSPrefix + "security-groups"

// GroupsPath is where spec and status have the security groups of a network
// load balancer. The Go type of the pinned API lacks the field.
func GroupsPath(part string) []string {
	return []string{part, "endpointPublishingStrategy", "loadBalancer", "providerParameters", "aws", "networkLoadBalancer", "securityGroups"}
}

// SecurityGroups are those of a network load balancer: what is asked for, and
// what the status tells.
type SecurityGroups struct{ Wanted, Told []string }

// NetworkBalancer reports whether parameters of a network load balancer of AWS are given.
func NetworkBalancer(s operatorv1.EndpointPublishingStrategy) bool {
	return s.LoadBalancer != nil && s.LoadBalancer.ProviderParameters != nil && s.LoadBalancer.ProviderParameters.AWS != nil &&
		s.LoadBalancer.ProviderParameters.AWS.NetworkLoadBalancerParameters != nil
}

// EffectiveGroups are those that the Service asks for.
func EffectiveGroups(service *corev1.Service) []string {
	if service == nil || service.Annotations[annotationSecurityGroups] == "" {
		return nil
	}
	return strings.Split(service.Annotations[annotationSecurityGroups], ",")
}
