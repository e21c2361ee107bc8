package aws

import (
	"context"
	"log/slog"
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
	// Cluster is the cluster's name, which tags and names hold. It is required and
	// must never change: what is tagged with another name is not ours.
	Cluster string
	// VPC is the id of the cluster's VPC; empty means that of its nodes.
	VPC string
	// Defaults hold if a Service says nothing else.
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

// Hook makes load balancers in AWS. It may be used concurrently, but not for the
// same Service.
type Hook struct {
	options Options
	aws     clients
	now     func() time.Time
	log     *slog.Logger

	// What all Services share.
	inventory   *inventory
	environment *environment
	nodeRules   *nodeRules

	mu     sync.Mutex                // guards memory
	memory map[string]stack.Observed // of each Service, by its UID
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
	c := newClients(cfg)
	return &Hook{
		options: o, aws: c, now: o.Now, log: o.Log.With("part", "cloud-aws"), memory: map[string]stack.Observed{},
		inventory: &inventory{aws: c, cluster: o.Cluster, now: o.Now}, environment: newEnvironment(c, o), nodeRules: newNodeRules(),
	}
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

func busy(err error) bool { return err != nil && hook.ClassOf(err) == hook.ClassBusy }

// invalid returns an error if there are problems that are not warnings.
func invalid(problems []hook.FieldProblem) error {
	var texts []string
	for _, p := range problems {
		if !p.Warning {
			texts = append(texts, p.String())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &hook.Error{Class: hook.ClassInvalidConfig, Code: "InvalidConfiguration", Message: strings.Join(texts, "; ")}
}
