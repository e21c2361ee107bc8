package provideradapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead/fairlead/examples/provideradapter"
	"github.com/fairlead/fairlead/examples/webhook/memory"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
	"github.com/fairlead/fairlead/test/hookconformance"
)

// TestConformance runs the suite through both adapters at once: hook, provider,
// hook. What a provider cannot say, the suite does not ask for.
func TestConformance(t *testing.T) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	cloud := fakeaws.New(fakeaws.Options{Now: now})
	cloud.Zones3()
	group := cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/test": "owned"})
	spec := hook.Spec{
		Ports:        []hook.Port{{Name: "http", Protocol: "TCP", Port: 80, NodePort: 30080}, {Name: "https", Protocol: "TCP", Port: 443, NodePort: 30443}},
		LocalTraffic: true, HealthCheckNodePort: 32100, SourceRanges: []string{"198.18.0.0/16"}, IPFamilies: []string{"IPv4"},
	}
	for n := range 3 {
		id, address := fmt.Sprintf("i-%017x", n+1), fmt.Sprintf("10.0.1.%d", n+10)
		cloud.AddInstance(id, "subnet-a", address, group)
		spec.Targets.Nodes = append(spec.Targets.Nodes, hook.Node{Name: id, ProviderID: "aws:///eu-central-1a/" + id, Addresses: []string{address}})
	}
	endpoint := httptest.NewServer(cloud)
	defer endpoint.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cfg, err := aws.Config(t.Context(), aws.Access{Region: "eu-central-1", Endpoint: endpoint.URL, Speed: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []hook.LoadBalancerHook{
		memory.New(netip.MustParsePrefix("198.18.200.0/28")),
		aws.New(cfg, aws.Options{Cluster: "test", Defaults: stack.Defaults{NodeRules: true}, Now: now}),
	} {
		t.Run(h.Name(), func(t *testing.T) {
			all := hookconformance.Run(t.Context(), hookconformance.Options{
				Hook: provideradapter.FromProvider(h.Name(), provideradapter.ToProvider(h, now)), Spec: spec, Cluster: "test",
				Wait: func(_ context.Context, d time.Duration) error { ahead.Add(int64(d)); return nil },
			})
			for _, f := range all {
				t.Log(f)
			}
			if broken := hookconformance.Broken(all); len(broken) > 0 || len(all) < 11 {
				t.Errorf("%d of %d promises are broken", len(broken), len(all))
			}
		})
	}
	if left := cloud.Balancers(); len(left) > 0 {
		t.Errorf("left over: %+v", left)
	}
}

// provider is a cloud provider that answers as it is told.
type provider struct {
	cloudprovider.LoadBalancer
	status *corev1.LoadBalancerStatus
	err    error
	got    *corev1.Service
}

func (p *provider) GetLoadBalancerName(context.Context, string, *corev1.Service) string { return "lb" }

func (p *provider) EnsureLoadBalancer(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	p.got = s
	return p.status, p.err
}

// TestAnswers: what a provider's answers mean.
func TestAnswers(t *testing.T) {
	t.Parallel()
	there := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}}
	for _, c := range []struct {
		name    string
		status  *corev1.LoadBalancerStatus
		err     error
		state   hook.State
		class   hook.Class
		ingress int
		again   time.Duration
	}{
		{name: "there", status: there, state: hook.StateReady, ingress: 1},
		{name: "without an address", status: &corev1.LoadBalancerStatus{}, state: hook.StatePending, again: 15 * time.Second},
		{name: "come back", status: there, err: api.NewRetryError("later", time.Minute), state: hook.StatePending, ingress: 1, again: time.Minute},
		{name: "somebody else's", err: cloudprovider.ImplementedElsewhere, class: hook.ClassUnsupported},
		{name: "no time", err: fmt.Errorf("create: %w", context.DeadlineExceeded), class: hook.ClassUnavailable},
		{name: "anything", err: errors.New("oops"), class: hook.ClassInternal},
	} {
		p := &provider{status: c.status, err: c.err}
		spec := &hook.Spec{Ref: hook.Ref{Namespace: "ns", Name: "n", UID: "u"}, LocalTraffic: true, ClientIPAffinity: true, Ports: []hook.Port{{Protocol: "TCP", Port: 80}}}
		r, err := provideradapter.FromProvider("test", p).Ensure(t.Context(), spec)
		if hook.ClassOf(err) != c.class {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && (r.State != c.state || len(r.Ingress) != c.ingress || r.RetryAfter.Std() != c.again) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if s := p.got.Spec; s.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || s.SessionAffinity != corev1.ServiceAffinityClientIP || s.Type != corev1.ServiceTypeLoadBalancer {
			t.Errorf("%s: Service %+v", c.name, s)
		}
	}
}

// TestComeBack: a hook that is not finished asks a cloud controller manager to
// come back, and says what there is.
func TestComeBack(t *testing.T) {
	t.Parallel()
	p := provideradapter.ToProvider(memory.New(netip.MustParsePrefix("198.18.200.0/28")), nil)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n", UID: "u"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Protocol: "TCP", Port: 80}}}}
	if _, exists, err := p.GetLoadBalancer(t.Context(), "c", s); exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
	retry := (*api.RetryError)(nil)
	if _, err := p.EnsureLoadBalancer(t.Context(), "c", s, nil); !errors.As(err, &retry) || retry.RetryAfter() != time.Second {
		t.Errorf("got %v", err)
	}
	if status, err := p.EnsureLoadBalancer(t.Context(), "c", s, nil); err != nil || len(status.Ingress) != 1 {
		t.Errorf("%+v, %v", status, err)
	}
	if _, exists, err := p.GetLoadBalancer(t.Context(), "c", s); !exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
	if err := errors.Join(p.UpdateLoadBalancer(t.Context(), "c", s, nil), p.EnsureLoadBalancerDeleted(t.Context(), "c", s)); err != nil {
		t.Error(err)
	}
}
