package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// L2Advertisement makes nodes answer for the addresses of pools on their own
// network segment, by ARP and NDP.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=l2advertisements,scope=Namespaced
// +kubebuilder:printcolumn:name="IPAddressPools",type=string,JSONPath=`.spec.ipAddressPools`
// +kubebuilder:printcolumn:name="IPAddressPool Selectors",type=string,JSONPath=`.spec.ipAddressPoolSelectors`
// +kubebuilder:printcolumn:name="Interfaces",type=string,JSONPath=`.spec.interfaces`
// +kubebuilder:printcolumn:name="Node Selectors",type=string,JSONPath=`.spec.nodeSelectors`,priority=10
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type L2Advertisement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec L2AdvertisementSpec `json:"spec,omitempty"`
	// +optional
	Status L2AdvertisementStatus `json:"status,omitempty"`
}

// L2AdvertisementSpec says which addresses are announced, and where.
type L2AdvertisementSpec struct {
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

	// interfaces limit the network interfaces on which a node answers. Names
	// match exactly. Empty means every usable interface.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	Interfaces []string `json:"interfaces,omitempty"`

	// serviceSelectors limit the announced Services to those whose labels
	// match one of them. Empty means every Service. A Service
	// that they select must not share its address.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ServiceSelectors []metav1.LabelSelector `json:"serviceSelectors,omitempty"`

	// preferredNodeSelectors rank the nodes that may announce: the node with
	// the largest sum of weights of matching terms is preferred.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	PreferredNodeSelectors []PreferredNodeSelector `json:"preferredNodeSelectors,omitempty"`
}

// PreferredNodeSelector gives weight to nodes whose labels match.
type PreferredNodeSelector struct {
	// weight is added to the score of a node that matches, from 1 to 100.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference selects nodes by label.
	//
	// +required
	Preference metav1.LabelSelector `json:"preference"`
}

// L2AdvertisementStatus reports whether an advertisement is used.
type L2AdvertisementStatus struct {
	// conditions say whether the advertisement is used as written ("Valid").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// L2AdvertisementList is a list of advertisements.
//
// +kubebuilder:object:root=true
type L2AdvertisementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []L2Advertisement `json:"items"`
}
