package aws

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// pass is one call of the hook for one Service. Four things are kept apart in
// it: what exists (seen), what is wanted (want), the calls between (steps), and
// the methods of carryout.go, which make them.
type pass struct {
	hook *Hook
	spec *hook.Spec
	// seen is what exists. Only see changes it.
	seen stack.Observed
	// want is what is wanted, by settings and environment.
	want        stack.Stack
	settings    stack.Settings
	environment stack.Environment
	// steps are the calls between.
	steps stack.Steps
	// done are the actions that were carried out, in words.
	done []string
	// waits are those of the steps that were carried out.
	waits    []string
	problems []hook.Problem
	// spent is how many calls this pass has made for what all Services share.
	spent int
	// deleting says that the Service is being deleted.
	deleting bool
}

// Ensure brings AWS in line with the Spec.
func (h *Hook) Ensure(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	if err := invalid(h.Validate(ctx, spec)); err != nil {
		return nil, err
	}
	p := h.begin(spec)
	defer h.remember(p)
	err := inOrder(
		ctx,
		p.find,        // exists: what the tags say is the Service's
		p.lookAround,  // exists: network, instances, certificates
		p.desire,      // wanted
		p.readNew,     // exists: what was never read
		p.readOld,     // exists: what is under way, or was read longest ago
		p.plan,        // the calls between
		p.readAgain,   // exists: all of it, before anything is changed; and plan again
		p.checkOwners, // refuse to change resources of other owners
		p.carryOut,    // unless it is a dry run
	)
	r := p.result()
	if busy(err) {
		// Nothing is wrong: AWS needs a moment, or changed meanwhile.
		h.log.Debug("AWS is busy", "service", spec.Ref.String(), "err", err)
		r.RetryAfter, err = hook.Duration(stack.BusyRetry), nil
	}
	return r, err
}

// UpdateTargets registers and deregisters targets.
func (h *Hook) UpdateTargets(ctx context.Context, spec *hook.Spec) (*hook.TargetResult, error) {
	if err := invalid(h.Validate(ctx, spec)); err != nil {
		return nil, err
	}
	p := h.begin(spec)
	if !p.seen.Found() || p.seen.State.Balancer == nil {
		return nil, hook.Errorf(hook.ClassNotFound, "the load balancer of %s is not known yet", spec.Ref)
	}
	defer h.remember(p)
	if err := inOrder(ctx, p.find, p.lookAround, p.desire, p.readNew, p.shareRules); err != nil {
		return nil, err
	}
	actions := stack.PlanTargets(p.want, p.seen.State)
	r := &hook.TargetResult{Problems: p.problems}
	for _, a := range actions {
		switch a := a.(type) {
		case stack.Register:
			r.Registered += len(a.Targets)
		case stack.Deregister:
			r.Deregistered += len(a.Targets)
		}
	}
	err := p.apply(ctx, actions)
	r.Targets = stack.TargetHealth(p.want, p.seen.State)
	if !stack.Settled(p.want, p.seen.State) || busy(err) {
		r.RetryAfter = hook.Duration(h.options.Poll)
	}
	if busy(err) {
		err = nil
	}
	return r, err
}

// Describe reads what exists, without what is wanted.
func (h *Hook) Describe(ctx context.Context, ref hook.Ref) (*hook.Result, error) {
	p := &pass{hook: h, spec: &hook.Spec{Ref: ref}}
	if err := p.find(ctx); err != nil {
		return nil, err
	}
	if len(p.seen.State.Former) == 0 {
		return nil, hook.Errorf(hook.ClassNotFound, "%s has no load balancer", ref)
	}
	p.see(p.seen.For(p.seen.State.Former[0].Name))
	p.want = stack.Stack{Groups: p.seen.State.Groups}
	if err := p.readNew(ctx); err != nil {
		return nil, err
	}
	p.want.Groups, p.want.Listeners = slices.Clone(p.seen.State.Groups), p.seen.State.Listeners
	for i, g := range p.want.Groups {
		for _, l := range p.want.Listeners {
			if l.Group == g.Name {
				p.want.Groups[i].ServicePort = l.Port
			}
		}
	}
	return p.result(), nil
}

// inOrder runs steps until one fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// desire decides what is wanted, and turns to the load balancer of that name.
func (p *pass) desire(ctx context.Context) error {
	want, problems, err := p.desired()
	if hook.ClassOf(err) == hook.ClassInvalidConfig && p.hook.environment.renew() {
		// Perhaps a subnet was tagged in the meantime.
		if err = p.lookAround(ctx); err == nil {
			want, problems, err = p.desired()
		}
	}
	if err != nil {
		return err
	}
	p.want, p.problems = p.seen.WithoutRefused(want, p.hook.now()), append(p.problems, problems...)
	p.see(p.seen.For(p.want.Balancer.Name))
	return nil
}

func (p *pass) desired() (stack.Stack, []hook.Problem, error) {
	return stack.Desire(stack.Input{
		Spec: p.spec, Settings: p.settings, Defaults: p.hook.options.Defaults, Environment: p.environment, State: p.seen.State,
	})
}

// plan decides on the calls between what exists and what is wanted.
func (p *pass) plan(ctx context.Context) error {
	if p.spec.NamePending {
		p.see(p.seen.Published("", true, p.hook.now()))
	}
	if err := p.shareRules(ctx); err != nil {
		return err
	}
	p.steps = stack.Plan(p.want, p.seen.State, p.hook.now())
	return nil
}

// fresh is how old what was read may be when something is changed because of it.
const fresh = 30 * time.Second

// readAgain reads everything that is not fresh, if there is anything to carry
// out, and plans again.
func (p *pass) readAgain(ctx context.Context) error {
	if len(p.steps.Actions) == 0 || p.seen.Age(p.want, p.hook.now()) <= fresh {
		return nil
	}
	if err := p.readOlderThan(ctx, fresh); err != nil {
		return err
	}
	return p.plan(ctx)
}

// checkOwners returns an error if something that the plan would change, or that
// has the name of what it would create, has another owner.
func (p *pass) checkOwners(ctx context.Context) error {
	if err := stack.CheckOwner(p.spec.Ref, p.seen.State); err != nil {
		return err
	}
	if !p.steps.Creates() {
		return nil
	}
	all, err := p.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	return all.CheckNames(p.want)
}

// carryOut carries the steps out, unless it is a dry run, and notes when the
// load balancer's name is published from now on.
func (p *pass) carryOut(ctx context.Context) error {
	p.waits = p.steps.Waits
	if p.spec.DryRun {
		for _, a := range p.steps.Actions {
			p.done = append(p.done, a.String())
		}
		return nil
	}
	err := p.apply(ctx, p.steps.Actions)
	name := ""
	if r := p.result(); len(r.Ingress) > 0 {
		name = r.Ingress[0].Hostname
	}
	p.see(p.seen.Published(name, p.spec.NamePending, p.hook.now()))
	return err
}

// result says what exists now.
func (p *pass) result() *hook.Result {
	r := stack.Report{Want: p.want, Have: p.seen, Problems: p.problems, Waits: p.waits, Poll: p.hook.options.Poll}.Result()
	r.Plan = p.done
	return r
}
