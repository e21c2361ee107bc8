package v1alpha1

// Affinity keeps the requests of a client at one pod. Its cookie is always HttpOnly, and
// pods never see it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cookie) || !has(self.type) || self.type == 'Cookie'",message="cookie is for the type Cookie"
type Affinity struct {
	// type is Cookie, or None for Routes without a sticky cookie. The default is Cookie.
	//
	// +optional
	// +kubebuilder:default=Cookie
	// +kubebuilder:validation:Enum=Cookie;None
	Type string `json:"type,omitempty"`
	// cookie says what the sticky cookie looks like.
	// +optional
	Cookie *AffinityCookie `json:"cookie,omitempty"`
}

// AffinityCookie is what the sticky cookie looks like. A field that is not set has
// OpenShift's default.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.sameSite) || self.sameSite != 'None' || !has(self.secure) || self.secure",message="sameSite None needs secure"
// +kubebuilder:validation:XValidation:rule="!has(self.partitioned) || !self.partitioned || !has(self.secure) || self.secure",message="partitioned needs secure"
type AffinityCookie struct {
	// name of the cookie. The default is a hash of the Route's namespace and name.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	Name string `json:"name,omitempty"`
	// path is the beginning of the paths that browsers send the cookie with. The default
	// is /.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9!$%&()*+,./:=@_~-]*$`
	Path string `json:"path,omitempty"`
	// domain has browsers send the cookie to this name and all names below it. It must be
	// the Route's host or a domain above it. The default is the host alone.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Domain string `json:"domain,omitempty"`
	// sameSite is Lax, Strict or None. None is for secure cookies only, and their default.
	//
	// +optional
	// +kubebuilder:validation:Enum=Lax;Strict;None
	SameSite string `json:"sameSite,omitempty"`
	// secure has browsers send the cookie over TLS only. The default is true for Routes
	// with TLS that do not allow plain HTTP.
	//
	// +optional
	Secure *bool `json:"secure,omitempty"`
	// maxAge is how long browsers keep the cookie: a whole number with the unit s, m, h
	// or d, 400d at most. Without it they keep it until they end.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,7}(s|m|h|d)$`
	MaxAge string `json:"maxAge,omitempty"`
	// partitioned keeps a cookie for each site that embeds the Route's (CHIPS). It is for
	// secure cookies.
	//
	// +optional
	Partitioned bool `json:"partitioned,omitempty"`
}

// Upstream says how routers speak to pods. The source of the highest rank sets tls
// whole, which protects: two of equal rank close the paths. The other fields together are
// one setting that protects nothing.
//
// +kubebuilder:validation:MinProperties=1
type Upstream struct {
	// tls says which pods routers trust, and what they show them. It is for re-encrypt
	// Routes; others are closed by it.
	// +optional
	TLS *UpstreamTLS `json:"tls,omitempty"`
	// protocol is HTTP1 for HTTP/1.1 whatever the Service says, H2C for HTTP/2 without TLS
	// (plain and edge Routes), or H2 for HTTP/2 over TLS alone (re-encrypt). The default is
	// that of the Service's port (appProtocol), and with TLS what the pod prefers.
	//
	// +optional
	// +kubebuilder:validation:Enum=HTTP1;H2C;H2
	Protocol string `json:"protocol,omitempty"`
	// proxyProtocol has each connection begin with a PROXY header that names the client:
	// None, or V1 or V2 for its form. The default is None.
	//
	// +optional
	// +kubebuilder:validation:Enum=None;V1;V2
	ProxyProtocol string `json:"proxyProtocol,omitempty"`
}

// UpstreamTLS is TLS from routers to pods. Secrets are of the policy's namespace, or of one
// that permits it; those of a ClusterRoutePolicy of the routers' own.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.names) || !has(self.sni) || self.sni == self.names[0]",message="sni must be the name in names"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode == 'Verify' || !has(self.ca) && !has(self.names)",message="ca and names are for the mode Verify"
type UpstreamTLS struct {
	// mode is Verify, or Insecure for pods whose certificates are not verified. The default
	// is Verify.
	//
	// +optional
	// +kubebuilder:default=Verify
	// +kubebuilder:validation:Enum=Verify;Insecure
	Mode string `json:"mode,omitempty"`
	// ca is a Secret whose key ca.crt holds the authorities that pods must be signed by. It
	// is for Routes without a destinationCACertificate; others are closed by it. The default
	// is the Route's, and then the router's own.
	//
	// +optional
	CA ObjectReference `json:"ca,omitempty"`
	// names are those that certificates of pods must be for. HAProxy checks one.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Names []string `json:"names,omitempty"`
	// sni is the server name that pods get. The default is that of names. With the mode
	// Verify their certificates must be for it, because HAProxy verifies the name that it
	// sends.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SNI string `json:"sni,omitempty"`
	// clientCertificate is a Secret with the certificate that routers show to pods: the
	// chain in tls.crt and the key in tls.key.
	//
	// +optional
	ClientCertificate ObjectReference `json:"clientCertificate,omitempty"`
}
