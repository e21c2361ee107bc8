package aws

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// tag sets and removes tags.
func (c *calls) tag(ctx context.Context, a stack.Tag) (stack.Outcome, error) {
	set, remove := c.addTags, c.removeTags
	id, err := c.arnOf(a.Resource)
	if err != nil {
		return stack.Outcome{}, err
	}
	if a.Resource.Frontend {
		set, remove = c.createTags, c.deleteTags
	}
	var out stack.Outcome
	if len(a.Set) > 0 {
		if err := set(ctx, id, a.Set); err != nil {
			return checked(nil, err)
		}
		out = did(stack.Tag{Resource: a.Resource, Set: a.Set})
	}
	if len(a.Remove) > 0 {
		if err := remove(ctx, id, a.Remove); err != nil {
			out.Outdated, err = outdated(err)
			return out, err
		}
		out.Done = append(out.Done, stack.Tag{Resource: a.Resource, Remove: a.Remove})
	}
	return out, nil
}

// arnOf returns the ARN of a resource; of the frontend, the id.
func (c *calls) arnOf(r stack.Resource) (string, error) {
	switch {
	case r.Frontend:
		return c.have.FrontendID(), nil
	case r.Balancer != "" && c.have.Balancer != nil:
		return c.have.Balancer.ARN, nil
	case r.Group != "":
		g, err := c.groupNamed(r.Group)
		return g.ARN, err
	case r.Port != 0:
		l, err := c.listenerAt(r.Port)
		return l.ARN, err
	}
	return "", hook.Errorf(hook.ClassBusy, "%+v does not exist yet", r)
}

func (c *calls) addTags(ctx context.Context, arn string, tags map[string]string) error {
	_, err := c.elb.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(tags)})
	return Classify("AddTags", err)
}

func (c *calls) removeTags(ctx context.Context, arn string, keys []string) error {
	_, err := c.elb.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: keys})
	return Classify("RemoveTags", err)
}

func (c *calls) createTags(ctx context.Context, id string, tags map[string]string) error {
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tagSpecification(tags)[0].Tags})
	return Classify("CreateTags", err)
}

func (c *calls) deleteTags(ctx context.Context, id string, keys []string) error {
	in := &ec2.DeleteTagsInput{Resources: []string{id}}
	for _, k := range keys {
		in.Tags = append(in.Tags, ec2types.Tag{Key: sdk.String(k)})
	}
	_, err := c.ec2.DeleteTags(ctx, in)
	return Classify("DeleteTags", err)
}
