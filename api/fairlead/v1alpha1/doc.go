// Package v1alpha1 holds the objects for which no established API has a word:
// AddressUsage, which says who uses which address of a pool, and the policies of
// Routes and Ingresses, RoutePolicy and ClusterRoutePolicy.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1

//go:generate go tool controller-gen object paths=. crd:headerFile=crd-header.txt output:crd:dir=../../../config/lbprovider/crd
//go:generate sh -c "mv ../../../config/lbprovider/crd/fairlead.dev_*policies.yaml ../../../config/crd/"
