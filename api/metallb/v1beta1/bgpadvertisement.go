package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BGPAdvertisement makes nodes announce the addresses of pools to routers.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bgpadvertisements,scope=Namespaced
// +kubebuilder:printcolumn:name="IPAddressPools",type=string,JSONPath=`.spec.ipAddressPools`
// +kubebuilder:printcolumn:name="IPAddressPool Selectors",type=string,JSONPath=`.spec.ipAddressPoolSelectors`
// +kubebuilder:printcolumn:name="Peers",type=string,JSONPath=`.spec.peers`
// +kubebuilder:printcolumn:name="Node Selectors",type=string,JSONPath=`.spec.nodeSelectors`,priority=10
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type BGPAdvertisement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BGPAdvertisementSpec `json:"spec,omitempty"`
	// +optional
	Status BGPAdvertisementStatus `json:"status,omitempty"`
}

// BGPAdvertisementSpec says which addresses are announced, how, and to whom.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serviceSelectors) || self.serviceSelectors.size() == 0 || ((!has(self.aggregationLength) || self.aggregationLength == 32) && (!has(self.aggregationLengthV6) || self.aggregationLengthV6 == 128))",message="serviceSelectors and an aggregation length other than 32 or 128 are mutually exclusive"
type BGPAdvertisementSpec struct {
	// aggregationLength is the length of the announced IPv4 prefixes. 32
	// announces each address by itself.
	//
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	AggregationLength *int32 `json:"aggregationLength,omitempty"`

	// aggregationLengthV6 is the length of the announced IPv6 prefixes.
	//
	// +optional
	// +kubebuilder:default=128
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	AggregationLengthV6 *int32 `json:"aggregationLengthV6,omitempty"`

	// localPref is the LOCAL_PREF attribute, for iBGP sessions. 0 means that
	// it is not set.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +kubebuilder:validation:Format=int64
	LocalPref uint32 `json:"localPref,omitempty"`

	// asPathPrepend is how many times the node's AS number is put before the AS
	// path, besides the one time that BGP asks for, so that routers prefer other
	// paths. It has no effect for iBGP sessions.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	AsPathPrepend uint8 `json:"asPathPrepend,omitempty"`

	// communities are attached to the announcements: "64512:100",
	// "large:64512:100:1", or the name of one that a Community object defines.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(c, !c.contains(':') || (c.matches('^[0-9]{1,5}:[0-9]{1,5}$') && c.split(':').all(n, int(n) <= 65535)) || (c.matches('^large:[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}$') && c.substring(6).split(':').all(n, int(n) <= 4294967295)))",message="a community is written as 64512:100 (each at most 65535), as large:64512:100:1 (each at most 4294967295), or is the name of one that a Community object defines"
	Communities []string `json:"communities,omitempty"`

	// ipAddressPools are names of pools to announce. A name that no pool has
	// is ignored. If this and ipAddressPoolSelectors are both empty, every
	// pool is announced.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	IPAddressPools []string `json:"ipAddressPools,omitempty"`

	// ipAddressPoolSelectors add the pools whose labels match one of them.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	IPAddressPoolSelectors []metav1.LabelSelector `json:"ipAddressPoolSelectors,omitempty"`

	// nodeSelectors limit the announcing nodes to those whose labels match
	// one of them. Empty means every node.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	NodeSelectors []metav1.LabelSelector `json:"nodeSelectors,omitempty"`

	// peers are names of BGPPeers to announce to. Empty means all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Peers []string `json:"peers,omitempty"`

	// serviceSelectors limit the announced Services to those whose labels
	// match one of them. Empty means every Service.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ServiceSelectors []metav1.LabelSelector `json:"serviceSelectors,omitempty"`
}

// BGPAdvertisementStatus reports whether an advertisement is used.
type BGPAdvertisementStatus struct {
	// conditions say whether the advertisement is used as written ("Valid").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BGPAdvertisementList is a list of advertisements.
//
// +kubebuilder:object:root=true
type BGPAdvertisementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BGPAdvertisement `json:"items"`
}
