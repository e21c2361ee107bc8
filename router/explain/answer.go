package explain

import (
	"time"

	"github.com/fairlead/fairlead/api"
)

// Schemas of the JSON forms. A change that takes away or renames a field gets
// a new number; new fields do not.
const (
	SchemaExplain = "fairlead.dev/explain/v1"
	SchemaWhy     = "fairlead.dev/why/v1"
	SchemaLint    = "fairlead.dev/lint/v1"
	SchemaRender  = "fairlead.dev/render/v1"
	SchemaCheck   = "fairlead.dev/render-check/v1"
	SchemaCerts   = "fairlead.dev/certs/v1"
	SchemaDiff    = "fairlead.dev/diff/v1"
)

// Explanation is the answer to "what becomes of this request".
type Explanation struct {
	Schema string `json:"schema"`
	URL    string `json:"url"`
	// Router is the name of the IngressController.
	Router   string   `json:"router"`
	Listener Listener `json:"listener"`
	// Gateway is the one whose address is asked, as "namespace/name", and GatewayRoute the
	// route that decides there, with its rule; empty for the router's own ports.
	Gateway      string `json:"gateway,omitempty"`
	GatewayRoute string `json:"gatewayRoute,omitempty"`
	// Host and Path are as the tables are asked for them.
	Host string `json:"host"`
	Path string `json:"path"`
	// SNI is the server name of the TLS hello.
	SNI string `json:"sni,omitempty"`
	// Certificate is what a TLS client is shown.
	Certificate *Certificate `json:"certificate,omitempty"`
	// HTTP2 says whether the client is offered HTTP/2.
	HTTP2 bool `json:"http2,omitempty"`
	// Route decides the request; nil if none does.
	Route *RouteInfo `json:"route,omitempty"`
	// Backend is the name on HAProxy's statistics page.
	Backend string `json:"backend,omitempty"`
	// Branch says which of its backends the route's canary chose; nil without a canary.
	Branch   *Branch  `json:"branch,omitempty"`
	Policies []Policy `json:"policies,omitempty"`
	// PodPath is the path that the pod sees, if it is another one.
	PodPath string `json:"podPath,omitempty"`
	// EndpointsKnown is false if the endpoints could not be read, or the
	// manifests have none.
	EndpointsKnown bool       `json:"endpointsKnown"`
	Endpoints      []Endpoint `json:"endpoints,omitempty"`
	// Served requests reach an endpoint.
	Served bool   `json:"served"`
	Result Result `json:"result"`
	// Others are the other routes of the host, and why they do not decide.
	Others   []Other   `json:"others,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Next     []string  `json:"next,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Listener is where the request enters.
type Listener struct {
	// Name is "http", "https" or "passthrough"; of a Gateway the listener's.
	Name string `json:"name"`
	Port int    `json:"port"`
}

// Certificate describes a served certificate.
type Certificate struct {
	// Source is "route", "default", "pod" (passthrough) or "unknown".
	Source string `json:"source"`
	// Route brings the certificate, if a route does.
	Route   string     `json:"route,omitempty"`
	Subject string     `json:"subject,omitempty"`
	Names   []string   `json:"names,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Expired bool       `json:"expired,omitempty"`
	// Covers says whether clients accept the certificate for the name.
	Covers *bool  `json:"covers,omitempty"`
	Note   string `json:"note,omitempty"`
}

// RouteInfo names a route and what it claims.
type RouteInfo struct {
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Host        string     `json:"host,omitempty"`
	Path        string     `json:"path,omitempty"`
	Exact       bool       `json:"exact,omitempty"`
	Termination string     `json:"termination,omitempty"`
	Insecure    string     `json:"insecure,omitempty"`
	Created     *time.Time `json:"created,omitempty"`
	// Ingress made the route, if one did.
	Ingress string `json:"ingress,omitempty"`
	// File is where the manifest stands.
	File string `json:"file,omitempty"`
	// Hidden says that it takes the place of routes that the user may not see (Within): it has
	// no name, and no page.
	Hidden bool `json:"-"`
}

// Policy is one setting that is in force for the request.
type Policy struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is the annotation or field, or "default".
	Source string `json:"source"`
	Doc    string `json:"doc,omitempty"`
}

// Endpoint is one server of the backend.
type Endpoint struct {
	// Name is the server's name on HAProxy's statistics page.
	Name    string `json:"name"`
	Address string `json:"address"`
	Weight  int    `json:"weight"`
	// Share is the percentage of requests without sticky cookie.
	Share float64 `json:"share"`
	// Sticky endpoints get this request because of its cookie.
	Sticky bool `json:"sticky,omitempty"`
}

// Result is what the client gets.
type Result struct {
	// Status is the HTTP status that the router itself answers, or 0 if the
	// request goes on to an endpoint or the connection is closed.
	Status   int    `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
	Text     string `json:"text"`
	// Policy is the group of policies that answers, as the access log names it.
	Policy string `json:"policy,omitempty"`
}

// Other is a route that does not decide the request.
type Other struct {
	Route RouteInfo `json:"route"`
	// Code is one of the Lost constants, or the Reason of a finding.
	Code string `json:"code"`
	Why  string `json:"why"`
}

// Codes of the reasons why a route of the host does not decide a request.
const (
	LostOtherPath   = "OtherPath"
	LostShorterPath = "ShorterPath"
	LostPrefix      = "ExactPathGoesFirst"
	LostConditions  = "ConditionsGoFirst"
	LostWildcard    = "ExactHostGoesFirst"
	LostNoTLS       = "NoTLS"
	LostPassthrough = "Passthrough"
	LostTerminates  = "TLSEndsAtRouter"
	LostNotSelected = "NotSelected"
)

// Finding is api.Finding with what it means.
type Finding struct {
	Object   string       `json:"object"`
	File     string       `json:"file,omitempty"`
	Field    string       `json:"field,omitempty"`
	Reason   api.Reason   `json:"reason"`
	Severity api.Severity `json:"severity"`
	Message  string       `json:"message"`
	Effect   string       `json:"effect,omitempty"`
	Cause    string       `json:"cause,omitempty"`
	Remedy   string       `json:"remedy,omitempty"`
}
