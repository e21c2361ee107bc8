package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DynamicASN says how a peer's AS number is learned from its OPEN message.
//
// +kubebuilder:validation:Enum=internal;external
type DynamicASN string

// The kinds of peers whose AS number is learned.
const (
	// DynamicASNInternal: the peer must have our own number (iBGP).
	DynamicASNInternal DynamicASN = "internal"
	// DynamicASNExternal: the peer must have any other number (eBGP).
	DynamicASNExternal DynamicASN = "external"
)

// BGPPeer is a router to which nodes announce addresses by BGP.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bgppeers,scope=Namespaced
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.peerAddress`
// +kubebuilder:printcolumn:name="ASN",type=string,JSONPath=`.spec.peerASN`
// +kubebuilder:printcolumn:name="BFD Profile",type=string,JSONPath=`.spec.bfdProfile`
// +kubebuilder:printcolumn:name="Multi Hops",type=string,JSONPath=`.spec.ebgpMultiHop`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,priority=10
type BGPPeer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec BGPPeerSpec `json:"spec"`
	// +optional
	Status BGPPeerStatus `json:"status,omitempty"`
}

// BGPPeerSpec is one session per selected node.
//
// +kubebuilder:validation:XValidation:rule="(has(self.peerASN) && self.peerASN != 0) != (has(self.dynamicASN) && self.dynamicASN.size() > 0)",message="exactly one of peerASN and dynamicASN must be set"
// +kubebuilder:validation:XValidation:rule="(has(self.peerAddress) && self.peerAddress.size() > 0) != (has(self.interface) && self.interface.size() > 0)",message="exactly one of peerAddress and interface must be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && self.password.size() > 0 && has(self.passwordSecret) && has(self.passwordSecret.name) && self.passwordSecret.name.size() > 0)",message="password and passwordSecret cannot both be set"
// +kubebuilder:validation:XValidation:rule="!has(self.keepaliveTime) || !has(self.holdTime) || duration(self.keepaliveTime) <= duration(self.holdTime)",message="keepaliveTime must not be longer than holdTime"
// +kubebuilder:validation:XValidation:rule="!(has(self.ebgpMultiHop) && self.ebgpMultiHop) || !((has(self.dynamicASN) && self.dynamicASN == 'internal') || (has(self.peerASN) && self.peerASN == self.myASN))",message="invalid ebgp-multihop parameter set for an ibgp peer"
type BGPPeerSpec struct {
	// myASN is the AS number of this end of the session.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +kubebuilder:validation:Format=int64
	// +kubebuilder:validation:XValidation:rule="self != 0",message="missing local ASN"
	MyASN uint32 `json:"myASN"`

	// peerASN is the AS number of the router. Either this or dynamicASN must
	// be set.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +kubebuilder:validation:Format=int64
	ASN uint32 `json:"peerASN,omitempty"`

	// dynamicASN learns the router's AS number when it answers: "internal"
	// demands that it is ours, "external" that it is another one.
	//
	// +optional
	DynamicASN DynamicASN `json:"dynamicASN,omitempty"`

	// localASN is presented to this router instead of myASN.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4294967295
	// +kubebuilder:validation:Format=int64
	LocalASN uint32 `json:"localASN,omitempty"`

	// peerAddress is the address of the router. Either this or interface must
	// be set.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || isIP(self)",message="peerAddress must be an IP address"
	Address string `json:"peerAddress,omitempty"`

	// interface is the network interface behind which the router is found by
	// its link-local address (an "unnumbered" session).
	//
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Interface string `json:"interface,omitempty"`

	// sourceAddress is the address of the node to connect from.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || isIP(self)",message="sourceAddress must be an IP address"
	SrcAddress string `json:"sourceAddress,omitempty"`

	// peerPort is the TCP port of the router; 0 means 179.
	//
	// +optional
	// +kubebuilder:default=179
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16384
	Port uint16 `json:"peerPort,omitempty"`

	// holdTime is after how long without a message the session is given up:
	// 0, or at least 3s. The shorter one of both ends counts.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || (duration(self) >= duration('3s') && duration(self) <= duration('65535s'))",message="invalid hold time: must be 0 or >=3s, and at most 65535s"
	HoldTime *metav1.Duration `json:"holdTime,omitempty"`

	// keepaliveTime is how often a message is sent; a third of holdTime if it
	// is not set.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="keepaliveTime must not be negative"
	KeepaliveTime *metav1.Duration `json:"keepaliveTime,omitempty"`

	// connectTime is the time between two attempts to connect: 1s to 65535s,
	// in whole seconds.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self).getSeconds() >= 1 && duration(self).getSeconds() <= 65535",message="connect time should be between 1 seconds to 65535"
	// +kubebuilder:validation:XValidation:rule="duration(self).getMilliseconds() % 1000 == 0",message="connect time should contain a whole number of seconds"
	ConnectTime *metav1.Duration `json:"connectTime,omitempty"`

	// routerID is the identifier of this end, in the form of an IPv4 address.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self == '' || (isIP(self) && ip(self).family() == 4)",message="routerID must have the form of an IPv4 address"
	RouterID string `json:"routerID,omitempty"`

	// nodeSelectors limit the nodes that open a session to those whose labels
	// match one of them. Empty means every node.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	NodeSelectors []metav1.LabelSelector `json:"nodeSelectors,omitempty"`

	// password authenticates the session (TCP MD5, RFC 2385). Prefer
	// passwordSecret.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Password string `json:"password,omitempty"`

	// passwordSecret names a Secret of type kubernetes.io/basic-auth in this
	// namespace, whose key "password" holds the password.
	//
	// +optional
	PasswordSecret corev1.SecretReference `json:"passwordSecret,omitempty"`

	// bfdProfile is the name of the BFDProfile by which the loss of the
	// router is noticed fast. Empty means that BFD is not used.
	//
	// +optional
	BFDProfile string `json:"bfdProfile,omitempty"`

	// enableGracefulRestart lets the router keep the routes while the speaker
	// restarts. It cannot be changed later.
	//
	// +optional
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="enableGracefulRestart cannot be changed after creation"
	EnableGracefulRestart bool `json:"enableGracefulRestart,omitempty"`

	// ebgpMultiHop allows the router to be more than one hop away. It is for
	// eBGP only; iBGP always may.
	//
	// +optional
	EBGPMultiHop bool `json:"ebgpMultiHop,omitempty"`

	// vrf is the Linux VRF device through which the session runs.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=15
	VRFName string `json:"vrf,omitempty"`

	// disableMP has no effect any more.
	//
	// +optional
	// +kubebuilder:default=false
	DisableMP bool `json:"disableMP,omitempty"`

	// dualStackAddressFamily exchanges IPv4 and IPv6 over this session.
	// Otherwise it carries the family of its own address only.
	//
	// +optional
	// +kubebuilder:default=false
	DualStackAddressFamily bool `json:"dualStackAddressFamily,omitempty"`
}

// BGPPeerStatus reports whether a peer is used. The state of its sessions is in
// the BGPSessionState objects, one per node.
type BGPPeerStatus struct {
	// conditions say whether the peer is used as written ("Valid").
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BGPPeerList is a list of peers.
//
// +kubebuilder:object:root=true
type BGPPeerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BGPPeer `json:"items"`
}
