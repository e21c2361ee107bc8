package stack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// wanted is what a router's Service with annotations, by suffix, leads to.
func wanted(t *testing.T, annotations map[string]string, change func(*Input)) (Stack, []hook.Problem) {
	t.Helper()
	full := map[string]string{}
	for k, v := range annotations {
		if !strings.Contains(k, "/") {
			k = balancerPrefix + k
		}
		full[k] = v
	}
	spec := routerPorts(full)
	spec.Ref = hook.Ref{Cluster: "c", Namespace: "openshift-ingress", Name: "router-default", UID: "u"}
	spec.LocalTraffic, spec.HealthCheckNodePort = true, 32100
	in := Input{Spec: spec, Defaults: Defaults{Scheme: hook.SchemeInternetFacing, TargetType: "instance", NodeRules: true}, Environment: Environment{
		VPC: "vpc-1", Ranges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("2001:db8::/48")},
		Subnets: []Subnet{
			{ID: "s1", Zone: "a", ZoneType: "availability-zone", Free: 100, Public: true, IPv6: true},
			{ID: "s2", Zone: "b", ZoneType: "availability-zone", Free: 100, Public: true, IPv6: true},
		},
		Certificates: map[string][]string{"arn:aws:acm:r:1:certificate/a": {"*.apps.example.com"}},
	}}
	if change != nil {
		change(&in)
	}
	in.Settings, _ = Read(in.Spec.Annotations) // what is wrong shows in the result
	out, problems, err := Desire(in)
	if err != nil {
		t.Fatal(err)
	}
	return out, problems
}

// TestChecks: how targets are checked, by traffic policy, kind of target and
// kind of load balancer.
func TestChecks(t *testing.T) {
	t.Parallel()
	const domain = "fairlead.dev/domain"
	kubeProxy := HealthCheck{Protocol: "HTTP", Port: "32100", Path: "/healthz", Codes: "200-399", Interval: 10, Timeout: 6, Healthy: 2, Unhealthy: 2}
	dialed := HealthCheck{Protocol: "TCP", Port: trafficPort, Interval: 10, Timeout: 10, Healthy: 3, Unhealthy: 3}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		change      func(*Input)
		want        HealthCheck
	}{
		{name: "machines, Local", want: kubeProxy},
		{name: "machines, Cluster", change: func(in *Input) { in.Spec.LocalTraffic = false }, want: dialed},
		{name: "nodes by address, Local", annotations: map[string]string{"nlb-target-type": "ip", "fairlead.dev/aws-target-source": "node"}, want: kubeProxy},
		{name: "pods", annotations: map[string]string{"nlb-target-type": "ip"}, want: dialed},
		{name: "pods, by the operator's flag", change: func(in *Input) { in.Defaults.TargetType = "ip" }, want: dialed},
		{
			name: "chosen", annotations: map[string]string{"healthcheck-protocol": "HTTPS", "healthcheck-port": "https", "healthcheck-interval": "5", "healthcheck-success-codes": "200"},
			want: HealthCheck{Protocol: "HTTPS", Port: "30443", Path: "/", Codes: "200", Interval: 5, Timeout: 5, Healthy: 2, Unhealthy: 2},
		},
		{
			name: "application, Local", annotations: map[string]string{"type": "alb", domain: "apps.example.com"},
			want: HealthCheck{Protocol: "HTTP", Port: "32100", Path: "/healthz", Codes: "200", Interval: 15, Timeout: 5, Healthy: 2, Unhealthy: 2},
		},
		{
			name: "application, as the operator writes it", annotations: map[string]string{"type": "alb", "healthcheck-interval": "10", "healthcheck-timeout": "4"},
			want: HealthCheck{Protocol: "HTTP", Port: "32100", Path: "/healthz", Codes: "200", Interval: 10, Timeout: 4, Healthy: 2, Unhealthy: 2},
		},
		{
			name: "application, pods of a router", annotations: map[string]string{"type": "alb", "nlb-target-type": "ip", annotationProbe: ":1936/healthz/ready"},
			want: HealthCheck{Protocol: "HTTP", Port: "1936", Path: "/healthz/ready", Codes: "200", Interval: 15, Timeout: 5, Healthy: 2, Unhealthy: 2},
		},
		{
			name: "application, other pods", annotations: map[string]string{"type": "alb", "nlb-target-type": "ip"},
			want: HealthCheck{Protocol: "HTTP", Port: trafficPort, Path: "/", Codes: "200-499", Interval: 15, Timeout: 5, Healthy: 2, Unhealthy: 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, _ := wanted(t, c.annotations, c.change)
			if diff := cmp.Diff(c.want, out.Groups[0].Check); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargets: which addresses and ports targets have.
func TestTargets(t *testing.T) {
	t.Parallel()
	node := func(name string, addresses ...string) hook.Node { return hook.Node{Name: name, Addresses: addresses} }
	pod := func(address, node string) hook.Pod {
		return hook.Pod{Address: address, Node: node, Ports: map[int32]int32{80: 8080, 443: 8443}}
	}
	nodes := map[string]string{"nlb-target-type": "ip", "fairlead.dev/aws-target-source": "node"}
	pods := map[string]string{"nlb-target-type": "ip"}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		nodes       []hook.Node
		pods        []hook.Pod
		change      func(*Input)
		want        []Target
		problem     string
	}{
		{name: "nodes", annotations: nodes, nodes: []hook.Node{node("a", "2001:db8::1", "10.0.0.1")}, want: []Target{{ID: "10.0.0.1", Port: 30080}}},
		{
			name: "nodes elsewhere", annotations: nodes, nodes: []hook.Node{node("a", "192.168.0.1"), node("b", "100.64.0.1")}, want: []Target{
				{ID: "192.168.0.1", Port: 30080, Zone: "all"}, {ID: "100.64.0.1", Port: 30080, Zone: "all"},
			},
		},
		{name: "a public node elsewhere", annotations: nodes, nodes: []hook.Node{node("a", "203.0.113.1"), node("b", "10.0.0.2")}, want: []Target{{ID: "10.0.0.2", Port: 30080}}, problem: "203.0.113.1"},
		{
			name: "routers in the nodes' network", annotations: nodes, nodes: []hook.Node{node("a", "10.0.0.1"), node("b", "10.0.0.2"), node("c", "192.168.0.3")},
			pods: []hook.Pod{pod("10.0.0.1", "a"), pod("192.168.0.3", "c")}, change: func(in *Input) { in.Spec.Ports[0].NodePort = 0 },
			want: []Target{{ID: "10.0.0.1", Port: 8080}, {ID: "192.168.0.3", Port: 8080, Zone: "all"}},
		},
		{name: "pods", annotations: pods, pods: []hook.Pod{pod("10.0.1.1", "a"), {Address: "10.0.1.2", Ports: map[int32]int32{80: 1}, Draining: true}}, want: []Target{{ID: "10.0.1.1", Port: 8080}}},
		{name: "pods of an overlay", annotations: pods, pods: []hook.Pod{pod("172.16.0.1", "a")}, problem: "172.16.0.1"},
		{name: "pods in the network of nodes elsewhere", annotations: pods, nodes: []hook.Node{node("a", "192.168.0.1")}, pods: []hook.Pod{pod("192.168.0.1", "a")}, want: []Target{{ID: "192.168.0.1", Port: 8080, Zone: "all"}}},
		{name: "both families", annotations: pods, pods: []hook.Pod{pod("10.0.1.1", "a"), pod("2001:db8::1", "a")}, want: []Target{{ID: "10.0.1.1", Port: 8080}}},
		{
			name: "IPv6 first", annotations: map[string]string{"nlb-target-type": "ip", "ip-address-type": "dualstack"}, pods: []hook.Pod{pod("10.0.1.1", "a"), pod("2001:db8::1", "a")},
			change: func(in *Input) { in.Spec.IPFamilies = []string{"IPv6", "IPv4"} }, want: []Target{{ID: "2001:db8::1", Port: 8080}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, problems := wanted(t, c.annotations, func(in *Input) {
				in.Spec.Targets = hook.TargetSet{Nodes: c.nodes, Pods: c.pods}
				if c.change != nil {
					c.change(in)
				}
			})
			if diff := cmp.Diff(c.want, out.Groups[0].Targets); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (c.problem == "") != (len(problems) == 0) || len(problems) > 0 && !strings.Contains(problems[0].Message, c.problem) {
				t.Errorf("problems %v, want %q", problems, c.problem)
			}
		})
	}
}

// TestTargetLimits: AWS's quotas, which differ by kind and zones.
func TestTargetLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		annotations map[string]string
		nodes, want int
		reason      string
	}{
		{name: "room enough", nodes: 399, want: 399},
		{name: "near", nodes: 400, want: 400, reason: "TargetQuotaNear"},
		{name: "two zones, two ports", nodes: 501, want: 500, reason: "TargetsTruncated"},
		{name: "cross-zone", annotations: map[string]string{"cross-zone-load-balancing-enabled": "true"}, nodes: 300, want: 250, reason: "TargetsTruncated"},
		{name: "application", annotations: map[string]string{"type": "alb"}, nodes: 501, want: 500, reason: "TargetsTruncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, problems := wanted(t, c.annotations, func(in *Input) {
				for n := range c.nodes {
					in.Spec.Targets.Nodes = append(in.Spec.Targets.Nodes, hook.Node{Name: fmt.Sprintf("n%04d", n), ProviderID: fmt.Sprintf("i-%04d", n), HasEndpoint: n == c.nodes-1})
				}
			})
			targets := out.Groups[0].Targets
			if len(targets) != c.want || targets[0].ID != fmt.Sprintf("i-%04d", c.nodes-1) {
				t.Errorf("%d targets, the first is %v; want %d, and the one with an endpoint first", len(targets), targets[0], c.want)
			}
			i := slices.IndexFunc(problems, func(p hook.Problem) bool { return p.Reason == c.reason })
			if c.reason != "" && (i < 0 || problems[i].Progressing != (c.reason == "TargetsTruncated")) {
				t.Errorf("problems %+v, want %s", problems, c.reason)
			}
		})
	}
}

// TestDrainTimes: how long a target that leaves may go on.
func TestDrainTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		annotations map[string]string
		want        string
	}{
		{nil, "60"},
		{map[string]string{"nlb-target-type": "ip"}, "45"},
		{map[string]string{"nlb-target-type": "ip", "connection-draining-timeout": "120"}, "120"},
		{map[string]string{"nlb-target-type": "ip", "connection-draining-enabled": "false"}, "0"},
		{map[string]string{"connection-draining-timeout": "30", "target-group-attributes": "deregistration_delay.timeout_seconds=7"}, "7"},
	} {
		out, _ := wanted(t, c.annotations, nil)
		if got := out.Groups[0].Attributes["deregistration_delay.timeout_seconds"]; got != c.want {
			t.Errorf("%v: %s, want %s", c.annotations, got, c.want)
		}
	}
}
