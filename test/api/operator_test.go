package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	addresses "github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	gateways "github.com/fairlead/fairlead/operator/gateway/controller"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
)

// startOperator runs the operator's controllers in this process until the
// test ends. Only one test may do so at a time, because all would write the
// same objects.
func startOperator(t *testing.T) (client.Client, *logged) {
	t.Helper()
	return startOperatorWithDNS(t, dns.Options{})
}

// startOperatorWithDNS does the same with a DNS provider.
func startOperatorWithDNS(t *testing.T, zones dns.Options) (client.Client, *logged) {
	t.Helper()
	return startOperatorWith(t, zones, operator.Options{})
}

// startOperatorWith does the same with other options besides.
func startOperatorWith(t *testing.T, zones dns.Options, o operator.Options) (client.Client, *logged) {
	t.Helper()
	return startOperatorLimited(t, zones, o, ingress.Options{})
}

// startOperatorLimited does the same with limits for Ingresses.
func startOperatorLimited(t *testing.T, zones dns.Options, o operator.Options, i ingress.Options) (client.Client, *logged) {
	t.Helper()
	return startOperatorWatched(t, zones, o, i, func(next http.RoundTripper) http.RoundTripper { return next })
}

// startOperatorWatched does the same with something between it and the API server.
func startOperatorWatched(t *testing.T, zones dns.Options, o operator.Options, i ingress.Options, between transport.WrapperFunc) (client.Client, *logged) {
	t.Helper()
	c := newClient(t)
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 1000
	config.Wrap(between)
	// With the rights that config/rbac and config/lbprovider give, and no others.
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + names.OperatorNamespace + ":ingress-operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + names.OperatorNamespace, "system:authenticated"},
	}
	skipNameValidation := true
	options := ctrl.Options{
		Scheme: scheme(t), Cache: operator.CacheOptions(config), Client: operator.ClientOptions(),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	}
	options.Controller.SkipNameValidation = &skipNameValidation // every test starts the same controllers
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := createDefault(t.Context(), c, "true"); err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	registry := prometheus.NewRegistry()
	zones.Log, zones.Registerer = logger, registry
	o.Defaults.Domain, o.Defaults.RouterImage, o.ClusterPoll = "apps.example.com", "fairlead.dev/router:dev", 200*time.Millisecond
	o.Log, o.Defaults.DNS = logger, zones.Hook != nil
	o.Defaults.Dialect = stack.Dialect{AnyPlatform: o.Defaults.CloudClass == names.LoadBalancerClassWebhook}
	i.Classless, i.Log, i.Registerer = true, logger, registry
	if err := errors.Join(
		operator.Setup(mgr, registry, o),
		dns.Setup(mgr, zones),
		ingress.Setup(mgr, i),
		gateways.Setup(mgr, gateways.Options{Poll: 200 * time.Millisecond, Log: logger, Defaults: o.Defaults}),
		addresses.Setup(mgr, addresses.Options{Registerer: registry, Log: logger}),
	); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cleanUp(t, c)
		cancel()
		if err := <-done; err != nil {
			stacks := make([]byte, 256<<10)
			t.Errorf("operator: %v; what runs is\n%s", err, stacks[:runtime.Stack(stacks, true)])
		}
		if t.Failed() {
			t.Log(log.all())
		}
	})
	return c, log
}

// cleanUp leaves no IngressController and no address to the next test, not even
// where a test failed that holds a Service or a pod. The operator must still run.
func cleanUp(t *testing.T, c client.Client) {
	t.Helper()
	ctx := context.Background()
	if err := errors.Join(
		createDefault(ctx, c, "false"),
		c.DeleteAllOf(ctx, &v1beta1.IPAddressPool{}, client.InNamespace(names.ProviderNamespace)),
		c.DeleteAllOf(ctx, &operatorv1.IngressController{}, client.InNamespace(names.OperatorNamespace)),
	); err != nil {
		t.Error(err)
	}
	eventually(t, func() error {
		if err := release(ctx, c); err != nil {
			return err
		}
		list := &operatorv1.IngressControllerList{}
		err := c.List(ctx, list, client.InNamespace(names.OperatorNamespace))
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d IngressControllers are left", len(list.Items))
		}
		return err
	})
}

// createDefault says whether the operator may create "default".
func createDefault(ctx context.Context, c client.Client, may string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.OperatorNamespace}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, names.AnnotationCreateDefault, may)
	return c.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// release takes the finalizers of tests from what is being deleted, and ends
// pods, which no kubelet does here.
func release(ctx context.Context, c client.Client) error {
	services, pods := &corev1.ServiceList{}, &corev1.PodList{}
	if err := errors.Join(
		c.List(ctx, services, client.InNamespace(names.OperandNamespace)),
		c.List(ctx, pods, client.InNamespace(names.OperandNamespace)),
	); err != nil {
		return err
	}
	var held []client.Object
	for i := range services.Items {
		held = append(held, &services.Items[i])
	}
	for i := range pods.Items {
		held = append(held, &pods.Items[i])
	}
	const none = `{"metadata":{"finalizers":null}}`
	for _, o := range held {
		_, isPod := o.(*corev1.Pod)
		if isPod || o.GetDeletionTimestamp() != nil && slices.ContainsFunc(o.GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, "example.com/") }) {
			if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(none))); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if isPod {
			if err := c.Delete(ctx, o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

// restrictedPod is a pod that the namespace of the routers takes.
func restrictedPod() corev1.PodSpec {
	return corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{Name: "a", Image: "a", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}
}

// logged keeps what the operator logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count returns how often something was logged.
func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func (l *logged) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func operandKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: names.OperandNamespace, Name: name}
}

func icKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: names.OperatorNamespace, Name: name}
}

func get[T client.Object](t *testing.T, c client.Client, key client.ObjectKey, into T) error {
	t.Helper()
	return c.Get(t.Context(), key, into)
}

// wantCondition checks a condition of an IngressController.
func wantCondition(c client.Client, ic, kind string, status operatorv1.ConditionStatus, message string) error {
	object := &operatorv1.IngressController{}
	if err := c.Get(context.Background(), icKey(ic), object); err != nil {
		return err
	}
	for _, have := range object.Status.Conditions {
		if have.Type == kind && have.Status == status && strings.Contains(have.Message, message) {
			return nil
		}
	}
	return fmt.Errorf("no condition %s=%s with %q in %+v", kind, status, message, object.Status.Conditions)
}
