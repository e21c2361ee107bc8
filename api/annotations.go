package api

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Annotation describes one annotation that the router reads from Routes (and,
// because they are copied, from Ingresses). The registry generates the
// reference documentation.
type Annotation struct {
	Key string
	// Values says what may stand there, for documentation and findings.
	Values string
	// Default is what holds without the annotation.
	Default string
	// Terminations lists where it applies: "plain", "edge", "reencrypt", "passthrough".
	Terminations []string
	// Doc is one sentence on the effect.
	Doc string
}

// Keys of Route annotations.
const (
	AnnotationBalance        = "haproxy.router.openshift.io/balance"
	AnnotationDisableCookies = "haproxy.router.openshift.io/disable_cookies"
	AnnotationCookieName     = "router.openshift.io/cookie_name"
	AnnotationCookieSameSite = "router.openshift.io/cookie-same-site"
	AnnotationTimeout        = "haproxy.router.openshift.io/timeout"
	AnnotationTimeoutTunnel  = "haproxy.router.openshift.io/timeout-tunnel"
	AnnotationPodConnections = "haproxy.router.openshift.io/pod-concurrent-connections"
	AnnotationCheckInterval  = "router.openshift.io/haproxy.health.check.interval"
	AnnotationAllowlist      = "haproxy.router.openshift.io/ip_allowlist"
	// AnnotationWhitelist is the older name of AnnotationAllowlist, read only
	// where that one is missing.
	AnnotationWhitelist       = "haproxy.router.openshift.io/ip_whitelist"
	AnnotationLimit           = "haproxy.router.openshift.io/rate-limit-connections"
	AnnotationLimitConcurrent = AnnotationLimit + ".concurrent-tcp"
	AnnotationLimitRateTCP    = AnnotationLimit + ".rate-tcp"
	AnnotationLimitRateHTTP   = AnnotationLimit + ".rate-http"
	AnnotationHSTS            = "haproxy.router.openshift.io/hsts_header"
	AnnotationRewrite         = "haproxy.router.openshift.io/rewrite-target"
	AnnotationAdjustCase      = "haproxy.router.openshift.io/h1-adjust-case"
	AnnotationForwarded       = "haproxy.router.openshift.io/set-forwarded-headers"
)

// RouteAnnotations returns the registry of annotations that the router reads.
func RouteAnnotations() []Annotation {
	http := []string{"plain", "edge", "reencrypt"}
	all := append([]string{"passthrough"}, http...)
	return []Annotation{
		{AnnotationBalance, "roundrobin, leastconn, source or random", "random with one weighted service (source for passthrough), else roundrobin", all, "How servers share the requests."},
		{AnnotationDisableCookies, "true or false", "false", http, "Turns the sticky cookie off."},
		{AnnotationCookieName, "letters, digits, _ and -", "a hash of namespace and name", http, "Name of the sticky cookie."},
		{AnnotationCookieSameSite, "Lax, Strict or None", "None", []string{"edge", "reencrypt"}, "SameSite attribute of the sticky cookie where plain HTTP is not allowed."},
		{AnnotationTimeout, "time such as 500ms, 5s, 2m", "30s", all, "How long a server may take to answer. With passthrough: as timeout-tunnel, where that is not set."},
		{AnnotationTimeoutTunnel, "time", "1h", all, "How long an upgraded connection, such as a WebSocket, or a passthrough connection may be idle."},
		{AnnotationPodConnections, "whole number, 0 for no limit", "0", all, "Concurrent connections to one endpoint, for each router replica; more wait in a queue."},
		{AnnotationCheckInterval, "time, 1s or longer", "5s", all, "Time between health checks of a route with several endpoints."},
		{AnnotationAllowlist, "addresses and CIDRs, parted by blanks", "everybody", all, "Only these clients are served; others get 403 (passthrough: a closed connection)."},
		{AnnotationWhitelist, "as ip_allowlist", "", all, "Older name of ip_allowlist."},
		{AnnotationLimit, "true or false", "false", all, "Turns the three limits below on. They count per client address and router replica."},
		{AnnotationLimitConcurrent, "whole number", "no limit", all, "Requests at the same time (passthrough: connections)."},
		{AnnotationLimitRateTCP, "whole number", "no limit", all, "Requests in 3 seconds (passthrough: connections)."},
		{AnnotationLimitRateHTTP, "whole number", "no limit", http, "Requests in 10 seconds; more get 429."},
		{AnnotationHSTS, "max-age=SECONDS, with includeSubDomains and preload if wanted", "none", []string{"edge", "reencrypt"}, "Strict-Transport-Security header of answers over TLS (RFC 6797)."},
		{AnnotationRewrite, "path", "none", http, "Replaces spec.path at the beginning of the request's path."},
		{AnnotationAdjustCase, "true or false", "false", http, "Writes header names to pods as the IngressController's spec.httpHeaders.headerNameCaseAdjustments lists them (HTTP/1 only)."},
		{AnnotationForwarded, "append, replace, if-none or never", "that of the IngressController, else append", http, "What happens to Forwarded and X-Forwarded headers."},
		{AnnotationPathType, "Prefix, Exact or Default", "Prefix", http, "How spec.path matches. Default, without a path: whatever no other route of the namespace serves at this host."},
		{AnnotationAnyHost, "true", "false", http, "Answers for all hosts that no route names, in place of spec.host; the IngressController must allow wildcards."},
		{AnnotationServerName, "host name", "not checked; with the router's own CA SERVICE.NAMESPACE.svc", []string{"reencrypt"}, "The name that the pods' certificate must have, sent to them as server name."},
		{AnnotationIngressController, "name of an IngressController", "all that select the route", all, "The only IngressController whose routers serve the route."},
	}
}

var timeText = regexp.MustCompile(`^([1-9][0-9]*)(us|ms|s|m|h|d)?$`)

// maxTime is HAProxy's largest time: 2^31-1 milliseconds, about 24.8 days.
const maxTime = time.Duration(math.MaxInt32) * time.Millisecond

// ParseTime reads a time as HAProxy writes it: a positive whole number and one
// of the units us, ms, s, m, h, d; without unit it counts milliseconds. Longer
// times than HAProxy can hold are cut to its maximum.
func ParseTime(text string) (time.Duration, error) {
	m := timeText.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not a time such as 500ms, 5s or 2m", text)
	}
	unit := map[string]time.Duration{
		"us": time.Microsecond, "ms": time.Millisecond, "": time.Millisecond,
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}[m[2]]
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > int64(maxTime/unit) {
		return maxTime, nil //nolint:nilerr // too many digits is just a very long time
	}
	return time.Duration(n) * unit, nil
}
