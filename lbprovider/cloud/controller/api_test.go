package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/controller"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/fakeaws"
	"github.com/fairlead/fairlead/test/wait"
)

// bed is a real API server, a controller with the hook for AWS, and a cloud.
type bed struct {
	t *testing.T
	client.Client
	server *cluster.APIServer
	cloud  *fakeaws.Cloud
	nodes  string
	// options are those of the controller; a test may change them before start.
	options controller.Options
	// registry has the metrics of the controller that was started last.
	registry *prometheus.Registry
	start    func() (stop func())
}

func newBed(t *testing.T) *bed {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	server, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Skipf("no API server: %v", err)
	}
	t.Cleanup(func() { _ = server.Stop() }) // its files go with the folder
	if _, err := server.Kubectl(t.Context(), "create", "namespace", api.OperandNamespace); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	rest, err := server.RESTConfig()
	must(t, err)
	rest.QPS, rest.Burst = 500, 1000
	b := &bed{t: t, server: server, cloud: fakeaws.New(fakeaws.Options{})}
	b.Client, err = client.New(rest, client.Options{Scheme: scheme})
	must(t, err)
	b.cloud.Zones3()
	b.nodes = b.cloud.AddSecurityGroup("nodes", map[string]string{"kubernetes.io/cluster/test": "owned"})
	endpoint := httptest.NewServer(b.cloud)
	t.Cleanup(endpoint.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	b.start = func() func() {
		b.registry = prometheus.NewRegistry()
		calls, err := controller.NewCalls(b.registry)
		must(t, err)
		cfg, err := aws.Config(t.Context(), aws.Access{
			Region: "eu-central-1", Endpoint: endpoint.URL, MaxBackoff: 10 * time.Millisecond,
			Observe: func(service, action, code string, took time.Duration) {
				calls.Observe(service, action, code, aws.Throttled(code), took)
			},
		})
		must(t, err)
		log := slog.New(slog.NewTextHandler(t.Output(), nil))
		again := true
		mgr, err := ctrl.NewManager(rest, ctrl.Options{
			Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again},
		})
		must(t, err)
		o := b.options
		if o.Hook == nil {
			o.Hook = aws.New(cfg, aws.Options{Cluster: "test", Defaults: stack.Defaults{NodeRules: true}, Poll: 500 * time.Millisecond, Now: o.Now, Log: log})
		}
		o.Cluster, o.Class, o.Registerer, o.Log = "test", api.LoadBalancerClassAWS, b.registry, log
		must(t, controller.Setup(mgr, o))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- mgr.Start(ctx) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("controller: %v", err)
			}
		}
	}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node adds a node and its machine.
func (b *bed) node(n int) {
	b.t.Helper()
	id := fmt.Sprintf("i-%017x", n+1)
	b.cloud.AddInstance(id, "subnet-a", fmt.Sprintf("10.0.%d.%d", 1+n/250, n%250+1), b.nodes)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", n)}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + id}}
	must(b.t, b.Create(b.t.Context(), node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	must(b.t, b.Status().Update(b.t.Context(), node))
}

func (b *bed) service(name string, annotations map[string]string) *corev1.Service {
	b.t.Helper()
	class := api.LoadBalancerClassAWS
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperandNamespace, Name: name, Annotations: annotations},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
			Selector: map[string]string{"app": "router"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443}},
		},
	}
	must(b.t, b.Create(b.t.Context(), s))
	return s
}

// eventually polls until check returns "".
func (b *bed) eventually(check func() string) {
	b.t.Helper()
	wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(b.t, "the controller", func() error { return wait.Reason(check()) })
}

func (b *bed) condition(s *corev1.Service, kind string) metav1.Condition {
	b.t.Helper()
	must(b.t, b.Get(b.t.Context(), client.ObjectKeyFromObject(s), s))
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// settled waits until all targets are there and nothing has been called for a
// while.
func (b *bed) settled(s *corev1.Service, nodes int) {
	b.t.Helper()
	b.eventually(func() string {
		all := b.cloud.Balancers()
		if len(all) != 1 || len(all[0].Listeners) != 2 {
			return fmt.Sprintf("load balancers: %+v", all)
		}
		for _, l := range all[0].Listeners {
			if len(l.Group.Targets) != nodes {
				return fmt.Sprintf("%d targets of port %d, want %d", len(l.Group.Targets), l.Port, nodes)
			}
		}
		if c := b.condition(s, api.ConditionCloudReady); c.Status != metav1.ConditionTrue {
			return fmt.Sprintf("condition: %+v", c)
		}
		return ""
	})
}

// TestLife is the life of a router's Service: it gets a name, its targets
// follow the nodes, heartbeats cost nothing, a restart changes nothing, and
// when it goes, everything goes.
func TestLife(t *testing.T) {
	b := newBed(t)
	for n := range 3 {
		b.node(n)
	}
	stop := b.start()
	s := b.service("router-default", nil)
	b.settled(s, 3)
	if lb := b.cloud.Balancers()[0]; len(s.Status.LoadBalancer.Ingress) != 1 || s.Status.LoadBalancer.Ingress[0].Hostname != lb.DNSName ||
		s.Annotations[api.AnnotationLoadBalancerHandle] != lb.ARN || s.Annotations[api.AnnotationTargetZone] != fakeaws.HostedZone {
		t.Errorf("status %+v, annotations %v", s.Status.LoadBalancer, s.Annotations)
	}
	b.eventually(func() string {
		return b.hasEvent(s, "EnsuredLoadBalancer", "takes connections")
	})

	mark := b.cloud.Mark()
	b.heartbeats(20)
	if calls := b.cloud.Since(mark); len(calls) > 0 {
		t.Errorf("heartbeats cost %v", calls)
	}

	mark = b.cloud.Mark()
	for n := range 200 {
		b.node(3 + n)
	}
	b.settled(s, 203)
	registered := fakeaws.Count(b.cloud.Since(mark), "RegisterTargets")
	t.Logf("200 nodes joined: %d RegisterTargets", registered)
	b.eventually(func() string { return b.hasEvent(s, "UpdatedLoadBalancer", "registered") })

	stop()
	stop = b.start()
	mark = b.cloud.Mark()
	b.settled(s, 203)
	b.eventually(func() string {
		if len(b.cloud.Since(mark)) == 0 {
			return "the new controller has not looked yet"
		}
		return ""
	})
	must(t, b.Delete(t.Context(), s))
	b.eventually(func() string {
		if err := b.Get(t.Context(), client.ObjectKeyFromObject(s), s); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the Service is still there: %v %v", s.Finalizers, err)
		}
		return ""
	})
	if left := len(b.cloud.Balancers()) + len(b.cloud.Groups()) + len(b.cloud.SecurityGroups()); left != 1 {
		t.Errorf("%d resources are left besides the nodes' security group", left-1)
	}
	stop()
}

// TestJoining: 200 nodes that come within a few seconds are registered in at
// most five calls.
func TestJoining(t *testing.T) {
	b := newBed(t)
	b.node(0)
	defer b.start()()
	s := b.service("router-default", nil)
	b.settled(s, 1)
	// All are there before the controller hears of the last.
	mark := b.cloud.Mark()
	for n := range 200 {
		b.node(1 + n)
	}
	b.settled(s, 201)
	took := b.cloud.Since(mark)
	first, last := took[0].Time, took[len(took)-1].Time
	registered := fakeaws.Count(took, "RegisterTargets")
	t.Logf("200 nodes joined within %v: %d RegisterTargets", last.Sub(first).Round(time.Second), registered)
	// A flush of two ports at least every 5 seconds; a slow machine has more windows.
	if limit := 5 + 2*int(last.Sub(first)/(5*time.Second)); registered > limit {
		t.Errorf("%d RegisterTargets, want at most %d", registered, limit)
	}
}

// heartbeats updates the status of the first nodes as kubelets do.
func (b *bed) heartbeats(rounds int) {
	b.t.Helper()
	for range rounds {
		for n := range 3 {
			node := &corev1.Node{}
			must(b.t, b.Get(b.t.Context(), client.ObjectKey{Name: fmt.Sprintf("node-%03d", n)}, node))
			node.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
			must(b.t, b.Status().Update(b.t.Context(), node))
		}
	}
}

func (b *bed) hasEvent(s *corev1.Service, reason, text string) string {
	b.t.Helper()
	list := &corev1.EventList{}
	must(b.t, b.List(b.t.Context(), list, client.InNamespace(s.Namespace)))
	var seen []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name != s.Name {
			continue
		}
		if e.Reason == reason && strings.Contains(e.Message, text) {
			return ""
		}
		seen = append(seen, e.Reason+": "+e.Message)
	}
	return fmt.Sprintf("no event %s with %q among %q", reason, text, seen)
}

// TestRefused: with a value that cannot be used, and where somebody else
// serves, there is no call at all, and it is said why.
func TestRefused(t *testing.T) {
	b := newBed(t)
	b.node(0)
	defer b.start()()
	const key = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval"
	s := b.service("bad", map[string]string{key: "often"})
	b.eventually(func() string {
		if c := b.condition(s, api.ConditionCloudReady); c.Reason != string(api.ReasonInvalidConfiguration) || !strings.Contains(c.Message, key) || !strings.Contains(c.Message, `"often"`) {
			return fmt.Sprintf("condition: %+v", c)
		}
		return b.hasEvent(s, "SyncLoadBalancerFailed", key)
	})
	if slices.Contains(s.Finalizers, api.FinalizerCloudLoadBalancer) {
		t.Error("it has a finalizer, although nothing was made")
	}

	other := b.service("theirs", nil)
	// The controller may have been quicker; then this Service is ours.
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	must(t, b.Delete(t.Context(), other))
	b.eventually(func() string {
		if err := b.Get(t.Context(), client.ObjectKeyFromObject(other), other); !apierrors.IsNotFound(err) {
			return "the Service is still there"
		}
		return ""
	})
	b.calm() // what is counted belongs to the third
	mark := b.cloud.Mark()
	class := api.LoadBalancerClassAWS
	third := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.OperandNamespace, Name: "third", Finalizers: []string{"service.k8s.aws/resources"}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	must(t, b.Create(t.Context(), third))
	b.eventually(func() string {
		if c := b.condition(third, api.ConditionCloudReady); c.Reason != string(api.ReasonServedByAnother) {
			return fmt.Sprintf("condition: %+v", c)
		}
		return ""
	})
	if calls := fakeaws.Changes(b.cloud.Since(mark)); len(calls) > 0 {
		t.Errorf("calls: %v", calls)
	}
}

// TestOrphan: somebody takes the finalizer away by force. The load balancer is
// found, and removed when it has been without its Service for ten minutes.
func TestOrphan(t *testing.T) {
	b := newBed(t)
	b.node(0)
	b.options.Sweep, b.options.DeleteOrphans = 300*time.Millisecond, true
	var ahead atomic.Int64
	b.options.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	stop := b.start()
	s := b.service("router-default", nil)
	b.settled(s, 1)
	other := b.service("other", nil)
	b.eventually(func() string {
		if n := len(b.cloud.Balancers()); n != 2 {
			return fmt.Sprintf("%d load balancers, want 2", n)
		}
		return ""
	})
	stop() // or it would put the finalizer back
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	s.Finalizers = nil
	must(t, b.Update(t.Context(), s))
	must(t, b.Delete(t.Context(), s))
	defer b.start()()
	// Seen once at the old time, and again ten minutes later.
	mark := b.cloud.Mark()
	b.eventually(func() string {
		if fakeaws.Count(b.cloud.Since(mark), "DescribeLoadBalancers") == 0 {
			return "nobody looked"
		}
		return ""
	})
	if n := len(b.cloud.Balancers()); n != 2 {
		t.Errorf("%d load balancers at once, want 2", n)
	}
	b.eventually(func() string {
		if n := metric(t, b.registry, "fairlead_cloud_orphans", ""); n != 1 {
			return fmt.Sprintf("fairlead_cloud_orphans is %v, want 1", n)
		}
		return ""
	})
	b.eventually(func() string {
		ahead.Add(int64(time.Minute))
		all := b.cloud.Balancers()
		if len(all) != 1 || len(b.cloud.Groups()) != 2 {
			return fmt.Sprintf("%d load balancers, %d groups", len(all), len(b.cloud.Groups()))
		}
		return ""
	})
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	if left := b.cloud.Balancers()[0].DNSName; len(other.Status.LoadBalancer.Ingress) != 1 || left != other.Status.LoadBalancer.Ingress[0].Hostname {
		t.Errorf("left is %s, and the Service has %+v", left, other.Status.LoadBalancer)
	}
}
