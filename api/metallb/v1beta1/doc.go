// Package v1beta1 holds the objects that configure load-balancer addresses:
// IPAddressPool (which addresses there are, and who may have them),
// L2Advertisement and BGPAdvertisement (who announces them, and where),
// BFDProfile and Community; and those that report what is done with them.
// BGPPeer is stored as v1beta2.
//
// Group, names and fields are MetalLB's, so that existing manifests apply
// unchanged. What the API server can check, it checks: the schemas carry CEL
// rules, and there is no webhook.
//
// +kubebuilder:object:generate=true
// +groupName=metallb.io
package v1beta1

//go:generate go tool controller-gen object paths=../... crd:headerFile=crd-header.txt output:crd:dir=../../../config/lbprovider/crd
