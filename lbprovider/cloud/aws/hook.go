package aws

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options configure the hook.
type Options struct {
	// Cluster is the cluster's name, which tags and names hold. Required, and
	// never to be changed: what is tagged with another name is not ours.
	Cluster string
	// VPC is the id of the cluster's VPC; empty means that of its nodes.
	VPC string
	// Defaults hold where a Service says nothing.
	Defaults stack.Defaults
	// Refresh is how old what was read may be before it is read again in a
	// steady state, two calls at a time; 0 means 9 minutes.
	Refresh time.Duration
	// Poll is how often what is under way is looked at; 0 means 15 seconds.
	Poll time.Duration
	// DrainOnDelete lets targets finish their connections, for as long as
	// their deregistration delay says, before a load balancer is deleted.
	DrainOnDelete bool
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log is where messages go; nil means slog.Default.
	Log *slog.Logger
}

// Hook is the hook. It may be used concurrently, but not for the same Service.
type Hook struct {
	options Options
	aws     clients
	now     func() time.Time
	log     *slog.Logger

	inventory *inventory
	facts     *facts
	claims    *claims

	mu    sync.Mutex // guards views
	views map[string]*view
}

var _ hook.LoadBalancerHook = (*Hook)(nil)

// New returns the hook. It asks AWS nothing.
func New(cfg sdk.Config, o Options) *Hook {
	if o.Refresh == 0 {
		o.Refresh = 9 * time.Minute
	}
	if o.Poll == 0 {
		o.Poll = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Defaults.Scheme == "" {
		o.Defaults.Scheme = hook.SchemeInternetFacing
	}
	h := &Hook{options: o, aws: newClients(cfg), now: o.Now, log: o.Log.With("part", "cloud-aws"), views: map[string]*view{}, claims: newClaims()}
	h.inventory = &inventory{hook: h}
	h.facts = newFacts(h)
	return h
}

// Name returns "aws".
func (h *Hook) Name() string { return "aws" }

// Capabilities returns what network and application load balancers can do.
func (h *Hook) Capabilities(context.Context) (hook.Capabilities, error) {
	return hook.Capabilities{
		Versions:    []string{hook.Version},
		Kinds:       []hook.Kind{hook.KindNetwork, hook.KindApplication},
		TargetKinds: []hook.TargetKind{hook.TargetInstance, hook.TargetNodeIP, hook.TargetPodIP},
		Schemes:     []hook.Scheme{hook.SchemeInternetFacing, hook.SchemeInternal},
		DualStack:   true, TLS: true, ProxyProtocol: true, MaxTargets: 3000,
	}, nil
}

// Identity returns the ARN that the credentials stand for.
func (h *Hook) Identity(ctx context.Context) (string, error) {
	out, err := h.aws.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", Classify("GetCallerIdentity", err)
	}
	return sdk.ToString(out.Arn), nil
}

// Validate looks at annotations and fields.
func (h *Hook) Validate(_ context.Context, spec *hook.Spec) []hook.FieldProblem {
	settings, problems := stack.Read(spec.Annotations)
	return append(problems, stack.Check(spec, h.withDefaults(settings))...)
}

// withDefaults fills in what Check needs to know.
func (h *Hook) withDefaults(s stack.Settings) stack.Settings {
	if s.TargetType == "" {
		s.TargetType = h.options.Defaults.TargetType
	}
	return s
}

func (h *Hook) view(ref hook.Ref) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.views[ref.UID]
	if v == nil {
		v = h.newView(ref)
		h.views[ref.UID] = v
	}
	v.ref = ref
	return v
}

func (h *Hook) drop(ref hook.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.views, ref.UID)
	h.claims.drop(ref.UID)
}

// fresh is how old what was read may be when something is changed by it.
const fresh = 30 * time.Second

// steadyReads is how many calls a pass may make in which nothing is to be done.
const steadyReads = 2

// Ensure brings AWS in line with the Spec.
func (h *Hook) Ensure(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	if err := invalid(h.Validate(ctx, spec)); err != nil {
		return nil, err
	}
	r, err := h.ensure(ctx, h.view(spec.Ref), spec)
	if busy(err) {
		// Nothing is wrong: AWS needs a moment, or changed meanwhile.
		h.log.Debug("AWS is busy", "service", spec.Ref.String(), "err", err)
		r.RetryAfter, err = hook.Duration(busyRetry), nil
	}
	return r, err
}

func (h *Hook) ensure(ctx context.Context, v *view, spec *hook.Spec) (*hook.Result, error) {
	v.spent, v.leaving = 0, false
	want, problems, err := v.desire(ctx, spec)
	if err != nil {
		return v.result(want, problems, nil), err
	}
	if err := v.refresh(ctx, want, never); err != nil {
		return v.result(want, problems, nil), err
	}
	if err := v.look(ctx, want); err != nil {
		return v.result(want, problems, nil), err
	}
	if spec.NamePending {
		v.state.Serving = time.Time{}
	}
	if err := v.claim(ctx, want); err != nil {
		return v.result(want, problems, nil), err
	}
	steps := stack.Plan(want, v.state, h.now())
	if len(steps.Actions) > 0 && v.age(want) > fresh {
		if err := v.refresh(ctx, want, fresh); err != nil {
			return v.result(want, problems, nil), err
		}
		if err := v.claim(ctx, want); err != nil {
			return v.result(want, problems, nil), err
		}
		steps = stack.Plan(want, v.state, h.now())
	}
	if err := v.owned(ctx, want, steps); err != nil {
		return v.result(want, problems, nil), err
	}
	if spec.DryRun {
		r := v.result(want, problems, steps.Waits)
		for _, a := range steps.Actions {
			r.Plan = append(r.Plan, a.String())
		}
		return r, nil
	}
	done, err := v.apply(ctx, want, steps.Actions)
	r := v.result(want, problems, steps.Waits)
	v.takeOver(r, spec.NamePending)
	r.Plan = done
	return r, err
}

// busyRetry is when to go on after AWS was busy.
const busyRetry = 5 * time.Second

func busy(err error) bool { return err != nil && hook.ClassOf(err) == hook.ClassBusy }

// invalid makes an error of problems that are no warnings.
func invalid(problems []hook.FieldProblem) error {
	var texts []string
	field := ""
	for _, p := range problems {
		if !p.Warning {
			texts = append(texts, p.String())
			if field == "" {
				field = p.Field
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &hook.Error{Class: hook.ClassInvalidConfig, Code: "InvalidConfiguration", Message: strings.Join(texts, "; ")}
}

// look reads what a pass needs: while something is under way, its state; else
// what is oldest.
func (v *view) look(ctx context.Context, want stack.Stack) error {
	if !v.ready(want) {
		for _, p := range v.parts(want) {
			if p.kind != partBalancer && p.kind != partTargets || v.hook.now().Sub(v.read[p]) < min(busyRetry, v.hook.options.Poll) {
				continue
			}
			if err := v.load(ctx, p, want); err != nil {
				return err
			}
		}
		return nil
	}
	return v.oldest(ctx, want, max(steadyReads-v.spent, 0), v.hook.options.Refresh)
}

func (v *view) ready(want stack.Stack) bool {
	b := v.state.Balancer
	return b != nil && b.State == "active" && len(v.state.Others) == 0 && len(v.state.Groups) == len(want.Groups) && stack.Healthy(want, v.state)
}

// owned returns an error if something that the plan would change, or that has
// the name of what it would create, is not ours.
func (v *view) owned(ctx context.Context, want stack.Stack, steps stack.Steps) error {
	if b := v.state.Balancer; b != nil && !stack.OwnedBy(v.ref, b.Tags) {
		return conflict("load balancer", b.Name, b.Tags)
	}
	creates := slices.ContainsFunc(steps.Actions, func(a stack.Action) bool {
		switch a.(type) {
		case stack.CreateBalancer, stack.CreateTargetGroup:
			return true
		}
		return false
	})
	if !creates {
		return nil
	}
	return v.foreign(ctx, want)
}

// desire finds the Service's resources and decides what there shall be.
func (v *view) desire(ctx context.Context, spec *hook.Spec) (stack.Stack, []hook.Problem, error) {
	settings, warnings := stack.Read(spec.Annotations)
	var problems []hook.Problem
	for _, w := range warnings {
		problems = append(problems, hook.Problem{Reason: "UnknownAnnotation", Field: w.Field, Message: w.Message})
	}
	if err := v.find(ctx); err != nil {
		return stack.Stack{}, problems, err
	}
	known, err := v.hook.facts.forSpec(ctx, spec, settings, v)
	if err != nil {
		return stack.Stack{}, problems, err
	}
	want, more, err := stack.Desire(stack.Input{Spec: spec, Settings: settings, Defaults: v.hook.options.Defaults, Facts: known, State: v.state})
	if hook.ClassOf(err) == hook.ClassInvalidConfig && v.hook.facts.renew() {
		// Perhaps a subnet has been tagged since.
		if known, err = v.hook.facts.forSpec(ctx, spec, settings, v); err == nil {
			want, more, err = stack.Desire(stack.Input{Spec: spec, Settings: settings, Defaults: v.hook.options.Defaults, Facts: known, State: v.state})
		}
	}
	if err != nil {
		return want, problems, err
	}
	v.withoutBad(&want)
	v.arrange(want.Balancer.Name)
	return want, append(problems, more...), nil
}

// badTime is how long a target that AWS refused is left out.
const badTime = time.Minute

func (v *view) withoutBad(want *stack.Stack) {
	for i := range want.Groups {
		want.Groups[i].Targets = slices.DeleteFunc(want.Groups[i].Targets, func(t stack.Target) bool {
			at, refused := v.bad[t.ID]
			return refused && v.hook.now().Sub(at) < badTime
		})
	}
}
