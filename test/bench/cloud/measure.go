package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// Row is a line of the table.
type Row struct {
	// What happens.
	What string
	// Limit is how much it may cost at most, in words; empty where nothing is
	// required, and Seen what it cost.
	Limit, Seen string
	// Met says whether Seen is within Limit.
	Met bool
}

// bed is a cloud and the hook, whose real SDK talks to it.
type bed struct {
	ctx   context.Context
	cloud *fakeaws.Cloud
	url   string
	nodes string
	hook  *aws.Hook
	// start and ahead make the time: it goes on only where it is put forward, so
	// that the counts are the same on a slow machine.
	start time.Time
	ahead time.Duration

	mu    sync.Mutex
	calls []string // actions that were answered
}

// machines is how many there are.
const machines = 1000

func newBed(ctx context.Context) (*bed, func(), error) {
	b := &bed{ctx: ctx, start: time.Now()}
	b.cloud = fakeaws.New(fakeaws.Options{Now: b.now, Limits: fakeaws.Limits{LoadBalancers: 1000, RulesPerSecurityGroup: 1000}})
	b.cloud.Zones3()
	b.nodes = b.cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/bench": "owned"})
	for n := range machines {
		b.cloud.AddInstance(instance(n), "subnet-"+string(rune('a'+n%3)), fmt.Sprintf("10.0.%d.%d", 10+n/250, n%250+1), b.nodes)
	}
	b.cloud.AddCertificate("*.apps.example.com")
	server := httptest.NewServer(b.cloud)
	b.url = server.URL
	return b, server.Close, b.restart()
}

func (b *bed) now() time.Time { return b.start.Add(b.ahead) }

func instance(n int) string { return fmt.Sprintf("i-%017x", n+1) }

// restart makes a new hook, which remembers nothing. Our own limits of calls
// are lifted: it is the calls that count here, not the time.
func (b *bed) restart() error {
	cfg, err := aws.Config(b.ctx, aws.Access{Region: "eu-central-1", Endpoint: b.url, Speed: 1000, MaxBackoff: time.Millisecond, Observe: b.observe})
	if err != nil {
		return err
	}
	cfg.Logger = logging.Nop{}
	cfg.Credentials = sdk.NewCredentialsCache(credentials.NewStaticCredentialsProvider("bench", "bench", ""))
	b.hook = aws.New(cfg, aws.Options{Cluster: "bench", Defaults: stack.Defaults{NodeRules: true}, Now: b.now})
	return nil
}

// router is the Service of the n-th router, whose targets are some nodes.
func router(n int, kind hook.Kind, first, nodes int) *hook.Spec {
	s := &hook.Spec{
		Ref: hook.Ref{Cluster: "bench", Namespace: "openshift-ingress", Name: fmt.Sprintf("router-%d", n), UID: fmt.Sprintf("uid-%d", n)},
		Ports: []hook.Port{
			{Name: "http", Protocol: "TCP", Port: 80, NodePort: int32(30080 + n), TargetPort: 80},
			{Name: "https", Protocol: "TCP", Port: 443, NodePort: int32(31443 + n), TargetPort: 443},
		},
		LocalTraffic: true, HealthCheckNodePort: int32(32200 + n), IPFamilies: []string{"IPv4"}, Annotations: map[string]string{},
	}
	if kind == hook.KindApplication {
		s.Annotations[stack.AnnotationPrefix+"aws-load-balancer-type"], s.Annotations["fairlead.dev/domain"] = "alb", "apps.example.com"
	}
	for i := first; i < first+nodes; i++ {
		s.Targets.Nodes = append(s.Targets.Nodes, hook.Node{Name: fmt.Sprintf("node-%04d", i), ProviderID: "aws:///eu-central-1a/" + instance(i)})
	}
	return s
}

// passes is more than any load balancer takes to settle.
const passes = 40

// ensure calls the hook until nothing is left to be done, as the controller does.
func (b *bed) ensure(spec *hook.Spec) error {
	for range passes {
		r, err := b.hook.Ensure(b.ctx, spec)
		if err != nil {
			return fmt.Errorf("%s: %w", spec.Ref, err)
		}
		if r.State == hook.StateReady && r.RetryAfter == 0 {
			return nil
		}
		b.ahead += 20 * time.Second
	}
	return fmt.Errorf("%s does not settle", spec.Ref)
}

func (b *bed) remove(spec *hook.Spec) error {
	for range passes {
		r, err := b.hook.Delete(b.ctx, &hook.Deletion{Ref: spec.Ref})
		if err != nil {
			return fmt.Errorf("%s: %w", spec.Ref, err)
		}
		if r.Done {
			return nil
		}
		b.ahead += 20 * time.Second
	}
	return errors.New("it is not removed")
}

// observe notes a call that was answered. One whose connection broke on the way
// is tried again by the SDK, which a busy machine may need and AWS does not.
func (b *bed) observe(_, action, code string, _ time.Duration) {
	if code == "Connection" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, action)
}

// cost returns the actions of a function: those that change something, and
// those that read.
func (b *bed) cost(f func() error) (changes, reads []string, err error) {
	b.mu.Lock()
	b.calls = nil
	b.mu.Unlock()
	err = f()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, action := range b.calls {
		if fakeaws.Reading(action) {
			reads = append(reads, action)
		} else {
			changes = append(changes, action)
		}
	}
	return changes, reads, err
}

// count returns how often an action is there.
func count(actions []string, action string) int {
	return len(slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a != action }))
}
