package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotation is one row of the table: an annotation of Routes that the router
// reads (Ingresses may have it too, because the operator copies it). The reference
// documentation is generated from it.
type Annotation struct {
	Key string
	// Group is that of policies which the annotation is a part of, for groups of which
	// one source wins whole; else empty.
	Group Group
	// Values says what may stand there, for documentation and findings.
	Values string
	// Default is what holds without the annotation.
	Default string
	// Terminations lists where it applies: "plain", "edge", "reencrypt", "passthrough".
	Terminations []string
	// Doc is one sentence on the effect.
	Doc string
	// OfServices is true if Services may have it, too, for all Routes to them. It protects
	// nothing, and is a part of a group.
	OfServices bool

	// set parses a value. An error leaves the default in place, unless the
	// annotation protects something: then no request of the object reaches a pod.
	// It is nil for the lists of addresses, which are read together.
	set func(*Spec, string) error
	// protects is nil for what protects nothing, and sees what the rows before
	// ask for.
	protects func(*Spec) bool
	// wrong says what an invalid value of what protects nothing leads to, and does
	// it; where it is nil, the default holds.
	wrong func(*Spec) (effect string)
	// demands is true for what a route must not be served without: where its
	// termination leaves no room for it, nothing gets through.
	demands bool
	// limit rows count only where limits are switched on, by a row before them.
	limit bool
}

// Annotations returns the table.
func Annotations() []Annotation { return slices.Clone(table) }

// Known reports whether the table has a key.
func Known(key string) bool {
	return slices.ContainsFunc(table, func(a Annotation) bool { return a.Key == key })
}

var (
	all  = []string{"passthrough", "plain", "edge", "reencrypt"}
	http = []string{"plain", "edge", "reencrypt"}
	tls  = []string{"edge", "reencrypt"}
)

// RedirectStatus is the annotation with the status of the redirect to https.
const RedirectStatus = "fairlead.dev/redirect-status"

var table = []Annotation{
	balanceRow,
	hashByRow,
	retriesRow,
	retryOnRow,
	{
		Key: api.AnnotationTimeout, Group: GroupTimeouts, Values: "time such as 500ms, 5s, 2m", Default: "30s", Terminations: all,
		Doc: "How long a server may take to answer. With passthrough: as timeout-tunnel, where that is not set.",
		set: setTimeout(func(t *v1alpha1.Timeouts) *v1alpha1.Timeout { return &t.Response }),
	},
	{
		Key: api.AnnotationTimeoutTunnel, Group: GroupTimeouts, Values: "time", Default: "1h", Terminations: all,
		Doc: "How long an upgraded connection, such as a WebSocket, or a passthrough connection may be idle.",
		set: setTimeout(func(t *v1alpha1.Timeouts) *v1alpha1.Timeout { return &t.Tunnel }),
	},
	{
		Key: AnnotationConnectTimeout, OfServices: true, Group: GroupTimeouts, Values: "time", Default: "that of the IngressController, else 5s", Terminations: http,
		Doc: "How long an attempt to connect to a pod may take (HAProxy 3.4).",
		set: setTimeout(func(t *v1alpha1.Timeouts) *v1alpha1.Timeout { return &t.Connect }),
	},
	{
		Key: AnnotationIdleTimeout, Group: GroupTimeouts, Values: "time", Default: "as timeout", Terminations: http,
		Doc: "How long a pod may pause within an answer that has begun.",
		set: setTimeout(func(t *v1alpha1.Timeouts) *v1alpha1.Timeout { return &t.Idle }),
	},
	{
		Key: api.AnnotationPodConnections, Values: "whole number, 0 for no limit", Default: "0", Terminations: all,
		Doc: "Concurrent connections to one endpoint, for each router replica; more wait in a queue.",
		set: func(s *Spec, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > maxMaxConn {
				return fmt.Errorf("must be a whole number from 0 to %d", maxMaxConn)
			}
			s.MaxConn = n
			return nil
		},
	},
	{
		Key: api.AnnotationCheckInterval, Values: "time, 1s or longer", Default: "5s", Terminations: all,
		Doc: "Time between health checks of a route with several endpoints.",
		set: func(s *Spec, v string) (err error) {
			s.CheckInterval, err = api.ParseTime(v)
			return err
		},
	},
	healthTypeRow,
	healthPathRow,
	{
		Key: api.AnnotationAllowlist, Values: "addresses and CIDRs, separated by spaces", Default: "everybody", Terminations: all,
		Doc:      "Only these clients are served; others get 403 (passthrough: a closed connection).",
		protects: always,
	},
	{
		Key: api.AnnotationWhitelist, Values: "as ip_allowlist", Terminations: all,
		Doc:      "Older name of ip_allowlist.",
		protects: always,
	},
	{
		Key: AnnotationAllow, Values: "addresses and CIDRs, separated by spaces or commas", Default: "everybody", Terminations: all,
		Doc:      "Only these clients are served, as by ip_allowlist; of both lists, a client must be in each.",
		protects: always,
	},
	{
		Key: AnnotationDeny, Values: "addresses and CIDRs, separated by spaces or commas", Default: "none", Terminations: all,
		Doc:      "These clients get 403 (passthrough: a closed connection), whatever list admits them.",
		protects: always, set: setDeny,
	},
	{
		Key: api.AnnotationIngressPolicy, Values: "groups of a RoutePolicy, as JSON", Default: "none", Terminations: http,
		Doc:      "What annotations of other Ingress controllers ask for, on Routes of an Ingress. The operator writes it; write a RoutePolicy instead.",
		protects: always, demands: true, set: setIngressPolicy,
	},
	disableCookiesRow,
	cookieNameRow,
	cookieSameSiteRow,
	clientCARow,
	clientCertificateRow,
	{
		Key: AnnotationBasicSecret, Values: "name of a Secret", Default: "none", Terminations: http,
		Doc:      "Clients need a user and a password of this Secret (key auth: a file of htpasswd).",
		protects: always, demands: true, set: setBasicSecret,
	},
	{
		Key: AnnotationBasicRealm, Values: "text", Default: "Restricted", Terminations: http,
		Doc: "What browsers show when they ask for the password of fairlead.dev/basic-secret.",
		set: setBasicRealm,
	},
	{
		Key: AnnotationAuthURL, Values: "SERVICE/PATH, SERVICE:PORT/PATH or an address that a ClusterRoutePolicy allows", Default: "none", Terminations: http,
		Doc:      "This server is asked about each request; it goes on if the answer is 2xx.",
		protects: always, demands: true, set: setAuthURL,
	},
	{
		Key: AnnotationAuthSignIn, Values: "address with http:// or https://", Default: "none", Terminations: http,
		Doc: "Clients that the server of fairlead.dev/auth-url answers with 401 are redirected there.",
		set: setAuthSignIn,
	},
	{
		Key: AnnotationAuthResponseHeaders, Values: "names of headers, separated by spaces or commas", Default: "none", Terminations: http,
		Doc:      "Headers of the answer of fairlead.dev/auth-url that pods get, in place of the client's.",
		protects: always, set: setAuthResponseHeaders,
	},
	{
		Key: AnnotationAuthCache, Values: "time, 1h at most", Default: "none", Terminations: http,
		Doc: "For how long an answer of fairlead.dev/auth-url that lets a request on holds for the same Authorization header.",
		set: setAuthCache,
	},
	{
		Key: AnnotationSatisfy, Values: "All or Any", Default: "All", Terminations: http,
		Doc: "With Any, a password, the auth server, or an address in the allow-list of the same object is enough.",
		set: setSatisfy,
	},
	{
		Key: AnnotationRedirect, Group: GroupRedirects, Values: "path, or address with http:// or https://", Default: "none", Terminations: http,
		Doc: "All requests get this address in place of an answer of a pod.",
		set: setRedirect,
	},
	redirectPatternRow,
	{
		Key: AnnotationRedirectCode, Group: GroupRedirects, Values: "301, 302, 303, 307 or 308", Default: "302", Terminations: http,
		Doc: "Status of the redirects by fairlead.dev/redirect and fairlead.dev/redirect-pattern.",
		set: setRedirectCode,
	},
	{
		Key: AnnotationAppRoot, Group: GroupRedirects, Values: "path", Default: "none", Terminations: http,
		Doc: "A request for / is redirected to this path, with 302.",
		set: setAppRoot,
	},
	wwwRow,
	{
		Key: AnnotationCORSCredentials, Group: GroupCORS, Values: "true or false", Default: "false", Terminations: http,
		Doc: "Whether pages of the origins of fairlead.dev/cors-origins may send cookies and Authorization.",
		set: setCORSCredentials,
	},
	{
		Key: AnnotationCORSOrigins, Group: GroupCORS, Values: "origins, separated by spaces or commas; https://*.DOMAIN or * for several", Default: "left to the pods", Terminations: http,
		Doc: "Pages of these origins may read answers (CORS). The router answers preflights.",
		set: setCORSOrigins, wrong: noOrigin,
	},
	canaryRow,
	mirrorRow,
	downloadRow,
	uploadRow,
	errorPagesRow,
	{
		Key: AnnotationMaintenance, Group: GroupMaintenance, Values: "true, false, or when it ends, such as 2027-01-31T06:00:00Z", Default: "false", Terminations: http,
		Doc: "All requests get a page with 503 in place of an answer of a pod.",
		set: setMaintenance,
	},
	{
		Key: AnnotationAccessLog, Group: GroupLog, Values: "true, false, or a percentage such as 10%", Default: "true", Terminations: http,
		Doc: "Which requests are written to the access log, where the IngressController has one.",
		set: setAccessLog,
	},
	{
		Key: AnnotationMaxBody, Values: "bytes, or a number with Ki, Mi or Gi; 0 for no limit", Default: "no limit", Terminations: http,
		Doc:      "Larger bodies of requests get 413, and those that do not say their length 411.",
		protects: always, set: setMaxBody,
	},
	maxURIRow,
	{
		Key: AnnotationLimit, Values: "rate such as 20/s, 100/m or 1000/h, and burst, such as 20/s burst 40", Default: "no limit; a burst as large as the rate", Terminations: http,
		Doc:      "Requests of one client; more get 429 with Retry-After. Each router replica counts by itself, unless fairlead.dev/limit-scope is Shared.",
		protects: always, set: setLimit,
	},
	{
		Key: AnnotationLimitKey, Values: "address, consumer, header:NAME, cookie:NAME, query:NAME or claim:NAME", Default: "address", Terminations: http,
		Doc:      "What fairlead.dev/limit counts by; consumer and claim are known after authentication. Requests without are counted by their address.",
		protects: (*Spec).hasLimit, set: setLimitKey,
	},
	{
		Key: AnnotationLimitScope, Values: "Replica or Shared", Default: "Replica", Terminations: http,
		Doc:      "Who counts fairlead.dev/limit: each router replica by itself, or all of them together.",
		protects: (*Spec).hasLimit, set: setLimitScope,
	},
	{
		Key: api.AnnotationLimit, Values: "true or false", Default: "false", Terminations: all,
		Doc:      "Turns the three limits below on. They count per client address and router replica.",
		protects: always, set: func(s *Spec, v string) (err error) {
			s.limit, err = parseBool(v)
			return err
		},
	},
	{
		Key: api.AnnotationLimitConcurrent, Values: "whole number", Default: "no limit", Terminations: all,
		Doc:   "Requests at the same time (passthrough: connections).",
		limit: true, protects: (*Spec).limited, set: func(s *Spec, v string) (err error) {
			s.Limits.Concurrent, err = parseLimit(v)
			return err
		},
	},
	{
		Key: api.AnnotationLimitRateTCP, Values: "whole number", Default: "no limit", Terminations: all,
		Doc:   "Requests in 3 seconds (passthrough: connections).",
		limit: true, protects: (*Spec).limited, set: func(s *Spec, v string) (err error) {
			s.Limits.Connections, err = parseLimit(v)
			return err
		},
	},
	{
		Key: api.AnnotationLimitRateHTTP, Values: "whole number", Default: "no limit", Terminations: http,
		Doc:   "Requests in 10 seconds; more get 429.",
		limit: true, protects: (*Spec).limited, set: func(s *Spec, v string) (err error) {
			s.Limits.Requests, err = parseLimit(v)
			return err
		},
	},
	{
		Key: api.AnnotationHSTS, Values: "max-age=SECONDS, with includeSubDomains and preload if wanted", Default: "none", Terminations: tls,
		Doc: "Strict-Transport-Security header of answers over TLS (RFC 6797).",
		set: func(s *Spec, v string) error {
			hsts, ok := parseHSTS(v)
			if !ok {
				return errors.New("must have max-age=SECONDS and may have includeSubDomains and preload, separated by ;")
			}
			s.HSTS = hsts
			return nil
		},
	},
	{
		Key: api.AnnotationRewrite, Group: GroupRewrite, Values: "path", Default: "none", Terminations: http,
		Doc: "Replaces spec.path at the beginning of the request's path.",
		set: func(s *Spec, v string) error {
			if err := checkRewrite(v); err != nil {
				return err
			}
			s.setRewrite(func(r *v1alpha1.Rewrite) { r.Prefix, r.Full, r.Regex = halvedPercents(v), "", nil })
			return nil
		},
	},
	patternRow,
	{
		Key: AnnotationHost, Group: GroupRewrite, Values: "host name", Default: "the client's", Terminations: http,
		Doc: "The Host header that pods get. X-Forwarded-Host keeps the client's.",
		set: func(s *Spec, v string) error {
			if err := checkPodHost(v); err != nil {
				return err
			}
			s.setRewrite(func(r *v1alpha1.Rewrite) { r.Host = v })
			return nil
		},
	},
	{
		Key: api.AnnotationAdjustCase, Values: "true or false", Default: "false", Terminations: http,
		Doc: "Writes header names to pods as the IngressController's spec.httpHeaders.headerNameCaseAdjustments lists them (HTTP/1 only).",
		set: func(s *Spec, v string) (err error) {
			s.AdjustCase, err = parseBool(v)
			return err
		},
	},
	{
		Key: api.AnnotationForwarded, Values: "append, replace, if-none or never", Default: "that of the IngressController, else append", Terminations: http,
		Doc: "What happens to Forwarded and X-Forwarded headers.",
		set: oneOf(func(s *Spec) *model.Forwarded { return &s.Forwarded },
			model.ForwardedAppend, model.ForwardedReplace, model.ForwardedIfNone, model.ForwardedNever),
	},
	{
		Key: api.AnnotationPathType, Values: "Prefix, Exact, Regex, RegexIgnoreCase or Default", Default: "Prefix", Terminations: http,
		Doc: "How spec.path matches: as whole segments that a path begins with, as the whole path, or as a regular expression for its beginning. Default, without a path: whatever no other route of the namespace serves at this host.",
		set: func(s *Spec, v string) error {
			switch v {
			case "Prefix", api.PathTypeRegex, api.PathTypeRegexIgnoreCase: // which the door reads
			case "Exact":
				s.Exact = true
			case "Default":
				s.Fallback = true
			default:
				return errors.New("must be Prefix, Exact, Regex, RegexIgnoreCase or Default")
			}
			return nil
		},
	},
	{
		Key: RedirectStatus, Group: GroupRedirects, Values: "301, 302, 303, 307 or 308", Default: "302", Terminations: []string{"edge", "reencrypt", "passthrough"},
		Doc: "Status of the redirect to https, where insecureEdgeTerminationPolicy is Redirect. Browsers keep 301 and 308; a form is sent again with 307 and 308 only.",
		set: func(s *Spec, v string) error {
			code, err := parseRedirectCode(v)
			if err == nil {
				s.setRedirects(func(r *v1alpha1.Redirects) {
					https := v1alpha1.RedirectHTTPS{Code: code}
					if r.HTTPS != nil {
						https.Port = r.HTTPS.Port
					}
					r.HTTPS = &https
				})
			}
			return err
		},
	},
	{
		Key: api.AnnotationPolicy, Values: "name of a RoutePolicy of the namespace", Default: "none", Terminations: all,
		Doc:      "A RoutePolicy that applies, as one that names the route does. Paths answer 503 while no policy has that name.",
		protects: always, set: func(_ *Spec, v string) error {
			if len(validation.IsDNS1123Subdomain(v)) > 0 {
				return errors.New("must be the name of a RoutePolicy")
			}
			return nil
		},
	},
	metricsRow,
	objectivesRow,
	// What these two say is read before: it decides about the host, and the router.
	{
		Key: api.AnnotationAnyHost, Values: "true", Default: "false", Terminations: http,
		Doc: "Answers for all hosts that no route names, in place of spec.host; the IngressController must allow wildcards.",
		set: func(_ *Spec, v string) error {
			if v != "true" && v != "false" {
				return errors.New("must be true or false")
			}
			return nil
		},
	},
	{
		Key: api.AnnotationServerName, Values: "host name", Terminations: []string{"reencrypt"},
		Default:  "not checked; with the router's own CA SERVICE.NAMESPACE.svc",
		Doc:      "The name that the pods' certificate must have, sent to them as server name.",
		protects: always, set: func(s *Spec, v string) error {
			if len(validation.IsDNS1123Subdomain(v)) > 0 {
				return errors.New("must be a host name in lower case")
			}
			s.ServerName = v
			return nil
		},
	},
	{
		Key: api.AnnotationIngressController, Values: "name of an IngressController", Default: "all that select the route", Terminations: all,
		Doc: "The only IngressController whose routers serve the route.",
		set: func(*Spec, string) error { return nil },
	},
}
