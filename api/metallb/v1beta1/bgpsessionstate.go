package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Labels of BGPSessionState objects; LabelNode is the third.
const (
	// LabelPeer is the name of the BGPPeer.
	LabelPeer = "metallb.io/peer"
	// LabelVRF is the VRF of the session; empty outside of any.
	LabelVRF = "metallb.io/vrf"
)

// BGPSessionState is the state of one BGP session, that of one node with one
// BGPPeer. The node's speaker writes it. Fields and columns are those of the
// kind of the same name of frr-k8s, which is of another group, so that both
// can be installed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bgpsessionstates,scope=Namespaced
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Peer",type=string,JSONPath=`.status.peer`
// +kubebuilder:printcolumn:name="VRF",type=string,JSONPath=`.status.vrf`
// +kubebuilder:printcolumn:name="BGP",type=string,JSONPath=`.status.bgpStatus`
// +kubebuilder:printcolumn:name="BFD",type=string,JSONPath=`.status.bfdStatus`
// +kubebuilder:printcolumn:name="Up Since",type=date,JSONPath=`.status.establishedAt`
// +kubebuilder:printcolumn:name="Advertised",type=integer,JSONPath=`.status.advertised`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.lastError`,priority=10
type BGPSessionState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BGPSessionStateSpec `json:"spec,omitempty"`
	// +optional
	Status BGPSessionStateStatus `json:"status,omitempty"`
}

// BGPSessionStateSpec is empty.
type BGPSessionStateSpec struct{}

// BGPSessionStateStatus is the state of a session.
type BGPSessionStateStatus struct {
	// bgpStatus is the state of the session as RFC 4271 names it: Idle,
	// Connect, Active, OpenSent, OpenConfirm or Established.
	// +optional
	BGPStatus string `json:"bgpStatus,omitempty"`
	// bfdStatus is the state of the BFD session as RFC 5880 names it: Up,
	// Down, Init or AdminDown; "N/A" without BFD.
	// +optional
	BFDStatus string `json:"bfdStatus,omitempty"`
	// node is the node whose session it is.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Node string `json:"node,omitempty"`
	// peer is the name of the BGPPeer.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Peer string `json:"peer,omitempty"`
	// peerAddress is the address of the router, also where it was found by
	// interface.
	// +optional
	PeerAddress string `json:"peerAddress,omitempty"`
	// vrf is the VRF of the session.
	// +optional
	VRF string `json:"vrf,omitempty"`
	// establishedAt is when the session was last established; absent while it
	// is not.
	// +optional
	EstablishedAt *metav1.Time `json:"establishedAt,omitempty"`
	// advertised is the number of prefixes that are announced.
	// +optional
	Advertised int32 `json:"advertised"`
	// lastError says why the session ended or cannot be established.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
}

// BGPSessionStateList is a list of BGPSessionState objects.
//
// +kubebuilder:object:root=true
type BGPSessionStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BGPSessionState `json:"items"`
}
