package aws_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// bed is a cloud with three zones and four machines, and a hook whose real SDK
// talks to it.
type bed struct {
	t     *testing.T
	cloud *fakeaws.Cloud
	hook  *aws.Hook
	url   string
	// region is eu-central-1 unless the cloud's options say otherwise.
	region string
	nodes  string // the security group of the machines
	clock  *clock
	// options are added to those of every hook; a test may change them before restart.
	options aws.Options
}

// clock is what the hook takes for the time: it goes on by itself, and can be
// put forward.
type clock struct{ ahead time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.ahead) }

func newBed(t *testing.T, o fakeaws.Options) *bed {
	t.Helper()
	b := &bed{t: t, clock: &clock{}, region: o.Region}
	if b.region == "" {
		b.region = "eu-central-1"
	}
	o.Now = b.clock.now
	b.cloud = fakeaws.New(o)
	b.cloud.Zones3()
	b.nodes = b.cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/test": "owned"})
	for n := range 4 {
		b.cloud.AddInstance(instanceID(n), "subnet-"+string(rune('a'+n%3)), fmt.Sprintf("10.0.%d.%d", n%3+1, n+10), b.nodes)
	}
	server := httptest.NewServer(b.cloud)
	t.Cleanup(server.Close)
	b.url = server.URL
	// The credentials that the SDK's default chain finds first.
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	b.restart()
	return b
}

func instanceID(n int) string { return fmt.Sprintf("i-%017x", n+1) }

// restart makes a new hook, which remembers nothing.
func (b *bed) restart() {
	b.t.Helper()
	cfg, err := aws.Config(b.t.Context(), aws.Access{Region: b.region, Endpoint: b.url, MaxBackoff: time.Millisecond, Speed: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.options
	o.Cluster, o.Defaults.NodeRules, o.Now = "test", true, b.clock.now
	o.Log = slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.hook = aws.New(cfg, o)
}

// routerSpec is the Service of a router with n nodes.
func routerSpec(n int) *hook.Spec {
	s := &hook.Spec{
		Ref: hook.Ref{Cluster: "test", Namespace: "openshift-ingress", Name: "router-default", UID: "3f0c8a52-1111-4222-8333-444455556666"},
		Ports: []hook.Port{
			{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080, TargetPort: 80},
			{Name: "https", Protocol: "TCP", Port: 443, NodePort: 30443, TargetPort: 443},
		},
		LocalTraffic: true, HealthCheckNodePort: 32100, IPFamilies: []string{"IPv4"},
		Annotations: map[string]string{},
	}
	for i := range n {
		s.Targets.Nodes = append(s.Targets.Nodes, hook.Node{
			Name: fmt.Sprintf("node-%03d", i), ProviderID: "aws:///eu-central-1a/" + instanceID(i), Addresses: []string{fmt.Sprintf("10.0.%d.%d", i%3+1, i+10)},
		})
	}
	return s
}

const prefix = "service.beta.kubernetes.io/aws-load-balancer-"

// ensure calls Ensure until nothing is left to be done.
func (b *bed) ensure(spec *hook.Spec) *hook.Result {
	b.t.Helper()
	r, err := b.settle(b.t.Context(), spec)
	if err != nil {
		b.t.Fatalf("ensure: %v", err)
	}
	return r
}

// settle calls Ensure until it is Ready and has nothing to wait for, as the
// controller does, and returns the last error.
func (b *bed) settle(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	b.t.Helper()
	var r *hook.Result
	var err error
	for range 40 {
		r, err = b.hook.Ensure(ctx, spec)
		if err == nil && r.State == hook.StateReady && r.RetryAfter == 0 {
			return r, nil
		}
		b.clock.ahead += 20 * time.Second
	}
	return r, err
}

func (b *bed) one() fakeaws.Balancer {
	b.t.Helper()
	all := b.cloud.Balancers()
	if len(all) != 1 {
		b.t.Fatalf("%d load balancers, want 1", len(all))
	}
	return all[0]
}

// changes runs a function and returns the changing actions that it caused.
func (b *bed) changes(f func()) []string {
	b.t.Helper()
	mark := b.cloud.Mark()
	f()
	return fakeaws.Actions(fakeaws.Changes(b.cloud.Since(mark)))
}

// TestJournal is the whole life of a router's load balancer, call by call.
func TestJournal(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	spec.Annotations[prefix+"target-group-attributes"] = "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true"

	got := b.changes(func() { b.ensure(spec) })
	want := []string{
		"CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress",
		"CreateTargetGroup", "ModifyTargetGroupAttributes", "CreateTargetGroup", "ModifyTargetGroupAttributes",
		"CreateLoadBalancer", "CreateListener", "CreateListener", "RegisterTargets", "RegisterTargets",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	b.checkRouter(spec)

	if got := b.changes(func() { b.ensure(spec); b.restart(); b.ensure(spec) }); len(got) != 0 {
		t.Errorf("a second pass and a restart changed: %v", got)
	}

	b.cloud.AddInstance(instanceID(4), "subnet-b", "10.0.2.14", b.nodes)
	grown := routerSpec(5)
	grown.Annotations = spec.Annotations
	if got := b.changes(func() { b.ensure(grown) }); !slices.Equal(got, []string{"RegisterTargets", "RegisterTargets"}) {
		t.Errorf("one node more: %v", got)
	}
	grown.SourceRanges = []string{"198.18.0.0/16"}
	if got := b.changes(func() { b.ensure(grown) }); !slices.Equal(got, []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"}) {
		t.Errorf("other source ranges: %v", got)
	}
	got = b.changes(func() { b.delete(spec.Ref) })
	want = []string{
		"DeleteListener", "DeleteListener", "DeleteLoadBalancer", "DeleteTargetGroup", "DeleteTargetGroup", "RevokeSecurityGroupIngress", "DeleteSecurityGroup",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delete (-want +got):\n%s", diff)
	}
	b.checkEmpty()
}

// delete calls Delete until it is done.
func (b *bed) delete(ref hook.Ref) {
	b.t.Helper()
	b.deletion(&hook.Deletion{Ref: ref})
}

func (b *bed) deletion(d *hook.Deletion) *hook.DeleteResult {
	b.t.Helper()
	for range 40 {
		r, err := b.hook.Delete(b.t.Context(), d)
		if err == nil && r.Done {
			return r
		}
		b.t.Logf("delete: %+v %v", r, err)
		b.clock.ahead += 20 * time.Second
	}
	b.t.Fatal("the load balancer was not deleted")
	return nil
}

// Both kinds of load balancers go through the same faults.
const (
	network     = "network"
	application = "application"
)

func kinds() []string { return []string{network, application} }

// specOf is the Service of a router with n nodes, for a load balancer of a kind.
func (b *bed) specOf(kind string, n int) *hook.Spec {
	b.t.Helper()
	spec := routerSpec(n)
	if kind == application {
		b.cloud.AddCertificate("*.apps.example.com")
		spec.Annotations[prefix+"type"], spec.Annotations["fairlead.dev/domain"] = "alb", "apps.example.com"
		spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] = "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/edge/1"
	} else {
		spec.Annotations[prefix+"target-group-attributes"] = "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true"
	}
	return spec
}

// check fails unless the load balancer of specOf stands as it should.
func (b *bed) check(kind string, spec *hook.Spec) {
	b.t.Helper()
	if kind == network {
		b.checkRouter(spec)
		return
	}
	lb := b.one()
	if lb.Type != application || len(lb.Subnets) != 3 || lb.Attributes["routing.http.preserve_host_header.enabled"] != "true" || len(lb.Listeners) != 2 {
		b.t.Fatalf("load balancer: %+v", lb)
	}
	if l := lb.Listeners[0]; l.Protocol != "HTTP" || l.Redirect != "HTTP_301" {
		b.t.Errorf("port 80: %+v", l)
	}
	if l := lb.Listeners[1]; l.Protocol != "HTTPS" || len(l.Certificates) != 1 || l.Group.Protocol != "HTTPS" || len(l.Group.Targets) != len(spec.Targets.Nodes) {
		b.t.Errorf("port 443: %+v", l)
	}
	if groups, frontends := b.cloud.Groups(), b.cloud.SecurityGroups(); len(groups) != 2 || len(frontends) != 2 {
		b.t.Errorf("target groups %+v, security groups %+v", groups, frontends)
	}
	if acl := b.cloud.ACL(lb.ARN); acl != spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] {
		b.t.Errorf("web ACL %q", acl)
	}
}

// checkEmpty fails if anything of ours is left.
func (b *bed) checkEmpty() {
	b.t.Helper()
	if left := b.cloud.Balancers(); len(left) > 0 {
		b.t.Errorf("load balancers are left: %+v", left)
	}
	if left := b.cloud.Groups(); len(left) > 0 {
		b.t.Errorf("target groups are left: %+v", left)
	}
	for _, g := range b.cloud.SecurityGroups() {
		if g.Name == "theirs" {
			continue
		}
		if g.ID != b.nodes {
			b.t.Errorf("the security group %s is left", g.Name)
		} else if len(g.Rules) > 0 {
			b.t.Errorf("rules of the nodes' security group are left: %v", g.Rules)
		}
	}
}

// checkRouter fails unless the load balancer of routerSpec stands as it should.
func (b *bed) checkRouter(spec *hook.Spec) {
	b.t.Helper()
	lb := b.one()
	var targets []string
	for _, n := range spec.Targets.Nodes {
		targets = append(targets, strings.TrimPrefix(n.ProviderID, "aws:///eu-central-1a/"))
	}
	if lb.Type != "network" || lb.Scheme != "internet-facing" || !slices.Equal(lb.Subnets, []string{"subnet-a", "subnet-b", "subnet-c"}) {
		b.t.Errorf("load balancer: %+v", lb)
	}
	if !strings.HasPrefix(lb.Name, "k8s-openshif-routerde-") || len(lb.Name) > 32 {
		b.t.Errorf("name %q", lb.Name)
	}
	if len(lb.Listeners) != len(spec.Ports) {
		b.t.Fatalf("listeners: %+v", lb.Listeners)
	}
	for i, p := range spec.Ports {
		l := lb.Listeners[i]
		check := fakeaws.Check{Protocol: "HTTP", Port: "32100", Path: "/healthz", Matcher: "200-399", Interval: 10, Timeout: 6, Healthy: 2, Unhealthy: 2}
		if l.Port != int(p.Port) || l.Protocol != "TCP" || l.Group.Port != int(p.NodePort) || l.Group.Check != check {
			b.t.Errorf("listener %d: %+v", p.Port, l)
		}
		var want []string
		for _, id := range targets {
			want = append(want, fmt.Sprintf("%s:%d", id, p.NodePort))
		}
		if diff := cmp.Diff(want, l.Group.Targets); diff != "" {
			b.t.Errorf("targets of %d (-want +got):\n%s", p.Port, diff)
		}
	}
	for _, g := range b.cloud.SecurityGroups() {
		switch {
		case g.ID == b.nodes:
			front := lb.SecurityGroups[0]
			want := []string{"tcp 30080-30080 " + front, "tcp 30443-30443 " + front, "tcp 32100-32100 " + front}
			if diff := cmp.Diff(want, g.Rules); diff != "" {
				b.t.Errorf("nodes' rules (-want +got):\n%s", diff)
			}
		case !slices.Contains(lb.SecurityGroups, g.ID):
			b.t.Errorf("the security group %s is nobody's", g.Name)
		default:
			want := []string{"icmp 3-4 0.0.0.0/0", "tcp 443-443 0.0.0.0/0", "tcp 80-80 0.0.0.0/0"}
			if diff := cmp.Diff(want, g.Rules); diff != "" {
				b.t.Errorf("frontend's rules (-want +got):\n%s", diff)
			}
		}
	}
	if n := len(b.cloud.Groups()); n != len(spec.Ports) {
		b.t.Errorf("%d target groups, want %d", n, len(spec.Ports))
	}
	for _, tags := range []map[string]string{lb.Tags, lb.Listeners[0].Tags, lb.Listeners[0].Group.Tags} {
		if tags["kubernetes.io/cluster/test"] != "owned" || tags["elbv2.k8s.aws/cluster"] != "test" || tags["fairlead.dev/resource"] == "" {
			b.t.Errorf("tags: %v", tags)
		}
	}
}
