package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
)

const canaryOK = "CanaryChecksSucceeding"

func canaryKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: names.CanaryNamespace, Name: name}
}

// TestCanary follows the canary: its objects are made and restored, it is asked at
// the address of "default", what it finds becomes a condition, and it goes with
// the IngressController.
func TestCanary(t *testing.T) {
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.ServerName == r.Host {
			w.Header().Set("X-Request-Port", "8443")
		}
		_, _ = io.WriteString(w, "Healthcheck requested")
	}))
	t.Cleanup(backend.Close)
	var broken atomic.Bool
	var asked atomic.Value
	c, log := startOperatorWith(t, dns.Options{}, operator.Options{
		CanaryImage: "fairlead.dev/operator:dev", CanaryInterval: 200 * time.Millisecond,
		CanaryDial: func(ctx context.Context, network, address string) (net.Conn, error) {
			asked.Store(address)
			if broken.Load() {
				return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
			}
			return (&net.Dialer{}).DialContext(ctx, network, backend.Listener.Addr().String())
		},
	})
	daemonSet, route := &appsv1.DaemonSet{}, &routev1.Route{}
	eventually(t, func() error { return get(t, c, canaryKey("ingress-canary"), daemonSet) })
	eventually(t, func() error { return get(t, c, canaryKey("ingress-canary"), &corev1.Service{}) })
	eventually(t, func() error { return get(t, c, canaryKey("canary"), route) })
	if route.Spec.Host != "" || route.Spec.Subdomain != "canary-openshift-ingress-canary" {
		t.Errorf("Route: %+v", route.Spec)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: names.CanaryNamespace, Name: "a"}, Spec: daemonSet.Spec.Template.Spec}
	if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("the namespace does not take the pods: %v", err)
	}
	eventually(t, func() error {
		return wantCondition(c, "default", canaryOK, operatorv1.ConditionUnknown, "is not admitted")
	})

	t.Run("restored", func(t *testing.T) { restoresCanary(t, c) })
	if err := addressOfDefault(t); err != nil {
		t.Fatal(err)
	}
	admitCanary(t, c)
	eventually(t, func() error {
		return wantCondition(c, "default", canaryOK, operatorv1.ConditionUnknown, "No pod of DaemonSet")
	})
	if asked.Load() != nil {
		t.Errorf("asked at %v before a pod was ready", asked.Load())
	}
	if err := get(t, c, canaryKey("ingress-canary"), daemonSet); err != nil {
		t.Fatal(err)
	}
	daemonSet.Status = appsv1.DaemonSetStatus{NumberReady: 1, CurrentNumberScheduled: 1, DesiredNumberScheduled: 1}
	if err := c.Status().Update(t.Context(), daemonSet); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return wantCondition(c, "default", canaryOK, operatorv1.ConditionTrue, "") })
	if asked.Load() != "198.18.77.1:443" {
		t.Errorf("asked at %v", asked.Load())
	}
	broken.Store(true)
	eventually(t, func() error {
		return wantCondition(c, "default", canaryOK, operatorv1.ConditionFalse, "https://canary.apps.example.com/ had no right answer: at 198.18.77.1:443: dial: no route to host")
	})
	broken.Store(false)
	eventually(t, func() error { return wantCondition(c, "default", canaryOK, operatorv1.ConditionTrue, "") })
	if reasons, err := eventReasons(c, names.OperatorNamespace, "default"); err != nil || !slices.Contains(reasons, "Warning CanaryChecksRepetitiveFailures") {
		t.Errorf("events are %v, %v", reasons, err)
	}

	t.Run("rotates", func(t *testing.T) { rotatesCanary(t, c) })
	if writes := log.count("updated kind=DaemonSet"); writes != 1 {
		t.Errorf("the DaemonSet was written %d times, want once, for the image", writes)
	}
	t.Run("goes", func(t *testing.T) {
		cleanUp(t, c)
		for _, o := range []client.Object{&appsv1.DaemonSet{}, &corev1.Service{}} {
			eventually(t, func() error { return gone(c, canaryKey("ingress-canary"), o) })
		}
		eventually(t, func() error { return gone(c, canaryKey("canary"), &routev1.Route{}) })
	})
	if log.count("level=ERROR") > 0 {
		t.Error("an error was logged")
	}
}

// addressOfDefault gives an address to the routers.
func addressOfDefault(t *testing.T) error {
	t.Helper()
	return apply(t, `apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: test, namespace: metallb-system}
spec: {addresses: [198.18.77.1-198.18.77.3]}
`)
}

// admitCanary writes what the routers write.
func admitCanary(t *testing.T, c client.Client) {
	t.Helper()
	eventually(t, func() error {
		route := &routev1.Route{}
		if err := get(t, c, canaryKey("canary"), route); err != nil {
			return err
		}
		now := metav1.Now()
		route.Status.Ingress = []routev1.RouteIngress{{
			RouterName: "default", Host: "canary.apps.example.com",
			Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue, LastTransitionTime: &now}},
		}}
		return c.Status().Update(t.Context(), route)
	})
}

// restoresCanary changes and deletes the canary's objects by hand.
func restoresCanary(t *testing.T, c client.Client) {
	route := &routev1.Route{}
	if err := get(t, c, canaryKey("canary"), route); err != nil {
		t.Fatal(err)
	}
	old := route.UID
	route.Spec.Host = "mine.example.com"
	if err := c.Update(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		route := &routev1.Route{}
		if err := get(t, c, canaryKey("canary"), route); err != nil {
			return err
		}
		if route.UID == old || route.Spec.Host != "" {
			return fmt.Errorf("the Route still has the host %q", route.Spec.Host)
		}
		return nil
	})
	for _, object := range []client.Object{
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: names.CanaryNamespace, Name: "ingress-canary"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: names.CanaryNamespace, Name: "ingress-canary"}},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		uid := object.GetUID()
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			if err == nil && object.GetUID() == uid {
				err = fmt.Errorf("%T is still the old one", object)
			}
			return err
		})
	}
	if _, err := server.Kubectl(t.Context(), "set", "image", "-n", names.CanaryNamespace, "daemonset/ingress-canary", "*=example.com/evil:1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		d := &appsv1.DaemonSet{}
		if err := get(t, c, canaryKey("ingress-canary"), d); err != nil {
			return err
		}
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "fairlead.dev/operator:dev" {
			return errors.New(image)
		}
		return nil
	})
}

// rotatesCanary has the Route turn to the other port and back.
func rotatesCanary(t *testing.T, c client.Client) {
	port := func(want string) {
		t.Helper()
		eventually(t, func() error {
			route := &routev1.Route{}
			if err := get(t, c, canaryKey("canary"), route); err != nil {
				return err
			}
			if p := route.Spec.Port.TargetPort.String(); p != want {
				return fmt.Errorf("the Route leads to %s", p)
			}
			return nil
		})
	}
	annotate := func(value string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), "annotate", "-n", names.OperatorNamespace, "ic/default", "--overwrite", names.AnnotationRotateCanary+value); err != nil {
			t.Fatal(err)
		}
	}
	annotate("=true")
	port("8888-tcp")
	annotate("-")
	port("8443-tcp")
}

// TestCanaryOff: without an image there is no canary, the objects of a former one are
// deleted, and those of other owners stay.
func TestCanaryOff(t *testing.T) {
	c := newClient(t)
	left := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.CanaryNamespace, Name: "ingress-canary", Labels: map[string]string{names.LabelOwningIngressController: "default"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
	other := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.CanaryNamespace, Name: "canary"},
		Spec:       routev1.RouteSpec{Host: "other.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "a"}},
	}
	if err := errors.Join(c.Create(t.Context(), left), c.Create(t.Context(), other)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), other); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	startOperator(t)
	eventually(t, func() error { return gone(c, canaryKey("ingress-canary"), &corev1.Service{}) })
	eventually(t, func() error { return wantCondition(c, "default", "Admitted", operatorv1.ConditionTrue, "") })
	if err := get(t, c, canaryKey("canary"), other); err != nil {
		t.Errorf("another owner's Route of that name: %v", err)
	}
	if err := wantCondition(c, "default", canaryOK, operatorv1.ConditionUnknown, ""); err == nil {
		t.Error("there is a condition of a canary that is switched off")
	}
}
