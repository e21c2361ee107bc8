package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Labels of ConfigurationState objects.
const (
	// LabelComponentType is "controller" or "speaker".
	LabelComponentType = "metallb.io/component-type"
	// LabelNodeName is the node of a speaker.
	LabelNodeName = "metallb.io/node-name"
)

// ConfigurationResult sums up how a consumer got on with its configuration.
//
// +kubebuilder:validation:Enum=Valid;Invalid;Unknown
type ConfigurationResult string

// The results.
const (
	ConfigurationValid   ConfigurationResult = "Valid"
	ConfigurationInvalid ConfigurationResult = "Invalid"
	ConfigurationUnknown ConfigurationResult = "Unknown"
)

// The conditions of a ConfigurationState, and their reasons.
const (
	// ConditionPools is about IPAddressPools, ConditionConfig about all else.
	ConditionPools  = "poolReconcilerValid"
	ConditionConfig = "configReconcilerValid"
	// ReasonReconciled: the objects are used as they are written.
	ReasonReconciled = "Reconciled"
	// ReasonConfigurationError: an object must be corrected.
	ReasonConfigurationError = "ConfigurationError"
	// ReasonMissingReference: an object names another one that is not there
	// (yet). It is used as soon as that appears.
	ReasonMissingReference = "MissingReference"
	// ReasonInfraError: the API server could not be asked.
	ReasonInfraError = "InfraError"
)

// ConfigurationState says whether one consumer of the configuration, the
// controller or the speaker of a node, uses all of it as it is written.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=configurationstates,scope=Namespaced
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.result`
// +kubebuilder:printcolumn:name="ErrorSummary",type=string,JSONPath=`.status.errorSummary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ConfigurationState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status ConfigurationStateStatus `json:"status,omitempty"`
}

// ConfigurationStateStatus is how a consumer got on.
type ConfigurationStateStatus struct {
	// result is Valid if everything is used as it is written.
	// +optional
	Result ConfigurationResult `json:"result,omitempty"`
	// errorSummary names the objects and fields that are not, and what
	// happens meanwhile.
	// +optional
	ErrorSummary string `json:"errorSummary,omitempty"`
	// conditions are "poolReconcilerValid" and "configReconcilerValid".
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConfigurationStateList is a list of ConfigurationState objects.
//
// +kubebuilder:object:root=true
type ConfigurationStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ConfigurationState `json:"items"`
}
