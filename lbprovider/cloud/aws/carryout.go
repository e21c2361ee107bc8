package aws

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// apply carries actions out in order, and sees what comes of each. A failure of
// one port does not stop the others; one of the account as a whole (throttling,
// credentials) does.
func (p *pass) apply(ctx context.Context, actions []stack.Action) error {
	var failures stack.Failures
	var errs []error
	for _, a := range actions {
		if failures.Prevent(a, p.seen.State) {
			continue
		}
		out, err := p.calls().carryOut(ctx, a)
		p.see(p.seen.After(out, p.hook.now()))
		if out.Outdated || changesInventory(out.Done) {
			p.hook.inventory.drop()
		}
		for _, t := range out.Refused {
			p.hook.environment.forgetMachine(t.ID)
		}
		if err == nil {
			p.done = append(p.done, a.String())
			continue
		}
		p.hook.log.Debug("call failed", "service", p.spec.Ref.String(), "action", a.String(), "err", err)
		errs = append(errs, err)
		if out.Outdated || ofAccount(err) || !failures.Add(a, hook.ClassOf(err) == hook.ClassQuota) {
			break
		}
	}
	return errors.Join(errs...)
}

// ofAccount reports whether an error is about more than the action that failed.
func ofAccount(err error) bool {
	switch hook.ClassOf(err) {
	case hook.ClassThrottled, hook.ClassUnavailable, hook.ClassDenied, hook.ClassConflict, hook.ClassNotFound:
		return true
	case hook.ClassQuota, hook.ClassInvalidConfig, hook.ClassBusy, hook.ClassProtected, hook.ClassUnsupported, hook.ClassInternal:
	}
	return false
}

// changesInventory reports whether there are other resources than before.
func changesInventory(done []stack.Action) bool {
	for _, a := range done {
		switch a.(type) {
		case stack.CreateBalancer, stack.CreateTargetGroup, stack.CreateSecurityGroup,
			stack.DeleteBalancer, stack.DeleteTargetGroup, stack.DeleteSecurityGroup:
			return true
		}
	}
	return false
}

// calls makes the calls of one action. It decides nothing about the stack, and
// changes nothing of what is known: it says what came of it.
type calls struct {
	clients
	ref       hook.Ref
	have      stack.State
	nodeRules *nodeRules
	// fewer returns the subnets to try if AWS has no load balancers in a zone.
	fewer func(b stack.Balancer, message string) [][]stack.Mapping
	now   func() time.Time
	log   *slog.Logger
}

func (p *pass) calls() *calls {
	h := p.hook
	return &calls{clients: h.aws, ref: p.spec.Ref, have: p.seen.State, nodeRules: h.nodeRules, fewer: h.environment.fewerSubnets, now: h.now, log: h.log}
}

func (c *calls) carryOut(ctx context.Context, a stack.Action) (stack.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return stack.Outcome{}, Classify(a.String(), err)
	}
	switch a := a.(type) {
	case stack.CreateSecurityGroup, stack.ChangeRules, stack.DeleteSecurityGroup:
		return c.security(ctx, a)
	case stack.CreateTargetGroup, stack.ModifyTargetGroup, stack.SetGroupAttributes, stack.DeleteTargetGroup, stack.Register, stack.Deregister:
		return c.group(ctx, a)
	case stack.CreateListener, stack.ModifyListener, stack.ChangeCertificates, stack.SetListenerAttributes, stack.DeleteListener:
		return c.listener(ctx, a)
	case stack.Tag:
		return c.tag(ctx, a)
	}
	return c.balancer(ctx, a)
}

// did is the outcome of an action that AWS carried out.
func did(a stack.Action) stack.Outcome { return stack.Outcome{Done: []stack.Action{a}} }

// either returns the outcome of an action that AWS carried out, or why not.
func either(a stack.Action, err error) (stack.Outcome, error) {
	if err != nil {
		return stack.Outcome{}, err
	}
	return did(a), nil
}

// deleted is the outcome of a deletion: what is already gone is deleted.
func deleted(a stack.Action, err error) (stack.Outcome, error) {
	if gone(err) {
		err = nil
	}
	return either(a, err)
}

// checked is the outcome of a call whose error may show that what is known is
// outdated: then everything is looked up again.
func checked(a stack.Action, err error) (stack.Outcome, error) {
	out, err := either(a, err)
	out.Outdated, err = outdated(err)
	return out, err
}

func outdated(err error) (bool, error) {
	if !gone(err) && !codeIs(err, "DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "InvalidGroup.Duplicate") {
		return false, err
	}
	e := hook.AsError(err)
	return true, &hook.Error{Class: hook.ClassBusy, Code: e.Code, Action: e.Action, Message: e.Message + " (looking again)", Cause: err}
}

// groupNamed returns a target group that exists.
func (c *calls) groupNamed(name string) (stack.TargetGroup, error) {
	g, _ := c.have.Group(name)
	if g.ARN == "" {
		return g, hook.Errorf(hook.ClassBusy, "the target group %s does not exist yet", name)
	}
	return g, nil
}

// listenerAt returns the listener of a port that exists.
func (c *calls) listenerAt(port int32) (stack.Listener, error) {
	l, found := c.have.Listener(port)
	if !found {
		return l, hook.Errorf(hook.ClassBusy, "the listener of port %d does not exist yet", port)
	}
	return l, nil
}
