package stack

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// tagAttributes holds the keys of the attributes that we have set, so that one
// whose annotation is gone gets AWS's default back. Attributes that a user
// set by other means stay as they are.
const tagAttributes = "fairlead.dev/attributes"

// maxTagValue is the longest value of a tag.
const maxTagValue = 256

// keepKeys notes the keys of attributes in tags. Keys that do not fit any more
// are not put back one day, which is all that is lost.
func keepKeys(tags, attributes map[string]string) {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if text.Len()+len(key)+1 > maxTagValue {
			break
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(key)
	}
	if text.Len() > 0 {
		tags[tagAttributes] = text.String()
	}
}

// changedAttributes returns what is to be set: wanted values that differ, and
// the defaults of keys that we once set and that are not wanted any more.
func changedAttributes(wanted, have, haveTags, defaults map[string]string) map[string]string {
	changed := map[string]string{}
	for k, v := range wanted {
		if have[k] != v {
			changed[k] = v
		}
	}
	for k := range strings.FieldsSeq(haveTags[tagAttributes]) {
		v, known := defaults[k]
		if _, still := wanted[k]; !still && known && have[k] != v {
			changed[k] = v
		}
	}
	return changed
}

// defaultBalancerAttributes are AWS's.
func defaultBalancerAttributes(kind hook.Kind) map[string]string {
	all := map[string]string{
		"deletion_protection.enabled": "false", "load_balancing.cross_zone.enabled": "false", "access_logs.s3.enabled": "false",
		"ipv6.deny_all_igw_traffic": "false", "zonal_shift.config.enabled": "false", "dns_record.client_routing_policy": "any_availability_zone",
		"secondary_ips.auto_assigned.per_subnet": "0",
	}
	if kind == hook.KindApplication {
		all = map[string]string{
			"deletion_protection.enabled": "false", "access_logs.s3.enabled": "false", "connection_logs.s3.enabled": "false", "health_check_logs.s3.enabled": "false",
			"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
			"idle_timeout.timeout_seconds":                             "60", "client_keep_alive.seconds": "3600", "routing.http2.enabled": "true",
			"routing.http.desync_mitigation_mode": "defensive", "routing.http.drop_invalid_header_fields.enabled": "false",
			"routing.http.xff_header_processing.mode": "append", "routing.http.preserve_host_header.enabled": "false",
			"routing.http.xff_client_port.enabled": "false", "waf.fail_open.enabled": "false", "zonal_shift.config.enabled": "false",
		}
	}
	return all
}

func defaultGroupAttributes(g TargetGroup) map[string]string {
	preserve := "false"
	if g.Type == "instance" || g.Protocol == "UDP" {
		preserve = "true"
	}
	return map[string]string{
		"deregistration_delay.timeout_seconds": "300", "deregistration_delay.connection_termination.enabled": "false",
		"stickiness.enabled": "false", "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
		"preserve_client_ip.enabled": preserve, "proxy_protocol_v2.enabled": "false",
		"target_health_state.unhealthy.connection_termination.enabled": "true", "target_health_state.unhealthy.draining_interval_seconds": "0",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
		"slow_start.duration_seconds":                                                    "0", "load_balancing.algorithm.type": "round_robin",
		"load_balancing.algorithm.anomaly_mitigation": "off", "stickiness.lb_cookie.duration_seconds": "86400",
		"stickiness.app_cookie.duration_seconds": "86400",
	}
}

func defaultListenerAttributes() map[string]string {
	return map[string]string{"tcp.idle_timeout.seconds": "350"}
}
