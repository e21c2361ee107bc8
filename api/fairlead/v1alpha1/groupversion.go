package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version name the API of this package.
const (
	Group   = "fairlead.dev"
	Version = "v1alpha1"
)

// GroupVersion returns the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme registers this package's kinds with scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &AddressUsage{}, &AddressUsageList{},
		&RoutePolicy{}, &RoutePolicyList{}, &ClusterRoutePolicy{}, &ClusterRoutePolicyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
