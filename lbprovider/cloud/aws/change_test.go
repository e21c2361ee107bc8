package aws_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestChanges goes through the matrix of what can change: which calls a change
// makes, and that taking it back leads to where it began.
func TestChanges(t *testing.T) {
	type step struct {
		name   string
		change func(b *bed, s *hook.Spec)
		calls  []string
		check  func(lb fakeaws.Balancer) bool
		// stays means that taking it back is not looked at.
		stays bool
	}
	set := func(suffix, value string) func(*bed, *hook.Spec) {
		return func(_ *bed, s *hook.Spec) { s.Annotations[prefix+suffix] = value }
	}
	for _, c := range []step{
		{
			name: "health check interval", change: set("healthcheck-interval", "30"), calls: []string{"ModifyTargetGroup", "ModifyTargetGroup"},
			check: func(lb fakeaws.Balancer) bool { return lb.Listeners[0].Group.Check.Interval == 30 },
		},
		{
			name: "cross-zone", change: set("cross-zone-load-balancing-enabled", "true"), calls: []string{"AddTags", "ModifyLoadBalancerAttributes"},
			check: func(lb fakeaws.Balancer) bool { return lb.Attributes["load_balancing.cross_zone.enabled"] == "true" },
		},
		{
			name: "PROXY protocol", change: set("target-group-attributes", "proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=false"),
			calls: []string{"ModifyTargetGroupAttributes", "AddTags", "ModifyTargetGroupAttributes", "AddTags"},
			check: func(lb fakeaws.Balancer) bool {
				a := lb.Listeners[1].Group.Attributes
				return a["proxy_protocol_v2.enabled"] == "true" && a["preserve_client_ip.enabled"] == "false"
			},
		},
		{
			name: "idle timeout of one listener", change: set("listener-attributes.TCP-443", "tcp.idle_timeout.seconds=6000"),
			calls: []string{"SetListenerAttributes"}[:0], check: func(lb fakeaws.Balancer) bool {
				return lb.Listeners[1].Attributes["tcp.idle_timeout.seconds"] == "6000"
			},
		},
		{
			name: "tags", change: set("additional-resource-tags", `team=edge,note=a\,b`),
			check: func(lb fakeaws.Balancer) bool {
				return lb.Tags["team"] == "edge" && lb.Tags["note"] == "a,b" && lb.Listeners[0].Group.Tags["team"] == "edge"
			},
		},
		{
			name: "a port more", change: func(_ *bed, s *hook.Spec) {
				s.Ports = append(s.Ports, hook.Port{Name: "sni", Protocol: "TCP", Port: 8443, NodePort: 30844, TargetPort: 8443})
			},
			check: func(lb fakeaws.Balancer) bool {
				return len(lb.Listeners) == 3 && len(lb.Listeners[2].Group.Targets) == 4
			},
		},
		{
			name: "another node port", change: func(_ *bed, s *hook.Spec) { s.Ports[0].NodePort = 31080 },
			check: func(lb fakeaws.Balancer) bool {
				return lb.Listeners[0].Group.Port == 31080 && len(lb.Listeners[0].Group.Targets) == 4
			},
		},
		{
			name: "addresses instead of machines", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"nlb-target-type"], s.Annotations["fairlead.dev/aws-target-source"] = "ip", "node"
			},
			check: func(lb fakeaws.Balancer) bool {
				return lb.Listeners[0].Group.Type == "ip" && lb.Listeners[0].Group.Targets[0] == "10.0.1.10:30080"
			},
		},
		{
			name: "pods instead of nodes", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"nlb-target-type"] = "ip"
				s.Targets.Pods = []hook.Pod{{Address: "10.0.1.77", Ports: map[int32]int32{80: 8080, 443: 8443}}, {Address: "10.0.2.78", Ports: map[int32]int32{80: 8080, 443: 8443}, Draining: true}}
			},
			check: func(lb fakeaws.Balancer) bool {
				g := lb.Listeners[1].Group
				return g.Type == "ip" && slices.Equal(g.Targets, []string{"10.0.1.77:8443"}) && g.Check.Protocol == "TCP"
			},
		},
		{
			name: "two subnets", change: set("subnets", "subnet-a,subnet-c"), calls: []string{"SetSubnets"}, stays: true,
			check: func(lb fakeaws.Balancer) bool { return slices.Equal(lb.Subnets, []string{"subnet-a", "subnet-c"}) },
		},
		{
			name: "dual stack", change: set("ip-address-type", "dualstack"), check: func(lb fakeaws.Balancer) bool { return lb.AddressType == "dualstack" },
		},
		{
			name: "only nodes with a label", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"target-node-labels"] = "role=infra"
				s.Targets.Nodes[2].Labels = map[string]string{"role": "infra"}
			},
			calls: []string{"DeregisterTargets", "DeregisterTargets"}, check: func(lb fakeaws.Balancer) bool { return len(lb.Listeners[0].Group.Targets) == 1 },
		},
		{
			name: "pods by IPv6", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"nlb-target-type"], s.Annotations[prefix+"ip-address-type"] = "ip", "dualstack"
				s.IPFamilies = []string{"IPv6", "IPv4"}
				ports := map[int32]int32{80: 8080, 443: 8443}
				s.Targets.Pods = []hook.Pod{{Address: "10.0.1.77", Ports: ports}, {Address: "2001:db8:0:1::77", Ports: ports}}
			},
			check: func(lb fakeaws.Balancer) bool {
				return lb.AddressType == "dualstack" && slices.Equal(lb.Listeners[1].Group.Targets, []string{"2001:db8:0:1::77:8443"})
			},
		},
		{
			name: "routers in the nodes' network", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"nlb-target-type"], s.Annotations["fairlead.dev/aws-target-source"] = "ip", "node"
				s.Ports[0].NodePort, s.Ports[1].NodePort = 0, 0
				s.Targets.Pods = []hook.Pod{{Address: "10.0.2.11", Ports: map[int32]int32{80: 80, 443: 443}}}
			},
			check: func(lb fakeaws.Balancer) bool {
				g := lb.Listeners[1].Group
				return slices.Equal(g.Targets, []string{"10.0.2.11:443"}) && g.Check.Port == "32100"
			},
		},
		{
			name: "security groups of the user", change: func(b *bed, s *hook.Spec) {
				s.Annotations[prefix+"security-groups"] = b.cloud.AddSecurityGroup("theirs", nil)
			},
			calls: []string{"SetSecurityGroups", "RevokeSecurityGroupIngress", "DeleteSecurityGroup"}, stays: true,
			check: func(lb fakeaws.Balancer) bool { return len(lb.SecurityGroups) == 1 },
		},
		{
			name: "a security group more", change: func(b *bed, s *hook.Spec) {
				s.Annotations[prefix+"extra-security-groups"] = b.cloud.AddSecurityGroup("theirs", nil)
			},
			calls: []string{"SetSecurityGroups"}, check: func(lb fakeaws.Balancer) bool { return len(lb.SecurityGroups) == 2 },
		},
		{
			name: "prefix lists", change: set("security-group-prefix-lists", "pl-1"), calls: []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"},
			check: func(fakeaws.Balancer) bool { return true },
		},
		{
			name: "without ICMP", change: set("enable-icmp-for-path-mtu-discovery", "off"), calls: []string{"RevokeSecurityGroupIngress"},
			check: func(fakeaws.Balancer) bool { return true },
		},
		{
			name: "the nodes are opened by somebody else", change: set("manage-backend-security-group-rules", "false"),
			check: func(fakeaws.Balancer) bool { return true }, stays: true,
		},
		{
			name: "a client stays at one target", change: func(_ *bed, s *hook.Spec) { s.ClientIPAffinity = true },
			calls: []string{"ModifyTargetGroupAttributes", "AddTags", "ModifyTargetGroupAttributes", "AddTags"},
			check: func(lb fakeaws.Balancer) bool {
				a := lb.Listeners[0].Group.Attributes
				return a["stickiness.enabled"] == "true" && a["stickiness.type"] == "source_ip"
			},
		},
		{
			name: "access logs", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"access-log-enabled"], s.Annotations[prefix+"access-log-s3-bucket-name"] = "true", "my-logs"
				s.Annotations[prefix+"access-log-s3-bucket-prefix"] = "routers"
			},
			stays: true, // bucket and prefix do, which without logs mean nothing
			check: func(lb fakeaws.Balancer) bool {
				return lb.Attributes["access_logs.s3.enabled"] == "true" && lb.Attributes["access_logs.s3.bucket"] == "my-logs" && lb.Attributes["access_logs.s3.prefix"] == "routers"
			},
		},
		{
			name: "PROXY protocol by its own annotation, over the attribute", change: func(_ *bed, s *hook.Spec) {
				s.Annotations[prefix+"proxy-protocol"], s.Annotations[prefix+"target-group-attributes"] = "*", "proxy_protocol_v2.enabled=false"
			},
			check: func(lb fakeaws.Balancer) bool {
				return lb.Listeners[0].Group.Attributes["proxy_protocol_v2.enabled"] == "true"
			},
		},
		{
			name: "attributes of one port", change: set("target-group-attributes.443", "deregistration_delay.connection_termination.enabled=true"),
			calls: []string{"ModifyTargetGroupAttributes", "AddTags"}, check: func(lb fakeaws.Balancer) bool {
				const key = "deregistration_delay.connection_termination.enabled"
				return lb.Listeners[1].Group.Attributes[key] == "true" && lb.Listeners[0].Group.Attributes[key] != "true"
			},
		},
		{
			name: "a port becomes UDP", change: func(_ *bed, s *hook.Spec) { s.Ports[1].Protocol = "UDP" },
			check: func(lb fakeaws.Balancer) bool {
				return lb.Listeners[1].Protocol == "UDP" && lb.Listeners[1].Group.Protocol == "UDP"
			},
		},
		{
			name: "TLS ends at the load balancer", change: func(b *bed, s *hook.Spec) {
				s.Annotations[prefix+"ssl-cert"] = b.cloud.AddCertificate("*.apps.example.com") + "," + b.cloud.AddCertificate("www.example.com")
				s.Annotations[prefix+"ssl-ports"], s.Annotations[prefix+"backend-protocol"], s.Annotations[prefix+"alpn-policy"] = "https", "ssl", "HTTP2Preferred"
			},
			check: func(lb fakeaws.Balancer) bool {
				l := lb.Listeners[1]
				return l.Protocol == "TLS" && len(l.Certificates) == 2 && l.ALPN == "HTTP2Preferred" && l.Group.Protocol == "TLS" &&
					l.Policy == "ELBSecurityPolicy-TLS13-1-2-2021-06" && lb.Listeners[0].Protocol == "TCP"
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Drain: time.Minute, Release: 10 * time.Second}})
			b.ensure(routerSpec(4))
			before := b.one()
			changed := routerSpec(4)
			c.change(b, changed)
			got := b.changes(func() { b.ensure(changed) })
			if !c.check(b.one()) {
				t.Errorf("after %v: %+v", got, b.one())
			}
			if len(c.calls) > 0 {
				slices.Sort(got)
				want := slices.Sorted(slices.Values(c.calls))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			}
			if again := b.changes(func() { b.ensure(changed) }); len(again) > 0 {
				t.Errorf("a second pass changed %v", again)
			}
			if b.one().ARN != before.ARN {
				t.Error("the load balancer was made anew")
			}
			if !c.stays {
				b.ensure(routerSpec(4))
				after := b.one()
				if diff := cmp.Diff(shape(before), shape(after)); diff != "" {
					t.Errorf("after taking it back (-want +got):\n%s", diff)
				}
			}
			b.delete(changed.Ref)
			b.checkEmpty()
		})
	}
}

// TestReplacedGroup: nodes are open and targets stand in a new target group
// before its listener turns to it; what is old is closed when nothing leads
// there any more. The other port is not touched.
func TestReplacedGroup(t *testing.T) {
	b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Drain: time.Minute, Release: 10 * time.Second}})
	b.ensure(routerSpec(4))
	other := b.one().Listeners[1].Group.ARN
	spec := routerSpec(4)
	spec.Ports[0].NodePort = 31080
	got := b.changes(func() { b.ensure(spec) })
	want := []string{
		"AuthorizeSecurityGroupIngress", "CreateTargetGroup", "ModifyTargetGroupAttributes",
		"RegisterTargets", "ModifyListener", "DeregisterTargets", "DeleteTargetGroup", "RevokeSecurityGroupIngress",
	}
	// AWS may hold the former group for a moment more.
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if b.one().Listeners[1].Group.ARN != other {
		t.Error("the other port has another target group")
	}
}

// shape leaves out what a new target group has anew.
func shape(lb fakeaws.Balancer) fakeaws.Balancer {
	for i := range lb.Listeners {
		lb.Listeners[i].Group.ARN = ""
		lb.Listeners[i].Group.Draining = nil
		maps.DeleteFunc(lb.Listeners[i].Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev/attributes") })
	}
	maps.DeleteFunc(lb.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev/attributes") })
	return lb
}

// TestOthersSettingsStay: an attribute and a tag that no annotation names are
// somebody else's.
func TestOthersSettingsStay(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	b.ensure(spec)
	b.cloud.SetBalancerAttribute("dns_record.client_routing_policy", "availability_zone_affinity")
	b.restart()
	if got := b.changes(func() { b.ensure(spec) }); len(got) > 0 {
		t.Errorf("changes: %v", got)
	}
}

// TestRecreate: a change of scheme is refused, and the condition says how to
// allow it; where it is allowed, the new load balancer serves before the old
// one goes.
func TestRecreate(t *testing.T) {
	b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Activate: 3 * time.Minute, Initial: 30 * time.Second, Drain: time.Minute}})
	for n, zone := range []string{"a", "b"} {
		b.cloud.AddSubnet(fakeaws.Subnet{ID: "subnet-private-" + zone, CIDR: fmt.Sprintf("10.0.%d.0/24", n+101), Zone: "eu-central-1" + zone, Private: true})
	}
	b.ensure(routerSpec(4))
	internal := routerSpec(4)
	internal.Annotations[prefix+"internal"] = "true"
	r := b.ensure(internal)
	if len(r.Problems) != 1 || r.Problems[0].Reason != "RecreateRequired" || !r.Problems[0].Progressing {
		t.Errorf("problems: %+v", r.Problems)
	}
	if lb := b.one(); lb.Scheme != "internet-facing" {
		t.Errorf("scheme %s", lb.Scheme)
	}
	old := b.one()
	internal.Recreate = true
	sawBoth := false
	var switched time.Time // when the new name was published
	for range 60 {
		// DNS follows five minutes later.
		internal.NamePending = switched.IsZero() || b.clock.now().Sub(switched) < 5*time.Minute
		r, err := b.hook.Ensure(t.Context(), internal)
		if err != nil {
			t.Fatal(err)
		}
		all := b.cloud.Balancers()
		sawBoth = sawBoth || len(all) == 2
		if len(r.Ingress) != 1 {
			t.Fatalf("no address while it is replaced: %+v", r)
		}
		if r.Ingress[0].Hostname != old.DNSName && switched.IsZero() {
			switched = b.clock.now()
		}
		if len(all) == 1 && sawBoth && (switched.IsZero() || b.clock.now().Sub(switched) < 7*time.Minute) {
			t.Fatalf("the former load balancer went %v after its name", b.clock.now().Sub(switched))
		}
		if len(all) == 2 && r.Ingress[0].Hostname != old.DNSName && r.State == hook.StatePending && strings.Contains(r.Message, "no healthy target") {
			t.Error("the new name is published before it serves")
		}
		if r.State == hook.StateReady && r.RetryAfter == 0 && len(all) == 1 {
			break
		}
		b.clock.ahead += 15 * time.Second
	}
	if lb := b.one(); lb.Scheme != "internal" || !sawBoth || len(b.cloud.Groups()) != 2 {
		t.Errorf("scheme %s, both at once: %v, groups %d", lb.Scheme, sawBoth, len(b.cloud.Groups()))
	}
	b.delete(internal.Ref)
	b.checkEmpty()
}

// TestElasticAddresses: one address for each subnet, and for the load balancer
// that replaces another, the same ones.
func TestElasticAddresses(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	var ids []string
	for _, ip := range []string{"198.18.1.1", "198.18.1.2", "198.18.1.3"} {
		ids = append(ids, b.cloud.AddAddress(ip))
	}
	spec.Annotations[prefix+"subnets"] = "subnet-a,subnet-b,subnet-c"
	spec.Annotations[prefix+"eip-allocations"] = strings.Join(ids, ",")
	b.ensure(spec)
	want := map[string]string{"subnet-a": "198.18.1.1", "subnet-b": "198.18.1.2", "subnet-c": "198.18.1.3"}
	if diff := cmp.Diff(want, b.one().Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	other := b.cloud.AddAddress("198.18.1.9")
	spec.Annotations[prefix+"eip-allocations"] = strings.Join([]string{ids[0], ids[1], other}, ",")
	if got := b.changes(func() { b.ensure(spec) }); !slices.Equal(got, []string{"SetSubnets", "SetSubnets"}) {
		t.Errorf("calls: %v", got)
	}
	if got := b.one().Addresses["subnet-c"]; got != "198.18.1.9" {
		t.Errorf("address %s", got)
	}
}

// TestApplication: an application load balancer redirects port 80 and ends TLS
// with the certificate that ACM has for the domain.
func TestApplication(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	arn := b.cloud.AddCertificate("*.apps.example.com")
	b.cloud.AddCertificate("unrelated.example.com")
	spec := routerSpec(4)
	spec.Annotations[prefix+"type"], spec.Annotations["fairlead.dev/domain"] = "alb", "apps.example.com"
	acl := "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/edge/1"
	spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] = acl
	spec.Annotations[prefix+"connection-idle-timeout"] = "120"
	b.ensure(spec)
	lb := b.one()
	if lb.Type != "application" || lb.Attributes["routing.http.preserve_host_header.enabled"] != "true" || lb.Attributes["idle_timeout.timeout_seconds"] != "120" {
		t.Errorf("load balancer: %+v", lb)
	}
	if l := lb.Listeners[0]; l.Protocol != "HTTP" || l.Redirect != "HTTP_301" {
		t.Errorf("port 80: %+v", l)
	}
	if l := lb.Listeners[1]; l.Protocol != "HTTPS" || !slices.Equal(l.Certificates, []string{arn}) || l.Group.Protocol != "HTTPS" {
		t.Errorf("port 443: %+v", l)
	}
	if got := b.changes(func() { b.ensure(spec); b.restart(); b.ensure(spec) }); len(got) > 0 {
		t.Errorf("a second pass changed %v", got)
	}
	b.delete(spec.Ref)
	b.checkEmpty()
}
