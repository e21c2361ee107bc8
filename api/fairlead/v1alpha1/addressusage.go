package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxAddresses is how many addresses an AddressUsage lists. More would make
// the object too large to be written often.
const MaxAddresses = 1000

// AddressUsage says which addresses of an IPAddressPool are in use, and by
// which Services. The operator writes one for each pool, with the pool's name.
// It is apart from the pool's status because every speaker reads the pools.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=addressusages,scope=Namespaced
// +kubebuilder:printcolumn:name="In Use",type=integer,JSONPath=`.inUse`
// +kubebuilder:printcolumn:name="First",type=string,JSONPath=`.addresses[0].address`
// +kubebuilder:printcolumn:name="Used By",type=string,JSONPath=`.addresses[0].services`
// +kubebuilder:printcolumn:name="Omitted",type=integer,JSONPath=`.omitted`
type AddressUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// inUse is the number of addresses in use.
	// +required
	InUse int64 `json:"inUse"`
	// omitted is how many of them are not in the list, because it is full.
	// +required
	Omitted int64 `json:"omitted"`
	// addresses are those in use, in order: the first 1,000.
	//
	// +optional
	// +listType=atomic
	Addresses []AddressUse `json:"addresses,omitempty"`
}

// AddressUse is one address in use.
type AddressUse struct {
	// address is the address.
	// +required
	Address string `json:"address"`
	// services are those that have it, as "namespace/name".
	//
	// +required
	// +listType=atomic
	Services []string `json:"services"`
}

// AddressUsageList is a list of AddressUsage objects.
//
// +kubebuilder:object:root=true
type AddressUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddressUsage `json:"items"`
}
