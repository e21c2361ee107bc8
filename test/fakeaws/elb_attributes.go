package fakeaws

import (
	"maps"
	"strconv"
	"strings"
)

type attributeList struct {
	Attributes []keyValue `xml:"Attributes>member"`
}

// balancerDefaults are the attributes of a new load balancer.
func balancerDefaults(kind string) map[string]string {
	all := map[string]string{
		"deletion_protection.enabled": "false", "load_balancing.cross_zone.enabled": "false",
		"access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
		"ipv6.deny_all_igw_traffic": "false", "zonal_shift.config.enabled": "false",
	}
	if kind == "network" {
		all["dns_record.client_routing_policy"] = "any_availability_zone"
		all["secondary_ips.auto_assigned.per_subnet"] = "0"
		return all
	}
	maps.Copy(all, map[string]string{
		"load_balancing.cross_zone.enabled": "true", "idle_timeout.timeout_seconds": "60", "client_keep_alive.seconds": "3600",
		"routing.http2.enabled": "true", "routing.http.desync_mitigation_mode": "defensive",
		"routing.http.drop_invalid_header_fields.enabled": "false", "routing.http.xff_header_processing.mode": "append",
		"routing.http.preserve_host_header.enabled": "false", "routing.http.xff_client_port.enabled": "false",
		"waf.fail_open.enabled": "false", "health_check_logs.s3.enabled": "false", "health_check_logs.s3.bucket": "", "health_check_logs.s3.prefix": "",
		"connection_logs.s3.enabled": "false", "connection_logs.s3.bucket": "", "connection_logs.s3.prefix": "",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
	})
	return all
}

func merge(defaults, own map[string]string) attributeList {
	all := maps.Clone(defaults)
	maps.Copy(all, own)
	return attributeList{sortedPairs(all)}
}

func checkAttributes(f form, known map[string]string) error {
	for k, v := range f.pairs("Attributes") {
		if _, ok := known[k]; !ok {
			return refuse("InvalidConfigurationRequest", "Attribute '%s' is not valid", k)
		}
		if strings.HasSuffix(k, ".enabled") && v != "true" && v != "false" && v != "use_load_balancer_configuration" {
			return refuse("InvalidConfigurationRequest", "'%s' must be true or false, not '%s'", k, v)
		}
	}
	return nil
}

func describeBalancerAttributes(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	return merge(balancerDefaults(b.Type), b.Attributes), nil
}

func modifyBalancerAttributes(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(r.form, balancerDefaults(b.Type)); err != nil {
		return nil, err
	}
	b.Attributes = modified(b.Attributes, r.form)
	return merge(balancerDefaults(b.Type), b.Attributes), nil
}

// groupDefaults are the attributes of a new target group.
func groupDefaults(g *targetGroup) map[string]string {
	all := map[string]string{
		"deregistration_delay.timeout_seconds": "300", "stickiness.enabled": "false",
		"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	}
	if g.Protocol == "HTTP" || g.Protocol == "HTTPS" {
		all["stickiness.type"] = "lb_cookie"
		all["slow_start.duration_seconds"] = "0"
		all["load_balancing.algorithm.type"] = "round_robin"
		all["load_balancing.algorithm.anomaly_mitigation"] = "off"
		all["stickiness.lb_cookie.duration_seconds"] = "86400"
		all["stickiness.app_cookie.duration_seconds"] = "86400"
		all["stickiness.app_cookie.cookie_name"] = ""
		return all
	}
	all["stickiness.type"] = "source_ip"
	all["proxy_protocol_v2.enabled"] = "false"
	all["preserve_client_ip.enabled"] = strconv.FormatBool(g.Type == "instance" || g.Protocol == "UDP")
	all["deregistration_delay.connection_termination.enabled"] = "false"
	all["target_health_state.unhealthy.connection_termination.enabled"] = "true"
	all["target_health_state.unhealthy.draining_interval_seconds"] = "0"
	return all
}

func describeGroupAttributes(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	return merge(groupDefaults(g), g.Attributes), nil
}

func modifyGroupAttributes(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(r.form, groupDefaults(g)); err != nil {
		return nil, err
	}
	if v, ok := r.form.pairs("Attributes")["deregistration_delay.timeout_seconds"]; ok {
		if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 3600 {
			return nil, refuse("InvalidConfigurationRequest", "deregistration_delay.timeout_seconds must be 0-3600, not %s", v)
		}
	}
	g.Attributes = modified(g.Attributes, r.form)
	return merge(groupDefaults(g), g.Attributes), nil
}

func listenerDefaults(l *listener) map[string]string {
	if l.Protocol == "TCP" || l.Protocol == "TLS" {
		return map[string]string{"tcp.idle_timeout.seconds": "350"}
	}
	return map[string]string{}
}

func describeListenerAttributes(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	return merge(listenerDefaults(l), l.Attributes), nil
}

func modifyListenerAttributes(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(r.form, listenerDefaults(l)); err != nil {
		return nil, err
	}
	if v, ok := r.form.pairs("Attributes")["tcp.idle_timeout.seconds"]; ok {
		if n, err := strconv.Atoi(v); err != nil || n < 60 || n > 6000 || l.Protocol == "TLS" {
			return nil, refuse("InvalidConfigurationRequest", "tcp.idle_timeout.seconds of a TCP listener must be 60-6000, not %s", v)
		}
	}
	l.Attributes = modified(l.Attributes, r.form)
	return merge(listenerDefaults(l), l.Attributes), nil
}
