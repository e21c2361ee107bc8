package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// annotationSecurityGroups is the annotation by which a Service tells the
// security groups of its load balancer.
const annotationSecurityGroups = awsPrefix + "security-groups"

// groupsPath is where spec and status have the security groups of a network
// load balancer. The Go type of the pinned API lacks the field.
func groupsPath(part string) []string {
	return []string{part, "endpointPublishingStrategy", "loadBalancer", "providerParameters", "aws", "networkLoadBalancer", "securityGroups"}
}

// securityGroups are those of a network load balancer: what is asked for, and
// what the status tells.
type securityGroups struct{ wanted, told []string }

// readSecurityGroups asks the API server, for the cache holds Go types. Only
// IngressControllers behind a network load balancer of AWS cost this request.
func (r *Reconciler) readSecurityGroups(ctx context.Context, ic *operatorv1.IngressController, s settings) (securityGroups, error) {
	if !networkBalancer(s.strategy) {
		return securityGroups{}, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("IngressController"))
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(ic), u); err != nil {
		return securityGroups{}, fmt.Errorf("read the security groups of IngressController %s: %w", ic.Name, err)
	}
	var g securityGroups
	var err error
	if g.wanted, _, err = unstructured.NestedStringSlice(u.Object, groupsPath("spec")...); err == nil {
		g.told, _, err = unstructured.NestedStringSlice(u.Object, groupsPath("status")...)
	}
	return g, err
}

func networkBalancer(s operatorv1.EndpointPublishingStrategy) bool {
	return s.LoadBalancer != nil && s.LoadBalancer.ProviderParameters != nil && s.LoadBalancer.ProviderParameters.AWS != nil &&
		s.LoadBalancer.ProviderParameters.AWS.NetworkLoadBalancerParameters != nil
}

// effectiveGroups are those that the Service asks for.
func effectiveGroups(service *corev1.Service) []string {
	if service == nil || service.Annotations[annotationSecurityGroups] == "" {
		return nil
	}
	return strings.Split(service.Annotations[annotationSecurityGroups], ",")
}

// tellGroups puts the groups into a patch of the status, and reports whether
// they differ from what the status has.
func tellGroups(patch map[string]any, in statusInput) (bool, error) {
	now := effectiveGroups(in.loadBalancer)
	if !networkBalancer(in.s.strategy) || len(in.faults) > 0 || slices.Equal(now, in.groups.told) {
		return false, nil
	}
	var value any
	if len(now) > 0 {
		list := make([]any, 0, len(now))
		for _, g := range now {
			list = append(list, g)
		}
		value = list
	}
	return true, unstructured.SetNestedField(patch, value, groupsPath("status")...)
}
