package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BFDProfile says how fast the loss of a BGP router is noticed. BGPPeers name
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bfdprofiles,scope=Namespaced
// +kubebuilder:printcolumn:name="Passive Mode",type=boolean,JSONPath=`.spec.passiveMode`
// +kubebuilder:printcolumn:name="Transmit Interval",type=integer,JSONPath=`.spec.transmitInterval`
// +kubebuilder:printcolumn:name="Receive Interval",type=integer,JSONPath=`.spec.receiveInterval`
// +kubebuilder:printcolumn:name="Multiplier",type=integer,JSONPath=`.spec.detectMultiplier`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type BFDProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BFDProfileSpec `json:"spec,omitempty"`
	// +optional
	Status BFDProfileStatus `json:"status,omitempty"`
}

// BFDProfileSpec holds the parameters of RFC 5880. Intervals are milliseconds.
type BFDProfileSpec struct {
	// receiveInterval is the shortest time between two packets that this end
	// can receive, in milliseconds.
	//
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	ReceiveInterval *uint32 `json:"receiveInterval,omitempty"`

	// transmitInterval is the shortest time between two packets that this end
	// sends, in milliseconds.
	//
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	TransmitInterval *uint32 `json:"transmitInterval,omitempty"`

	// detectMultiplier is how many packets may be missing in a row before the
	// router counts as lost.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=255
	DetectMultiplier *uint32 `json:"detectMultiplier,omitempty"`

	// echoInterval is accepted and not used, like echoMode.
	//
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	EchoInterval *uint32 `json:"echoInterval,omitempty"`

	// echoMode is accepted and not used: the session runs without echo
	// packets, and the condition Valid says so.
	//
	// +optional
	// +kubebuilder:default=false
	EchoMode *bool `json:"echoMode,omitempty"`

	// passiveMode waits for the router's first packet before any is sent.
	//
	// +optional
	// +kubebuilder:default=false
	PassiveMode *bool `json:"passiveMode,omitempty"`

	// minimumTtl is the least TTL of received packets in sessions over
	// several hops; 254 if it is not set.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=254
	MinimumTTL *uint32 `json:"minimumTtl,omitempty"`
}

// BFDProfileStatus reports whether a profile is used.
type BFDProfileStatus struct {
	// conditions say whether the profile is used as written ("Valid").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BFDProfileList is a list of profiles.
//
// +kubebuilder:object:root=true
type BFDProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BFDProfile `json:"items"`
}
