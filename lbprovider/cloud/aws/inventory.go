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

// inventory caches what the account has. It is read as a whole and shared by all
// Services: after a start, a hundred load balancers cost little more than one.
type inventory struct {
	aws     clients
	cluster string
	now     func() time.Time

	mu   sync.Mutex // held while reading, so that others wait for the result
	last *stack.Inventory
}

// inventoryAge is how long an inventory is good enough. It may be a little
// late: AWS refuses to create what exists.
const inventoryAge = 30 * time.Second

func (i *inventory) drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = nil
}

func (i *inventory) get(ctx context.Context) (stack.Inventory, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.last != nil && i.now().Sub(i.last.At) < inventoryAge {
		return *i.last, nil
	}
	read, err := i.read(ctx)
	if err != nil {
		return stack.Inventory{}, err
	}
	i.last = &read
	return read, nil
}

func (i *inventory) read(ctx context.Context) (stack.Inventory, error) {
	all := stack.Inventory{At: i.now()}
	balancers := elb.NewDescribeLoadBalancersPaginator(i.aws.elb, &elb.DescribeLoadBalancersInput{})
	for balancers.HasMorePages() {
		page, err := balancers.NextPage(ctx)
		if err != nil {
			return all, Classify("DescribeLoadBalancers", err)
		}
		for _, b := range page.LoadBalancers {
			all.Balancers = append(all.Balancers, balancerOf(b))
		}
	}
	groups := elb.NewDescribeTargetGroupsPaginator(i.aws.elb, &elb.DescribeTargetGroupsInput{})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return all, Classify("DescribeTargetGroups", err)
		}
		for _, g := range page.TargetGroups {
			// All our target groups have generated names.
			if group := groupOf(g); strings.HasPrefix(group.Name, "k8s-") {
				all.Groups = append(all.Groups, group)
			}
		}
	}
	if err := i.tag(ctx, &all); err != nil {
		return all, err
	}
	var err error
	all.Frontends, err = i.aws.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: sdk.String("tag:" + stack.TagCluster + i.cluster), Values: []string{stack.TagOwned}},
		{Name: sdk.String("tag:" + stack.TagResource), Values: []string{stack.ResourceFrontend}},
	}})
	return all, err
}

// tag reads the tags of load balancers and target groups.
func (i *inventory) tag(ctx context.Context, all *stack.Inventory) error {
	var arns []string
	for _, b := range all.Balancers {
		arns = append(arns, b.ARN)
	}
	for _, g := range all.Groups {
		arns = append(arns, g.ARN)
	}
	tags, err := i.aws.readTags(ctx, arns)
	if err != nil {
		return err
	}
	for n := range all.Balancers {
		all.Balancers[n].Tags = tags[all.Balancers[n].ARN]
	}
	for n := range all.Groups {
		all.Groups[n].Tags = tags[all.Groups[n].ARN]
	}
	return nil
}

// maxTagARNs is how many resources DescribeTags takes.
const maxTagARNs = 20

// readTags reads tags by ARN. What is gone in the meantime has none.
func (c clients) readTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	tags := map[string]map[string]string{}
	for chunk := range slices.Chunk(arns, maxTagARNs) {
		err := c.describeTags(ctx, chunk, tags)
		if gone(err) && len(chunk) > 1 {
			// One of them is gone, and so AWS says nothing of the others.
			for _, arn := range chunk {
				if err = c.describeTags(ctx, []string{arn}, tags); err != nil && !gone(err) {
					return nil, err
				}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return tags, nil
}

// describeTags adds the tags of at most maxTagARNs resources to a map.
func (c clients) describeTags(ctx context.Context, arns []string, tags map[string]map[string]string) error {
	out, err := c.elb.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: arns})
	if err != nil {
		return Classify("DescribeTags", err)
	}
	for _, d := range out.TagDescriptions {
		all := map[string]string{}
		for _, t := range d.Tags {
			all[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
		}
		tags[sdk.ToString(d.ResourceArn)] = all
	}
	return nil
}
