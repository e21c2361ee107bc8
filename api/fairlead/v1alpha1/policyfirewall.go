package v1alpha1

// Firewall judges requests by the OWASP core rule set before a pod gets them. It needs
// HAProxy 3.4, and routers with a firewall: unsupportedConfigOverrides.firewall of the
// IngressController. Firewalls of several policies all apply: a request must pass each.
type Firewall struct {
	// mode is Block, which answers requests with 403 whose score reaches the threshold, or
	// Detect, which only counts them and writes them to the log of the firewall. With Block,
	// requests that cannot be judged get 503; with Detect they pass.
	//
	// +required
	// +kubebuilder:validation:Enum=Block;Detect
	Mode string `json:"mode"`
	// paranoia is the paranoia level of the core rule set: the higher, the more rules, and
	// the more ordinary requests that match one. The default is 1.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	Paranoia int32 `json:"paranoia,omitempty"`
	// threshold is the score from which on a request counts as an attack. A rule adds 2 to
	// 5 points. The default is 5.
	//
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Threshold int32 `json:"threshold,omitempty"`
	// exclusions are the IDs of rules that are not applied. In policies of tenants,
	// guard.firewallExclusions of a ClusterRoutePolicy must have them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=911000
	// +kubebuilder:validation:items:Maximum=948999
	Exclusions []int32 `json:"exclusions,omitempty"`
	// requestBody is how many bytes of a body are judged. The default is 16384, which is
	// the most.
	//
	// +optional
	// +kubebuilder:default=16384
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=16384
	RequestBody int32 `json:"requestBody,omitempty"`
	// bodyOver says what happens with Block to a request whose body is longer: Refuse
	// answers 413, Pass judges it by its headers and the first part. The default is Refuse.
	// With Detect all pass.
	//
	// +optional
	// +kubebuilder:default=Refuse
	// +kubebuilder:validation:Enum=Refuse;Pass
	BodyOver string `json:"bodyOver,omitempty"`
}
