package v1alpha1

// OIDCAuthentication has browsers log in at an OpenID provider: by the authorization
// code flow with PKCE. The session is in encrypted cookies of the client; pods never get
// them. Routes need TLS.
type OIDCAuthentication struct {
	// issuer of the ID tokens, exactly as the provider writes it. Its discovery document
	// is read below it. A RoutePolicy may name only hosts within guard.externalURLs of a
	// ClusterRoutePolicy.
	//
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	Issuer string `json:"issuer"`
	// clientID is the name under which the provider knows the application.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	ClientID string `json:"clientID"`
	// clientSecret is the Secret that has the client's password under the key
	// client-secret. Without it the client is a public one.
	//
	// +optional
	ClientSecret ObjectReference `json:"clientSecret,omitempty"`
	// scopes are asked for besides openid. A refresh token often needs offline_access.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern="^[!#-\\[\\]-~]+$"
	Scopes []string `json:"scopes,omitempty"`
	// audiences are values of aud, besides clientID, of which an ID token must have one.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Audiences []string `json:"audiences,omitempty"`
	// redirectPath is where the provider sends browsers back to, with the request's host.
	// It must be below the Route's path. The default is the Route's path and
	// oauth2/callback.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9._~/-]+$`
	RedirectPath string `json:"redirectPath,omitempty"`
	// logoutPath ends the session, here and at the provider. It must be below the Route's
	// path. The default is the Route's path and oauth2/logout. At logoutPath/backchannel the
	// provider reports logouts (OpenID Connect Back-Channel Logout).
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^/[A-Za-z0-9._~/-]+$`
	LogoutPath string `json:"logoutPath,omitempty"`
	// postLogoutRedirect is where a browser goes after its logout: a path of the host, or
	// an address with https. The default is a short text.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/|https://)[!-~]*$`
	PostLogoutRedirect string `json:"postLogoutRedirect,omitempty"`
	// login is what a request without a session gets: a redirect to the provider, or 401
	// if a program makes it and not a user who opens a page. Redirect is for all. The
	// default is 401ForXHR.
	//
	// +optional
	// +kubebuilder:default="401ForXHR"
	// +kubebuilder:validation:Enum=Redirect;"401ForXHR"
	Login string `json:"login,omitempty"`
	// cookie is about the cookies of the session.
	// +optional
	Cookie *SessionCookie `json:"cookie,omitempty"`
	// refresh renews a session by its refresh token before its tokens end; a session that
	// the provider does not renew ends. The default is true.
	//
	// +optional
	// +kubebuilder:default=true
	Refresh *bool `json:"refresh,omitempty"`
	// claimsToHeaders writes claims of the ID token into headers for the pod. What a
	// client sends in them is removed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClaimsToHeaders []ClaimHeader `json:"claimsToHeaders,omitempty"`
	// forward gives the pod the tokens. They are kept in the cookie then, which has room
	// for 10 KiB.
	//
	// +optional
	Forward *ForwardTokens `json:"forward,omitempty"`
	// skip are paths that need no session, each with all paths below it.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^/[!-~]*$`
	Skip []string `json:"skip,omitempty"`
	// endpoints are used in place of those of the discovery document. With authorization,
	// token and jwks, that is not read.
	//
	// +optional
	Endpoints *OIDCEndpoints `json:"endpoints,omitempty"`
	// pkce is S256, which each login uses (RFC 7636).
	//
	// +optional
	// +kubebuilder:validation:Enum=S256
	PKCE string `json:"pkce,omitempty"`
	// caSecret has under the key ca.crt the certificates that the provider's must descend
	// from. The default is those that the router's image trusts.
	//
	// +optional
	CASecret ObjectReference `json:"caSecret,omitempty"`
}

// SessionCookie is about the cookies of a session. They are always Secure and HttpOnly.
//
// +kubebuilder:validation:MinProperties=1
type SessionCookie struct {
	// name of the cookie after __Host-fl-, or __Secure-fl- with a domain. The default
	// is a hash of the policy.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]+$`
	Name string `json:"name,omitempty"`
	// domain shares the session with all hosts below it that have the same policy. The
	// default is the host alone.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	Domain string `json:"domain,omitempty"`
	// sameSite is Lax, Strict or None. The default is Lax.
	//
	// +optional
	// +kubebuilder:validation:Enum=Lax;Strict;None
	SameSite string `json:"sameSite,omitempty"`
	// maxAge is when a user has to log in again, from 5m to 23h. The default is 8h.
	// +optional
	MaxAge Duration `json:"maxAge,omitempty"`
	// idle ends a session that is not used, from 1m to maxAge. The default is 1h.
	// +optional
	Idle Duration `json:"idle,omitempty"`
}

// ForwardTokens names the headers that tokens are written into for the pod. Authorization
// gets them after "Bearer ".
//
// +kubebuilder:validation:MinProperties=1
type ForwardTokens struct {
	// accessToken is the header of the access token.
	// +optional
	AccessToken HeaderName `json:"accessToken,omitempty"`
	// idToken is the header of the ID token.
	// +optional
	IDToken HeaderName `json:"idToken,omitempty"`
}

// OIDCEndpoints are addresses of a provider. A RoutePolicy may name only hosts within
// guard.externalURLs of a ClusterRoutePolicy.
//
// +kubebuilder:validation:MinProperties=1
type OIDCEndpoints struct {
	// authorization is where browsers log in.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	Authorization string `json:"authorization,omitempty"`
	// token is where the router exchanges codes for tokens.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	Token string `json:"token,omitempty"`
	// jwks is where the router reads the provider's keys.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	JWKS string `json:"jwks,omitempty"`
	// endSession is where browsers log out.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	EndSession string `json:"endSession,omitempty"`
	// revocation is where the router ends refresh tokens at a logout (RFC 7009).
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	Revocation string `json:"revocation,omitempty"`
}
