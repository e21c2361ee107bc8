package stack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// maxRules is how many rules a security group has; one is for ICMP.
const maxRules = 60

// Check returns what is wrong with a Service, beside the values of single
// annotations, which Read has looked at. It asks no other program.
func Check(spec *hook.Spec, s Settings) []hook.FieldProblem {
	c := checker{spec: spec, s: s}
	c.fields()
	c.addresses()
	c.combinations()
	c.logs()
	c.attributes()
	c.ports()
	c.sources()
	return c.problems
}

type checker struct {
	spec     *hook.Spec
	s        Settings
	problems []hook.FieldProblem
}

func (c *checker) wrong(field, value, format string, args ...any) {
	c.problems = append(c.problems, hook.FieldProblem{Field: field, Value: value, Message: fmt.Sprintf(format, args...)})
}

// annotation reports a problem with the annotation of a suffix.
func (c *checker) annotation(suffix, format string, args ...any) {
	c.wrong(balancerPrefix+suffix, c.spec.Annotations[balancerPrefix+suffix], format, args...)
}

// kind is the kind of load balancer that is asked for.
func (c *checker) kind() hook.Kind {
	return cmp.Or(c.s.Kind, c.spec.Kind, hook.KindNetwork)
}

func (c *checker) application() bool { return c.kind() == hook.KindApplication }

func (c *checker) fields() {
	if ip := c.spec.LoadBalancerIP; ip != "" {
		c.wrong("spec.loadBalancerIP", ip, "AWS gives no chosen addresses this way; use %s", balancerPrefix+"eip-allocations")
	}
	if len(c.spec.Ports) == 0 {
		c.wrong("spec.ports", "", "a load balancer needs a port")
	}
}

// addresses looks at the addresses that are asked for.
func (c *checker) addresses() {
	s := c.s
	inside := s.Scheme == hook.SchemeInternal
	application := c.application()
	if n := len(s.Allocations); n > 0 {
		switch {
		case application:
			c.annotation("eip-allocations", "an application load balancer has no fixed addresses")
		case inside:
			c.annotation("eip-allocations", "an internal load balancer has no Elastic IP addresses")
		case len(s.Subnets) > 0 && n != len(s.Subnets):
			c.annotation("eip-allocations", "names %d addresses for %d subnets", n, len(s.Subnets))
		}
	}
	if n := len(s.PrivateIPs); n > 0 {
		switch {
		case application || !inside:
			c.annotation("private-ipv4-addresses", "only an internal network load balancer has chosen private addresses")
		case n != len(s.Subnets):
			c.annotation("private-ipv4-addresses", "names %d addresses for %d subnets; name both, in the same order", n, len(s.Subnets))
		}
	}
}

// combinations looks at annotations that do not go together.
func (c *checker) combinations() {
	s := c.s
	application := c.application()
	if application && s.Proxy {
		c.annotation("proxy-protocol", noProxy)
	}
	if application && s.IdleTimeout > maxApplicationIdle {
		c.annotation("connection-idle-timeout", "an application load balancer waits %d seconds at most", maxApplicationIdle)
	}
	if s.ACL != "" && !application {
		c.wrong("fairlead.dev/aws-wafv2-acl-arn", s.ACL, "only an application load balancer has a web ACL: set %stype to alb", balancerPrefix)
	}
	if len(s.ExtraGroups) > 0 && len(s.SecurityGroups) > 0 {
		c.annotation("extra-security-groups", "add it to %ssecurity-groups instead", balancerPrefix)
	}
	if s.ALPN != "" && s.ALPN != "None" && len(s.Certificates) == 0 {
		c.annotation("alpn-policy", "ALPN needs a TLS listener: set %sssl-cert", balancerPrefix)
	}
	if onlyIPv6 := len(c.spec.IPFamilies) == 1 && c.spec.IPFamilies[0] == "IPv6"; onlyIPv6 && s.TargetType == "ip" && s.AddressType != "dualstack" {
		c.annotation("ip-address-type", "the Service has IPv6 alone, and targets by IPv6 need dualstack")
	}
	check := HealthCheckOf(c.spec, s, hook.Port{})
	if check.Timeout > check.Interval {
		c.annotation("healthcheck-timeout", "%d s is more than the interval of %d s", check.Timeout, check.Interval)
	}
	if p := s.Check.Port; p != "" && p != trafficPort && c.checkPort(p) == 0 {
		c.annotation("healthcheck-port", "is neither traffic-port, nor a number, nor the name of a port of the Service")
	}
}

// noProxy is why an application load balancer has no PROXY protocol: a router
// that waits for it would refuse every connection.
const noProxy = "an application load balancer knows no PROXY protocol; clients are in X-Forwarded-For"

// maxApplicationIdle is in seconds.
const maxApplicationIdle = 4000

// logs looks at what access logs need.
func (c *checker) logs() {
	a := c.s.BalancerAttributes
	if a["access_logs.s3.enabled"] == "true" && a["access_logs.s3.bucket"] == "" {
		c.wrong(c.named("access-log-enabled", "attributes"), "true", "access logs need a bucket: set %saccess-log-s3-bucket-name", balancerPrefix)
	}
	for _, logs := range []string{"connection_logs", "health_check_logs"} {
		if a[logs+".s3.enabled"] == "true" && a[logs+".s3.bucket"] == "" {
			c.annotation("attributes", "%s.s3.enabled needs %s.s3.bucket", logs, logs)
		}
	}
}

// named returns the key of the first of some annotations that is there.
func (c *checker) named(suffixes ...string) string {
	for _, suffix := range suffixes {
		if _, ok := c.spec.Annotations[balancerPrefix+suffix]; ok {
			return balancerPrefix + suffix
		}
	}
	return balancerPrefix + suffixes[len(suffixes)-1]
}

// attributes looks for attributes that this kind of load balancer has not.
func (c *checker) attributes() {
	kind := c.kind()
	for _, key := range slices.Sorted(maps.Keys(c.s.BalancerAttributes)) {
		v := c.s.BalancerAttributes[key]
		field := c.named("attributes")
		if key == "load_balancing.cross_zone.enabled" {
			field = c.named("cross-zone-load-balancing-enabled", "attributes")
		}
		if _, has := balancerAttributesOf(kind)[key]; !has {
			c.wrong(field, v, "a load balancer of type %s has no attribute %s", kind, key)
		} else if c.application() && key == "load_balancing.cross_zone.enabled" && v != "true" {
			c.wrong(field, v, "an application load balancer always uses all zones; set it for its target groups instead")
		}
	}
	c.groupAttributes("target-group-attributes", c.s.GroupAttributes)
	for _, port := range slices.Sorted(maps.Keys(c.s.PortGroupAttributes)) {
		c.groupAttributes("target-group-attributes."+port, c.s.PortGroupAttributes[port])
		if !slices.ContainsFunc(c.spec.Ports, func(p hook.Port) bool { return strconv.Itoa(int(p.Port)) == port }) {
			c.annotation("target-group-attributes."+port, "the Service has no port %s", port)
		}
	}
}

func (c *checker) groupAttributes(suffix string, all map[string]string) {
	known := groupAttributesOf(c.kind())
	merged := maps.Clone(c.s.GroupAttributes)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, all)
	if all["stickiness.type"] == "app_cookie" && merged["stickiness.app_cookie.cookie_name"] == "" {
		c.annotation(suffix, "stickiness.type app_cookie needs stickiness.app_cookie.cookie_name")
	}
	if all["load_balancing.algorithm.anomaly_mitigation"] == "on" && merged["load_balancing.algorithm.type"] != "weighted_random" {
		c.annotation(suffix, "load_balancing.algorithm.anomaly_mitigation needs load_balancing.algorithm.type=weighted_random")
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		check, has := known[key]
		switch v := all[key]; {
		case c.application() && key == "preserve_client_ip.enabled", c.application() && key == "proxy_protocol_v2.enabled" && v == "false":
			// What the operator writes for every router. It is left out.
		case c.application() && key == "proxy_protocol_v2.enabled":
			c.annotation(suffix, noProxy)
		case !has:
			c.annotation(suffix, "target groups of a load balancer of type %s have no attribute %s", c.kind(), key)
		default:
			if err := check(v); err != nil {
				c.annotation(suffix, "the attribute %s: %q %v", key, v, err)
			}
		}
	}
}

// checkPort returns the number that a health check port means, or 0.
func (c *checker) checkPort(p string) int32 {
	if n, err := strconv.ParseUint(p, 10, 16); err == nil && n > 0 {
		return int32(n)
	}
	i := slices.IndexFunc(c.spec.Ports, func(sp hook.Port) bool { return sp.Name == p })
	if i < 0 {
		return 0
	}
	return max(c.spec.Ports[i].NodePort, c.spec.Ports[i].TargetPort, 1)
}

func (c *checker) ports() {
	for i, p := range c.spec.Ports {
		field := fmt.Sprintf("spec.ports[%d]", i)
		switch {
		case p.Protocol != "TCP" && p.Protocol != "UDP":
			c.wrong(field+".protocol", p.Protocol, "AWS's load balancers know TCP and UDP")
		case p.Protocol == "UDP" && c.application():
			c.wrong(field+".protocol", p.Protocol, "an application load balancer knows HTTP only")
		case p.NodePort == 0 && c.s.TargetType != "ip":
			c.wrong(field+".nodePort", "", "the port has no node port, which target type instance needs: leave spec.allocateLoadBalancerNodePorts unset, or set %snlb-target-type to ip", balancerPrefix)
		}
	}
	for _, name := range c.s.TLSPorts {
		if name != "*" && !slices.ContainsFunc(c.spec.Ports, func(p hook.Port) bool { return isPort(p, name) }) {
			c.annotation("ssl-ports", "the Service has no port %q", name)
		}
	}
	for name := range c.s.ListenerAttributes {
		protocol, number, _ := strings.Cut(name, "-")
		if !slices.ContainsFunc(c.spec.Ports, func(p hook.Port) bool { return isPort(p, number) && (protocol == p.Protocol || protocol == "TLS") }) {
			c.annotation("listener-attributes."+name, "the Service has no such port; the key ends with TCP-443, for example")
		}
	}
}

func isPort(p hook.Port, name string) bool {
	return name != "" && (p.Name == name || strconv.Itoa(int(p.Port)) == name)
}

func (c *checker) sources() {
	for i, r := range c.spec.SourceRanges {
		p, err := parseRange(r)
		field := fmt.Sprintf("spec.loadBalancerSourceRanges[%d]", i)
		switch {
		case err != nil:
			c.wrong(field, r, "%v", err)
		case p.Addr().Is6() && c.s.AddressType != "dualstack":
			c.wrong(field, r, "an IPv6 range needs %sip-address-type: dualstack", balancerPrefix)
		}
	}
	for _, r := range c.s.SourceRanges {
		if p, err := parseRange(r); err == nil && p.Addr().Is6() && c.s.AddressType != "dualstack" && len(c.spec.SourceRanges) == 0 {
			c.wrong(AnnotationPrefix+"load-balancer-source-ranges", r, "an IPv6 range needs %sip-address-type: dualstack", balancerPrefix)
		}
	}
	ranges := sourceRanges(c.spec, c.s)
	if n := (len(ranges)+len(c.s.PrefixLists))*len(c.spec.Ports) + 1; n > maxRules && len(c.s.SecurityGroups) == 0 {
		c.wrong("spec.loadBalancerSourceRanges", "", "%d ranges for %d ports need %d rules; a security group has %d. Merge ranges, or use %ssecurity-group-prefix-lists",
			len(ranges), len(c.spec.Ports), n, maxRules, balancerPrefix)
	}
}

// sourceRanges returns who may connect.
func sourceRanges(spec *hook.Spec, s Settings) []string {
	ranges := spec.SourceRanges
	if len(ranges) == 0 {
		ranges = s.SourceRanges
	}
	if len(ranges) > 0 || len(s.PrefixLists) > 0 {
		var clean []string
		for _, r := range ranges {
			if p, err := parseRange(r); err == nil && !slices.Contains(clean, p.String()) {
				clean = append(clean, p.String())
			}
		}
		return clean
	}
	if s.AddressType == "dualstack" {
		return []string{"0.0.0.0/0", "::/0"}
	}
	return []string{"0.0.0.0/0"}
}
