package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Labels of the objects that speakers write about themselves and Services.
const (
	// LabelNode is the name of the node.
	LabelNode = "metallb.io/node"
	// LabelServiceName and LabelServiceNamespace name the Service.
	LabelServiceName      = "metallb.io/service-name"
	LabelServiceNamespace = "metallb.io/service-namespace"
)

// ServiceL2Status says which node answers for a Service's addresses by ARP and
// NDP. Its owner writes it; there is at most one per Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=servicel2statuses,scope=Namespaced
// +kubebuilder:printcolumn:name="Allocated Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Service Name",type=string,JSONPath=`.status.serviceName`
// +kubebuilder:printcolumn:name="Service Namespace",type=string,JSONPath=`.status.serviceNamespace`
// +kubebuilder:printcolumn:name="Addresses",type=string,JSONPath=`.status.addresses`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.since`
type ServiceL2Status struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServiceL2StatusSpec `json:"spec,omitempty"`
	// +optional
	Status MetalLBServiceL2Status `json:"status,omitempty"`
}

// ServiceL2StatusSpec is empty.
type ServiceL2StatusSpec struct{}

// MetalLBServiceL2Status is who announces a Service, and where.
type MetalLBServiceL2Status struct {
	// node is the node that answers.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Node string `json:"node,omitempty"`
	// serviceName is the name of the Service.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	ServiceName string `json:"serviceName,omitempty"`
	// serviceNamespace is the namespace of the Service.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	ServiceNamespace string `json:"serviceNamespace,omitempty"`
	// interfaces are those on which the node answers; empty means all.
	//
	// +optional
	// +listType=atomic
	Interfaces []InterfaceInfo `json:"interfaces,omitempty"`
	// addresses are what the node answers for.
	//
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
	// since is when this node became the owner.
	//
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// InterfaceInfo names a network interface.
type InterfaceInfo struct {
	// name is the name of the interface.
	// +optional
	Name string `json:"name,omitempty"`
}

// ServiceL2StatusList is a list of ServiceL2Status objects.
//
// +kubebuilder:object:root=true
type ServiceL2StatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceL2Status `json:"items"`
}

// ServiceBGPStatus says to which BGPPeers a node is to announce a Service.
// There is one per node and Service; it goes when the list is empty. Whether
// the sessions work is in the BGPSessionState objects.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=servicebgpstatuses,scope=Namespaced
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Service Name",type=string,JSONPath=`.status.serviceName`
// +kubebuilder:printcolumn:name="Service Namespace",type=string,JSONPath=`.status.serviceNamespace`
// +kubebuilder:printcolumn:name="Peers",type=string,JSONPath=`.status.peers`,priority=10
type ServiceBGPStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServiceBGPStatusSpec `json:"spec,omitempty"`
	// +optional
	Status MetalLBServiceBGPStatus `json:"status,omitempty"`
}

// ServiceBGPStatusSpec is empty.
type ServiceBGPStatusSpec struct{}

// MetalLBServiceBGPStatus is what a node announces of a Service.
type MetalLBServiceBGPStatus struct {
	// node is the announcing node.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Node string `json:"node,omitempty"`
	// serviceName is the name of the Service.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	ServiceName string `json:"serviceName,omitempty"`
	// serviceNamespace is the namespace of the Service.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	ServiceNamespace string `json:"serviceNamespace,omitempty"`
	// peers are the names of the BGPPeers, sorted.
	//
	// +optional
	// +listType=atomic
	Peers []string `json:"peers,omitempty"`
}

// ServiceBGPStatusList is a list of ServiceBGPStatus objects.
//
// +kubebuilder:object:root=true
type ServiceBGPStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceBGPStatus `json:"items"`
}
