package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Authentication says how clients show who they are. A request must satisfy all
// methods that are set, unless satisfy says otherwise. What cannot be decided gets
// 503: a missing Secret, an auth server without answer, a policy agent that has ended.
//
// +kubebuilder:validation:XValidation:rule="(has(self.none) && self.none) != (has(self.basic) || has(self.external) || has(self.jwt) || has(self.oidc) || has(self.apiKeys) || has(self.clientCertificate))",message="set at least one of basic, external, jwt, oidc, apiKeys, clientCertificate, or none"
// +kubebuilder:validation:XValidation:rule="!has(self.clientCertificate) || !has(self.satisfy) || self.satisfy != 'Any'",message="clientCertificate holds beside all other methods, so satisfy cannot be Any"
type Authentication struct {
	// satisfy is All, or Any: then one of the methods is enough, or an address in
	// access.allow of the same policy. access.deny and the lists of other policies hold
	// all the same. The default is All.
	//
	// +optional
	// +kubebuilder:default=All
	// +kubebuilder:validation:Enum=All;Any
	Satisfy string `json:"satisfy,omitempty"`
	// none asks for nothing, in place of the authentication of a policy of a lower rank. A
	// ClusterRoutePolicy gives way to it only with optOut: Allowed.
	//
	// +optional
	None bool `json:"none,omitempty"`
	// basic asks for a user and a password (RFC 7617).
	// +optional
	Basic *BasicAuthentication `json:"basic,omitempty"`
	// external asks a Service about each request.
	// +optional
	External *ExternalAuthentication `json:"external,omitempty"`
	// jwt asks for a JSON Web Token.
	// +optional
	JWT *JWTAuthentication `json:"jwt,omitempty"`
	// oidc has browsers log in at an OpenID provider.
	// +optional
	OIDC *OIDCAuthentication `json:"oidc,omitempty"`
	// apiKeys asks for a key of a list.
	// +optional
	APIKeys *APIKeyAuthentication `json:"apiKeys,omitempty"`
	// clientCertificate asks for a certificate in the TLS handshake.
	// +optional
	ClientCertificate *ClientCertificateAuthentication `json:"clientCertificate,omitempty"`
}

// ObjectName is the name of a Secret or Service. For a RoutePolicy the object is in
// its namespace, for a ClusterRoutePolicy in openshift-ingress.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
type ObjectName string

// ObjectReference is NAME, as an ObjectName, or NAMESPACE/NAME. Then a ReferenceGrant of that
// namespace must permit it: from the group fairlead.dev, the kind RoutePolicy and the policy's
// namespace, or the kind ClusterRoutePolicy and openshift-ingress. Without it, the object counts as missing.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`
type ObjectReference string

// HeaderName is the name of a header.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
type HeaderName string

// BasicAuthentication asks for a user and a password. Answers to clients without
// are 401 with WWW-Authenticate.
type BasicAuthentication struct {
	// secret has the users: a file of htpasswd under the key auth, users or .htpasswd,
	// or without these keys a hash for each user under the user's name. Hashes are
	// bcrypt, SHA-512 or SHA-256 crypt, MD5 crypt, {SSHA} or {SHA}. The router needs
	// the right to get, list and watch it.
	//
	// +required
	Secret ObjectReference `json:"secret"`
	// realm is shown by browsers. The default is Restricted.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Realm string `json:"realm,omitempty"`
	// forwardUser is the header that gets the name of the user for the pod. What a
	// client sends in it is removed.
	//
	// +optional
	ForwardUser HeaderName `json:"forwardUser,omitempty"`
	// stripCredentials keeps the Authorization header from the pod. The default is
	// true.
	//
	// +optional
	// +kubebuilder:default=true
	StripCredentials *bool `json:"stripCredentials,omitempty"`
	// maxFailures bounds the wrong passwords of one address. The default is 10 in 1m.
	//
	// +optional
	MaxFailures *FailureLimit `json:"maxFailures,omitempty"`
}

// FailureLimit bounds wrong passwords; further ones get 429.
type FailureLimit struct {
	// count is the most in the time per.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Count int32 `json:"count"`
	// per is the time, up to 1h. The default is 1m.
	// +optional
	Per Duration `json:"per,omitempty"`
}

// ExternalAuthentication asks a server about each request: with its method, address
// and headers, never its body. An answer with 2xx lets the request on; 401, 403, 429
// and redirects go to the client; anything else is 503.
//
// +kubebuilder:validation:XValidation:rule="has(self.service) != has(self.url)",message="set one of service, url"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || !has(self.service.tls) || !self.service.tls || has(self.caSecret)",message="service.tls needs caSecret"
type ExternalAuthentication struct {
	// service is the server, if that is a Service.
	// +optional
	Service *AuthService `json:"service,omitempty"`
	// url is the server, if it is elsewhere. A RoutePolicy may name only hosts within
	// guard.externalURLs of a ClusterRoutePolicy.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[!-~]+$`
	URL string `json:"url,omitempty"`
	// method is GET, or Original for the request's own. The default is GET.
	//
	// +optional
	// +kubebuilder:validation:Enum=GET;Original
	Method string `json:"method,omitempty"`
	// requestHeaders are those of the client that the server gets. The default is all
	// but those about the connection and the body.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	RequestHeaders []HeaderName `json:"requestHeaders,omitempty"`
	// responseHeaders of the server go to the pod. What a client sends in them is
	// removed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ResponseHeaders []HeaderName `json:"responseHeaders,omitempty"`
	// clientHeaders of a refusal go to the client. The default is WWW-Authenticate,
	// Set-Cookie, Location, Content-Type.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClientHeaders []HeaderName `json:"clientHeaders,omitempty"`
	// signIn turns 401 into a redirect.
	// +optional
	SignIn *SignIn `json:"signIn,omitempty"`
	// setCookieAlways lets Set-Cookie of the server reach the client with any status,
	// not only 2xx and 3xx. The default is false.
	// +optional
	SetCookieAlways bool `json:"setCookieAlways,omitempty"`
	// timeout is from 50ms to 5s. The default is 1s.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// cache keeps answers; without it each request is asked about.
	// +optional
	Cache *AuthCache `json:"cache,omitempty"`
	// redirects of the server are Pass or Refuse. The default is Pass.
	//
	// +optional
	// +kubebuilder:validation:Enum=Pass;Refuse
	Redirects string `json:"redirects,omitempty"`
	// caSecret has under the key ca.crt the certificates that the server's must
	// descend from. The default for a url is those that the router's image trusts.
	//
	// +optional
	CASecret ObjectReference `json:"caSecret,omitempty"`
}

// AuthService is where an auth server is asked: at the ready pods of a Service.
type AuthService struct {
	// name of the Service.
	// +required
	Name ObjectName `json:"name"`
	// namespace is that of the Service, if it is another one than the policy's. A ReferenceGrant
	// there must permit it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace ObjectName `json:"namespace,omitempty"`
	// port is the name of a port of the Service, or the number of a port of its pods.
	// It may be left out if there is only one.
	//
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
	// path is where the server is asked, with a query if it needs one. The default is /.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// tls asks by https. The name in the certificate is NAME.NAMESPACE.svc. The
	// default is false.
	//
	// +optional
	TLS bool `json:"tls,omitempty"`
}

// SignIn redirects a client that has to show who it is.
type SignIn struct {
	// url is where to.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[!-~]+$`
	URL string `json:"url"`
	// param is the parameter of the query that gets the address that was asked for.
	// The default is rd.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._~-]+$`
	Param string `json:"param,omitempty"`
}

// AuthCache is for how long answers of an auth server are kept. Cache-Control:
// no-store of the server wins.
//
// +kubebuilder:validation:MinProperties=1
type AuthCache struct {
	// ttl is for answers that let a request on, up to 1h.
	// +optional
	TTL Duration `json:"ttl,omitempty"`
	// negative is for 401 and 403, up to 10s.
	// +optional
	Negative Duration `json:"negative,omitempty"`
	// key are the credentials that answers are kept by: the names of headers, or
	// Cookie: and the name of a cookie. Requests without any of them are always asked
	// about. The default is Authorization. An answer that is kept must not depend on
	// anything else of the request, such as its path.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern="^(Cookie:)?[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	Key []string `json:"key,omitempty"`
}

// JWTAuthentication asks for a JSON Web Token (RFC 7519) of one of some issuers.
type JWTAuthentication struct {
	// issuers are those that are trusted.
	//
	// +required
	// +listType=map
	// +listMapKey=issuer
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Issuers []JWTIssuer `json:"issuers"`
	// from are the places where a token may be. The default is the header
	// Authorization after "Bearer ".
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	From []JWTSource `json:"from,omitempty"`
	// claimsToHeaders writes claims into headers for the pod. What a client sends in
	// them is removed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClaimsToHeaders []ClaimHeader `json:"claimsToHeaders,omitempty"`
	// optional lets requests without any token on; an invalid token is always
	// refused. The default is false.
	//
	// +optional
	Optional bool `json:"optional,omitempty"`
	// forward leaves the token in the request for the pod. The default is true.
	//
	// +optional
	// +kubebuilder:default=true
	Forward *bool `json:"forward,omitempty"`
}

// JWTIssuer is an issuer of tokens, and its keys.
//
// +kubebuilder:validation:XValidation:rule="has(self.secret) != has(self.jwks)",message="set one of secret, jwks"
type JWTIssuer struct {
	// issuer is the claim iss of its tokens.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`
	// audiences are the values of aud of which a token must have one. The default is
	// any, or none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Audiences []string `json:"audiences,omitempty"`
	// secret has the keys under the key jwks: a JSON Web Key Set (RFC 7517).
	//
	// +optional
	Secret ObjectReference `json:"secret,omitempty"`
	// jwks is where the keys are fetched.
	// +optional
	JWKS *RemoteKeys `json:"jwks,omitempty"`
	// algorithms are those that are accepted. The default is RS256, ES256, PS256 and
	// EdDSA.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=12
	// +kubebuilder:validation:items:Enum=RS256;RS384;RS512;ES256;ES384;ES512;PS256;PS384;PS512;EdDSA
	Algorithms []string `json:"algorithms,omitempty"`
	// leeway is how much clocks may differ, up to 5m. The default is 30s.
	// +optional
	Leeway Duration `json:"leeway,omitempty"`
	// maxAge is the oldest iat that is accepted. The default is any.
	// +optional
	MaxAge Duration `json:"maxAge,omitempty"`
}

// RemoteKeys are a JSON Web Key Set that is fetched, again by its Cache-Control, from 1m
// to 24h. A set that cannot be read again is used for 24h more.
type RemoteKeys struct {
	// uri of the key set. A RoutePolicy may name only hosts within guard.externalURLs of
	// a ClusterRoutePolicy.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://[!-~]+$`
	URI string `json:"uri"`
	// caSecret has under the key ca.crt the certificates that the server's must descend
	// from. The default is those that the router's image trusts.
	//
	// +optional
	CASecret ObjectReference `json:"caSecret,omitempty"`
}

// JWTSource is a place where a token may be.
type JWTSource struct {
	// type is Header, Cookie or Query.
	//
	// +required
	// +kubebuilder:validation:Enum=Header;Cookie;Query
	Type string `json:"type"`
	// name is that of the header, cookie or parameter.
	//
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	Name string `json:"name"`
	// prefix stands before the token in a header.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Prefix string `json:"prefix,omitempty"`
}

// ClaimHeader writes a claim into a header.
type ClaimHeader struct {
	// claim is the name of a claim, with dots for those within others.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Claim string `json:"claim"`
	// header gets it.
	// +required
	Header HeaderName `json:"header"`
	// as is Text, Base64 or JSON. The default is Text.
	//
	// +optional
	// +kubebuilder:validation:Enum=Text;Base64;JSON
	As string `json:"as,omitempty"`
}
