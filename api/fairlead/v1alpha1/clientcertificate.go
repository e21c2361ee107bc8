package v1alpha1

// ClientCertificateAuthentication asks for a certificate in the TLS handshake. That comes
// before any path is known, so all Routes of a host ask for certificates of the same CA:
// the paths of one that is younger and has another CA answer 503. Where each path of the
// host demands a certificate, handshakes without a valid one fail; otherwise only those
// with an invalid one, and paths that demand one answer 403 without. Pods get the headers
// X-SSL-Client-DN and so on.
//
// +kubebuilder:validation:XValidation:rule="has(self.caSecret) != has(self.caConfigMap)",message="set caSecret or caConfigMap, and not both"
type ClientCertificateAuthentication struct {
	// caSecret has under the key ca.crt the certificates of the authorities that must have
	// signed those of clients, and may have revocation lists under the key ca.crl. The router
	// needs the right to get, list and watch it.
	//
	// +optional
	CASecret ObjectReference `json:"caSecret,omitempty"`
	// caConfigMap has the certificates of the authorities under the key ca.crt, in place of
	// caSecret.
	//
	// +optional
	CAConfigMap ObjectReference `json:"caConfigMap,omitempty"`
	// crlSecret has revocation lists under the key ca.crl. Each authority then needs a list
	// that is not too old, or its clients are refused. The router needs the right to get, list
	// and watch it.
	//
	// +optional
	CRLSecret ObjectReference `json:"crlSecret,omitempty"`
	// mode is Required, or Optional: then clients without a certificate are let in. The
	// default is Required.
	//
	// +optional
	// +kubebuilder:default=Required
	// +kubebuilder:validation:Enum=Required;Optional
	Mode string `json:"mode,omitempty"`
	// depth is 1, which lets in only certificates that an authority of the bundle has signed
	// itself. Each of them must then be signed by itself, and state the path length 0 in its
	// basic constraints. The default lets in those of intermediate authorities, too.
	//
	// +optional
	// +kubebuilder:validation:Enum=1
	Depth int32 `json:"depth,omitempty"`
	// subjects are those that are let in; all others get 403, as do clients without a
	// certificate where the mode is Optional. The default is each that an authority has signed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subjects []ClientSubject `json:"subjects,omitempty"`
	// sans are alternative names, one of which a certificate must have, beside a subject
	// where subjects are there, too. Others get 403, as do clients without a certificate.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	SANs []ClientSAN `json:"sans,omitempty"`
	// forward says what pods learn of the certificate. Headers are X-SSL-Client-DN and the
	// like, and ssl-client-subject-dn and the like. XFCC adds X-Forwarded-Client-Cert as Envoy
	// writes it, PEM ssl-client-cert as ingress-nginx writes it, DER Client-Cert of RFC 9440.
	// None leaves out all of them. What clients send in any of these is removed. The default
	// is Headers.
	//
	// +optional
	// +kubebuilder:default=Headers
	// +kubebuilder:validation:Enum=Headers;None;XFCC;PEM;DER
	Forward string `json:"forward,omitempty"`
}

// ClientSAN is an alternative name in a certificate.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'IP' || !has(self.type) || self.type == 'Exact'",message="addresses are compared as a whole"
type ClientSAN struct {
	// kind is DNS, URI, Email or IP.
	//
	// +required
	// +kubebuilder:validation:Enum=DNS;URI;Email;IP
	Kind string `json:"kind"`
	// type is Exact, Prefix for all names that begin with the value, or Suffix for all that
	// end with it. The default is Exact.
	//
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact;Prefix;Suffix
	Type string `json:"type,omitempty"`
	// value is compared byte by byte, for DNS in lower case. A wildcard in a certificate is
	// the text that it is.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value"`
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
	// type is Exact, Prefix for all names that begin with the value, or Regex for all that a
	// regular expression of RE2 matches from their first to their last character. A policy may
	// have 8 of these. No expression matches a name with anything but printable ASCII, with
	// characters that RFC 2253 escapes, with an equals sign in a value, or with several values in
	// one part. The default is Exact.
	//
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact;Prefix;Regex
	Type string `json:"type,omitempty"`
	// value is compared byte by byte.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value"`
}
