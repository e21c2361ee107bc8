package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PolicySpec is what a policy asks for, in groups. A group that is set takes part
// in merging as a whole: which policy wins, or how several combine, is the same for
// all fields of a group. An empty PolicySpec changes nothing.
type PolicySpec struct {
	// access says which clients are admitted, by their address.
	// +optional
	Access *Access `json:"access,omitempty"`
	// authentication says how clients show who they are. The policy of the highest
	// rank wins whole; two of equal rank close the paths.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`
	// authorization says what clients may do. The policy of the highest rank wins whole;
	// two of equal rank close the paths.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`
	// redirects answers requests with another address, before any pod is asked.
	// +optional
	Redirects *Redirects `json:"redirects,omitempty"`
	// cors answers and completes requests of browsers from other origins.
	// +optional
	CORS *CORS `json:"cors,omitempty"`
	// rewrite changes path and host of the requests that pods get.
	// +optional
	Rewrite *Rewrite `json:"rewrite,omitempty"`
	// headers change headers of requests and answers.
	// +optional
	Headers *Headers `json:"headers,omitempty"`
	// cookies change attributes of the cookies that pods set.
	// +optional
	Cookies *Cookies `json:"cookies,omitempty"`
	// location changes where redirects of pods lead.
	// +optional
	Location *Location `json:"location,omitempty"`
	// limits bound what clients may send. Limits of several policies all apply.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// timeouts bound how long the router waits for clients and pods.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// retries say how often a request is tried again.
	// +optional
	Retries *Retries `json:"retries,omitempty"`
	// health says how the router finds out which pods answer.
	// +optional
	Health *Health `json:"health,omitempty"`
	// loadBalancing says how pods share requests.
	// +optional
	LoadBalancing *LoadBalancing `json:"loadBalancing,omitempty"`
	// affinity keeps the requests of a client at one pod.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`
	// upstream says how routers speak to pods.
	// +optional
	Upstream *Upstream `json:"upstream,omitempty"`
	// canary sends some requests to other Services.
	// +optional
	Canary *Canary `json:"canary,omitempty"`
	// firewall judges requests by the OWASP core rule set. Firewalls of several policies
	// all apply.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`
	// fault delays some requests, or answers them with an error, to see what clients make
	// of it.
	// +optional
	Fault *Fault `json:"fault,omitempty"`
	// mirror sends copies of requests to other servers.
	// +optional
	Mirror *Mirror `json:"mirror,omitempty"`
	// bandwidth slows the bodies of requests and answers down.
	// +optional
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	// pages are what clients get in place of error answers.
	// +optional
	Pages *Pages `json:"pages,omitempty"`
	// maintenance answers all requests with a page in place of the pods.
	// +optional
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	// log says which requests are written to the access log, where the
	// IngressController has one.
	// +optional
	Log *RequestLog `json:"log,omitempty"`
	// tracing gives requests a trace, where the IngressController says where traces are sent.
	// +optional
	Tracing *Tracing `json:"tracing,omitempty"`
}

// CIDR is a network such as 198.18.0.0/15 or fd00::/8, or a single address.
//
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self) || isIP(self)",message="must be an address or a CIDR"
type CIDR string

// Duration is a whole number with a unit: us, ms, s, m, h or d.
//
// +kubebuilder:validation:MaxLength=12
// +kubebuilder:validation:Pattern=`^[0-9]{1,9}(us|ms|s|m|h|d)$`
type Duration string

// Timeout is a whole number with a unit: ms, s, m or h. It is 576h at most.
//
// +kubebuilder:validation:MaxLength=12
// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,8}(ms|s|m|h)$`
// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('576h')",message="must be at most 576h"
type Timeout string

// Access admits clients by their address. deny beats allow, whichever policy has it.
// Of several policies with allow, a client must be in each list.
//
// +kubebuilder:validation:MinProperties=1
type Access struct {
	// allow admits only these clients; others get 403 (passthrough: a closed
	// connection).
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	Allow []CIDR `json:"allow,omitempty"`
	// deny refuses these clients with 403 (passthrough: a closed connection).
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	Deny []CIDR `json:"deny,omitempty"`
}

// Redirects are tried in the order appRoot, rules; the first that matches answers.
//
// +kubebuilder:validation:MinProperties=1
type Redirects struct {
	// rules are tried in their order.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Rules []RedirectRule `json:"rules,omitempty"`
	// appRoot is where a request for / is redirected to, with 302.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	AppRoot string `json:"appRoot,omitempty"`
	// https says how plain HTTP is redirected to https, where the Route asks for it.
	// +optional
	HTTPS *RedirectHTTPS `json:"https,omitempty"`
	// www has the Route answer for a second host, whose requests are redirected to its own
	// with 308: with Strip for www.HOST beside HOST, with Add for HOST beside www.HOST.
	//
	// +optional
	// +kubebuilder:validation:Enum=Add;Strip
	WWW string `json:"www,omitempty"`
}

// RedirectRule redirects the requests that it matches.
//
// +kubebuilder:validation:XValidation:rule="!has(self.to.regexPath) || has(self.match) && self.match.type == 'Regex'",message="regexPath needs a match of type Regex"
// +kubebuilder:validation:XValidation:rule="!has(self.to.prefix) || !has(self.match) || self.match.type != 'Regex'",message="prefix does not go with a match of type Regex; set regexPath"
type RedirectRule struct {
	// match says which requests are redirected; without it all are.
	// +optional
	Match *RedirectMatch `json:"match,omitempty"`
	// to is where they are redirected to.
	// +required
	To RedirectTarget `json:"to"`
	// code is the status: 301, 302, 303, 307 or 308. The default is 302.
	//
	// +optional
	// +kubebuilder:default=302
	// +kubebuilder:validation:Enum=301;302;303;307;308
	Code int32 `json:"code,omitempty"`
	// query says what happens to the query of the request: Keep or Drop. The default
	// is Keep, and Drop with to.url.
	//
	// +optional
	// +kubebuilder:validation:Enum=Keep;Drop
	Query string `json:"query,omitempty"`
}

// RedirectMatch says which requests a rule is for.
type RedirectMatch struct {
	// path is compared with the path of the request. With the type Regex it is a regular
	// expression of RE2, which is applied at the beginning of the path, and is at most 512
	// bytes long.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path"`
	// type is Exact, Prefix for the path and all below it, in whole segments, or Regex. The
	// default is Prefix.
	//
	// +optional
	// +kubebuilder:default=Prefix
	// +kubebuilder:validation:Enum=Exact;Prefix;Regex
	Type string `json:"type,omitempty"`
}

// RedirectTarget is an address: url, or what is to change in that of the request.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != (has(self.scheme) || has(self.host) || has(self.port) || has(self.path) || has(self.prefix) || has(self.regexPath))",message="set url, or one of scheme, host, port, path, prefix and regexPath at least"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || !has(self.prefix)",message="set path or prefix, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.regexPath) || !has(self.path) && !has(self.prefix)",message="set one of path, prefix and regexPath"
type RedirectTarget struct {
	// url is a whole address, or a path.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https?://[!-~]+|/[!-~]*)$`
	URL string `json:"url,omitempty"`
	// scheme is http or https.
	//
	// +optional
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// host is a host name.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Host string `json:"host,omitempty"`
	// port is the port of the address.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// path replaces the whole path.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// prefix replaces match.path at the beginning of the path.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Prefix string `json:"prefix,omitempty"`
	// regexPath replaces the whole path where match.type is Regex: $1 to $9 stand for captures
	// of the expression, $$ for a dollar sign. No capture can name another host.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[/$][!-~]*$`
	RegexPath string `json:"regexPath,omitempty"`
}

// RedirectHTTPS says how plain HTTP is redirected to https.
type RedirectHTTPS struct {
	// code is the status: 301, 302, 303, 307 or 308. The default is 302.
	//
	// +optional
	// +kubebuilder:default=302
	// +kubebuilder:validation:Enum=301;302;303;307;308
	Code int32 `json:"code,omitempty"`
	// port stands in the address; without it there is none, which means 443.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// CORS says which pages of other origins may read answers (the CORS protocol of the
// Fetch standard). A preflight is answered by the router with 204. Headers of the
// pod's own with the same names are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.credentials) || !self.credentials || !self.origins.exists(o, o == '*')",message="credentials needs origins other than *"
type CORS struct {
	// origins are those admitted: exact ones such as https://shop.example.com:8443,
	// https://*.example.com for all subdomains of one label, or * for all. The
	// origin "null" never matches.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=300
	// +kubebuilder:validation:items:Pattern=`^(\*|https?://(\*\.)?[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?)$`
	Origins []string `json:"origins"`
	// methods are those that a preflight admits. The default is GET, PUT, POST,
	// DELETE, PATCH, OPTIONS.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Z]+$`
	Methods []string `json:"methods,omitempty"`
	// headers are the request headers that a preflight admits. The default is DNT,
	// Keep-Alive, User-Agent, X-Requested-With, If-Modified-Since, Cache-Control,
	// Content-Type, Range, Authorization.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	Headers []string `json:"headers,omitempty"`
	// expose are the response headers that pages may read.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern="^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	Expose []string `json:"expose,omitempty"`
	// credentials admits cookies and Authorization. It needs origins other than *.
	// The default is false.
	//
	// +optional
	Credentials bool `json:"credentials,omitempty"`
	// maxAge is how long a browser may remember the answer to a preflight: 24h at
	// most, which is the default.
	//
	// +optional
	MaxAge Duration `json:"maxAge,omitempty"`
	// preflight is Answer, or Forward to let the pod answer preflights. The default
	// is Answer.
	//
	// +optional
	// +kubebuilder:default=Answer
	// +kubebuilder:validation:Enum=Answer;Forward
	Preflight string `json:"preflight,omitempty"`
}

// Timeouts bound how long the router waits for pods. A field that is not set is the
// IngressController's.
//
// +kubebuilder:validation:MinProperties=1
type Timeouts struct {
	// connect bounds each attempt to connect to a pod. It needs HAProxy 3.4.
	// +optional
	Connect Timeout `json:"connect,omitempty"`
	// response is how long a pod may take until its answer begins, and pause within
	// it where idle is not set.
	// +optional
	Response Timeout `json:"response,omitempty"`
	// idle is how long a pod may pause within an answer that has begun. The default is
	// response.
	// +optional
	Idle Timeout `json:"idle,omitempty"`
	// tunnel is how long an upgraded connection, such as a WebSocket, or a passthrough
	// connection may be idle.
	// +optional
	Tunnel Timeout `json:"tunnel,omitempty"`
	// queue is how long a request may wait for a connection to a pod, where those are
	// limited. It needs HAProxy 3.4.
	// +optional
	Queue Timeout `json:"queue,omitempty"`
}

// Maintenance answers requests in place of the pods.
type Maintenance struct {
	// enabled turns it on. The default is false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// until is when it ends by itself, such as 2027-01-31T06:00:00Z; without it, it does not
	// end. Until then, Retry-After says how long that is, unless retryAfter does.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// exempt are clients that reach the pods all the same.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Exempt []CIDR `json:"exempt,omitempty"`
	// retryAfter is sent as Retry-After, in seconds; without it and until there is none.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	RetryAfter int32 `json:"retryAfter,omitempty"`
}
