package route

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// options are what a route's annotations ask for.
type options struct {
	balance        model.Balance
	disableCookies bool
	cookieName     string
	sameSite       string
	timeout        time.Duration
	tunnel         time.Duration
	maxConn        int
	checkInterval  time.Duration
	exact          bool
	fallback       bool
	adjustCase     bool
	forwarded      model.Forwarded
	hsts           string
	rewrite        string
	restricted     bool
	allow          []netip.Prefix
	limit          bool
	limits         model.Limits
	serverName     string
}

// setter parses one annotation. An error leaves the default in place, unless
// the annotation protects something: then the route is refused.
type setter struct {
	key string
	set func(*options, string) error
	// protective is nil for what protects nothing, and sees what the
	// annotations before this one ask for.
	protective func(*options) bool
}

func always(*options) bool { return true }

// limited reports whether limits are switched on.
func (o *options) limited() bool { return o.limit }

var setters = []setter{
	{key: api.AnnotationBalance, set: func(o *options, v string) error {
		switch b := model.Balance(v); b {
		case model.RoundRobin, model.LeastConn, model.SourceHash, model.Random:
			o.balance = b
			return nil
		}
		return errors.New("must be roundrobin, leastconn, source or random")
	}},
	{key: api.AnnotationDisableCookies, set: func(o *options, v string) (err error) {
		o.disableCookies, err = parseBool(v)
		return err
	}},
	{key: api.AnnotationCookieName, set: func(o *options, v string) error {
		if !cookieName.MatchString(v) {
			return errors.New("must consist of letters, digits, _ and -")
		}
		o.cookieName = v
		return nil
	}},
	{key: api.AnnotationCookieSameSite, set: func(o *options, v string) error {
		switch v {
		case "Lax", "Strict", "None":
			o.sameSite = v
			return nil
		}
		return errors.New("must be Lax, Strict or None")
	}},
	{key: api.AnnotationTimeout, set: func(o *options, v string) (err error) {
		o.timeout, err = api.ParseTime(v)
		return err
	}},
	{key: api.AnnotationTimeoutTunnel, set: func(o *options, v string) (err error) {
		o.tunnel, err = api.ParseTime(v)
		return err
	}},
	{key: api.AnnotationPodConnections, set: func(o *options, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > maxMaxConn {
			return fmt.Errorf("must be a whole number from 0 to %d", maxMaxConn)
		}
		o.maxConn = n
		return nil
	}},
	{key: api.AnnotationCheckInterval, set: func(o *options, v string) (err error) {
		o.checkInterval, err = api.ParseTime(v)
		return err
	}},
	{key: api.AnnotationPathType, set: func(o *options, v string) error {
		switch v {
		case "Exact":
			o.exact = true
			return nil
		case "Default":
			o.fallback = true
			return nil
		case "Prefix":
			return nil
		}
		return errors.New("must be Prefix, Exact or Default")
	}},
	// What these say is read before: it decides about the host, and the router.
	{key: api.AnnotationAnyHost, set: func(_ *options, v string) error {
		if v != "true" && v != "false" {
			return errors.New("must be true or false")
		}
		return nil
	}},
	{key: api.AnnotationIngressController, set: func(*options, string) error { return nil }},
	{key: api.AnnotationForwarded, set: func(o *options, v string) error {
		switch f := model.Forwarded(v); f {
		case model.ForwardedAppend, model.ForwardedReplace, model.ForwardedIfNone, model.ForwardedNever:
			o.forwarded = f
			return nil
		}
		return errors.New("must be append, replace, if-none or never")
	}},
	{key: api.AnnotationAdjustCase, set: func(o *options, v string) (err error) {
		o.adjustCase, err = parseBool(v)
		return err
	}},
	{key: api.AnnotationHSTS, set: func(o *options, v string) error {
		hsts, ok := parseHSTS(v)
		if !ok {
			return errors.New("must have max-age=SECONDS and may have includeSubDomains and preload, separated by ;")
		}
		o.hsts = hsts
		return nil
	}},
	{key: api.AnnotationRewrite, set: func(o *options, v string) error {
		if len(v) > maxPath || !rewriteText.MatchString(v) {
			return errors.New("must be a path that begins with / and holds only visible ASCII characters without \" ' # ? | and backslash")
		}
		o.rewrite = percentRuns.ReplaceAllStringFunc(v, func(run string) string {
			if len(run)%2 == 0 {
				return run[:len(run)/2]
			}
			return run
		})
		return nil
	}},
	{key: api.AnnotationServerName, protective: always, set: func(o *options, v string) error {
		if len(validation.IsDNS1123Subdomain(v)) > 0 {
			return errors.New("must be a host name in lower case")
		}
		o.serverName = v
		return nil
	}},
	{key: api.AnnotationLimit, protective: always, set: func(o *options, v string) (err error) {
		o.limit, err = parseBool(v)
		return err
	}},
	{key: api.AnnotationLimitConcurrent, protective: (*options).limited, set: func(o *options, v string) (err error) {
		o.limits.Concurrent, err = parseLimit(v)
		return err
	}},
	{key: api.AnnotationLimitRateTCP, protective: (*options).limited, set: func(o *options, v string) (err error) {
		o.limits.Connections, err = parseLimit(v)
		return err
	}},
	{key: api.AnnotationLimitRateHTTP, protective: (*options).limited, set: func(o *options, v string) (err error) {
		o.limits.Requests, err = parseLimit(v)
		return err
	}},
}

var (
	// rewriteText keeps out what cannot stand in a path, and "|", which parts
	// the fields of a policy record.
	rewriteText = regexp.MustCompile(`^/[!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`)
	// percentRuns are percent signs in rewrite targets. As OpenShift's router
	// has it, an even number of them stands for half as many.
	percentRuns = regexp.MustCompile(`%+`)
)

func parseLimit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxMaxConn || v[0] == '+' {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", maxMaxConn)
	}
	return n, nil
}

// Allowlist reads addresses and CIDRs, parted by blanks. Bad items are returned
// apart: each admits nobody. An error means that the list cannot be used.
func Allowlist(v string) (allow []netip.Prefix, bad []string, err error) {
	for item := range strings.FieldsSeq(v) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, addrErr := netip.ParseAddr(item)
			if addrErr != nil || addr.Zone() != "" {
				bad = append(bad, item)
				continue
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			bad = append(bad, item)
			continue
		}
		allow = append(allow, prefix.Masked())
	}
	switch {
	case len(allow) == 0:
		err = errors.New("holds no IP address or CIDR; remove it to admit everybody")
	case len(allow) > maxAllow:
		err = fmt.Errorf("holds more than %d addresses", maxAllow)
	}
	return allow, bad, err
}

// maxMaxConn is far above what one backend.Endpoint can take, and below any limit of HAProxy.
const maxMaxConn = 1_000_000

var cookieName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func parseBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

// readAnnotations parses the annotations that the router knows. It reports
// false if one that protects something cannot be used.
func (b *builder) readAnnotations(c *model.Claim) (options, bool) {
	o := options{sameSite: "None", checkInterval: cmp.Or(b.settings.CheckInterval, 5*time.Second), forwarded: b.settings.Forwarded}
	// What protects has nothing to do where nobody gets through, so it is no
	// reason to refuse the route, which would give its path to others.
	ok, closed := true, Closed(b.route)
	for _, s := range setters {
		v, set := b.route.Annotations[s.key]
		if !set || s.protective != nil && closed {
			continue
		}
		keep := o
		err := s.set(&o, v)
		switch {
		case err == nil && !applies(s.key, c.Termination):
			b.ignored(s, "has no effect with "+terminationName(c.Termination)+" termination")
		case err == nil && !o.limit && limits[s.key]:
			b.ignored(s, "has no effect without "+api.AnnotationLimit+`: "true"`)
		case err == nil:
		case s.protective != nil && s.protective(&keep):
			ok = b.refuse("metadata.annotations["+s.key+"]", api.ReasonInvalidAnnotation, err.Error())
		default:
			o = keep
			b.find(api.SeverityWarning, "metadata.annotations["+s.key+"]", api.ReasonInvalidAnnotation, err.Error(), effectDefault)
		}
	}
	if !o.limit {
		o.limits = model.Limits{}
	}
	return o, (closed || b.allowlist(&o)) && ok
}

// limits are the annotations that count only together with AnnotationLimit,
// which setters has before them.
var limits = map[string]bool{api.AnnotationLimitConcurrent: true, api.AnnotationLimitRateTCP: true, api.AnnotationLimitRateHTTP: true}

// ignored tells of an annotation that is right and changes nothing. One that
// is meant to protect is more than a hint.
func (b *builder) ignored(s setter, why string) {
	severity := api.SeverityInfo
	if s.protective != nil {
		severity = api.SeverityWarning
	}
	b.find(severity, "metadata.annotations["+s.key+"]", api.ReasonAnnotationIgnored, why, "")
}

// applies reports whether routes with a termination have any use for an
// annotation.
func applies(key string, t model.Termination) bool {
	return !slices.Contains(useless[terminationName(t)], key)
}

func terminationName(t model.Termination) string { return cmp.Or(string(t), "plain") }

// useless are the annotations without effect, by termination.
var useless = uselessAnnotations(api.RouteAnnotations())

func uselessAnnotations(all []api.Annotation) map[string][]string {
	out := map[string][]string{}
	for _, t := range []model.Termination{model.Plain, model.Edge, model.Reencrypt, model.Passthrough} {
		for _, a := range all {
			if !slices.Contains(a.Terminations, terminationName(t)) {
				out[terminationName(t)] = append(out[terminationName(t)], a.Key)
			}
		}
	}
	return out
}

// allowlist reads the addresses that a route admits. What it cannot read
// admits nobody; a list of nothing else is refused.
func (b *builder) allowlist(o *options) bool {
	key, v := allowlistOf(b.route)
	if key == "" {
		return true
	}
	if v == "" {
		b.find(api.SeverityWarning, "metadata.annotations["+key+"]", api.ReasonAnnotationIgnored, "is empty", "everybody is admitted")
		return true
	}
	var bad []string
	var err error
	o.restricted = true
	o.allow, bad, err = Allowlist(v)
	field := "metadata.annotations[" + key + "]"
	switch {
	case err != nil:
		return b.refuse(field, api.ReasonInvalidAnnotation, err.Error())
	case len(bad) > 0:
		b.find(api.SeverityWarning, field, api.ReasonInvalidAnnotation,
			fmt.Sprintf("%q is not an IP address or CIDR", bad[0]), "it admits nobody; the other items count")
	}
	return true
}

// allowlistOf returns the annotation that lists the addresses that a route
// admits, and its value, or nothing if there is none.
func allowlistOf(r *routev1.Route) (key, value string) {
	v, set := r.Annotations[api.AnnotationAllowlist]
	if w := r.Annotations[api.AnnotationWhitelist]; strings.TrimSpace(v) == "" && strings.TrimSpace(w) != "" {
		return api.AnnotationWhitelist, w
	}
	if !set {
		return "", ""
	}
	return api.AnnotationAllowlist, v
}

// maxAllow bounds the map entries of one route: up to eight for each item.
const maxAllow = 2000

// defaultCookieName is what OpenShift's router calls a route's cookie.
func defaultCookieName(k model.Key) string {
	return backend.MD5(" " + k.Namespace + ":" + k.Name)
}
