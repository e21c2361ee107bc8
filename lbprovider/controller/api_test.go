package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/controller"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// env is an API server with the provider's types, and a controller that the
// test can stop and start.
type env struct {
	*metallbapi.API
	metrics *prometheus.Registry
	// ready is the controller's readiness check.
	ready healthz.Checker
	stop  func()
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{API: metallbapi.Start(t, "../..")}
	e.rights()
	e.start()
	t.Cleanup(func() { e.stop() })
	return e
}

// rights installs what the operator may do; the controller has no other rights.
func (e *env) rights() {
	e.T.Helper()
	e.Must(e.Create(e.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: api.OperatorNamespace}}))
	e.Must(e.Server.Apply(e.T.Context(), "../../config/lbprovider/allocation-rbac.yaml"))
}

// manager remembers the readiness check.
type manager struct {
	ctrl.Manager
	e *env
}

func (m manager) AddReadyzCheck(name string, check healthz.Checker) error {
	m.e.ready = check
	return m.Manager.AddReadyzCheck(name, check) //nolint:wrapcheck // it is that method
}

// start runs the controller until stop.
func (e *env) start() {
	e.T.Helper()
	again := true
	operator := rest.CopyConfig(e.REST)
	operator.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + api.OperatorNamespace + ":ingress-operator",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	mgr, err := ctrl.NewManager(operator, ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &again},
	})
	e.Must(err)
	e.metrics = prometheus.NewRegistry()
	e.Must(controller.Setup(manager{mgr, e}, controller.Options{
		Registerer: e.metrics, Log: slog.New(slog.NewTextHandler(e.T.Output(), nil)),
	}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	e.stop = func() {
		cancel()
		if err := <-done; err != nil {
			e.T.Errorf("controller: %v", err)
		}
		e.stop = func() {}
	}
}

func (e *env) pool(name string, addresses ...string) *v1beta1.IPAddressPool {
	e.T.Helper()
	p := &v1beta1.IPAddressPool{
		ObjectMeta: metallbapi.Meta(name),
		Spec:       v1beta1.IPAddressPoolSpec{Addresses: addresses},
	}
	e.Must(e.Create(e.T.Context(), p))
	return p
}

func (e *env) service(name string, change ...func(*corev1.Service)) {
	e.T.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
			Selector: map[string]string{"app": name},
		},
	}
	for _, f := range change {
		f(svc)
	}
	e.Must(e.Create(e.T.Context(), svc))
}

func (e *env) get(name string) *corev1.Service {
	e.T.Helper()
	var svc corev1.Service
	e.Must(e.Get(e.T.Context(), types.NamespacedName{Namespace: "default", Name: name}, &svc))
	return &svc
}

// has waits until the Service has exactly this address ("" for none), and the
// condition Allocated with this reason.
func (e *env) has(name, address string, reason api.Reason) {
	e.T.Helper()
	e.Eventually(func() string {
		svc := e.get(name)
		got := ""
		for _, in := range svc.Status.LoadBalancer.Ingress {
			got += in.IP
		}
		c := meta.FindStatusCondition(svc.Status.Conditions, api.ConditionAllocated)
		if got != address || c == nil || c.Reason != string(reason) {
			return fmt.Sprintf("service %s: address %q, condition %+v; want %q, %s", name, got, c, address, reason)
		}
		return ""
	})
}

func (e *env) update(name string, change func(*corev1.Service)) {
	e.T.Helper()
	e.Eventually(func() string { // the controller may write at the same time
		svc := e.get(name)
		change(svc)
		if err := e.Update(e.T.Context(), svc); err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestAddressesAgainstAPIServer(t *testing.T) {
	e := newEnv(t)
	step := func(name string, f func(t *testing.T)) {
		t.Helper()
		e.Step(t, name, f)
	}

	step("pending without a pool, then served", func(t *testing.T) {
		e.service("first")
		e.has("first", "", api.ReasonAllocationFailed)
		e.pool("main", "198.18.1.1-198.18.1.4")
		e.has("first", "198.18.1.1", api.ReasonIPAllocated)
		if pool := e.get("first").Annotations[api.AnnotationAllocatedFromPool]; pool != "main" {
			t.Errorf("annotation names pool %q", pool)
		}
	})
	step("requested address", func(*testing.T) {
		e.service("wish", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "198.18.1.3" })
		e.has("wish", "198.18.1.3", api.ReasonIPAllocated)
		e.service("outside", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "198.19.0.1" })
		e.has("outside", "", api.ReasonAllocationFailed)
		e.service("twice", func(s *corev1.Service) {
			s.Spec.LoadBalancerIP = "198.18.1.4"
			s.Annotations[api.AnnotationLoadBalancerIPs] = "198.18.1.4"
		})
		e.has("twice", "", api.ReasonLoadBalancerFailed)
	})
	step("class of another provider is left alone", func(t *testing.T) {
		class := "example.com/other"
		e.service("foreign", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &class })
		own := api.LoadBalancerClass
		e.service("own", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &own })
		e.has("own", "198.18.1.2", api.ReasonIPAllocated)
		if svc := e.get("foreign"); len(svc.Status.Conditions) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("foreign service was touched: %+v", svc.Status)
		}
	})
	step("exhausted, then released", func(t *testing.T) {
		e.service("last")
		e.has("last", "198.18.1.4", api.ReasonIPAllocated)
		e.service("waiting")
		e.has("waiting", "", api.ReasonAllocationFailed)
		e.Eventually(func() string {
			c := meta.FindStatusCondition(e.get("waiting").Status.Conditions, api.ConditionAllocated)
			if c == nil || !strings.Contains(c.Message, `pool "main": IPv4 full (4/4)`) {
				return fmt.Sprintf("condition %+v does not say that the pool is full", c)
			}
			return ""
		})
		e.Must(e.Delete(t.Context(), e.get("last")))
		e.has("waiting", "198.18.1.4", api.ReasonIPAllocated)
	})
	step("no longer a load balancer", func(*testing.T) {
		e.update("own", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
			s.Spec.Ports[0].NodePort, s.Spec.AllocateLoadBalancerNodePorts = 0, nil
		})
		e.Eventually(func() string {
			svc := e.get("own")
			if svc.Annotations[api.AnnotationAllocatedFromPool] != "" || len(svc.Status.Conditions) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0 {
				return fmt.Sprintf("traces are left: %v %+v", svc.Annotations, svc.Status)
			}
			return ""
		})
	})
	step("restart renumbers nobody", func(t *testing.T) {
		// Delete the holder of the lowest address while nobody watches: a
		// careless restart would move others down.
		e.stop()
		e.Must(e.Delete(t.Context(), e.get("first")))
		e.service("late")
		e.start()
		e.has("late", "198.18.1.1", api.ReasonIPAllocated)
		e.has("wish", "198.18.1.3", api.ReasonIPAllocated)
		e.has("waiting", "198.18.1.4", api.ReasonIPAllocated)
	})
	step("pool status, conditions and events", func(*testing.T) { poolStatus(e) })
	step("metrics", func(*testing.T) { measured(e) })
	step("bad input is refused with the field's name", func(*testing.T) { refused(e) })
	step("every kind has its condition", func(*testing.T) { conditions(e) })
	step("who uses which address", func(*testing.T) { usage(e) })
	step("nothing is given beside another MetalLB", func(t *testing.T) { beside(t, e) })
	step("secret of the speakers", func(t *testing.T) {
		e.Eventually(func() string {
			var s corev1.Secret
			if err := e.Get(t.Context(), types.NamespacedName{Namespace: api.ProviderNamespace, Name: "memberlist"}, &s); err != nil {
				return err.Error()
			}
			if n := len(s.Data[controller.MemberlistKey]); n < 32 {
				return fmt.Sprintf("key has %d bytes", n)
			}
			return ""
		})
	})
	step("writes only on change", func(t *testing.T) {
		before := e.get("wish").ResourceVersion
		e.stop()
		e.start()
		e.service("marker", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "198.18.1.2" })
		e.has("marker", "198.18.1.2", api.ReasonIPAllocated)
		if after := e.get("wish").ResourceVersion; after != before {
			t.Errorf("service was written although nothing changed (%s, %s)", before, after)
		}
	})
	step("a pool is split without a change of any address", func(t *testing.T) {
		e.pool("low", "198.18.1.1-198.18.1.2")
		e.pool("high", "198.18.1.3-198.18.1.4")
		main := &v1beta1.IPAddressPool{ObjectMeta: metallbapi.Meta("main")}
		e.Must(e.Delete(t.Context(), main))
		for name, want := range map[string][2]string{"late": {"198.18.1.1", "low"}, "wish": {"198.18.1.3", "high"}} {
			e.Eventually(func() string {
				svc := e.get(name)
				if len(svc.Status.LoadBalancer.Ingress) != 1 || svc.Status.LoadBalancer.Ingress[0].IP != want[0] {
					t.Fatalf("service %s: %+v, want %s all the time", name, svc.Status.LoadBalancer, want[0])
				}
				if pool := svc.Annotations[api.AnnotationAllocatedFromPool]; pool != want[1] {
					return fmt.Sprintf("service %s: pool %q, want %q", name, pool, want[1])
				}
				return ""
			})
		}
	})
}

// measured compares the metrics of the pool with its status.
func measured(e *env) {
	e.T.Helper()
	var p v1beta1.IPAddressPool
	e.Eventually(func() string {
		e.Must(e.Get(e.T.Context(), types.NamespacedName{Namespace: api.ProviderNamespace, Name: "main"}, &p))
		s := p.Status
		used := float64(s.AssignedIPv4 + s.AssignedIPv6)
		families, err := e.metrics.Gather()
		e.Must(err)
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if l := m.GetLabel(); len(l) == 0 || l[0].GetName() == "pool" && l[0].GetValue() == p.Name {
					got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		for name, want := range map[string]float64{
			"metallb_allocator_addresses_total":             used + float64(s.AvailableIPv4+s.AvailableIPv6),
			"metallb_allocator_addresses_in_use_total":      used,
			"metallb_allocator_ipv4_addresses_total":        float64(s.AssignedIPv4 + s.AvailableIPv4),
			"metallb_allocator_ipv4_addresses_in_use_total": float64(s.AssignedIPv4),
			"metallb_allocator_ipv6_addresses_total":        float64(s.AssignedIPv6 + s.AvailableIPv6),
			"metallb_allocator_ipv6_addresses_in_use_total": float64(s.AssignedIPv6),
			"metallb_allocator_services_allocated_total":    used, // none of them share
			"metallb_k8s_client_config_loaded_bool":         1,
			"fairlead_lb_foreign_provider_present":          0,
		} {
			if value, told := got[name]; !told || value != want {
				return fmt.Sprintf("metric %s is %v (%v), want %v", name, value, told, want)
			}
		}
		if used == 0 || got["metallb_k8s_client_updates_total"] == 0 {
			return fmt.Sprintf("nothing is counted: %v", got)
		}
		return ""
	})
}

func poolStatus(e *env) {
	e.T.Helper()
	ctx := e.T.Context()
	status := func(name string) v1beta1.IPAddressPoolStatus {
		var p v1beta1.IPAddressPool
		e.Must(e.Get(ctx, types.NamespacedName{Namespace: api.ProviderNamespace, Name: name}, &p))
		return p.Status
	}
	wait := func(name, condition string, want metav1.ConditionStatus) {
		e.T.Helper()
		e.Eventually(func() string {
			s := status(name)
			if !meta.IsStatusConditionPresentAndEqual(s.Conditions, condition, want) {
				return fmt.Sprintf("pool %s: condition %s is not %s: %+v", name, condition, want, s.Conditions)
			}
			return ""
		})
	}
	e.Eventually(func() string {
		if s := status("main"); s.AssignedIPv4 != 3 || s.AvailableIPv4 != 1 {
			return fmt.Sprintf("counts: %+v", s)
		}
		return ""
	})
	wait("main", api.ConditionAdvertised, metav1.ConditionFalse)
	e.Must(e.Create(ctx, &v1beta1.L2Advertisement{ObjectMeta: metallbapi.Meta("all")}))
	wait("main", api.ConditionAdvertised, metav1.ConditionTrue)
	wait("main", api.ConditionValid, metav1.ConditionTrue)
	e.pool("overlapping", "198.18.1.4/32", "198.18.2.0/24")
	wait("overlapping", api.ConditionValid, metav1.ConditionFalse)
	wait("main", api.ConditionValid, metav1.ConditionTrue)
	e.Eventually(func() string {
		var list corev1.EventList
		e.Must(e.List(ctx, &list, client.InNamespace(api.ProviderNamespace)))
		for _, ev := range list.Items {
			if ev.InvolvedObject.Name == "overlapping" && ev.Reason == string(api.ReasonOverlap) {
				return ""
			}
		}
		return "no event about the overlap"
	})
}

func refused(e *env) {
	e.T.Helper()
	weight := func(w int32) v1beta1.L2AdvertisementSpec {
		return v1beta1.L2AdvertisementSpec{PreferredNodeSelectors: []v1beta1.PreferredNodeSelector{{Weight: w}}}
	}
	meta := metallbapi.Meta("bad")
	pool := func(addresses ...string) client.Object {
		return &v1beta1.IPAddressPool{ObjectMeta: *meta.DeepCopy(), Spec: v1beta1.IPAddressPoolSpec{Addresses: addresses}}
	}
	for _, tt := range []struct {
		object client.Object
		want   []string
	}{
		{pool(), []string{"spec.addresses"}},
		{pool(""), []string{"spec.addresses[0]"}},
		{pool("198.18.9.1"), []string{"spec.addresses", "a single address is written with /32"}},
		{pool("198.18.9.0/33"), []string{"spec.addresses", "each entry must be a network"}},
		{pool("web"), []string{"spec.addresses", "each entry must be a network"}},
		{pool("198.18.9.1-198.18.9"), []string{"spec.addresses", "a range must be two addresses"}},
		{pool("198.18.9.1-"), []string{"spec.addresses", "a range must be two addresses"}},
		{pool("198.18.9.1-198.18.9.2-198.18.9.3"), []string{"spec.addresses", "a range must be two addresses"}},
		{pool("198.18.9.1-fd00::1"), []string{"spec.addresses", "same family"}},
		{&v1beta1.L2Advertisement{ObjectMeta: meta, Spec: weight(0)}, []string{"spec.preferredNodeSelectors[0].weight"}},
		{&v1beta1.L2Advertisement{ObjectMeta: meta, Spec: weight(101)}, []string{"spec.preferredNodeSelectors[0].weight"}},
		{&v1beta1.L2Advertisement{ObjectMeta: meta, Spec: v1beta1.L2AdvertisementSpec{IPAddressPools: []string{"a", "a"}}}, []string{"spec.ipAddressPools[1]", "Duplicate"}},
		{&v1beta1.L2Advertisement{ObjectMeta: meta, Spec: v1beta1.L2AdvertisementSpec{Interfaces: []string{"a-name-that-is-too-long"}}}, []string{"spec.interfaces[0]"}},
	} {
		err := e.Create(e.T.Context(), tt.object)
		if err == nil {
			e.T.Errorf("%+v was accepted", tt.object)
			e.Must(e.Delete(e.T.Context(), tt.object))
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				e.T.Errorf("message %q lacks %q", err, want)
			}
		}
	}
	for _, good := range []string{"198.18.9.0/24", "198.18.9.5/24", " 198.18.9.1 - 198.18.9.9 ", "fd00::/64", "fd00::1-fd00::5"} {
		p := pool(good)
		if err := e.Create(e.T.Context(), p); err != nil {
			e.T.Errorf("%q: %v", good, err)
			continue
		}
		e.Must(e.Delete(e.T.Context(), p))
	}
}
