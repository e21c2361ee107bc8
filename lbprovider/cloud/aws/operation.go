package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// UpdateTargets registers and deregisters targets.
func (h *Hook) UpdateTargets(ctx context.Context, spec *hook.Spec) (*hook.TargetResult, error) {
	if err := invalid(h.Validate(ctx, spec)); err != nil {
		return nil, err
	}
	v := h.view(spec.Ref)
	if !v.found || v.state.Balancer == nil {
		return nil, hook.Errorf(hook.ClassNotFound, "the load balancer of %s is not known yet", spec.Ref)
	}
	want, problems, err := v.desire(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := v.refresh(ctx, want, never); err != nil {
		return nil, err
	}
	if err := v.claim(ctx, want); err != nil {
		return nil, err
	}
	actions := stack.PlanTargets(want, v.state)
	r := &hook.TargetResult{Problems: problems}
	for _, a := range actions {
		switch a := a.(type) {
		case stack.Register:
			r.Registered += len(a.Targets)
		case stack.Deregister:
			r.Deregistered += len(a.Targets)
		}
	}
	_, err = v.apply(ctx, want, actions)
	r.Targets = v.targets(want)
	if !v.ready(want) || busy(err) {
		r.RetryAfter = hook.Duration(h.options.Poll)
	}
	if busy(err) {
		err = nil
	}
	return r, err
}

// Describe reads what there is, without what it shall be.
func (h *Hook) Describe(ctx context.Context, ref hook.Ref) (*hook.Result, error) {
	v := h.newView(ref)
	if err := v.find(ctx); err != nil {
		return nil, err
	}
	if len(v.state.Others) == 0 {
		return nil, hook.Errorf(hook.ClassNotFound, "%s has no load balancer", ref)
	}
	v.arrange(v.state.Others[0].Name)
	want := stack.Stack{Groups: v.state.Groups}
	if err := v.refresh(ctx, want, never); err != nil {
		return nil, err
	}
	want.Groups, want.Listeners = slices.Clone(v.state.Groups), v.state.Listeners
	for i := range want.Groups {
		for _, l := range v.state.Listeners {
			if l.Group == want.Groups[i].Name {
				want.Groups[i].ServicePort = l.Port
			}
		}
	}
	return v.result(want, nil, nil), nil
}

// Delete removes everything of a Service. What AWS is not ready to remove yet,
// such as a security group whose network cards are still there, is tried again.
func (h *Hook) Delete(ctx context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	v := h.view(d.Ref)
	v.leaving = true
	if !v.found {
		v.forget() // an inventory from before a crash of ours would not do
	}
	if err := v.find(ctx); err != nil {
		return nil, err
	}
	if len(v.state.Others) > 0 {
		v.arrange(v.state.Others[0].Name)
	}
	if err := v.refreshForDelete(ctx); err != nil {
		return nil, err
	}
	if b := v.state.Balancer; b != nil && !stack.OwnedBy(d.Ref, b.Tags) {
		return nil, conflict("load balancer", b.Name, b.Tags)
	}
	if b := v.state.Balancer; b != nil && protected(d, b) {
		return nil, &hook.Error{
			Class: hook.ClassProtected, Code: "DeletionProtected",
			Message: "the load balancer " + b.Name + " is protected by the Service's own annotation; remove deletion_protection.enabled there first",
		}
	}
	if h.options.DrainOnDelete {
		if waits, err := v.drain(ctx); err != nil || waits != "" {
			return &hook.DeleteResult{Waiting: waits, RetryAfter: hook.Duration(busyRetry)}, err
		}
	}
	if err := v.findNodes(ctx); err != nil {
		return nil, err
	}
	_, err := v.apply(ctx, stack.Stack{Ref: d.Ref}, stack.PlanDelete(d.Ref, v.state))
	switch {
	case v.givesUp(err):
		left := "the security group " + v.state.Frontend.ID + " is still in use by something else and stays: " + hook.AsError(err).Message
		h.drop(d.Ref)
		return &hook.DeleteResult{Done: true, Left: left}, nil
	case busy(err) || gone(err):
		return &hook.DeleteResult{Waiting: hook.AsError(err).Error(), RetryAfter: hook.Duration(busyRetry)}, nil
	case err != nil:
		return nil, err
	}
	return h.confirm(ctx, d.Ref)
}

// protected reports whether the Service itself forbids to delete its load
// balancer. Protection that others switched on does not bind us: who deletes
// the Service means its load balancer too.
func protected(d *hook.Deletion, b *stack.Balancer) bool {
	const key = "deletion_protection.enabled"
	if d.Orphan {
		return b.Attributes[key] == "true" && slices.Contains(strings.Fields(b.Tags["fairlead.dev/attributes"]), key)
	}
	settings, _ := stack.Read(d.Annotations) // what is wrong with others does not matter any more
	return settings.BalancerAttributes[key] == "true"
}

// drain lets targets finish their connections before anything is deleted, and
// says what it waits for.
func (v *view) drain(ctx context.Context) (string, error) {
	for _, g := range v.state.Groups {
		if err := v.load(ctx, part{partTargets, g.Name}, stack.Stack{}); err != nil {
			return "", err
		}
	}
	if _, err := v.apply(ctx, stack.Stack{Ref: v.ref}, stack.PlanDrain(v.state)); err != nil {
		return "", err
	}
	draining := 0
	for _, g := range v.state.Groups {
		for _, h := range g.Health {
			if h.State == "draining" {
				draining++
			}
		}
	}
	if draining == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d targets finish their connections", draining), nil
}

// heldTime is how long a security group may be in use after everything else is
// gone, before it is left to the search for orphans: somebody else may have
// used it, and the Service must not wait for him.
const heldTime = 10 * time.Minute

// givesUp reports whether nothing but the security group is left, for long.
func (v *view) givesUp(err error) bool {
	if !codeIs(err, "DependencyViolation") || v.state.Frontend == nil || v.state.Balancer != nil || len(v.state.Others)+len(v.state.Groups) > 0 {
		return false
	}
	if v.held.IsZero() {
		v.held = v.hook.now()
	}
	return v.hook.now().Sub(v.held) >= heldTime
}

// confirm looks once more whether anything is left: what was created just
// before a crash may have been too young to be seen.
func (h *Hook) confirm(ctx context.Context, ref hook.Ref) (*hook.DeleteResult, error) {
	v := h.view(ref)
	v.forget()
	if err := v.find(ctx); err != nil {
		return nil, err
	}
	if len(v.state.Others)+len(v.state.Groups) > 0 || v.state.Frontend != nil {
		return &hook.DeleteResult{Waiting: "AWS still shows what was deleted", RetryAfter: hook.Duration(time.Second)}, nil
	}
	h.drop(ref)
	return &hook.DeleteResult{Done: true}, nil
}

// refreshForDelete reads what the deletion depends on.
func (v *view) refreshForDelete(ctx context.Context) error {
	if v.state.Balancer == nil {
		return nil
	}
	for _, p := range []part{{kind: partListeners}, {kind: partBalancerAttributes}} {
		if _, ok := v.read[p]; ok {
			continue
		}
		err := v.load(ctx, p, stack.Stack{})
		if busy(err) {
			return v.find(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findNodes finds the security groups that let our load balancer in.
func (v *view) findNodes(ctx context.Context) error {
	var sources []string
	if v.state.Frontend != nil {
		sources = append(sources, v.state.Frontend.ID)
	}
	sources = append(sources, v.state.InUse()...)
	v.state.Nodes = nil
	slices.Sort(sources)
	if len(sources) == 0 {
		return nil
	}
	list, err := v.hook.securityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: sdk.String("ip-permission.group-id"), Values: slices.Compact(sources)},
	}})
	if err != nil {
		return err
	}
	v.state.Nodes = list
	return v.claim(ctx, stack.Stack{Ref: v.ref})
}

// ListOwned returns all Services of this cluster that have anything in AWS.
func (h *Hook) ListOwned(ctx context.Context) ([]hook.Ref, error) {
	all, err := h.inventory.get(ctx)
	if err != nil {
		return nil, err
	}
	byUID := map[string]hook.Ref{}
	note := func(tags map[string]string, handle string) {
		if !stack.Ours(h.options.Cluster, tags) {
			return
		}
		ref := stack.RefOf(h.options.Cluster, tags)
		if old := byUID[ref.UID]; old.Handle != "" {
			handle = old.Handle
		}
		ref.Handle = handle
		byUID[ref.UID] = ref
	}
	for _, b := range all.balancers {
		note(b.Tags, b.ARN)
	}
	for _, g := range all.groups {
		note(g.Tags, "")
	}
	for _, g := range all.frontends {
		note(g.Tags, "")
	}
	var refs []hook.Ref
	for _, uid := range sortedKeys(byUID) {
		refs = append(refs, byUID[uid])
	}
	return refs, nil
}
