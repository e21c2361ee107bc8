package stack

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func number(into func(*Settings) *int32, lo, hi int) func(*Settings, string, string) error {
	return func(s *Settings, v, _ string) (err error) {
		*into(s), err = parseNumber(v, lo, hi)
		return err
	}
}

func groupAnnotations() []Annotation {
	return append(checkAnnotations(), targetAnnotations()...)
}

func checkAnnotations() []Annotation {
	return []Annotation{
		{balancerPrefix + "healthcheck-protocol", "tcp, http, https", "tcp; http with externalTrafficPolicy Local", "How targets are checked.", func(s *Settings, v, _ string) error {
			s.Check.Protocol = strings.ToUpper(v)
			return oneOf(strings.ToLower(v), "tcp", "http", "https")
		}},
		{balancerPrefix + "healthcheck-port", "traffic-port, a number, or the name of a port", "traffic-port; the health check node port with Local", "Port of the check.", text(func(s *Settings) *string { return &s.Check.Port })},
		{balancerPrefix + "healthcheck-path", "path", "/; /healthz with Local", "Path of a check by HTTP.", func(s *Settings, v, _ string) error {
			s.Check.Path = v
			if !strings.HasPrefix(v, "/") || len(v) > 1024 {
				return errors.New("must begin with / and have at most 1024 characters")
			}
			return nil
		}},
		{balancerPrefix + "healthcheck-healthy-threshold", "2 to 10", "3; 2 with Local", "Checks until a target is healthy.", number(func(s *Settings) *int32 { return &s.Check.Healthy }, 2, 10)},
		{balancerPrefix + "healthcheck-unhealthy-threshold", "2 to 10", "3; 2 with Local", "Checks until it is not.", number(func(s *Settings) *int32 { return &s.Check.Unhealthy }, 2, 10)},
		{balancerPrefix + "healthcheck-timeout", "2 to 120 seconds", "10; 6 with Local", "Time for an answer; at most the interval.", number(func(s *Settings) *int32 { return &s.Check.Timeout }, 2, 120)},
		{balancerPrefix + "healthcheck-interval", "5 to 300 seconds", "10", "Time between checks.", number(func(s *Settings) *int32 { return &s.Check.Interval }, 5, 300)},
		{balancerPrefix + "healthcheck-success-codes", "codes such as 200-399 or 200,202", "200-399", "Answers of a healthy target.", func(s *Settings, v, _ string) error {
			s.Check.Codes = v
			if !codes.MatchString(v) {
				return errors.New("must be codes of HTTP, such as 200-399 or 200,202")
			}
			return nil
		}},
	}
}

func targetAnnotations() []Annotation {
	return []Annotation{
		{balancerPrefix + "connection-draining-enabled", "true, false", "true", "False: a target that leaves is given no time to finish.", func(s *Settings, v, _ string) error {
			b, err := parseBool(v)
			if err == nil && !b {
				s.DrainTimeout = -1
			}
			return err
		}},
		{balancerPrefix + "connection-draining-timeout", "1 to 3600 seconds", "60", "Time that a target that leaves may finish its connections.", func(s *Settings, v, _ string) error {
			n, err := parseNumber(v, 1, 3600)
			if s.DrainTimeout >= 0 {
				s.DrainTimeout = n
			}
			return err
		}},
		{balancerPrefix + "target-group-attributes", "k=v, with commas", "none", "Attributes of all target groups.", func(s *Settings, v, _ string) (err error) {
			if s.GroupAttributes, err = parseMap(v); err != nil {
				return err
			}
			return checkAttributes(s.GroupAttributes, groupAttributes())
		}},
		{balancerPrefix + "target-group-attributes.", "k=v, with commas", "none", "Attributes of the target group of one port, whose number ends the key.", func(s *Settings, v, rest string) error {
			all, err := parseMap(v)
			if err != nil {
				return err
			}
			if _, err := parseNumber(rest, 1, 65535); err != nil {
				return errors.New("the key must end with the number of a port")
			}
			if s.PortGroupAttributes == nil {
				s.PortGroupAttributes = map[string]map[string]string{}
			}
			s.PortGroupAttributes[rest] = all
			return checkAttributes(all, groupAttributes())
		}},
		{balancerPrefix + "proxy-protocol", "*", "off", "Targets get the PROXY protocol, version 2.", func(s *Settings, v, _ string) error {
			s.Proxy = true
			return oneOf(v, "*")
		}},
		{balancerPrefix + "target-node-labels", "k=v, with commas; an empty value is any", "all nodes", "Only nodes with these labels are targets.", func(s *Settings, v, _ string) (err error) {
			s.NodeLabels, err = parseMap(v)
			return err
		}},
	}
}

func attributeAnnotations() []Annotation {
	attribute := func(key string) func(*Settings, string, string) error {
		return func(s *Settings, v, _ string) error {
			s.balancerAttribute(key, v)
			return checkAttributes(map[string]string{key: v}, balancerAttributes())
		}
	}
	flag := func(key string) func(*Settings, string, string) error {
		return func(s *Settings, v, _ string) error {
			b, err := parseBool(v)
			s.balancerAttribute(key, strconv.FormatBool(b))
			return err
		}
	}
	return []Annotation{
		{balancerPrefix + "attributes", "k=v, with commas", "none", "Attributes of the load balancer.", func(s *Settings, v, _ string) error {
			all, err := parseMap(v)
			for k, v := range all {
				s.balancerAttribute(k, v)
			}
			if err != nil {
				return err
			}
			return checkAttributes(all, balancerAttributes())
		}},
		{balancerPrefix + "cross-zone-load-balancing-enabled", "true, false", "false", "Every address leads to the targets of all zones.", flag("load_balancing.cross_zone.enabled")},
		{balancerPrefix + "access-log-enabled", "true, false", "false", "Access logs (of a network load balancer: of its TLS listeners).", flag("access_logs.s3.enabled")},
		{balancerPrefix + "access-log-s3-bucket-name", "name", "none", "Bucket of the access logs.", attribute("access_logs.s3.bucket")},
		{balancerPrefix + "access-log-s3-bucket-prefix", "path", "none", "Path in it.", attribute("access_logs.s3.prefix")},
		{balancerPrefix + "connection-idle-timeout", "1 to 6000 seconds", "350; 60 for alb", "Time after which an idle connection is forgotten.", number(func(s *Settings) *int32 { return &s.IdleTimeout }, 1, 6000)},
		{balancerPrefix + "additional-resource-tags", "k=v, with commas", "none", "Tags of everything that is made.", func(s *Settings, v, _ string) (err error) {
			if s.Tags, err = parseMap(v); err != nil {
				return err
			}
			for k := range s.Tags {
				switch lower := strings.ToLower(k); {
				case strings.HasPrefix(lower, "aws:"):
					return fmt.Errorf("the tag %q: keys that begin with aws: are AWS's own", k)
				case ownershipKey(lower):
					return fmt.Errorf("the tag %q says whose a resource is, and is written by the operator alone; take it out", k)
				}
			}
			return nil
		}},
	}
}

// ownershipKey reports whether a tag, in lower case, is one by which we or other
// controllers know what is theirs.
func ownershipKey(key string) bool {
	return strings.HasPrefix(key, TagCluster) || strings.HasPrefix(key, "fairlead.dev/") ||
		slices.Contains([]string{TagClusterName, TagService, tagLBCStack, tagLBCResource}, key)
}

// refused are annotations that other controllers know and that cannot work
// here. Silence would let users believe otherwise.
func refused() []Annotation {
	no := func(key, why string) Annotation {
		return Annotation{balancerPrefix + key, "", "", "Refused: " + why, func(*Settings, string, string) error { return errors.New(why) }}
	}
	return []Annotation{
		no("ipv6-addresses", "fixed IPv6 addresses are not supported; leave the choice to AWS"),
		no("disable-nlb-sg", "a load balancer without security group can never get one, so it always has one"),
		no("enable-tcp-udp-listener", "listeners for TCP and UDP at once are not supported"),
		no("quic-enabled-ports", "QUIC is not supported"),
		no("multi-cluster-target-group", "a target group belongs to one cluster here"),
		no("proxy-protocol-per-target-group", "name all ports with proxy-protocol, or one with target-group-attributes.<port>"),
	}
}

// attribute says what value an attribute may have.
type attribute func(value string) error

func checkAttributes(all map[string]string, known map[string]attribute) error {
	for k, v := range all {
		check, ok := known[k]
		if !ok {
			return fmt.Errorf("the attribute %q does not exist", k)
		}
		if err := check(v); err != nil {
			return fmt.Errorf("the attribute %s: %q %w", k, v, err)
		}
	}
	return nil
}

func boolean(v string) error { return oneOf(v, "true", "false") }

// words allows some words.
func words(allowed ...string) attribute {
	return func(v string) error { return oneOf(v, allowed...) }
}

// bucket is the name of a bucket of S3; empty takes it away.
func bucket(v string) error {
	if v != "" && !bucketName.MatchString(v) {
		return errors.New("is not the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	return nil
}

// logPrefix is a path in a bucket. AWS adds AWSLogs and the account itself.
func logPrefix(v string) error {
	if strings.Contains(v, "AWSLogs") {
		return errors.New("must not contain AWSLogs, which AWS adds")
	}
	return nil
}

// cookieName is the name of a cookie that AWS does not use itself.
func cookieName(v string) error {
	reserved := slices.ContainsFunc([]string{"AWSALB", "AWSALBAPP", "AWSALBTG"}, func(p string) bool { return strings.HasPrefix(v, p) })
	if !cookie.MatchString(v) || reserved {
		return errors.New("is not the name of a cookie, or is one of AWS's own, AWSALB…")
	}
	return nil
}

var cookie = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$")

func between(lo, hi int) attribute {
	return func(v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < lo || n > hi {
			return fmt.Errorf("must be %d to %d", lo, hi)
		}
		return nil
	}
}

// orOff allows off besides a number.
func orOff(lo, hi int) attribute {
	return func(v string) error {
		if v == "off" || between(lo, hi)(v) == nil {
			return nil
		}
		return fmt.Errorf("must be off, or %d to %d", lo, hi)
	}
}

// balancerAttributes are those of load balancers, of both kinds.
func balancerAttributes() map[string]attribute {
	all := balancerAttributesOf(hook.KindNetwork)
	maps.Copy(all, balancerAttributesOf(hook.KindApplication))
	return all
}

// balancerAttributesOf are those of one kind.
func balancerAttributesOf(kind hook.Kind) map[string]attribute {
	all := map[string]attribute{
		"deletion_protection.enabled": boolean, "load_balancing.cross_zone.enabled": boolean,
		"access_logs.s3.enabled": boolean, "access_logs.s3.bucket": bucket, "access_logs.s3.prefix": logPrefix,
		"ipv6.deny_all_igw_traffic": boolean, "zonal_shift.config.enabled": boolean,
	}
	more := map[string]attribute{
		"dns_record.client_routing_policy":       words("any_availability_zone", "partial_availability_zone_affinity", "availability_zone_affinity"),
		"secondary_ips.auto_assigned.per_subnet": between(0, 7),
	}
	if kind == hook.KindApplication {
		more = map[string]attribute{
			"idle_timeout.timeout_seconds": between(1, 4000), "client_keep_alive.seconds": between(60, 604800), "routing.http2.enabled": boolean,
			"routing.http.desync_mitigation_mode":             words("monitor", "defensive", "strictest"),
			"routing.http.drop_invalid_header_fields.enabled": boolean, "routing.http.xff_header_processing.mode": words("append", "preserve", "remove"),
			"routing.http.preserve_host_header.enabled": boolean, "routing.http.xff_client_port.enabled": boolean, "waf.fail_open.enabled": boolean,
			"connection_logs.s3.enabled": boolean, "connection_logs.s3.bucket": bucket, "connection_logs.s3.prefix": logPrefix,
			"health_check_logs.s3.enabled": boolean, "health_check_logs.s3.bucket": bucket, "health_check_logs.s3.prefix": logPrefix,
			"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": boolean,
		}
	}
	maps.Copy(all, more)
	return all
}

// groupAttributes are those of target groups, of both kinds.
func groupAttributes() map[string]attribute {
	all := groupAttributesOf(hook.KindNetwork)
	maps.Copy(all, groupAttributesOf(hook.KindApplication))
	all["stickiness.type"] = words("source_ip", "lb_cookie", "app_cookie")
	return all
}

// groupAttributesOf are those that the target groups of one kind of load
// balancer have.
func groupAttributesOf(kind hook.Kind) map[string]attribute {
	const most, week = 1000, 604800
	all := map[string]attribute{
		"deregistration_delay.timeout_seconds": between(0, 3600), "stickiness.enabled": boolean,
		"load_balancing.cross_zone.enabled":                                              words("true", "false", "use_load_balancer_configuration"),
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 orOff(1, most),
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            orOff(1, 100),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      between(1, most),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": orOff(1, 100),
	}
	more := map[string]attribute{
		"stickiness.type": words("source_ip"), "preserve_client_ip.enabled": boolean, "proxy_protocol_v2.enabled": boolean,
		"deregistration_delay.connection_termination.enabled":          boolean,
		"target_health_state.unhealthy.connection_termination.enabled": boolean,
		"target_health_state.unhealthy.draining_interval_seconds":      between(0, 360000),
	}
	if kind == hook.KindApplication {
		more = map[string]attribute{
			"stickiness.type": words("lb_cookie", "app_cookie"), "slow_start.duration_seconds": between(0, 900),
			"stickiness.lb_cookie.duration_seconds": between(1, week), "stickiness.app_cookie.duration_seconds": between(1, week),
			"stickiness.app_cookie.cookie_name":           cookieName,
			"load_balancing.algorithm.type":               words("round_robin", "least_outstanding_requests", "weighted_random"),
			"load_balancing.algorithm.anomaly_mitigation": words("on", "off"),
		}
	}
	maps.Copy(all, more)
	return all
}

func listenerAttributes() map[string]attribute {
	return map[string]attribute{"tcp.idle_timeout.seconds": between(60, 6000)}
}
