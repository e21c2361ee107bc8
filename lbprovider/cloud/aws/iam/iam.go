// Package iam holds the rights that the operator needs in AWS, as an IAM policy.
// The policy is made by a test of package aws, of the calls of a life in which
// every feature is used once; here it is cut down to one configuration.
package iam

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed policy.json
var full []byte

// Full returns the policy with everything. CLUSTER, ACCOUNT and ZONE stand for
// the names that belong there.
func Full() []byte { return slices.Clone(full) }

// Options say what a policy is for.
type Options struct {
	// Cluster is the name of the cluster in tags. Required.
	Cluster string
	// Account is the number of the account; empty means any.
	Account string
	// Partition is "aws", "aws-cn", "aws-us-gov" and so on; empty means "aws".
	Partition string
	// Balancers says whether load balancers are made, and NodeGroups whether
	// the nodes' security groups are opened for them.
	Balancers, NodeGroups bool
	// Names says whether Route 53 is written to, and Zones the ids of the zones
	// where; empty means all zones.
	Names bool
	Zones []string
	// Roles are the ARNs of roles to assume.
	Roles []string
}

// Document is an IAM policy, with the fields that ours have.
type Document struct {
	Version   string
	Statement []Statement
}

// Statement is a part of a Document. Its Resource, and the values of its
// Condition, are a text or a list of them.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  any
	Condition map[string]map[string]any `json:",omitempty"`
}

// Partition returns the name of the partition that a region is in, such as
// "aws-cn", by how its name begins; "aws" for most.
func Partition(region string) string {
	for prefix, name := range map[string]string{
		"cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc",
		"us-iso-": "aws-iso", "us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e", "us-isof-": "aws-iso-f",
	} {
		if strings.HasPrefix(region, prefix) {
			return name
		}
	}
	return "aws"
}

// Policy returns the policy as JSON, with a line break at its end.
func Policy(o Options) ([]byte, error) {
	text := strings.ReplaceAll(string(full), "CLUSTER", o.Cluster)
	account := o.Account
	if account == "" {
		account = "*"
	}
	text = strings.ReplaceAll(text, "ACCOUNT", account)
	if o.Partition != "" {
		text = strings.ReplaceAll(text, "arn:aws:", "arn:"+o.Partition+":")
	}
	var p Document
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	var kept []Statement
	for _, s := range p.Statement {
		s.Action = slices.DeleteFunc(s.Action, func(action string) bool { return !o.needs(s.Sid, action) })
		if len(s.Action) == 0 {
			continue
		}
		if s.Sid == "Names" {
			s.Resource = zones(s.Resource, o.Zones)
		}
		kept = append(kept, s)
	}
	p.Statement = kept
	if len(o.Roles) > 0 {
		p.Statement = append(p.Statement, Statement{Sid: "Roles", Effect: "Allow", Action: []string{"sts:AssumeRole"}, Resource: o.Roles})
	}
	out, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the policy: %w", err)
	}
	return append(out, '\n'), nil
}

// needs reports whether an action of a statement is called.
func (o Options) needs(sid, action string) bool {
	switch {
	case strings.HasPrefix(action, "route53:"):
		return o.Names
	case action == "elasticloadbalancing:DescribeLoadBalancers" && o.Names:
		return true // the zone of a load balancer that another controller made
	}
	return o.Balancers && (sid != "OpenNodes" || o.NodeGroups)
}

// zones returns the resources of the zones, of the one with the placeholder.
func zones(placeholder any, ids []string) any {
	text, ok := placeholder.(string)
	if !ok {
		return placeholder
	}
	if len(ids) == 0 {
		return strings.ReplaceAll(text, "ZONE", "*")
	}
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		list = append(list, strings.ReplaceAll(text, "ZONE", strings.TrimPrefix(id, "/hostedzone/")))
	}
	return list
}
