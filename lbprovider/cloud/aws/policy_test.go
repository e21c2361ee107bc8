package aws_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/iam"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/route53"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

var update = flag.Bool("update", false, "write the IAM policy anew")

// policyFiles are one text: for people, and for the subcommand iam-policy.
func policyFiles() []string {
	return []string{"../../../config/cloud/aws/iam-policy.json", "iam/policy.json"}
}

// TestPolicy: the IAM policy allows what was really called, by a life in which
// every feature is used once, with what AWS itself needs for that, and nothing
// else.
func TestPolicy(t *testing.T) {
	b := newBed(t, fakeaws.Options{Delays: fakeaws.Delays{Drain: time.Minute}})
	b.everything()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(policyOf(b.cloud.Since(0))); err != nil {
		t.Fatal(err)
	}
	for _, file := range policyFiles() {
		if *update {
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), text.String()); diff != "" {
			t.Errorf("%s is not what is called; run the test with -update (-file +called):\n%s", file, diff)
		}
	}
}

// everything uses every feature that makes calls of its own.
func (b *bed) everything() {
	b.t.Helper()
	if _, err := b.hook.Identity(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	first, second := b.cloud.AddCertificate("*.apps.example.com", "apps.example.com"), b.cloud.AddCertificate("www.example.com")
	spec := routerSpec(4)
	b.ensure(spec)
	// Everything on …
	spec.Annotations = map[string]string{
		prefix + "ssl-cert": first + "," + second, prefix + "ssl-ports": "https", prefix + "backend-protocol": "ssl",
		prefix + "cross-zone-load-balancing-enabled": "true", prefix + "additional-resource-tags": "team=edge",
		prefix + "listener-attributes.TCP-80": "tcp.idle_timeout.seconds=600", prefix + "healthcheck-interval": "30",
		prefix + "ip-address-type": "dualstack", prefix + "subnets": "subnet-a,subnet-b",
		prefix + "extra-security-groups": b.cloud.AddSecurityGroup("extra", nil),
	}
	spec.SourceRanges = []string{"198.18.0.0/16"}
	b.ensure(spec)
	b.restart()
	b.ensure(spec)
	// … and off again.
	spec.Annotations[prefix+"ssl-cert"] = first
	delete(spec.Annotations, prefix+"additional-resource-tags")
	b.ensure(spec)
	spec = routerSpec(2)
	b.ensure(spec)
	if _, err := b.hook.Describe(b.t.Context(), spec.Ref); err != nil {
		b.t.Fatal(err)
	}
	b.names()
	b.delete(spec.Ref)

	spec.Annotations[prefix+"type"], spec.Annotations["fairlead.dev/domain"] = "alb", "apps.example.com"
	spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] = "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/edge/1"
	b.ensure(spec)
	spec.Annotations["fairlead.dev/aws-wafv2-acl-arn"] = "none"
	b.ensure(spec)
	b.delete(spec.Ref)
}

// names publishes and removes a name in zones that are found in every way.
func (b *bed) names() {
	b.t.Helper()
	b.cloud.AddZone("Z1", "example.com.", false, map[string]string{"cluster": "test"})
	cfg, err := aws.Config(b.t.Context(), aws.Access{Region: "eu-central-1", Endpoint: b.url, MaxBackoff: time.Millisecond, Speed: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	names := route53.New(route53.Options{Public: cfg, Private: cfg, Gather: -1})
	lb := b.one()
	record := &hook.Record{Name: "*.apps.example.com.", Type: hook.RecordCNAME, Targets: []string{lb.DNSName}, TTL: 30, TargetZone: fakeaws.HostedZone, Owner: "test"}
	for _, s := range []hook.ZoneSelector{{ID: "Z1"}, {Tags: map[string]string{"cluster": "test"}}, {Suffix: "apps.example.com."}} {
		zone, err := names.ResolveZone(b.t.Context(), s)
		if err != nil {
			b.t.Fatal(err)
		}
		for range 2 { // The second time it asks whether the change is everywhere.
			if _, err := names.EnsureRecord(b.t.Context(), record, zone); err != nil {
				b.t.Fatal(err)
			}
		}
		if err := names.DeleteRecord(b.t.Context(), record, zone); err != nil {
			b.t.Fatal(err)
		}
	}
}

// behalf are the actions that AWS itself takes in the name of who calls an
// action, and which he must be allowed too (Elastic Load Balancing user guide,
// "API permissions"; WAF asks likewise).
func behalf(name string) []string {
	return map[string][]string{
		"elasticloadbalancing:CreateLoadBalancer": {
			"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
		},
		"elasticloadbalancing:CreateTargetGroup": {"ec2:DescribeInternetGateways", "ec2:DescribeVpcs"},
		"elasticloadbalancing:RegisterTargets":   {"ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeSubnets", "ec2:DescribeVpcs"},
		"elasticloadbalancing:SetIpAddressType":  {"ec2:DescribeSubnets"},
		"elasticloadbalancing:SetSubnets":        {"ec2:DescribeSubnets"},
		"wafv2:AssociateWebACL":                  {"elasticloadbalancing:SetWebAcl"},
		"wafv2:DisassociateWebACL":               {"elasticloadbalancing:SetWebAcl"},
	}[name]
}

// policyOf makes the policy of a journal. CLUSTER, ACCOUNT and ZONE stand for
// what the reader puts there.
func policyOf(calls []fakeaws.Call) iam.Document {
	var all []string
	for _, c := range calls {
		name := c.Service + ":" + c.Action
		if c.Code == "" && !slices.Contains(all, name) && c.Service != "sts" { // STS needs no permission for it
			all = append(append(all, name), behalf(name)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const owned = "aws:ResourceTag/elbv2.k8s.aws/cluster"
	const made = "aws:RequestTag/elbv2.k8s.aws/cluster"
	is := func(pairs ...any) map[string]map[string]any {
		all := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i].(string)] = pairs[i+1]
		}
		return map[string]map[string]any{"StringEquals": all}
	}
	groups := []iam.Statement{
		{Sid: "Read", Resource: "*"},
		{Sid: "MakeTagged", Resource: "*", Condition: is(made, "CLUSTER")},
		// With the wanted tags alone, anything could be tagged as ours, and then be changed.
		{Sid: "TagNew", Resource: "*", Condition: is(
			made, "CLUSTER", "elasticloadbalancing:CreateAction", []string{"CreateListener", "CreateLoadBalancer", "CreateTargetGroup"},
		)},
		{Sid: "ChangeOwn", Resource: "*", Condition: is(owned, "CLUSTER")},
		{Sid: "MakeSecurityGroup", Resource: "arn:aws:ec2:*:ACCOUNT:security-group/*", Condition: is(made, "CLUSTER")},
		{Sid: "MakeSecurityGroupIn", Resource: "arn:aws:ec2:*:ACCOUNT:vpc/*"},
		{Sid: "TagNewSecurityGroup", Resource: "arn:aws:ec2:*:ACCOUNT:security-group/*", Condition: is("ec2:CreateAction", "CreateSecurityGroup", made, "CLUSTER")},
		{Sid: "OpenNodes", Resource: "arn:aws:ec2:*:ACCOUNT:security-group/*", Condition: is("aws:ResourceTag/kubernetes.io/cluster/CLUSTER", "owned")},
		{Sid: "Names", Resource: "arn:aws:route53:::hostedzone/ZONE"},
		// WAF knows no tags of load balancers; SetWebAcl, which it asks for as well, does.
		{Sid: "WebACL", Resource: []string{"arn:aws:wafv2:*:ACCOUNT:regional/webacl/*", "arn:aws:elasticloadbalancing:*:ACCOUNT:loadbalancer/app/*"}},
		{Sid: "WebACLOfOwn", Resource: "arn:aws:elasticloadbalancing:*:ACCOUNT:loadbalancer/app/*", Condition: is(owned, "CLUSTER")},
	}
	add := func(sid, action string) {
		i := slices.IndexFunc(groups, func(s iam.Statement) bool { return s.Sid == sid })
		groups[i].Effect = "Allow"
		groups[i].Action = append(groups[i].Action, action)
	}
	for _, name := range all {
		service, action, _ := strings.Cut(name, ":")
		switch {
		case fakeaws.Reading(action):
			add("Read", name)
		case service == "wafv2":
			add("WebACL", name)
		case action == "SetWebAcl":
			add("WebACLOfOwn", name)
		case service == "route53":
			add("Names", name)
		case name == "ec2:CreateSecurityGroup":
			add("MakeSecurityGroup", name)
			add("MakeSecurityGroupIn", name)
		case action == "CreateLoadBalancer" || action == "CreateTargetGroup":
			add("MakeTagged", name)
		case action == "AddTags":
			add("TagNew", name)
			add("ChangeOwn", name)
		default:
			if name == "ec2:CreateTags" || strings.HasSuffix(action, "SecurityGroupIngress") {
				sid := map[bool]string{true: "TagNewSecurityGroup", false: "OpenNodes"}[name == "ec2:CreateTags"]
				add(sid, name)
			}
			add("ChangeOwn", name)
		}
	}
	p := iam.Document{Version: "2012-10-17"}
	for _, g := range groups {
		if len(g.Action) > 0 {
			p.Statement = append(p.Statement, g)
		}
	}
	// The first network load balancer of an account makes AWS's own role.
	return iam.Document{Version: p.Version, Statement: append(p.Statement, iam.Statement{
		Sid: "FirstLoadBalancer", Effect: "Allow", Action: []string{"iam:CreateServiceLinkedRole"},
		Resource:  "arn:aws:iam::ACCOUNT:role/aws-service-role/elasticloadbalancing.amazonaws.com/*",
		Condition: is("iam:AWSServiceName", "elasticloadbalancing.amazonaws.com"),
	})}
}
