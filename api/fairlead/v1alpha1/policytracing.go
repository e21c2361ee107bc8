package v1alpha1

// Tracing says which requests are traced, and in whose traces. It needs the annotation
// fairlead.dev/tracing of the IngressController, which says where traces are sent, and traces
// the requests of all routes without a policy.
type Tracing struct {
	// enabled is true by default. With false, the header traceparent of clients reaches pods as
	// it is, and nothing is recorded.
	//
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// sampling says which requests are recorded: a percentage of them, such as 5% or 0.1%,
	// chosen at random; or Parent, the default: those whose client has them recorded, where its
	// trace goes on, and of others the share that the IngressController says.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^(Parent|100%|[0-9]{1,2}(\.[0-9]{1,4})?%)$`
	Sampling string `json:"sampling,omitempty"`
	// trustIncoming goes on with the trace of the client's header traceparent, if that is
	// valid. With false a request begins a trace, whatever the client sends. The default is what
	// the IngressController says, and false if it says nothing.
	//
	// +optional
	TrustIncoming *bool `json:"trustIncoming,omitempty"`
}
