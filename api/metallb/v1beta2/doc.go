// Package v1beta2 holds BGPPeer, the one object of group metallb.io that has a
// second version. This version is the stored one; v1beta1 has the same fields,
// so the API server turns one into the other without a webhook.
//
// +kubebuilder:object:generate=true
// +groupName=metallb.io
package v1beta2
