package stack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// maxRules is how many rules a security group has; one is for ICMP.
const maxRules = 60

// Check returns what is wrong with a Service, beside the values of single
// annotations, which Read has looked at. It asks nobody.
func Check(spec *hook.Spec, s Settings) []hook.FieldProblem {
	c := checker{spec: spec, s: s}
	c.fields()
	c.addresses()
	c.combinations()
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
	application := s.Kind == hook.KindApplication
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
	application := s.Kind == hook.KindApplication
	if application && s.Proxy {
		c.annotation("proxy-protocol", "an application load balancer knows no PROXY protocol; clients are in X-Forwarded-For")
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
	check := HealthCheckOf(c.spec, s, hook.Port{})
	if check.Timeout > check.Interval {
		c.annotation("healthcheck-timeout", "%d s is more than the interval of %d s", check.Timeout, check.Interval)
	}
	if p := s.Check.Port; p != "" && p != trafficPort && c.checkPort(p) == 0 {
		c.annotation("healthcheck-port", "is neither traffic-port, nor a number, nor the name of a port of the Service")
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
		case p.Protocol == "UDP" && c.s.Kind == hook.KindApplication:
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
