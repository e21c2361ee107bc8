package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version name the API of this package.
const (
	Group   = "metallb.io"
	Version = "v1beta1"
)

// GroupVersion returns the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme registers this package's kinds with scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&IPAddressPool{}, &IPAddressPoolList{},
		&L2Advertisement{}, &L2AdvertisementList{},
		&BGPAdvertisement{}, &BGPAdvertisementList{},
		&BGPPeer{}, &BGPPeerList{},
		&BFDProfile{}, &BFDProfileList{},
		&Community{}, &CommunityList{},
		&ServiceL2Status{}, &ServiceL2StatusList{},
		&ServiceBGPStatus{}, &ServiceBGPStatusList{},
		&BGPSessionState{}, &BGPSessionStateList{},
		&ConfigurationState{}, &ConfigurationStateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
