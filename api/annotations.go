package api

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

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
