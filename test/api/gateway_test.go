package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/test/wait"
)

const gatewayNamespace = "gateways"

// gatewayTest is an operator that has begun to serve the Gateway API.
type gatewayTest struct {
	client.Client
	log *logged
}

// startGateways starts the operator without the CRDs, installs them then, and makes an
// IngressController with one router pod, a pool and a GatewayClass.
func startGateways(t *testing.T) gatewayTest {
	t.Helper()
	if server == nil {
		t.Skipf("no API server (run \"make tools\"): %v", skipReason)
	}
	removeGatewayKinds(t)
	c, log := startOperator(t)
	g := gatewayTest{c, log}
	t.Cleanup(func() { g.cleanUp(t) })
	wait.Poll{Limit: time.Minute, Every: 50 * time.Millisecond}.For(t, "the operator", func() error {
		if n := log.count("the CRDs of the Gateway API are not installed"); n != 1 {
			return fmt.Errorf("it says %d times that the CRDs are missing", n)
		}
		return nil
	})
	g.install(t)
	g.addRouter(t, "default", "router-a", "10.1.2.3")
	g.speakAsRouters(t)
	return g
}

// removeGatewayKinds takes the CRDs away when the test has ended. "kubectl delete" that waits
// by itself has waited three minutes for one of them, so this asks which are left, and changes
// these now and then, which has the API server look at them again.
func removeGatewayKinds(t *testing.T) {
	t.Cleanup(func() {
		ctx := context.Background()
		if out, err := server.Kubectl(ctx, "delete", "--ignore-not-found", "--wait=false", "-k", "../../config/gateway"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		looks := 0
		wait.Poll{Limit: 3 * time.Minute, Every: 100 * time.Millisecond}.For(t, "the API server removes the CRDs of the Gateway API", func() error {
			left, err := server.Kubectl(ctx, "get", "--ignore-not-found", "-o", "name", "-k", "../../config/gateway")
			if err != nil || strings.TrimSpace(left) == "" {
				return err
			}
			if looks++; looks%20 == 0 {
				t.Logf("not removed yet: %s", strings.Fields(left))
				args := append([]string{"annotate", "--overwrite", fmt.Sprintf("test=%d", looks)}, strings.Fields(left)...)
				if out, err := server.Kubectl(ctx, args...); err != nil {
					t.Logf("%v: %s", err, out) // it may be gone
				}
			}
			return errors.New(left)
		})
	})
}

// install makes the CRDs, a pool and a GatewayClass.
func (g gatewayTest) install(t *testing.T) {
	t.Helper()
	if _, err := server.Kubectl(t.Context(), "apply", "--server-side", "-k", "../../config/gateway"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Kubectl(t.Context(), "wait", "--for=condition=Established", "crd", "gatewayclasses.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "--timeout=30s"); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, `
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: test, namespace: metallb-system}
spec: {addresses: [198.18.77.1-198.18.77.9]}
---
apiVersion: v1
kind: Namespace
metadata: {name: gateways}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: fairlead}
spec: {controllerName: fairlead.dev/gateway-controller}
`); err != nil {
		t.Fatal(err)
	}
}

// speakAsRouters says of the listeners of each Gateway what routers say that have them live.
func (g gatewayTest) speakAsRouters(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			list := &gatewayv1.GatewayList{}
			if err := g.List(ctx, list, client.InNamespace(gatewayNamespace)); err == nil {
				for i := range list.Items {
					g.speakOf(ctx, t, &list.Items[i])
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
}

func (g gatewayTest) speakOf(ctx context.Context, t *testing.T, object *gatewayv1.Gateway) {
	var listeners []any
	said := true
	for _, v := range gateway.Judge(object) {
		status, reason := "True", "Programmed"
		if !v.Accepted() {
			status, reason = "False", "Invalid"
		}
		said = said && slices.ContainsFunc(object.Status.Listeners, func(l gatewayv1.ListenerStatus) bool {
			return l.Name == v.Name && hasConditions(l.Conditions, object.Generation, "Programmed="+status+"/"+reason) == nil
		})
		listeners = append(listeners, map[string]any{"name": string(v.Name), "attachedRoutes": 0, "supportedKinds": []any{}, "conditions": []any{map[string]any{
			"type": "Programmed", "status": status, "reason": reason, "message": "", "observedGeneration": object.Generation, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}}})
	}
	if said {
		return
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"listeners": listeners}}}
	u.SetAPIVersion(gatewayv1.GroupVersion.String())
	u.SetKind("Gateway")
	u.SetNamespace(object.Namespace)
	u.SetName(object.Name)
	err := g.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("fairlead-router"), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		t.Errorf("speak as routers: %v", err)
	}
}

func (g gatewayTest) cleanUp(t *testing.T) {
	ctx := context.Background()
	if err := errors.Join(
		g.DeleteAllOf(ctx, &gatewayv1.Gateway{}, client.InNamespace(gatewayNamespace)),
		g.DeleteAllOf(ctx, &gatewayv1.GatewayClass{}),
	); err != nil && !meta.IsNoMatchError(err) {
		t.Error(err)
	}
	eventually(t, func() error {
		services, classes := &corev1.ServiceList{}, &gatewayv1.GatewayClassList{}
		err := errors.Join(g.List(ctx, services, client.InNamespace(gatewayNamespace)), g.List(ctx, classes))
		if err == nil && len(services.Items)+len(classes.Items) > 0 {
			err = fmt.Errorf("%d Services and %d GatewayClasses are left", len(services.Items), len(classes.Items))
		}
		return err
	})
}

// addRouter makes a router pod of an IngressController that is ready.
func (g gatewayTest) addRouter(t *testing.T, ic, name, ip string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: names.OperandNamespace, Name: name, Labels: map[string]string{names.LabelDeploymentIngressController: ic},
	}, Spec: restrictedPod()}
	pod.Spec.NodeName = "n1"
	if err := g.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if err := g.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// apply writes a Gateway with the rest of its spec.
func (g gatewayTest) apply(t *testing.T, name, spec string) {
	t.Helper()
	text := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: %s}\nspec:\n  gatewayClassName: fairlead\n%s", name, gatewayNamespace, spec)
	if err := apply(t, text); err != nil {
		t.Fatal(err)
	}
}

func (g gatewayTest) get(t *testing.T, name string) (*gatewayv1.Gateway, error) {
	t.Helper()
	object := &gatewayv1.Gateway{}
	return object, g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: name}, object)
}

// wants checks the operator's conditions, as "Type=Status/Reason", and their generation.
func (g gatewayTest) wants(t *testing.T, name string, conditions ...string) {
	t.Helper()
	eventually(t, func() error {
		object, err := g.get(t, name)
		if err != nil {
			return err
		}
		return hasConditions(object.Status.Conditions, object.Generation, conditions...)
	})
}

func hasConditions(live []metav1.Condition, generation int64, wanted ...string) error {
	for _, w := range wanted {
		kind, _, _ := strings.Cut(w, "=")
		c := meta.FindStatusCondition(live, kind)
		if c == nil || fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason) != w || c.ObservedGeneration != generation {
			return fmt.Errorf("want %s of generation %d, have %+v", w, generation, c)
		}
	}
	return nil
}

// slots returns the pod ports of a Gateway by the table that routers read.
func (g gatewayTest) slots(t *testing.T, name string) map[int32]int32 {
	t.Helper()
	object, err := g.get(t, name)
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{}
	if err := g.Get(t.Context(), operandKey(gateway.SlotsName("default")), config); err != nil {
		t.Fatal(err)
	}
	table, problems := gateway.ReadTable(config.Data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	found := map[int32]int32{}
	for port, podPort := range table.Slots(object) {
		if !port.UDP {
			found[port.Number] = podPort
		}
	}
	return found
}

func (g gatewayTest) service(t *testing.T, name string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	if err := g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: gateway.ServiceName(name)}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// leads checks where the EndpointSlice of a Gateway leads: address and ports.
func (g gatewayTest) leads(t *testing.T, name string, want ...string) {
	t.Helper()
	eventually(t, func() error {
		s := &discoveryv1.EndpointSlice{}
		if err := g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: gateway.ServiceName(name) + "-ipv4"}, s); err != nil {
			return err
		}
		var have []string
		for _, e := range s.Endpoints {
			for _, p := range s.Ports {
				have = append(have, fmt.Sprintf("%s %s:%d ready=%t", *p.Name, e.Addresses[0], *p.Port, *e.Conditions.Ready))
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("endpoints (-want +have):\n%s", diff)
		}
		return nil
	})
}

const webAndTLS = `  listeners:
  - {name: web, port: 80, protocol: HTTP}
  - {name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}
`

// TestGateways follows Gateways from the installation of the CRDs to their end, with the
// rights that the manifests give.
func TestGateways(t *testing.T) {
	g := startGateways(t)
	t.Run("class", g.testClass)
	t.Run("service", g.testService)
	t.Run("tenants", g.testTenants)
	t.Run("addresses", g.testAddresses)
	t.Run("shared", g.testShared)
	t.Run("parameters", g.testParameters)
	t.Run("listeners", g.testListeners)
	t.Run("access", g.testAccess)
	t.Run("listenersets", g.testListenerSets)
	t.Run("foreign", g.testForeign)
	t.Run("end", g.testEnd)
}

func (g gatewayTest) testClass(t *testing.T) {
	class := func() (*gatewayv1.GatewayClass, error) {
		object := &gatewayv1.GatewayClass{}
		return object, g.Get(t.Context(), client.ObjectKey{Name: "fairlead"}, object)
	}
	accepted := func(want string) func() error {
		return func() error {
			object, err := class()
			if err != nil {
				return err
			}
			return hasConditions(object.Status.Conditions, object.Generation, want)
		}
	}
	eventually(t, accepted("Accepted=True/Accepted"))
	object, err := class()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gateway.SupportedFeatures("v1.6.3", "standard"), object.Status.SupportedFeatures); diff != "" {
		t.Errorf("features (-want +have):\n%s", diff)
	}
	parameters := func(value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"spec":{"parametersRef":%s}}`, value)
		if err := g.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	parameters(`{"group":"operator.openshift.io","kind":"IngressController","name":"missing","namespace":"openshift-ingress-operator"}`)
	eventually(t, accepted("Accepted=False/InvalidParameters"))
	g.apply(t, "early", webAndTLS)
	g.wants(t, "early", "Accepted=False/InvalidParameters", "Programmed=False/Invalid")
	parameters(`{"group":"operator.openshift.io","kind":"IngressController","name":"default","namespace":"openshift-ingress-operator"}`)
	eventually(t, accepted("Accepted=True/Accepted"))
	g.wants(t, "early", "Accepted=True/Accepted", "Programmed=True/Programmed")
	if object, err = class(); err != nil || !slices.Contains(object.Finalizers, gatewayv1.GatewayClassFinalizerGatewaysExist) {
		t.Errorf("finalizers %v, %v", object.Finalizers, err)
	}
	// CRDs of a version that is not served.
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("gatewayclasses.gateway.networking.k8s.io")
	version := func(v string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"gateway.networking.k8s.io/bundle-version":%q}}}`, v)
		if err := g.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	version("v1.2.0")
	eventually(t, accepted("Accepted=False/UnsupportedVersion"))
	eventually(t, accepted("SupportedVersion=False/UnsupportedVersion"))
	version("v1.6.3")
	eventually(t, accepted("Accepted=True/Accepted"))
	eventually(t, func() error {
		object, err := class()
		if err == nil && meta.FindStatusCondition(object.Status.Conditions, "SupportedVersion") != nil {
			err = errors.New("the condition SupportedVersion stays")
		}
		return err
	})
	g.leads(t, "early", "port-80 10.1.2.3:20000 ready=true", "port-443 10.1.2.3:21000 ready=true")
}

func (g gatewayTest) testService(t *testing.T) {
	g.apply(t, "web", webAndTLS+"  infrastructure: {labels: {team: shop}, annotations: {example.com/note: x, metallb.io/loadBalancerIPs: 198.18.77.9}}\n")
	g.wants(t, "web", "Accepted=True/Accepted", "Programmed=True/Programmed")
	if diff := cmp.Diff(map[int32]int32{80: 20001, 443: 21001}, g.slots(t, "web")); diff != "" {
		t.Errorf("two Gateways with the same ports: slots (-want +have):\n%s", diff)
	}
	s := g.service(t, "web")
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Labels["team"] != "shop" || s.Annotations["example.com/note"] != "x" || len(s.Spec.Selector) > 0 {
		t.Errorf("Service %+v", s)
	}
	if _, asked := s.Annotations[names.AnnotationLoadBalancerIPs]; asked {
		t.Error("an address is asked for by an annotation of the infrastructure")
	}
	for _, p := range s.Spec.Ports {
		if p.TargetPort.IntVal != g.slots(t, "web")[p.Port] {
			t.Errorf("port %+v", p)
		}
	}
	object, err := g.get(t, "web")
	if err != nil || len(object.Status.Addresses) != 1 || object.Status.Addresses[0].Value != s.Status.LoadBalancer.Ingress[0].IP {
		t.Errorf("addresses %v of %v, %v", object.Status.Addresses, s.Status.LoadBalancer, err)
	}
	g.apply(t, "web", webAndTLS)
	eventually(t, func() error {
		if s := g.service(t, "web"); s.Labels["team"] != "" || s.Annotations["example.com/note"] != "" {
			return fmt.Errorf("labels %v, annotations %v", s.Labels, s.Annotations)
		}
		return nil
	})
	// A second router, and the end of the first one.
	g.addRouter(t, "default", "router-b", "10.1.2.4")
	g.leads(t, "web", "port-80 10.1.2.3:20001 ready=true", "port-443 10.1.2.3:21001 ready=true", "port-80 10.1.2.4:20001 ready=true", "port-443 10.1.2.4:21001 ready=true")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: "router-a"}}
	if err := g.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	g.leads(t, "web", "port-80 10.1.2.4:20001 ready=true", "port-443 10.1.2.4:21001 ready=true")
}

// testTenants: what a tenant changes in the namespace of the Gateway is restored, and is
// not what routers read.
func (g gatewayTest) testTenants(t *testing.T) {
	s := g.service(t, "web")
	s.Spec.Ports[0].TargetPort.IntVal = 20000
	s.Spec.Selector = map[string]string{"app": "mine"}
	if err := g.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		s := g.service(t, "web")
		if len(s.Spec.Selector) > 0 {
			return errors.New("the selector stays")
		}
		for _, p := range s.Spec.Ports {
			if p.TargetPort.IntVal != g.slots(t, "web")[p.Port] {
				return fmt.Errorf("port %+v", p)
			}
		}
		return nil
	})
	if diff := cmp.Diff(map[int32]int32{80: 20001, 443: 21001}, g.slots(t, "web")); diff != "" {
		t.Errorf("slots (-want +have):\n%s", diff)
	}
	// A Service of another program in the way.
	if err := apply(t, "apiVersion: v1\nkind: Service\nmetadata: {name: gateway-taken, namespace: gateways}\nspec: {ports: [{port: 80}]}\n"); err != nil {
		t.Fatal(err)
	}
	g.apply(t, "taken", webAndTLS)
	g.wants(t, "taken", "Accepted=True/Accepted", "Programmed=False/Pending")
	object, err := g.get(t, "taken")
	if err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(object.Status.Conditions, "Programmed"); !strings.Contains(c.Message, "Service gateway-taken exists and does not belong to the Gateway") {
		t.Errorf("message %q", c.Message)
	}
	if err := errors.Join(g.Delete(t.Context(), object), g.Delete(t.Context(), g.service(t, "taken"))); err != nil {
		t.Fatal(err)
	}
}

func (g gatewayTest) testAddresses(t *testing.T) {
	const listeners = "  listeners: [{name: web, port: 80, protocol: HTTP}]\n"
	g.apply(t, "static", listeners+"  addresses: [{type: IPAddress, value: 198.18.77.7}, {type: test/fake, value: x}]\n")
	g.wants(t, "static", "Accepted=False/UnsupportedAddress", "Programmed=False/Invalid")
	g.apply(t, "static", listeners+"  addresses: [{type: IPAddress, value: 198.18.77.7}, {type: IPAddress, value: 198.51.100.77}]\n")
	g.wants(t, "static", "Accepted=True/Accepted", "Programmed=False/AddressNotUsable")
	g.apply(t, "static", listeners+"  addresses: [{type: IPAddress, value: 198.51.100.77}]\n")
	g.wants(t, "static", "Accepted=True/Accepted", "Programmed=False/AddressNotUsable")
	g.apply(t, "static", listeners+"  addresses: [{type: IPAddress, value: 198.18.77.7}]\n")
	g.wants(t, "static", "Accepted=True/Accepted", "Programmed=True/Programmed")
	object, err := g.get(t, "static")
	if err != nil || len(object.Status.Addresses) != 1 || object.Status.Addresses[0].Value != "198.18.77.7" {
		t.Errorf("addresses %v, %v", object.Status.Addresses, err)
	}
	g.apply(t, "static", listeners+"  addresses: [{type: IPAddress}]\n")
	eventually(t, func() error {
		if _, asked := g.service(t, "static").Annotations[names.AnnotationLoadBalancerIPs]; asked {
			return errors.New("the address is still asked for")
		}
		return nil
	})
	g.wants(t, "static", "Programmed=True/Programmed")
}

func (g gatewayTest) testListeners(t *testing.T) {
	g.apply(t, "mixed", "  listeners: [{name: web, port: 80, protocol: HTTP}, {name: other, port: 1111, protocol: INVALID}]\n")
	g.wants(t, "mixed", "Accepted=True/ListenersNotValid", "Programmed=True/Programmed")
	slots := g.slots(t, "mixed")
	if len(slots) != 1 || slots[80] == 0 {
		t.Errorf("slots %v", slots)
	}
	g.apply(t, "mixed", "  listeners: [{name: other, port: 1111, protocol: INVALID}]\n")
	g.wants(t, "mixed", "Accepted=False/ListenersNotValid", "Programmed=False/Invalid")
	if got := g.slots(t, "mixed"); len(got) > 0 {
		t.Errorf("slots of a Gateway without listeners: %v", got)
	}
	g.leads(t, "mixed")
	g.apply(t, "mixed", "  listeners: [{name: web, port: 80, protocol: HTTP}, {name: udp, port: 80, protocol: UDP}]\n")
	g.wants(t, "mixed", "Accepted=True/Accepted", "Programmed=True/Programmed")
	var ports []string
	for _, p := range g.service(t, "mixed").Spec.Ports {
		block, _ := gateway.BlockOf(p.TargetPort.IntVal)
		ports = append(ports, fmt.Sprintf("%s %s %d %s", p.Name, p.Protocol, p.Port, block.Name))
	}
	if diff := cmp.Diff([]string{"port-80 TCP 80 H", "port-80-udp UDP 80 U"}, ports); diff != "" {
		t.Errorf("ports of the Service (-want +have):\n%s", diff)
	}
	if got := g.slots(t, "mixed"); got[80] != slots[80] {
		t.Errorf("the slot was %d, and is %d", slots[80], got[80])
	}
	// A port that no slot is left for: one namespace has a quarter of the block.
	var many strings.Builder
	many.WriteString("  listeners:\n")
	share := gateway.Table{}.PerNamespace(gateway.HTTP)
	for port := range share {
		fmt.Fprintf(&many, "  - {name: p%d, port: %d, protocol: HTTP}\n", port, 1000+port)
	}
	g.apply(t, "many", many.String())
	g.wants(t, "many", "Accepted=True/Accepted", "Programmed=False/NoResources")
}

// testForeign: conditions and listeners of other writers stay, and the generation moves.
func (g gatewayTest) testForeign(t *testing.T) {
	object, err := g.get(t, "web")
	if err != nil {
		t.Fatal(err)
	}
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{Type: "example.com/Foreign", Status: metav1.ConditionTrue, Reason: "Foreign", Message: "stays", ObservedGeneration: 1})
	object.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "web", SupportedKinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}}, Conditions: []metav1.Condition{{
		Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now(),
	}}}}
	if err := g.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	before := meta.FindStatusCondition(object.Status.Conditions, "Accepted").LastTransitionTime
	g.apply(t, "web", "  listeners: [{name: web, port: 80, protocol: HTTP}]\n")
	g.wants(t, "web", "Accepted=True/Accepted", "Programmed=True/Programmed")
	now, err := g.get(t, "web")
	if err != nil {
		t.Fatal(err)
	}
	foreign := meta.FindStatusCondition(now.Status.Conditions, "example.com/Foreign")
	if foreign == nil || foreign.ObservedGeneration != 1 || foreign.Message != "stays" || len(now.Status.Listeners) != 1 {
		t.Errorf("status %+v", now.Status)
	}
	if accepted := meta.FindStatusCondition(now.Status.Conditions, "Accepted"); !accepted.LastTransitionTime.Equal(&before) || now.Generation == object.Generation {
		t.Errorf("the condition moved from %v to %v although it is as before", before, accepted.LastTransitionTime)
	}
	g.leads(t, "web", "port-80 10.1.2.4:20001 ready=true")
}

// testEnd: a deleted Gateway frees its slots and leaves nothing.
func (g gatewayTest) testEnd(t *testing.T) {
	freed := g.slots(t, "web")[80]
	object, err := g.get(t, "web")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		config := &corev1.ConfigMap{}
		if err := g.Get(t.Context(), operandKey(gateway.SlotsName("default")), config); err != nil {
			return err
		}
		table, _ := gateway.ReadTable(config.Data)
		if s := table[freed]; s.UID != object.UID || s.Freed.IsZero() {
			return fmt.Errorf("slot %d is %+v", freed, s)
		}
		for _, o := range []client.Object{&corev1.Service{}, &discoveryv1.EndpointSlice{}} {
			name := gateway.ServiceName("web")
			if _, slice := o.(*discoveryv1.EndpointSlice); slice {
				name += "-ipv4"
			}
			if err := g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: name}, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s: %w", o, name, err)
			}
		}
		return nil
	})
}
