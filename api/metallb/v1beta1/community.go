package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Community gives names to BGP communities, for use in BGPAdvertisements.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=communities,scope=Namespaced
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type Community struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec CommunitySpec `json:"spec,omitempty"`
	// +optional
	Status CommunityStatus `json:"status,omitempty"`
}

// CommunitySpec is a list of names.
type CommunitySpec struct {
	// communities are the names and what they stand for. Names are known to
	// all BGPAdvertisements, whichever object defines them.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Communities []CommunityAlias `json:"communities,omitempty"`
}

// CommunityAlias is a name of a community.
type CommunityAlias struct {
	// name is what BGPAdvertisements write.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.contains(':')",message="a name cannot contain ':'"
	Name string `json:"name"`

	// value is the community: "64512:100" or "large:64512:100:1".
	//
	// +required
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="(self.matches('^[0-9]{1,5}:[0-9]{1,5}$') && self.split(':').all(n, int(n) <= 65535)) || (self.matches('^large:[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}$') && self.substring(6).split(':').all(n, int(n) <= 4294967295))",message="a community is written as 64512:100 (each at most 65535) or as large:64512:100:1 (each at most 4294967295)"
	Value string `json:"value"`
}

// CommunityStatus reports whether the names are used.
type CommunityStatus struct {
	// conditions say whether the object is used as written ("Valid").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CommunityList is a list of Community objects.
//
// +kubebuilder:object:root=true
type CommunityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Community `json:"items"`
}
