package v1alpha1

// Authorization says what clients may do. The first rule whose conditions all hold
// decides about a request. A request that no rule holds for gets 403.
type Authorization struct {
	// rules are tried in their order.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	Rules []AuthorizationRule `json:"rules"`
}

// AuthorizationRule admits requests, or refuses them with 403.
type AuthorizationRule struct {
	// action is Allow or Deny.
	//
	// +required
	// +kubebuilder:validation:Enum=Allow;Deny
	Action string `json:"action"`
	// when are the conditions, which must all hold. Without it the rule holds for each
	// request.
	// +optional
	When *AuthorizationMatch `json:"when,omitempty"`
}

// AuthorizationMatch are conditions on a request. One about something that the request
// does not have, such as a claim, does not hold.
//
// +kubebuilder:validation:MinProperties=1
type AuthorizationMatch struct {
	// methods of the request, in upper case; it must have one of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Z]+(-[A-Z]+)*$`
	Methods []string `json:"methods,omitempty"`
	// paths; the request must have one of them. Paths that programs read in different
	// ways get 400.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Paths []PathMatch `json:"paths,omitempty"`
	// claims of a token (authentication.jwt); all must hold.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Claims []ClaimMatch `json:"claims,omitempty"`
	// scopes of a token, from its claim scope or scp; it must have all of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`
	// groups of a token, from its claim groups; it must have one of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`
	// consumers are the names of users (authentication.basic), or the claim sub of
	// tokens; the client must be one of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Consumers []string `json:"consumers,omitempty"`
	// cidrs are networks; the client's address must be in one of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	CIDRs []CIDR `json:"cidrs,omitempty"`
	// headers of the request; all must hold.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Headers []HeaderMatch `json:"headers,omitempty"`
}

// PathMatch is a path of a request, without its query.
type PathMatch struct {
	// type is Exact, or Prefix for a path and all below it. The default is Prefix.
	//
	// +optional
	// +kubebuilder:default=Prefix
	// +kubebuilder:validation:Enum=Exact;Prefix
	Type string `json:"type,omitempty"`
	// value is the path as programs read it, without percent-encoding.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\\;%]*$`
	Value string `json:"value"`
}

// ClaimMatch is a condition on a claim.
//
// +kubebuilder:validation:XValidation:rule="(has(self.values) ? 1 : 0) + (has(self.prefix) ? 1 : 0) + (has(self.exists) ? 1 : 0) == 1",message="set one of values, prefix, exists"
type ClaimMatch struct {
	// name of the claim, with dots for those within others.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// values; the claim, or an item of its list, must be one of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values,omitempty"`
	// prefix that the claim, or an item of its list, must begin with.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Prefix string `json:"prefix,omitempty"`
	// exists is true if the claim must be there, whatever it is.
	//
	// +optional
	// +kubebuilder:validation:Enum=true
	Exists bool `json:"exists,omitempty"`
}

// HeaderMatch is a condition on a header, which must be there exactly once.
type HeaderMatch struct {
	// name of the header.
	// +required
	Name HeaderName `json:"name"`
	// values of which it must have one. The default is any.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values,omitempty"`
}
