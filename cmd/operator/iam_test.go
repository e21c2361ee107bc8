package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestIAMPolicy: the flags of the operator say what is in the policy.
func TestIAMPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		args     string
		has, not []string
		fails    string
	}{
		{
			name: "load balancers and names",
			args: "--cloud=aws --cloud-cluster=c1 --dns=route53 --dns-zone=Z1 --dns-private-zone=Z2 --dns-private-zone-role=arn:aws:iam::1:role/dns --account=42",
			has:  []string{"elasticloadbalancing:CreateListener", "hostedzone/Z1", "hostedzone/Z2", "arn:aws:iam::1:role/dns", ":42:security-group"},
		},
		{name: "zones by tag", args: "--dns=route53 --dns-zone=Z1 --dns-zone=a=b", has: []string{"hostedzone/*", "elasticloadbalancing:DescribeLoadBalancers"}, not: []string{"elasticloadbalancing:Create", "hostedzone/Z1"}},
		{name: "nodes left alone", args: "--cloud=aws --cloud-cluster=c1 --aws-node-security-groups=false", has: []string{"MakeTagged"}, not: []string{"OpenNodes", "route53"}},
		{name: "in China", args: "--cloud=aws --cloud-cluster=c1 --dns=route53 --aws-region=cn-north-1", has: []string{"arn:aws-cn:ec2:", "arn:aws-cn:route53:"}, not: []string{"arn:aws:"}},
		{name: "a partition by name", args: "--cloud=aws --cloud-cluster=c1 --partition=aws-us-gov", has: []string{"arn:aws-us-gov:ec2:"}, not: []string{"arn:aws:"}},
		{name: "nothing of AWS", args: "--dns=rfc2136", fails: "nothing of AWS"},
		{name: "no name of the cluster", args: "--cloud=aws", fails: "--cloud-cluster"},
		{name: "a word too many", args: "--dns=route53 please", fails: "please"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := iamPolicy(strings.Fields(c.args), &out)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.has {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in %s", part, &out)
				}
			}
			for _, part := range c.not {
				if strings.Contains(out.String(), part) {
					t.Errorf("there is %q in %s", part, &out)
				}
			}
		})
	}
}
