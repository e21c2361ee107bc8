package v1alpha1

// Cookies changes attributes of the cookies that pods set, for pods that do not know
// under which address clients see them. Names and values stay.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.sameSite) || self.sameSite != 'None' || has(self.secure) && self.secure",message="sameSite None needs secure"
type Cookies struct {
	// path replaces the beginning of the paths of cookies.
	// +optional
	Path *CookiePath `json:"path,omitempty"`
	// domain replaces a domain of cookies.
	// +optional
	Domain *CookieDomain `json:"domain,omitempty"`
	// secure has browsers send all cookies over TLS only.
	// +optional
	Secure bool `json:"secure,omitempty"`
	// sameSite of all cookies: Lax, Strict or None.
	//
	// +optional
	// +kubebuilder:validation:Enum=Lax;Strict;None
	SameSite string `json:"sameSite,omitempty"`
}

// CookiePath replaces the beginning of a path. Other paths stay.
type CookiePath struct {
	// from is what the path begins with.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9!$%&()*+,./:=@_~-]*$`
	From string `json:"from"`
	// to stands in its place.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9!$%&()*+,./:=@_~-]*$`
	To string `json:"to"`
}

// CookieDomain replaces a domain. Others stay.
type CookieDomain struct {
	// from is the domain that pods write, without regard to case and to a dot before it.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	From string `json:"from"`
	// to stands in its place.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	To string `json:"to"`
}

// Location replaces the beginning of the header Location of answers of pods, which is
// where redirects lead. Others stay.
type Location struct {
	// from is what the header begins with: a path, or an address with http:// or https://.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https?://|/)[!-~]*$`
	From string `json:"from"`
	// to stands in its place.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https?://|/)[!-~]*$`
	To string `json:"to"`
}
