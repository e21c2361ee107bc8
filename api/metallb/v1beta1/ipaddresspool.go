package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IPAddressPool is a set of addresses that Services of type LoadBalancer may get.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipaddresspools,scope=Namespaced
// +kubebuilder:printcolumn:name="Auto Assign",type=boolean,JSONPath=`.spec.autoAssign`
// +kubebuilder:printcolumn:name="Avoid Buggy IPs",type=boolean,JSONPath=`.spec.avoidBuggyIPs`
// +kubebuilder:printcolumn:name="Addresses",type=string,JSONPath=`.spec.addresses`
// +kubebuilder:printcolumn:name="Used IPv4",type=integer,JSONPath=`.status.assignedIPv4`,priority=10
// +kubebuilder:printcolumn:name="Free IPv4",type=integer,JSONPath=`.status.availableIPv4`,priority=10
// +kubebuilder:printcolumn:name="Used IPv6",type=integer,JSONPath=`.status.assignedIPv6`,priority=10
// +kubebuilder:printcolumn:name="Free IPv6",type=integer,JSONPath=`.status.availableIPv6`,priority=10
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type IPAddressPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec IPAddressPoolSpec `json:"spec"`
	// +optional
	Status IPAddressPoolStatus `json:"status,omitempty"`
}

// IPAddressPoolSpec says which addresses a pool has and who may get them.
type IPAddressPoolSpec struct {
	// addresses are the pool's addresses: networks such as "192.168.10.0/24"
	// or ranges such as "192.168.9.1-192.168.9.5". A single address is
	// written with /32 or /128. IPv4 and IPv6 may stand in one pool.
	//
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=96
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.contains('-') || isCIDR(a))",message="each entry must be a network such as 192.168.10.0/24 or a range such as 192.168.10.1-192.168.10.9; a single address is written with /32 or /128"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !a.contains('-') || (a.split('-').size() == 2 && isIP(a.split('-')[0].trim()) && isIP(a.split('-')[1].trim())))",message="a range must be two addresses joined by '-', such as 192.168.10.1-192.168.10.9"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !a.contains('-') || a.split('-').size() != 2 || !isIP(a.split('-')[0].trim()) || !isIP(a.split('-')[1].trim()) || ip(a.split('-')[0].trim()).family() == ip(a.split('-')[1].trim()).family())",message="both ends of a range must be of the same family, IPv4 or IPv6"
	Addresses []string `json:"addresses"`

	// autoAssign says whether Services get addresses of this pool without
	// asking for it. If false, only Services that name the pool or one of its
	// addresses get one.
	//
	// +optional
	// +kubebuilder:default=true
	AutoAssign *bool `json:"autoAssign,omitempty"`

	// avoidBuggyIPs keeps IPv4 addresses that end in .0 and .255 unused,
	// because some old network devices drop their traffic.
	//
	// +optional
	// +kubebuilder:default=false
	AvoidBuggyIPs bool `json:"avoidBuggyIPs,omitempty"`

	// serviceAllocation restricts the pool to some namespaces or Services and
	// ranks it among the pools that fit.
	//
	// +optional
	AllocateTo *ServiceAllocation `json:"serviceAllocation,omitempty"`
}

// ServiceAllocation says which Services a pool is for.
type ServiceAllocation struct {
	// priority ranks this pool among the pools that are for the same Service:
	// 1 comes first; 0 or absent comes last.
	//
	// +optional
	Priority int `json:"priority,omitempty"`

	// namespaces are the namespaces whose Services may use this pool.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	Namespaces []string `json:"namespaces,omitempty"`

	// namespaceSelectors add the namespaces whose labels match one of them.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	NamespaceSelectors []metav1.LabelSelector `json:"namespaceSelectors,omitempty"`

	// serviceSelectors limit the pool to Services whose labels match one of
	// them. With namespaces or namespaceSelectors, both must hold.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ServiceSelectors []metav1.LabelSelector `json:"serviceSelectors,omitempty"`
}

// IPAddressPoolStatus reports the use of a pool. Counts are distinct
// addresses: one that several Services share counts once. A count that does
// not fit is the largest 64-bit number.
type IPAddressPoolStatus struct {
	// assignedIPv4 is the number of IPv4 addresses in use.
	// +required
	AssignedIPv4 int64 `json:"assignedIPv4"`
	// assignedIPv6 is the number of IPv6 addresses in use.
	// +required
	AssignedIPv6 int64 `json:"assignedIPv6"`
	// availableIPv4 is the number of IPv4 addresses that are free.
	// +required
	AvailableIPv4 int64 `json:"availableIPv4"`
	// availableIPv6 is the number of IPv6 addresses that are free.
	// +required
	AvailableIPv6 int64 `json:"availableIPv6"`

	// conditions say whether the pool is used as written ("Valid") and
	// whether some advertisement selects it ("Advertised").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPAddressPoolList is a list of pools.
//
// +kubebuilder:object:root=true
type IPAddressPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPAddressPool `json:"items"`
}
