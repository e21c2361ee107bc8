package aws

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Delete removes everything of a Service. What AWS is not ready to remove yet,
// such as a security group whose network cards still exist, is tried again.
func (h *Hook) Delete(ctx context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	p := h.begin(&hook.Spec{Ref: d.Ref, Annotations: d.Annotations})
	p.deleting, p.want = true, stack.Stack{Ref: d.Ref}
	r, err := p.delete(ctx, d)
	if r != nil && r.Done {
		h.drop(d.Ref)
	} else {
		h.remember(p)
	}
	return r, err
}

func (p *pass) delete(ctx context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	if !p.seen.Found() {
		p.forget() // an inventory from before a crash of ours would not do
	}
	if err := inOrder(ctx, p.find, p.readForDelete); err != nil {
		return nil, err
	}
	if err := stack.CheckOwner(d.Ref, p.seen.State); err != nil {
		return nil, err
	}
	if b := p.seen.State.Balancer; b != nil && stack.Protected(*b, p.settings, d.Orphan) {
		return nil, &hook.Error{
			Class: hook.ClassProtected, Code: "DeletionProtected",
			Message: "the load balancer " + b.Name + " is protected by the Service's own annotation; remove deletion_protection.enabled there first",
		}
	}
	if p.hook.options.DrainOnDelete {
		if waits, err := p.drain(ctx); err != nil || waits != "" {
			return &hook.DeleteResult{Waiting: waits, RetryAfter: hook.Duration(stack.BusyRetry)}, err
		}
	}
	if err := p.readNodes(ctx); err != nil {
		return nil, err
	}
	err := p.apply(ctx, stack.PlanDelete(d.Ref, p.seen.State))
	switch {
	case p.leavesGroup(err):
		left := "the security group " + p.seen.State.FrontendID() + " is still in use by something else and stays: " + hook.AsError(err).Message
		return &hook.DeleteResult{Done: true, Left: left}, nil
	case busy(err) || gone(err):
		return &hook.DeleteResult{Waiting: hook.AsError(err).Error(), RetryAfter: hook.Duration(stack.BusyRetry)}, nil
	case err != nil:
		return nil, err
	}
	return p.confirm(ctx)
}

// readForDelete reads what the deletion depends on.
func (p *pass) readForDelete(ctx context.Context) error {
	if former := p.seen.State.Former; len(former) > 0 {
		p.see(p.seen.For(former[0].Name))
	}
	if p.seen.State.Balancer == nil {
		return nil
	}
	for _, part := range []stack.Part{{Kind: stack.PartListeners}, {Kind: stack.PartBalancerAttributes}} {
		if !p.seen.ReadAt(part).IsZero() {
			continue
		}
		err := p.read(ctx, part)
		if busy(err) {
			return p.find(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readNodes finds the security groups that let the Service's load balancers in.
func (p *pass) readNodes(ctx context.Context) error {
	nodes := stack.Reading{Part: stack.Part{Kind: stack.PartNodes}}
	sources := append([]string{}, p.seen.State.InUse()...)
	if id := p.seen.State.FrontendID(); id != "" {
		sources = append(sources, id)
	}
	if len(sources) == 0 {
		p.see(p.seen.With(nodes, p.hook.now()))
		return nil
	}
	slices.Sort(sources)
	var err error
	if nodes.SecurityGroups, err = p.hook.aws.groupsLettingIn(ctx, slices.Compact(sources)); err != nil {
		return err
	}
	p.see(p.seen.With(nodes, p.hook.now()))
	return p.shareRules(ctx)
}

// drain lets targets finish their connections before anything is deleted. It
// returns what it waits for.
func (p *pass) drain(ctx context.Context) (string, error) {
	for _, g := range p.seen.State.Groups {
		if err := p.read(ctx, stack.Part{Kind: stack.PartTargets, Key: g.Name}); err != nil {
			return "", err
		}
	}
	if err := p.apply(ctx, stack.PlanDrain(p.seen.State)); err != nil {
		return "", err
	}
	if n := stack.Draining(p.seen.State); n > 0 {
		return fmt.Sprintf("%d targets finish their connections", n), nil
	}
	return "", nil
}

// heldTime is how long a security group may be in use after everything else is
// gone, before it is left to the search for orphans: something else may use it,
// and the Service must not wait for that.
const heldTime = 10 * time.Minute

// leavesGroup reports whether nothing but the security group has been left for long.
func (p *pass) leavesGroup(err error) bool {
	s := p.seen.State
	if !codeIs(err, "DependencyViolation") || s.Frontend == nil || s.Balancer != nil || len(s.Former)+len(s.Groups) > 0 {
		return false
	}
	seen, held := p.seen.GroupHeld(p.hook.now())
	p.see(seen)
	return held >= heldTime
}

// confirm looks once more whether anything is left: what was created just
// before a crash may have been too young to be seen.
func (p *pass) confirm(ctx context.Context) (*hook.DeleteResult, error) {
	p.forget()
	if err := p.find(ctx); err != nil {
		return nil, err
	}
	if !p.seen.State.Empty() {
		return &hook.DeleteResult{Waiting: "AWS still shows what was deleted", RetryAfter: hook.Duration(time.Second)}, nil
	}
	return &hook.DeleteResult{Done: true}, nil
}

// ListOwned returns all Services of this cluster that have anything in AWS.
func (h *Hook) ListOwned(ctx context.Context) ([]hook.Ref, error) {
	all, err := h.inventory.get(ctx)
	if err != nil {
		return nil, err
	}
	return all.Owners(h.options.Cluster), nil
}
