package webhook_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
	"github.com/fairlead/fairlead/test/fakeaws"
	"github.com/fairlead/fairlead/test/hookconformance"
)

// bed is the hook for AWS behind the protocol, over TLS and with a token.
type bed struct {
	cloud  *fakeaws.Cloud
	direct *aws.Hook
	remote *webhook.Client
	spec   hook.Spec
	ahead  atomic.Int64 // nanoseconds by which the hook's clock is ahead
}

func (b *bed) wait(_ context.Context, d time.Duration) error {
	b.ahead.Add(int64(d))
	return nil
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{cloud: fakeaws.New(fakeaws.Options{})}
	b.cloud.Zones3()
	nodes := b.cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/test": "owned"})
	b.spec = hook.Spec{
		Ports:       []hook.Port{{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080}, {Name: "https", Protocol: "TCP", Port: 443, NodePort: 30443}},
		Annotations: map[string]string{},
	}
	for n := range 3 {
		id := fmt.Sprintf("i-%017x", n+1)
		b.cloud.AddInstance(id, "subnet-a", fmt.Sprintf("10.0.1.%d", n+10), nodes)
		b.spec.Targets.Nodes = append(b.spec.Targets.Nodes, hook.Node{Name: id, ProviderID: "aws:///eu-central-1a/" + id})
	}
	endpoint := httptest.NewServer(b.cloud)
	t.Cleanup(endpoint.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cfg, err := aws.Config(t.Context(), aws.Access{Region: "eu-central-1", Endpoint: endpoint.URL, MaxBackoff: time.Millisecond, Speed: 1000})
	if err != nil {
		t.Fatal(err)
	}
	b.direct = aws.New(cfg, aws.Options{Cluster: "test", Defaults: stack.Defaults{NodeRules: true}, Now: func() time.Time {
		return time.Now().Add(time.Duration(b.ahead.Load()))
	}})
	token := func() (string, error) { return "secret\n", nil }
	server := httptest.NewTLSServer(&webhook.Handler{Balancers: b.direct, Token: token})
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if b.remote, err = webhook.New(webhook.Options{URL: server.URL, CA: ca, Token: token}); err != nil {
		t.Fatal(err)
	}
	wrong, err := webhook.New(webhook.Options{URL: server.URL, CA: ca, Token: func() (string, error) { return "guess", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Capabilities(t.Context()); hook.ClassOf(err) != hook.ClassDenied {
		t.Errorf("a wrong token: %v", err)
	}
	return b
}

// TestConformance runs the suite against the hook for AWS, by itself and
// behind the protocol. The suite is the contract.
func TestConformance(t *testing.T) {
	for _, name := range []string{"direct", "remote"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			var h hook.LoadBalancerHook = b.direct
			if name == "remote" {
				h = b.remote
			}
			all := hookconformance.Run(t.Context(), hookconformance.Options{
				Hook: h, Spec: b.spec, Cluster: "test", Wait: b.wait,
			})
			for _, f := range all {
				t.Log(f)
			}
			if broken := hookconformance.Broken(all); len(broken) > 0 || len(all) < 12 {
				t.Errorf("%d of %d promises are broken", len(broken), len(all))
			}
			if left := b.cloud.Balancers(); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// TestErrorsTravel: class, code and field arrive as they were.
func TestErrorsTravel(t *testing.T) {
	b := newBed(t)
	b.cloud.Script(fakeaws.Fault{Action: "CreateLoadBalancer", Effect: fakeaws.Refuse(http.StatusBadRequest, "TooManyLoadBalancers", "enough")})
	spec := b.spec
	spec.Ref = hook.Ref{Cluster: "test", Namespace: "ns", Name: "n", UID: "uid"}
	_, err := b.remote.Ensure(t.Context(), &spec)
	if e := hook.AsError(err); e.Class != hook.ClassQuota || e.Code != "TooManyLoadBalancers" {
		t.Errorf("got %+v", e)
	}
	spec.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval": "often"}
	if p := b.remote.Validate(t.Context(), &spec); len(p) != 1 || p[0].Value != "often" {
		t.Errorf("problems: %v", p)
	}
	if _, err := b.remote.Ensure(t.Context(), &spec); hook.ClassOf(err) != hook.ClassInvalidConfig {
		t.Errorf("got %v", err)
	}
}

// TestBroken: answers that are none, and a program that is not there, are
// Unavailable; after five of them it is left alone, and then asked again.
func TestBroken(t *testing.T) {
	calls := 0
	socket := filepath.Join(t.TempDir(), "hook.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = w.Write([]byte("<html>")) // no client that is gone matters
	})}}
	server.Start()
	defer server.Close()
	now := time.Now()
	c, err := webhook.New(webhook.Options{URL: "unix://" + socket, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := c.ListOwned(t.Context()); hook.ClassOf(err) != hook.ClassUnavailable {
			t.Errorf("got %v", err)
		}
	}
	if calls != 5 {
		t.Errorf("%d calls, want 5", calls)
	}
	now = now.Add(31 * time.Second)
	_, _ = c.ListOwned(t.Context())
	if calls != 6 {
		t.Errorf("%d calls, want 6", calls)
	}
	if _, err := webhook.New(webhook.Options{URL: "http://198.18.0.1", Token: func() (string, error) { return "x", nil }}); err == nil {
		t.Error("a token over plain http was accepted")
	}
}
