package v1alpha1

// APIKeyAuthentication asks for a key. HAProxy knows only hashes of the keys, made with
// a key of its pod. Requests without a key get 401.
type APIKeyAuthentication struct {
	// secrets have the keys, each under the name of its consumer: 20 to 512 visible
	// ASCII characters, or sha256: and the SHA-256 of a key in hexadecimal. The router
	// needs the right to get, list and watch them.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Secrets []ObjectReference `json:"secrets"`
	// from are the places where a key may be. A request that has one in two places is
	// refused. The default is the header X-API-Key.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	From []APIKeySource `json:"from,omitempty"`
	// forwardConsumer is the header that gets the name of the consumer for the pod. What
	// a client sends in it is removed. The default is X-Consumer.
	//
	// +optional
	// +kubebuilder:default=X-Consumer
	ForwardConsumer HeaderName `json:"forwardConsumer,omitempty"`
	// stripKey keeps the key from the pod. The default is true.
	//
	// +optional
	// +kubebuilder:default=true
	StripKey *bool `json:"stripKey,omitempty"`
}

// APIKeySource is a place where a key may be.
type APIKeySource struct {
	// type is Header or Query. What is in the query stands in access logs, too.
	//
	// +required
	// +kubebuilder:validation:Enum=Header;Query
	Type string `json:"type"`
	// name is that of the header or parameter.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	Name string `json:"name"`
}
