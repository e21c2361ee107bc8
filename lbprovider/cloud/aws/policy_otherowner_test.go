package aws_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/iam"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// ask is a request as IAM sees it.
type ask struct {
	action, resource string
	context          map[string]string
}

// allows evaluates a policy as IAM does: a statement allows that has the
// action, the resource, and each of whose conditions holds. A key that a request
// has not never equals anything.
func allows(p iam.Document, q ask) bool {
	texts := func(v any) []string {
		switch v := v.(type) {
		case string:
			return []string{v}
		case []any:
			var list []string
			for _, x := range v {
				list = append(list, fmt.Sprint(x))
			}
			return list
		}
		return nil
	}
	like := func(pattern, text string) bool {
		// In IAM a star takes slashes too.
		found, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(text, "/", "|"))
		return err == nil && found
	}
	return slices.ContainsFunc(p.Statement, func(s iam.Statement) bool {
		if s.Effect != "Allow" || !slices.Contains(s.Action, q.action) {
			return false
		}
		if !slices.ContainsFunc(texts(s.Resource), func(r string) bool { return r == "*" || like(r, q.resource) }) {
			return false
		}
		for operator, keys := range s.Condition {
			for key, want := range keys {
				if have, ok := q.context[key]; operator != "StringEquals" || !ok || !slices.Contains(texts(want), have) {
					return false
				}
			}
		}
		return true
	})
}

// resources are what an action changes, by the kind of thing.
func resources(action string) []string {
	const elb = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:"
	switch service, name, _ := strings.Cut(action, ":"); {
	case service == "ec2":
		return []string{"arn:aws:ec2:eu-central-1:123456789012:security-group/sg-1"}
	case service == "wafv2", name == "SetWebAcl":
		return []string{elb + "loadbalancer/app/theirs/1"}
	case service == "route53":
		return []string{"arn:aws:route53:::hostedzone/Z2"}
	case service == "iam":
		return []string{"arn:aws:iam::123456789012:role/theirs"}
	}
	return []string{elb + "loadbalancer/net/theirs/1", elb + "loadbalancer/app/theirs/1", elb + "targetgroup/theirs/1", elb + "listener/net/theirs/1/2"}
}

// TestPolicyAgainstForeignResources: whoever has the operator's credentials
// changes nothing that is not this cluster's, cannot make it this cluster's by
// tags, and can do what the operator does.
func TestPolicyAgainstForeignResources(t *testing.T) {
	text, err := iam.Policy(iam.Options{Cluster: "test", Account: "123456789012", Balancers: true, NodeGroups: true, Names: true, Zones: []string{"Z1"}})
	if err != nil {
		t.Fatal(err)
	}
	var p iam.Document
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	const tag, claim = "aws:ResourceTag/elbv2.k8s.aws/cluster", "aws:RequestTag/elbv2.k8s.aws/cluster"
	owners := []map[string]string{{}, {tag: "other"}, {"aws:ResourceTag/kubernetes.io/cluster/other": "owned"}, {"aws:ResourceTag/kubernetes.io/cluster/test": "shared"}}
	changes := 0
	for _, s := range p.Statement {
		for _, action := range s.Action {
			_, name, _ := strings.Cut(action, ":")
			if fakeaws.Reading(name) {
				continue
			}
			changes++
			for _, resource := range resources(action) {
				for _, owner := range owners {
					for _, asked := range []map[string]string{{}, {claim: "test"}, {claim: "other"}, {"aws:RequestTag/kubernetes.io/cluster/test": "owned"}} {
						q := ask{action, resource, map[string]string{}}
						for _, m := range []map[string]string{owner, asked} {
							maps.Copy(q.context, m)
						}
						making := name == "CreateLoadBalancer" || name == "CreateTargetGroup" || name == "CreateSecurityGroup"
						// WAF asks for elasticloadbalancing:SetWebAcl as well, which is refused.
						if got := allows(p, q); got != (making && asked[claim] == "test") && !strings.HasPrefix(action, "wafv2:") {
							t.Errorf("%s on %s with %v: allowed %v", action, resource, q.context, got)
						}
					}
				}
				own := ask{action, resource, map[string]string{tag: "test", claim: "test", "aws:ResourceTag/kubernetes.io/cluster/test": "owned"}}
				if !strings.HasPrefix(action, "route53:") && !strings.HasPrefix(action, "iam:") && !allows(p, own) {
					t.Errorf("%s on our own %s is refused", action, resource)
				}
			}
		}
	}
	if changes < 25 {
		t.Errorf("only %d changing actions", changes)
	}
	const balancer = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/new/1"
	for create, fine := range map[string]bool{"CreateLoadBalancer": true, "CreateTargetGroup": true, "CreateListener": true, "CreateRule": false} {
		q := ask{"elasticloadbalancing:AddTags", balancer, map[string]string{claim: "test", "elasticloadbalancing:CreateAction": create}}
		if got := allows(p, q); got != fine {
			t.Errorf("tags with %s: allowed %v", create, got)
		}
		q.context[claim] = "other"
		if allows(p, q) {
			t.Errorf("tags of another cluster with %s are allowed", create)
		}
	}
	if q := (ask{"wafv2:AssociateWebACL", "arn:aws:elasticloadbalancing:eu-central-1:999999999999:loadbalancer/app/theirs/1", nil}); allows(p, q) {
		t.Error("WAF of another account is allowed")
	}
}
