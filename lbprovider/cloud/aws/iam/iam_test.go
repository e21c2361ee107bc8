package iam_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/iam"
)

func TestPartition(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{
		"": "aws", "eu-central-1": "aws", "us-west-2": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b",
	} {
		if got := iam.Partition(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

// TestPolicy: a policy holds what its configuration needs and no more, and no
// placeholder.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		o        iam.Options
		has, not []string
	}{
		{"everything", iam.Options{Cluster: "c1", Account: "123456789012", Balancers: true, NodeGroups: true, Names: true, Zones: []string{"/hostedzone/Z1", "Z2"}, Roles: []string{"arn:aws:iam::1:role/dns"}}, []string{
			"elasticloadbalancing:CreateLoadBalancer", "hostedzone/Z1\"", "hostedzone/Z2\"", `cluster": "c1"`, "OpenNodes", "arn:aws:ec2:*:123456789012:security-group/*", "sts:AssumeRole", "iam:CreateServiceLinkedRole",
		}, []string{"hostedzone//"}},
		{"load balancers only", iam.Options{Cluster: "c1", Balancers: true, NodeGroups: true}, []string{"OpenNodes", "arn:aws:ec2:*:*:security-group/*"}, []string{"route53:", "sts:AssumeRole"}},
		{"nodes are somebody else's", iam.Options{Cluster: "c1", Balancers: true}, []string{"ec2:AuthorizeSecurityGroupIngress"}, []string{"OpenNodes"}},
		{"names only", iam.Options{Cluster: "c1", Names: true}, []string{"route53:ChangeResourceRecordSets", "hostedzone/*", "elasticloadbalancing:DescribeLoadBalancers"}, []string{"DescribeTags\"", "elasticloadbalancing:Create", "DescribeListeners", "ec2:", "iam:"}},
		{"another partition", iam.Options{Cluster: "c1", Balancers: true, NodeGroups: true, Names: true, Partition: "aws-us-gov"}, []string{"arn:aws-us-gov:route53"}, []string{"arn:aws:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := iam.Policy(c.o)
			if err != nil || !json.Valid(out) {
				t.Fatalf("%v: %s", err, out)
			}
			for _, part := range c.has {
				if !strings.Contains(string(out), part) {
					t.Errorf("no %q in %s", part, out)
				}
			}
			for _, part := range append(c.not, "CLUSTER", "ACCOUNT", "ZONE", "null") {
				if strings.Contains(string(out), part) {
					t.Errorf("there is %q in %s", part, out)
				}
			}
		})
	}
	// A managed policy has at most 6,144 characters, not counting white space.
	const most = 6144
	everything, err := iam.Policy(iam.Options{Cluster: strings.Repeat("c", 100), Account: "123456789012", Balancers: true, NodeGroups: true, Names: true})
	if n := len(strings.Join(strings.Fields(string(everything)), "")); err != nil || n > most {
		t.Errorf("the policy has %d characters, %v", n, err)
	}
	if !strings.Contains(string(iam.Full()), "CLUSTER") {
		t.Error("the full policy has no placeholder")
	}
}
