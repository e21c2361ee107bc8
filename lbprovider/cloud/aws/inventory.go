package aws

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

// inventory is everything in the account that may be ours, found by tags. It
// is read as a whole and shared by all Services: after a start, a hundred load
// balancers cost little more than one.
type inventory struct {
	hook *Hook

	mu   sync.Mutex // held while reading, so that others wait for the result
	last *stock
}

type stock struct {
	at        time.Time
	balancers []stack.Balancer // all of the account, with their tags
	groups    []stack.TargetGroup
	frontends []stack.SecurityGroup
}

// inventoryAge is how long an inventory is good enough. It may be a little
// late: who then creates what is there already is told so by AWS.
const inventoryAge = 30 * time.Second

func (i *inventory) drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = nil
}

func (i *inventory) get(ctx context.Context) (*stock, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.last != nil && i.hook.now().Sub(i.last.at) < inventoryAge {
		return i.last, nil
	}
	s, err := i.read(ctx)
	if err != nil {
		return nil, err
	}
	i.last = s
	return s, nil
}

func (i *inventory) read(ctx context.Context) (*stock, error) {
	s := &stock{at: i.hook.now()}
	balancers := elb.NewDescribeLoadBalancersPaginator(i.hook.aws.elb, &elb.DescribeLoadBalancersInput{})
	for balancers.HasMorePages() {
		page, err := balancers.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeLoadBalancers", err)
		}
		for _, b := range page.LoadBalancers {
			s.balancers = append(s.balancers, balancerOf(b))
		}
	}
	groups := elb.NewDescribeTargetGroupsPaginator(i.hook.aws.elb, &elb.DescribeTargetGroupsInput{})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return nil, Classify("DescribeTargetGroups", err)
		}
		for _, g := range page.TargetGroups {
			// All our target groups have generated names.
			if group := groupOf(g); strings.HasPrefix(group.Name, "k8s-") {
				s.groups = append(s.groups, group)
			}
		}
	}
	if err := i.tag(ctx, s); err != nil {
		return nil, err
	}
	frontends, err := i.hook.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: sdk.String("tag:" + stack.TagCluster + i.hook.options.Cluster), Values: []string{stack.TagOwned}},
		{Name: sdk.String("tag:" + stack.TagResource), Values: []string{stack.ResourceFrontend}},
	}})
	s.frontends = frontends
	return s, err
}

// tag reads the tags of load balancers and target groups.
func (i *inventory) tag(ctx context.Context, s *stock) error {
	tags := map[string]map[string]string{}
	var arns []string
	for _, b := range s.balancers {
		arns = append(arns, b.ARN)
	}
	for _, g := range s.groups {
		arns = append(arns, g.ARN)
	}
	if err := i.hook.readTags(ctx, arns, tags); err != nil {
		return err
	}
	for n := range s.balancers {
		s.balancers[n].Tags = tags[s.balancers[n].ARN]
	}
	for n := range s.groups {
		s.groups[n].Tags = tags[s.groups[n].ARN]
	}
	return nil
}

// maxTagArns is how many resources DescribeTags takes.
const maxTagArns = 20

// readTags reads tags into a map. What is gone in the meantime has none.
func (h *Hook) readTags(ctx context.Context, arns []string, into map[string]map[string]string) error {
	for part := range slices.Chunk(arns, maxTagArns) {
		out, err := h.aws.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: part})
		if err = Classify("DescribeTags", err); gone(err) && len(part) > 1 {
			// One of them is gone, and so AWS says nothing of the others.
			for _, arn := range part {
				if err := h.readTags(ctx, []string{arn}, into); err != nil && !gone(err) {
					return err
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range out.TagDescriptions {
			all := map[string]string{}
			for _, t := range d.Tags {
				all[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
			}
			into[sdk.ToString(d.ResourceArn)] = all
		}
	}
	return nil
}
