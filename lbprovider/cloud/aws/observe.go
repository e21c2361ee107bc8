package aws

import (
	"context"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// begin starts a pass with what is remembered of the Service.
func (h *Hook) begin(spec *hook.Spec) *pass {
	p := &pass{hook: h, spec: spec}
	settings, warnings := stack.Read(spec.Annotations)
	p.settings = settings
	for _, w := range warnings {
		p.problems = append(p.problems, hook.Problem{Reason: "UnknownAnnotation", Field: w.Field, Message: w.Message})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.seen = h.memory[spec.Ref.UID]
	return p
}

// remember keeps what a pass has seen for the next one.
func (h *Hook) remember(p *pass) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.memory[p.spec.Ref.UID] = p.seen
}

// drop forgets a Service that is gone.
func (h *Hook) drop(ref hook.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.memory, ref.UID)
	h.nodeRules.drop(ref.UID)
}

// see is where what is known of the Service changes: from the inventory, by a
// reading, or by the outcome of an action. Each of them makes a new value.
func (p *pass) see(o stack.Observed) { p.seen = o }

// forget has the Service's resources looked up again.
func (p *pass) forget() {
	p.see(p.seen.Forget())
	p.hook.inventory.drop()
}

// find looks up the Service's resources by their tags, unless they are known.
func (p *pass) find(ctx context.Context) error {
	if p.seen.Found() {
		return nil
	}
	all, err := p.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	found, err := all.Find(p.spec.Ref, p.deleting, p.seen)
	p.see(found)
	return err
}

// lookAround asks for the network, instances and certificates that the Service needs.
func (p *pass) lookAround(ctx context.Context) error {
	settled := len(p.seen.State.Former) > 0 || p.seen.State.Balancer != nil
	known, calls, err := p.hook.environment.forSpec(ctx, p.spec, p.settings, settled)
	p.environment, p.spent = known, p.spent+calls
	return err
}

// never is an age that no part reaches.
const never = time.Duration(1<<63 - 1)

// readNew reads the parts that were never read.
func (p *pass) readNew(ctx context.Context) error { return p.readOlderThan(ctx, never) }

// readOlderThan reads the parts that were never read, and those older than age.
func (p *pass) readOlderThan(ctx context.Context, age time.Duration) error {
	for _, parts := range []func(stack.Observed, stack.Stack) []stack.Part{stack.Observed.Parts, stack.Observed.ListenerParts} {
		for _, part := range parts(p.seen, p.want) {
			if at := p.seen.ReadAt(part); !at.IsZero() && p.hook.now().Sub(at) < age && !p.closedSince(part, at) {
				continue
			}
			if err := p.read(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// closedSince reports whether another Service has closed rules of a part in the
// meantime.
func (p *pass) closedSince(part stack.Part, at time.Time) bool {
	return part.Kind == stack.PartNodes && p.hook.nodeRules.closedSince(p.spec.Ref.UID, p.want.NodeGroups, at)
}

// steadyReads is how many calls a pass may make when nothing is to be done.
const steadyReads = 2

// readOld reads what AWS is changing while something is under way, and otherwise
// the parts that were read longest ago.
func (p *pass) readOld(ctx context.Context) error {
	o := p.hook.options
	if stack.Settled(p.want, p.seen.State) {
		return p.readAll(ctx, p.seen.Oldest(p.want, max(steadyReads-p.spent, 0), p.hook.now(), o.Refresh), 0)
	}
	return p.readAll(ctx, p.seen.Changing(p.want), min(stack.BusyRetry, o.Poll))
}

// readAll reads parts that are not younger than age.
func (p *pass) readAll(ctx context.Context, parts []stack.Part, age time.Duration) error {
	for _, part := range parts {
		if p.hook.now().Sub(p.seen.ReadAt(part)) < age {
			continue
		}
		if err := p.read(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// read reads one part. If something turns out to be gone, everything is looked
// up again: by the next pass, and by this one if it can.
func (p *pass) read(ctx context.Context, part stack.Part) error {
	r, err := p.hook.aws.read(ctx, p.seen.State, part)
	if gone(err) {
		p.forget()
		return hook.Errorf(hook.ClassBusy, "a resource that existed is gone (%v); looking again", err)
	}
	if err == nil {
		p.see(p.seen.With(r, p.hook.now()))
	}
	return err
}

// shareRules says which rules of the nodes' security groups this Service needs,
// and asks for those that other Services need, if a plan may close any.
func (p *pass) shareRules(ctx context.Context) error {
	ref := p.spec.Ref
	p.hook.nodeRules.set(ref.UID, stack.NeededRules(p.want, p.seen.State))
	if len(stack.ClosableSources(p.want, p.seen.State)) == 0 {
		p.see(p.seen.Shared(stack.Sharing{}))
		return nil
	}
	all, err := p.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	needed, known := p.hook.nodeRules.others(ref.UID)
	known[ref.UID] = true
	p.see(p.seen.Shared(stack.Sharing{Needed: needed, Services: known, Undetermined: all.Undetermined(ref.Cluster, known)}))
	return nil
}
