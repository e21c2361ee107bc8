package v1alpha1

// ClientCertificateAuthentication asks for a certificate in the TLS handshake. That comes
// before any path is known, so all Routes of a host ask for certificates of the same CA:
// the paths of one that is younger and has another CA answer 503. Where each path of the
// host demands a certificate, handshakes without a valid one fail; otherwise only those
// with an invalid one, and paths that demand one answer 403 without. Pods get the headers
// X-SSL-Client-DN and so on.
type ClientCertificateAuthentication struct {
	// caSecret has under the key ca.crt the certificates of the authorities that must have
	// signed those of clients. The router needs the right to get, list and watch it.
	//
	// +required
	CASecret ObjectName `json:"caSecret"`
	// mode is Required, or Optional: then clients without a certificate are let in. The
	// default is Required.
	//
	// +optional
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	Mode string `json:"mode,omitempty"`
	// subjects are those that are let in; all others get 403, as do clients without a
	// certificate where the mode is Optional. The default is each that an authority has signed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subjects []ClientSubject `json:"subjects,omitempty"`
}

// ClientSubject is a name in a certificate.
type ClientSubject struct {
	// attribute is DN for the whole name as RFC 2253 writes it, such as
	// CN=ann,OU=staff,O=Example; or CN for the last common name alone. The default is DN.
	//
	// +optional
	// +kubebuilder:default=DN
	// +kubebuilder:validation:Enum=DN;CN
	Attribute string `json:"attribute,omitempty"`
	// type is Exact, or Prefix for all names that begin with the value. The default is
	// Exact.
	//
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact;Prefix
	Type string `json:"type,omitempty"`
	// value is compared byte by byte.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value"`
}
