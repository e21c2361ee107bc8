package stack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Dialect writes and reads the annotations of AWS's controllers, which webhooks
// understand too. It implements hook.Dialect.
type Dialect struct {
	// AnyPlatform is for a webhook: it serves other platforms too, so that a Service
	// without parameters gets no annotation of AWS but the one for its scheme.
	AnyPlatform bool
}

// Platform implements hook.Dialect.
func (d Dialect) Platform() string {
	if d.AnyPlatform {
		return ""
	}
	return "AWS"
}

// Annotations implements hook.Dialect. They are what OpenShift writes for AWS,
// with two things more: TLS ends at the load balancer on the port https only, and
// the load balancer encrypts to the router again, if an administrator names a
// certificate.
func (d Dialect) Annotations(w hook.Wish) map[string]string {
	a := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			a[balancerPrefix+key] = value
		}
	}
	if w.Scheme == hook.SchemeInternal {
		set("internal", "true")
	}
	if d.AnyPlatform && !w.Detailed {
		return a
	}
	set("type", "nlb")
	set("healthcheck-interval", "10")
	set("healthcheck-timeout", "4")
	set("healthcheck-healthy-threshold", "2")
	set("healthcheck-unhealthy-threshold", "2")
	set("ssl-ports", "https")
	set("backend-protocol", "ssl")
	set("eip-allocations", strings.Join(w.Allocations, ","))
	set("subnets", strings.Join(w.Subnets, ","))
	set("security-groups", strings.Join(w.SecurityGroups, ","))
	if w.IdleTimeout > 0 {
		set("connection-idle-timeout", strconv.Itoa(int(w.IdleTimeout.Round(time.Second).Seconds())))
	}
	set("target-group-attributes", fmt.Sprintf("preserve_client_ip.enabled=%t,proxy_protocol_v2.enabled=%t", !w.ProxyProtocol, w.ProxyProtocol))
	return a
}

// Front implements hook.Dialect.
func (d Dialect) Front(annotations map[string]string) hook.Front {
	f := hook.Front{EndsTLS: endsTLS(annotations), Reuses: ApplicationIdle(annotations)}
	if groups := annotations[balancerPrefix+"security-groups"]; groups != "" {
		f.SecurityGroups = strings.Split(groups, ",")
	}
	return f
}

// endsTLS reports whether a load balancer ends TLS on the port of HTTPS.
func endsTLS(annotations map[string]string) bool {
	if annotations[balancerPrefix+"type"] == "alb" {
		return true
	}
	if annotations[balancerPrefix+"ssl-cert"] == "" {
		return false
	}
	ports := strings.FieldsFunc(annotations[balancerPrefix+"ssl-ports"], func(r rune) bool { return r == ',' || r == ' ' })
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p string) bool { return p == "*" || p == "https" || p == "443" })
}
