package v1alpha1

// RequestLog says which requests are written to the access log, and which ID they
// have.
type RequestLog struct {
	// enabled is true by default.
	//
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// percent of the requests are written, chosen at random. The default is 100.
	//
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
	// requestID gives pods a header X-Request-ID: Keep leaves that of the client, and
	// makes one if there is none; Replace makes one always. Without it the header is
	// left alone.
	//
	// +optional
	// +kubebuilder:validation:Enum=Keep;Replace
	RequestID string `json:"requestID,omitempty"`
}
