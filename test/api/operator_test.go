package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	addresses "github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
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
		Scheme: scheme(t), Cache: operator.CacheOptions(), Client: operator.ClientOptions(),
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
	o.Domain, o.RouterImage, o.ClusterPoll = "apps.example.com", "fairlead.dev/router:dev", 200*time.Millisecond
	o.Log, o.DNS = logger, zones.Hook != nil
	i.Classless, i.Log, i.Registerer = true, logger, registry
	if err := errors.Join(
		operator.Setup(mgr, registry, o),
		dns.Setup(mgr, zones),
		ingress.Setup(mgr, i),
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
			t.Errorf("operator: %v", err)
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

// TestIngressControllerLifecycle follows the default IngressController from
// the start of the operator on an empty cluster to its deletion.
func TestIngressControllerLifecycle(t *testing.T) {
	c, log := startOperator(t)
	children := map[client.Object]client.ObjectKey{
		&appsv1.Deployment{}:            operandKey("router-default"),
		&policyv1.PodDisruptionBudget{}: operandKey("router-default"),
		&corev1.Service{}:               operandKey("router-default"),
		&corev1.Secret{}:                operandKey("router-certs-default"),
		&networkingv1.IngressClass{}:    {Name: "openshift-default"},
	}
	for object, key := range children {
		eventually(t, func() error { return get(t, c, key, object) })
	}
	eventually(t, func() error { return get(t, c, operandKey("router-internal-default"), &corev1.Service{}) })
	eventually(t, func() error { return get(t, c, operandKey("router-stats-default"), &corev1.Secret{}) })
	eventually(t, func() error { return get(t, c, icKey("router-ca"), &corev1.Secret{}) })

	service := &corev1.Service{}
	if err := get(t, c, operandKey("router-default"), service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		t.Errorf("Service: %+v", service.Spec)
	}
	eventually(t, func() error {
		return wantCondition(c, "default", "LoadBalancerReady", operatorv1.ConditionFalse, "")
	})
	eventually(t, func() error { return wantCondition(c, "default", "Admitted", operatorv1.ConditionTrue, "") })

	t.Run("drift is repaired", func(t *testing.T) { repairs(t, c, log) })
	t.Run("address", func(t *testing.T) { addressArrives(t, c) })
	t.Run("columns", func(t *testing.T) {
		out, err := server.Kubectl(t.Context(), "get", "ic", "-n", names.OperatorNamespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"AVAILABLE", "DEGRADED", "STRATEGY", "DOMAIN", "ADDRESS", "LoadBalancerService", "apps.example.com", "198.18.77.1"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	})
	t.Run("scale", func(t *testing.T) {
		if _, err := server.Kubectl(t.Context(), "scale", "-n", names.OperatorNamespace, "ic/default", "--replicas=3"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			d := &appsv1.Deployment{}
			if err := get(t, c, operandKey("router-default"), d); err != nil {
				return err
			}
			if *d.Spec.Replicas != 3 {
				return fmt.Errorf("%d replicas", *d.Spec.Replicas)
			}
			return nil
		})
	})
	t.Run("refused settings", func(t *testing.T) { refused(t, c) })
	t.Run("deletion", func(t *testing.T) { deletes(t, c, children) })
}

// repairs changes and deletes children by hand.
func repairs(t *testing.T, c client.Client, log *logged) {
	d := &appsv1.Deployment{}
	if err := get(t, c, operandKey("router-default"), d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Template.Spec.Containers[0].Image = "example.com/other:1"
	if err := c.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if err := get(t, c, operandKey("router-default"), d); err != nil {
			return err
		}
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "fairlead.dev/router:dev" {
			return fmt.Errorf("image is %s", image)
		}
		return nil
	})
	if err := c.Delete(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: "router-default"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return get(t, c, operandKey("router-default"), &policyv1.PodDisruptionBudget{}) })
	if writes := log.count("updated kind=Deployment"); writes != 1 {
		t.Errorf("the Deployment was written %d times, want once, for the image", writes)
	}
}

// refused gives settings that contradict themselves: what was admitted before
// is what routers find that start meanwhile.
func refused(t *testing.T, c client.Client) {
	edit := func(document string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), "patch", "-n", names.OperatorNamespace, "ic/default", "--type=merge", "-p", document); err != nil {
			t.Fatal(err)
		}
	}
	stored := func(want string) error {
		m := &corev1.ConfigMap{}
		if err := get(t, c, operandKey("router-admitted-default"), m); err != nil {
			return err
		}
		if got := m.Data[names.AdmittedSpecKey]; !strings.Contains(got, want) {
			return fmt.Errorf("admitted settings are %s, want %s in them", got, want)
		}
		return nil
	}
	edit(`{"spec":{"tuningOptions":{"serverTimeout":"9s"}}}`)
	eventually(t, func() error { return stored(`"serverTimeout":"9s"`) })
	edit(`{"spec":{"replicas":2,"tuningOptions":{"serverTimeout":"8s"},"clientTLS":{"clientCertificatePolicy":"","clientCA":{"name":""},"allowedSubjectPatterns":["("]}}}`)
	eventually(t, func() error {
		return wantCondition(c, "default", "Admitted", operatorv1.ConditionFalse, "spec.clientTLS.allowedSubjectPatterns[0]: failed to parse")
	})
	if err := stored(`"serverTimeout":"9s"`); err != nil {
		t.Error(err)
	}
	d := &appsv1.Deployment{}
	if err := get(t, c, operandKey("router-default"), d); err != nil || *d.Spec.Replicas != 3 {
		t.Errorf("a refused change reached the Deployment: %v, %v", d.Spec.Replicas, err)
	}
	edit(`{"spec":{"clientTLS":null}}`)
	eventually(t, func() error { return stored(`"serverTimeout":"8s"`) })
}

// addressArrives creates a pool, as an administrator does.
func addressArrives(t *testing.T, c client.Client) {
	if err := apply(t, `apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: test, namespace: metallb-system}
spec: {addresses: [198.18.77.1-198.18.77.3]}
`); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		return wantCondition(c, "default", "LoadBalancerReady", operatorv1.ConditionTrue, "198.18.77.1")
	})
	eventually(t, func() error {
		out, err := server.Kubectl(t.Context(), "get", "ic", "default", "-n", names.OperatorNamespace, "-o", "jsonpath={.status.addresses}")
		if err == nil && out != `["198.18.77.1"]` {
			err = errors.New(out)
		}
		return err
	})
}

// deletes follows the order of deletion: pods drain while the address still
// leads to them, then everything else goes. The order behind a cloud's load
// balancer is that of TestCloudDeletion.
func deletes(t *testing.T, c client.Client, children map[client.Object]client.ObjectKey) {
	route := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "traced-"},
		Spec:       routev1.RouteSpec{Host: "traced.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "a"}},
	}
	if err := c.Create(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	route.Status.Ingress = []routev1.RouteIngress{{RouterName: "default", Host: "traced.example.com"}, {RouterName: "other", Host: "traced.example.com"}}
	if err := c.Status().Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: names.OperandNamespace, Name: "draining", Finalizers: []string{"example.com/draining"},
			Labels: map[string]string{names.LabelDeploymentIngressController: "default"},
		},
		Spec: restrictedPod(),
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := createDefault(t.Context(), c, "false"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(c, operandKey("router-default"), &appsv1.Deployment{}) })
	if err := get(t, c, operandKey("router-default"), &corev1.Service{}); err != nil {
		t.Errorf("the Service went before the pod: %v", err)
	}
	eventually(t, func() error {
		reasons, err := eventReasons(c, names.OperatorNamespace, "default")
		if err == nil && !slices.Contains(reasons, "Normal DeletionWaits") {
			err = fmt.Errorf("events are %v", reasons)
		}
		return err
	})
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	pod.Finalizers = nil
	if err := c.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(c, icKey("default"), &operatorv1.IngressController{}) })
	for object, key := range children {
		if err := gone(c, key, object); err != nil {
			t.Error(err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil {
		t.Fatal(err)
	}
	if left := route.Status.Ingress; len(left) != 1 || left[0].RouterName != "other" {
		t.Errorf("status of the route after deletion: %+v", left)
	}
}

func gone(c client.Client, key client.ObjectKey, object client.Object) error {
	err := c.Get(context.Background(), key, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return fmt.Errorf("%T %s still exists", object, key)
	}
	return err
}

// eventReasons returns the reasons of the events about an object.
func eventReasons(c client.Client, namespace, name string) ([]string, error) {
	list := &corev1.EventList{}
	if err := c.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var reasons []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == name {
			reasons = append(reasons, e.Type+" "+e.Reason)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons), nil
}
