package stack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// routerPorts is a Service as routers have it.
func routerPorts(annotations map[string]string) *hook.Spec {
	return &hook.Spec{Annotations: annotations, Ports: []hook.Port{
		{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080, TargetPort: 80}, {Name: "https", Protocol: "TCP", Port: 443, NodePort: 30443, TargetPort: 443},
	}}
}

// looked returns all that is wrong with the annotations of a router's Service.
func looked(annotations map[string]string) []hook.FieldProblem {
	settings, problems := Read(annotations)
	return append(problems, Check(routerPorts(annotations), settings)...)
}

// TestSamples: every annotation has a right value, and refuses a wrong one,
// naming itself and the value. None is left out.
func TestSamples(t *testing.T) {
	t.Parallel()
	samples := Samples()
	// What some values need beside themselves.
	beside := map[string]map[string]string{
		"eip-allocations": {"subnets": "a"}, "private-ipv4-addresses": {"scheme": "internal", "subnets": "a,b"}, "alpn-policy": {"ssl-cert": "arn:aws:acm:r:1:certificate/a"},
		"access-log-enabled": {"access-log-s3-bucket-name": "my-logs"},
	}
	for _, a := range Annotations() {
		s, ok := samples[a.Key]
		delete(samples, a.Key)
		if !ok || s.Example == "" && s.Wrong == "" || s.Rest == "" && strings.HasSuffix(a.Key, ".") {
			t.Errorf("%s has the sample %+v", a.Key, s)
			continue
		}
		key := a.Key + s.Rest
		if s.Example != "" {
			right := map[string]string{key: s.Example}
			for k, v := range beside[strings.TrimPrefix(key, balancerPrefix)] {
				right[balancerPrefix+k] = v
			}
			if a.Key == "fairlead.dev/aws-wafv2-acl-arn" {
				right[balancerPrefix+"type"] = "alb"
			}
			if problems := looked(right); len(problems) > 0 {
				t.Errorf("%s=%s: %v", key, s.Example, problems)
			}
		}
		if s.Wrong != "" {
			problems := looked(map[string]string{key: s.Wrong})
			if len(problems) == 0 || problems[0].Field != key || problems[0].Value != s.Wrong || problems[0].Warning || problems[0].Message == "" {
				t.Errorf("%s=%s: %v", key, s.Wrong, problems)
			}
		}
	}
	if len(samples) > 0 {
		t.Errorf("samples of nothing: %v", samples)
	}
}

// TestRefusedValues: further values that are wrong, and what is only warned of.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ suffix, value, other, otherValue string }{
		{suffix: "target-group-attributes.http", value: "stickiness.enabled=true"},
		{suffix: "target-group-attributes.8443", value: "stickiness.enabled=true"},
		{suffix: "healthcheck-timeout", value: "0"},
		{suffix: "attributes", value: "a"},
		{suffix: "attributes", value: "dns_record.client_routing_policy=near"},
		{suffix: "attributes", value: "routing.http2.enabled=true"},
		{suffix: "attributes", value: "dns_record.client_routing_policy=any_availability_zone", other: "type", otherValue: "alb"},
		{suffix: "attributes", value: "access_logs.s3.enabled=true"},
		{suffix: "access-log-enabled", value: "true"},
		{suffix: "cross-zone-load-balancing-enabled", value: "false", other: "type", otherValue: "alb"},
		{suffix: "target-group-attributes", value: "proxy_protocol_v2.enabled=true", other: "type", otherValue: "alb"},
		{suffix: "target-group-attributes", value: "stickiness.type=lb_cookie"},
		{suffix: "target-group-attributes", value: "slow_start.duration_seconds=30"},
		{suffix: "target-group-attributes", value: "stickiness.type=app_cookie", other: "type", otherValue: "alb"},
		{suffix: "target-group-attributes", value: "load_balancing.algorithm.anomaly_mitigation=on", other: "type", otherValue: "alb"},
		{suffix: "target-group-attributes", value: "stickiness.lb_cookie.duration_seconds=60"},
		{suffix: "attributes", value: "health_check_logs.s3.enabled=true", other: "type", otherValue: "alb"},
		{suffix: "attributes", value: "health_check_logs.s3.enabled=false"},
		{suffix: "additional-resource-tags", value: "fairlead.dev/service-uid=x"},
		{suffix: "additional-resource-tags", value: "team=a,kubernetes.io/cluster/other=owned"},
		{suffix: "additional-resource-tags", value: "elbv2.k8s.aws/cluster=other"},
		{suffix: "additional-resource-tags", value: "Service.k8s.aws/stack=a/b"},
		{suffix: "connection-idle-timeout", value: "5000", other: "type", otherValue: "alb"},
		{suffix: "connection-idle-timeout", value: "0"},
		{suffix: "listener-attributes.TCP-81", value: "tcp.idle_timeout.seconds=60"},
		{suffix: "ssl-ports", value: ""},
		{suffix: "ssl-cert", value: ""},
	} {
		in := map[string]string{balancerPrefix + c.suffix: c.value}
		if c.other != "" {
			in[balancerPrefix+c.other] = c.otherValue
		}
		problems := looked(in)
		if len(problems) != 1 || problems[0].Field != balancerPrefix+c.suffix || problems[0].Warning || problems[0].Message == "" {
			t.Errorf("%s=%s: %v", c.suffix, c.value, problems)
		}
	}
	for suffix, value := range map[string]string{
		"target-group-attributes":     "stickiness.enabled=true,stickiness.type=app_cookie,stickiness.app_cookie.cookie_name=SID,stickiness.app_cookie.duration_seconds=60",
		"target-group-attributes.443": "load_balancing.algorithm.type=weighted_random,load_balancing.algorithm.anomaly_mitigation=on,stickiness.lb_cookie.duration_seconds=604800",
		"attributes":                  "health_check_logs.s3.enabled=true,health_check_logs.s3.bucket=my-logs,health_check_logs.s3.prefix=checks",
	} {
		if problems := looked(map[string]string{balancerPrefix + "type": "alb", balancerPrefix + suffix: value}); len(problems) > 0 {
			t.Errorf("%s=%s: %v", suffix, value, problems)
		}
	}
	const ranges = AnnotationPrefix + "load-balancer-source-ranges"
	if problems := looked(map[string]string{ranges: "2001:db8::/32"}); len(problems) != 1 || problems[0].Field != ranges {
		t.Errorf("an IPv6 range without dual stack: %v", problems)
	}
	if problems := looked(map[string]string{ranges: "2001:db8::/32", balancerPrefix + "ip-address-type": "dualstack"}); len(problems) > 0 {
		t.Errorf("an IPv6 range with dual stack: %v", problems)
	}
	written := map[string]string{balancerPrefix + "type": "alb", balancerPrefix + "target-group-attributes": "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false"}
	if problems := looked(written); len(problems) > 0 {
		t.Errorf("what the operator writes, with alb: %v", problems)
	}
	problems := looked(map[string]string{balancerPrefix + "tpye": "nlb"})
	if len(problems) != 1 || !problems[0].Warning {
		t.Errorf("an unknown annotation: %v", problems)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   map[string]string // by suffix
		want func(*Settings)
	}{
		{"the scheme wins over internal", map[string]string{"internal": "true", "scheme": "internet-facing"}, func(s *Settings) { s.Scheme = hook.SchemeInternetFacing }},
		{"the old form of internal", map[string]string{"internal": "0.0.0.0/0"}, func(s *Settings) { s.Scheme = hook.SchemeInternal }},
		{"an empty internal", map[string]string{"internal": ""}, func(s *Settings) { s.Scheme = hook.SchemeInternetFacing }},
		{"the old name of cross-zone wins", map[string]string{"attributes": "load_balancing.cross_zone.enabled=false", "cross-zone-load-balancing-enabled": "true"}, func(s *Settings) {
			s.BalancerAttributes = map[string]string{"load_balancing.cross_zone.enabled": "true"}
		}},
		{"forms of true and false", map[string]string{"cross-zone-load-balancing-enabled": "1", "access-log-enabled": "F"}, func(s *Settings) {
			s.BalancerAttributes = map[string]string{"load_balancing.cross_zone.enabled": "true", "access_logs.s3.enabled": "false"}
		}},
		{"lists and blanks", map[string]string{"subnets": " subnet-1, ,my net "}, func(s *Settings) { s.Subnets = []string{"subnet-1", "my net"} }},
		{"commas in tags", map[string]string{"additional-resource-tags": `a=1\,2, b = 3`}, func(s *Settings) { s.Tags = map[string]string{"a": "1,2", "b": "3"} }},
		{"no draining", map[string]string{"connection-draining-enabled": "false", "connection-draining-timeout": "30"}, func(s *Settings) { s.DrainTimeout = -1 }},
		{"any value of a label", map[string]string{"target-node-labels": "infra=,zone=a"}, func(s *Settings) { s.NodeLabels = map[string]string{"infra": "", "zone": "a"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := map[string]string{}
			for k, v := range c.in {
				in[balancerPrefix+k] = v
			}
			got, problems := Read(in)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var want Settings
			c.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	base := func() *hook.Spec {
		return &hook.Spec{Ports: []hook.Port{{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080}}, Annotations: map[string]string{}}
	}
	for _, c := range []struct {
		name   string
		change func(s *hook.Spec)
		field  string
	}{
		{"a chosen address", func(s *hook.Spec) { s.LoadBalancerIP = "198.18.0.1" }, "spec.loadBalancerIP"},
		{"no port", func(s *hook.Spec) { s.Ports = nil }, "spec.ports"},
		{"no node port", func(s *hook.Spec) { s.Ports[0].NodePort = 0 }, "spec.ports[0].nodePort"},
		{"SCTP", func(s *hook.Spec) { s.Ports[0].Protocol = "SCTP" }, "spec.ports[0].protocol"},
		{"no CIDR", func(s *hook.Spec) { s.SourceRanges = []string{"198.18.0.1"} }, "spec.loadBalancerSourceRanges[0]"},
		{"IPv6 range without dual stack", func(s *hook.Spec) { s.SourceRanges = []string{"2001:db8::/32"} }, "spec.loadBalancerSourceRanges[0]"},
		{"too many ranges", func(s *hook.Spec) {
			for i := range 60 {
				s.SourceRanges = append(s.SourceRanges, "198.18."+string(rune('0'+i%10))+"."+string(rune('0'+i/10))+"/32")
			}
		}, "spec.loadBalancerSourceRanges"},
		{"TLS on a port that is not there", func(s *hook.Spec) { s.Annotations[balancerPrefix+"ssl-ports"] = "https" }, balancerPrefix + "ssl-ports"},
		{"timeout above interval", func(s *hook.Spec) { s.Annotations[balancerPrefix+"healthcheck-timeout"] = "11" }, balancerPrefix + "healthcheck-timeout"},
		{"health check port of no name", func(s *hook.Spec) { s.Annotations[balancerPrefix+"healthcheck-port"] = "health" }, balancerPrefix + "healthcheck-port"},
		{"Elastic addresses inside", func(s *hook.Spec) {
			s.Annotations[balancerPrefix+"scheme"], s.Annotations[balancerPrefix+"eip-allocations"] = "internal", "eipalloc-1"
		}, balancerPrefix + "eip-allocations"},
		{"private addresses outside", func(s *hook.Spec) { s.Annotations[balancerPrefix+"private-ipv4-addresses"] = "10.0.0.1" }, balancerPrefix + "private-ipv4-addresses"},
		{"IPv6 alone without dual stack", func(s *hook.Spec) {
			s.Annotations[balancerPrefix+"nlb-target-type"], s.IPFamilies = "ip", []string{"IPv6"}
		}, balancerPrefix + "ip-address-type"},
		{"PROXY protocol at layer 7", func(s *hook.Spec) {
			s.Annotations[balancerPrefix+"type"], s.Annotations[balancerPrefix+"proxy-protocol"] = "alb", "*"
		}, balancerPrefix + "proxy-protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := base()
			c.change(spec)
			settings, problems := Read(spec.Annotations)
			problems = append(problems, Check(spec, settings)...)
			if len(problems) != 1 || problems[0].Field != c.field {
				t.Errorf("problems %v, want one with %s", problems, c.field)
			}
		})
	}
	settings, problems := Read(nil)
	if problems = append(problems, Check(base(), settings)...); len(problems) > 0 {
		t.Errorf("nothing is wrong, and yet: %v", problems)
	}
}

func TestChooseSubnets(t *testing.T) {
	t.Parallel()
	sub := func(id, zone string, change ...func(*Subnet)) Subnet {
		s := Subnet{ID: id, Zone: zone, ZoneType: "availability-zone", Free: 100, Public: true, Tags: map[string]string{}}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	tag := func(k, v string) func(*Subnet) { return func(s *Subnet) { s.Tags[k] = v } }
	for _, c := range []struct {
		name    string
		subnets []Subnet
		wish    subnetWish
		want    []string
		says    string
	}{
		{name: "by tag", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", tag(tagPublicSubnet, "1")), sub("s3", "c", tag(tagPublicSubnet, ""))}, want: []string{"s2", "s3"}},
		{name: "without tags by route", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", func(s *Subnet) { s.Public = false })}, want: []string{"s1"}},
		{name: "inside by route", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", func(s *Subnet) { s.Public = false })}, wish: subnetWish{scheme: hook.SchemeInternal}, want: []string{"s2"}},
		{name: "one in a zone: the cluster's, then the first", subnets: []Subnet{sub("s1", "a"), sub("s2", "a", tag(TagCluster+"c", "owned")), sub("s3", "b"), sub("s4", "b")}, want: []string{"s2", "s3"}},
		{name: "not another cluster's", subnets: []Subnet{sub("s1", "a", tag(TagCluster+"other", "owned")), sub("s2", "b", tag(TagCluster+"other", "shared"), tag(TagCluster+"c", "shared"))}, want: []string{"s2"}},
		{name: "none by route say so", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", tag(tagPrivateSubnet, "no"))}, wish: subnetWish{scheme: hook.SchemeInternal}, says: "s1 has a route to an internet gateway, s2 has"},
		{name: "two in a zone say so", subnets: []Subnet{sub("s1", "a"), sub("s2", "a")}, wish: subnetWish{least: 2}, says: "s2 is in the zone a as s1 is"},
		{name: "one kind of zones", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", func(s *Subnet) { s.ZoneType = "local-zone" })}, wish: subnetWish{names: []string{"s1", "s2"}}, says: "one kind of zones"},
		{name: "full ones say so", subnets: []Subnet{sub("s1", "a", func(s *Subnet) { s.Free = 3 })}, says: "s1 has 3 free addresses"},
		{name: "local zones say so", subnets: []Subnet{sub("s1", "a", func(s *Subnet) { s.ZoneType = "local-zone" })}, says: "s1 is in a local-zone"},
		{name: "dual stack needs IPv6", subnets: []Subnet{sub("s1", "a"), sub("s2", "b", func(s *Subnet) { s.IPv6 = true })}, wish: subnetWish{dualStack: true}, want: []string{"s2"}},
		{name: "too few", subnets: []Subnet{sub("s1", "a")}, wish: subnetWish{least: 2}, says: "found 1 of at least 2"},
		{name: "by id and by name, in order", subnets: []Subnet{sub("s1", "a", tag("Name", "front")), sub("s2", "b")}, wish: subnetWish{names: []string{"s2", "front"}}, want: []string{"s2", "s1"}},
		{name: "an unknown one", subnets: []Subnet{sub("s1", "a")}, wish: subnetWish{names: []string{"s9"}}, says: `"s9" is no subnet`},
		{name: "two in a zone", subnets: []Subnet{sub("s1", "a"), sub("s2", "a")}, wish: subnetWish{names: []string{"s1", "s2"}}, says: "same zone a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := c.wish
			w.cluster, w.least = "c", max(w.least, 1)
			if w.scheme == "" {
				w.scheme = hook.SchemeInternetFacing
			}
			got, err := chooseSubnets(Environment{VPC: "vpc-1", Subnets: c.subnets}, w)
			var ids []string
			for _, s := range got {
				ids = append(ids, s.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestInstanceID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"aws:///eu-central-1a/i-0123": "i-0123", "aws://1234/eu-central-1a/i-0123": "i-0123", "i-0123": "i-0123",
		"": "", "kind://docker/x": "", "aws:///eu-central-1a/": "", "i-": "",
	} {
		got, ok := InstanceID(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", in, got, ok)
		}
	}
}

// TestNames: a name has at most 32 characters, begins as users expect, and is
// another one for whatever cannot be changed in place.
func TestNames(t *testing.T) {
	t.Parallel()
	ref := hook.Ref{Cluster: "c", Namespace: "openshift-ingress", Name: "router-default", UID: "u"}
	seen := map[string]bool{}
	for _, name := range []string{
		balancerName(ref, hook.KindNetwork, hook.SchemeInternal), balancerName(ref, hook.KindNetwork, hook.SchemeInternetFacing),
		balancerName(ref, hook.KindApplication, hook.SchemeInternal), frontendName(ref),
		groupName(ref, "b", TargetGroup{Port: 1, Type: "ip", Protocol: "TCP"}), groupName(ref, "b", TargetGroup{Port: 1, Type: "instance", Protocol: "TCP"}),
		groupName(ref, "b", TargetGroup{Port: 1, Type: "ip", Protocol: "TCP", AddressType: "ipv6"}), groupName(ref, "b", TargetGroup{Port: 1, Type: "ip", Protocol: "TLS"}), groupName(ref, "b2", TargetGroup{Port: 1, Type: "ip", Protocol: "TCP"}),
	} {
		if seen[name] || len(name) > 32 || !strings.HasPrefix(name, "k8s-openshif-routerde-") || !balancerNames.MatchString(name) {
			t.Errorf("name %q", name)
		}
		seen[name] = true
	}
}

// FuzzRead: no text makes it panic, and a value that is refused says why.
func FuzzRead(f *testing.F) {
	f.Add("attributes", `a=b\,c,`)
	f.Add("listener-attributes.TCP-80", "x=y")
	f.Add("healthcheck-interval", "10")
	for _, c := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add("attributes", "a="+c+"b,"+c)
		f.Add("healthcheck-path", "/healthz"+c)
		f.Add("healthcheck-interval", "10"+c)
		f.Add("subnets", "subnet-1"+c+",subnet-2")
		f.Add("listener-attributes.TCP-80"+c, "x=y")
	}
	f.Fuzz(func(t *testing.T, suffix, value string) {
		_, problems := Read(map[string]string{balancerPrefix + suffix: value})
		for _, p := range problems {
			if p.Message == "" || p.Field == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
