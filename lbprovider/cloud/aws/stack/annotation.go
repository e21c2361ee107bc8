package stack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// AnnotationPrefix is how the keys of AWS's own controllers begin.
const AnnotationPrefix = "service.beta.kubernetes.io/"

const balancerPrefix = AnnotationPrefix + "aws-load-balancer-"

// Annotation is a line of the table of annotations.
type Annotation struct {
	// Key is the whole key. One that ends with a dot is followed by a port.
	Key string
	// Values and Default are for people.
	Values, Default string
	// Doc says what it does, in a few words.
	Doc string
	// parse takes a value over. Rest is what follows Key, if that ends with a dot.
	parse func(s *Settings, value, rest string) error
}

// defaultApplicationIdle is AWS's.
const defaultApplicationIdle = time.Minute

// ApplicationIdle returns how long the application load balancer that a Service
// asks for keeps idle connections to its targets, and sends requests on them. It
// is 0 where annotations ask for no such load balancer.
func ApplicationIdle(annotations map[string]string) time.Duration {
	s, _ := Read(annotations) // Validate reports problems
	if s.Kind != hook.KindApplication {
		return 0
	}
	for _, seconds := range []string{s.BalancerAttributes["idle_timeout.timeout_seconds"], strconv.Itoa(int(s.IdleTimeout))} {
		if n, err := strconv.Atoi(seconds); err == nil && n > 0 {
			return time.Duration(n) * time.Second
		}
	}
	return defaultApplicationIdle
}

// Read returns what the annotations of a Service say, and what is wrong with
// them. An unknown annotation is a warning.
func Read(annotations map[string]string) (Settings, []hook.FieldProblem) {
	var s Settings
	var problems []hook.FieldProblem
	table := Annotations()
	var unknown []string
	// The order of the table decides, so that what it says later wins.
	for _, a := range table {
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			rest, within := strings.CutPrefix(key, a.Key)
			if key != a.Key && (!within || !strings.HasSuffix(a.Key, ".")) {
				continue
			}
			if err := a.parse(&s, strings.TrimSpace(annotations[key]), rest); err != nil {
				problems = append(problems, hook.FieldProblem{Field: key, Value: annotations[key], Message: err.Error()})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, balancerPrefix) && !slices.ContainsFunc(table, func(a Annotation) bool { return a.matches(key) }) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		problems = append(problems, hook.FieldProblem{Field: strings.Join(unknown, ", "), Message: "is not known here; it has no effect", Warning: true})
	}
	return s, problems
}

func (a Annotation) matches(key string) bool {
	return key == a.Key || strings.HasSuffix(a.Key, ".") && strings.HasPrefix(key, a.Key)
}

// Annotations returns the table of all annotations, with those that are
// refused because they cannot work here.
func Annotations() []Annotation {
	return slices.Concat(typeAnnotations(), securityAnnotations(), listenerAnnotations(), groupAnnotations(), attributeAnnotations(), refused())
}

func text(into func(*Settings) *string, allowed ...string) func(*Settings, string, string) error {
	return func(s *Settings, v, _ string) error {
		if len(allowed) > 0 {
			if err := oneOf(v, allowed...); err != nil {
				return err
			}
		}
		*into(s) = v
		return nil
	}
}

func typeAnnotations() []Annotation {
	return []Annotation{
		{balancerPrefix + "type", "nlb, alb", "nlb", "Network or application load balancer.", func(s *Settings, v, _ string) error {
			switch v {
			case "nlb", "classic", "":
				s.Kind = hook.KindNetwork
			case "alb":
				s.Kind = hook.KindApplication
			default:
				return errors.New("must be nlb or alb")
			}
			return nil
		}},
		{balancerPrefix + "internal", "true, false", "false", "True: reachable within the VPC only.", func(s *Settings, v, _ string) error {
			// As the cloud controller reads it: anything but false is true.
			s.Scheme = hook.SchemeInternal
			if v == "" || v == "false" {
				s.Scheme = hook.SchemeInternetFacing
			}
			return nil
		}},
		{balancerPrefix + "scheme", "internal, internet-facing", "internet-facing", "The same; wins over `internal`.", func(s *Settings, v, _ string) error {
			s.Scheme = hook.Scheme(v)
			return oneOf(v, string(hook.SchemeInternal), string(hook.SchemeInternetFacing))
		}},
		{balancerPrefix + "nlb-target-type", "instance, ip", "instance", "Targets are machines with their node ports, or the addresses of pods.", text(func(s *Settings) *string { return &s.TargetType }, "instance", "ip")},
		{"fairlead.dev/aws-target-source", "node, pod", "pod", "With target type `ip`: whose addresses.", func(s *Settings, v, _ string) error {
			s.TargetNodes = v == "node"
			return oneOf(v, "node", "pod")
		}},
		{balancerPrefix + "name", "up to 32 letters, digits and -", "made of namespace, name and a hash", "Name of the load balancer.", func(s *Settings, v, _ string) error {
			s.Name = v
			if !balancerNames.MatchString(v) || strings.HasPrefix(v, "internal-") {
				return errors.New("must be up to 32 letters, digits and -, neither begin nor end with -, and not begin with internal-")
			}
			return nil
		}},
		{balancerPrefix + "ip-address-type", "ipv4, dualstack", "ipv4", "Dualstack needs an IPv6 CIDR in every subnet.", text(func(s *Settings) *string { return &s.AddressType }, "ipv4", "dualstack")},
		{balancerPrefix + "subnets", "ids or names, with commas", "by tag, one in each zone", "Subnets of the load balancer, each in another zone.", func(s *Settings, v, _ string) error {
			if s.Subnets = parseList(v); len(s.Subnets) == 0 {
				return errors.New("must name at least one subnet")
			}
			return nil
		}},
		{balancerPrefix + "eip-allocations", "eipalloc-…, with commas", "addresses of AWS's choice", "Elastic IP addresses, one for each subnet, in the same order.", func(s *Settings, v, _ string) (err error) {
			s.Allocations, err = matching(v, allocation, "an allocation id, eipalloc-…")
			return err
		}},
		{balancerPrefix + "private-ipv4-addresses", "addresses, with commas", "addresses of AWS's choice", "Addresses of an internal load balancer, one for each subnet, in the same order.", func(s *Settings, v, _ string) (err error) {
			s.PrivateIPs, err = parseAddresses(v)
			return err
		}},
	}
}

func securityAnnotations() []Annotation {
	return []Annotation{
		{AnnotationPrefix + "load-balancer-source-ranges", "CIDRs, with commas", "everybody", "Who may connect; `spec.loadBalancerSourceRanges` wins.", func(s *Settings, v, _ string) error {
			s.SourceRanges = parseList(v)
			for _, r := range s.SourceRanges {
				if _, err := parseRange(r); err != nil {
					return fmt.Errorf("%q %w", r, err)
				}
			}
			return nil
		}},
		{balancerPrefix + "security-groups", "sg-…, with commas", "one that is made", "Security groups instead of the one that is made; nodes are then not opened, unless the annotation below says so.", func(s *Settings, v, _ string) (err error) {
			s.SecurityGroups, err = matching(v, securityGroup, "a security group's id, sg-…")
			return err
		}},
		{balancerPrefix + "extra-security-groups", "sg-…, with commas", "none", "Security groups besides the one that is made.", func(s *Settings, v, _ string) (err error) {
			s.ExtraGroups, err = matching(v, securityGroup, "a security group's id, sg-…")
			return err
		}},
		{balancerPrefix + "manage-backend-security-group-rules", "true, false", "true", "Whether the nodes' security group lets the load balancer in.", func(s *Settings, v, _ string) error {
			b, err := parseBool(v)
			s.NodeRules = &b
			return err
		}},
		{balancerPrefix + "security-group-prefix-lists", "pl-…, with commas", "none", "Prefix lists that may connect, instead of everybody.", func(s *Settings, v, _ string) (err error) {
			s.PrefixLists, err = matching(v, prefixList, "a prefix list's id, pl-…")
			return err
		}},
		{balancerPrefix + "enable-icmp-for-path-mtu-discovery", "on, off", "on", "Lets ICMP \"fragmentation needed\" in.", func(s *Settings, v, _ string) error {
			s.NoICMP = v == "off"
			return oneOf(v, "on", "off")
		}},
	}
}

func listenerAnnotations() []Annotation {
	return []Annotation{
		{balancerPrefix + "ssl-cert", "ARNs, with commas", "none", "The load balancer ends TLS with these certificates of ACM or IAM; the first is the default.", func(s *Settings, v, _ string) (err error) {
			s.Certificates, err = matching(v, certificateARN, "the ARN of a certificate")
			return err
		}},
		{"fairlead.dev/aws-alb-certificate-arn", "ARNs, with commas", "found by name in ACM", "Certificates of an application load balancer.", func(s *Settings, v, _ string) (err error) {
			s.Certificates, err = matching(v, certificateARN, "the ARN of a certificate")
			return err
		}},
		{balancerPrefix + "ssl-ports", "names or numbers of ports, with commas, or *", "all", "Ports where it ends TLS.", func(s *Settings, v, _ string) error {
			if s.TLSPorts = parseList(v); len(s.TLSPorts) == 0 {
				return errors.New("must name at least one port, or *")
			}
			return nil
		}},
		{balancerPrefix + "ssl-negotiation-policy", "name of a policy of AWS", DefaultPolicy, "TLS versions and ciphers.", func(s *Settings, v, _ string) error {
			s.Policy = v
			if !policyNames.MatchString(v) {
				return errors.New("is not the name of a policy of AWS, which begins with ELBSecurityPolicy-")
			}
			return nil
		}},
		{balancerPrefix + "backend-protocol", "tcp, ssl", "tcp", "Ssl: the load balancer encrypts towards the targets where it ends TLS.", func(s *Settings, v, _ string) error {
			s.BackendTLS = v == "ssl"
			return oneOf(v, "tcp", "ssl")
		}},
		{balancerPrefix + "alpn-policy", "HTTP1Only, HTTP2Only, HTTP2Optional, HTTP2Preferred, None", "None", "ALPN of TLS listeners.", text(func(s *Settings) *string { return &s.ALPN }, "HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None")},
		{balancerPrefix + "listener-attributes.", "k=v, with commas", "tcp.idle_timeout.seconds=350", "Attributes of one listener; the key goes on with its protocol and port, such as `TCP-443`.", func(s *Settings, v, rest string) error {
			all, err := parseMap(v)
			if err != nil {
				return err
			}
			if s.ListenerAttributes == nil {
				s.ListenerAttributes = map[string]map[string]string{}
			}
			s.ListenerAttributes[rest] = all
			return checkAttributes(all, listenerAttributes())
		}},
		{"fairlead.dev/aws-wafv2-acl-arn", "ARN, or none", "not touched", "Web ACL of an application load balancer.", func(s *Settings, v, _ string) error {
			s.ACL = v
			if v != "none" && !aclARN.MatchString(v) {
				return errors.New("is not the ARN of a regional web ACL of WAFv2, nor none")
			}
			return nil
		}},
	}
}
