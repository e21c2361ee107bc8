package v1alpha1

// Rewrite changes what pods get of the address of a request. The query stays.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.prefix) ? 1 : 0) + (has(self.full) ? 1 : 0) + (has(self.regex) ? 1 : 0) <= 1",message="set one of prefix, full and regex"
type Rewrite struct {
	// prefix replaces the path of the Route at the beginning of the request's path, in
	// whole segments.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^/[!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`
	Prefix string `json:"prefix,omitempty"`
	// full replaces the whole path.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^/[!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`
	Full string `json:"full,omitempty"`
	// regex replaces the whole path of requests whose path its pattern matches. Other paths
	// stay as they are.
	//
	// +optional
	Regex *RewriteRegex `json:"regex,omitempty"`
	// host replaces the Host header. X-Forwarded-Host keeps that of the client.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Host string `json:"host,omitempty"`
}

// RewriteRegex replaces paths by a pattern.
type RewriteRegex struct {
	// pattern is a regular expression of RE2, applied at the beginning of the path. It must
	// not be one that can take very long, such as (a+)+b.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Pattern string `json:"pattern"`
	// replacement is the new path. $1 to $9 stand for what captures of the pattern hold,
	// and $$ for a dollar sign.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[/$][!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`
	Replacement string `json:"replacement"`
}

// Headers change headers. What spec.httpHeaders of a Route changes holds as well.
//
// +kubebuilder:validation:MinProperties=1
type Headers struct {
	// request changes what pods get.
	// +optional
	Request *RequestHeaders `json:"request,omitempty"`
	// response changes what clients get of answers of pods.
	// +optional
	Response *ResponseHeaders `json:"response,omitempty"`
}

// ChangedHeader is the name of a header that may be changed. Some belong to the router.
//
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern="^[-!#$%&'*+.0-9A-Z^_`a-z|~]+$"
// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['strict-transport-security', 'proxy', 'cookie', 'set-cookie'])",message="may not be changed: strict-transport-security, proxy, cookie, set-cookie"
type ChangedHeader string

// RequestHeaders are changed in the order set, add, remove.
//
// +kubebuilder:validation:MinProperties=1
type RequestHeaders struct {
	// set replaces all values of a header, or adds the header.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Set []RequestHeader `json:"set,omitempty"`
	// add adds a value to those that the client sent.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Add []RequestHeader `json:"add,omitempty"`
	// remove removes all values of a header.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Remove []ChangedHeader `json:"remove,omitempty"`
}

// RequestHeader is a header with its value.
type RequestHeader struct {
	// name is that of the header.
	// +required
	Name ChangedHeader `json:"name"`
	// value is text that may hold %[req.hdr(NAME)] and %[ssl_c_der], each with ,lower
	// and ,base64, and %% for a percent sign, as in spec.httpHeaders of Routes.
	//
	// +required
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^(?:%(?:%|(?:\{[-+]?[QXE](?:,[-+]?[QXE])*\})?\[(?:req\.hdr\([0-9A-Za-z-]+\)|ssl_c_der)(?:,(?:lower|base64))*\])|[^%[:cntrl:]])+$`
	Value string `json:"value"`
}

// ResponseHeaders are changed in the order set, add, remove.
//
// +kubebuilder:validation:MinProperties=1
type ResponseHeaders struct {
	// set replaces all values of a header, or adds the header.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Set []ResponseHeader `json:"set,omitempty"`
	// add adds a value to those of the pod.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Add []ResponseHeader `json:"add,omitempty"`
	// remove removes all values of a header.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Remove []ChangedHeader `json:"remove,omitempty"`
}

// ResponseHeader is a header with its value.
type ResponseHeader struct {
	// name is that of the header.
	// +required
	Name ChangedHeader `json:"name"`
	// value is text that may hold %[res.hdr(NAME)] and %[ssl_c_der], each with ,lower
	// and ,base64, and %% for a percent sign, as in spec.httpHeaders of Routes.
	//
	// +required
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^(?:%(?:%|(?:\{[-+]?[QXE](?:,[-+]?[QXE])*\})?\[(?:res\.hdr\([0-9A-Za-z-]+\)|ssl_c_der)(?:,(?:lower|base64))*\])|[^%[:cntrl:]])+$`
	Value string `json:"value"`
}
