package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

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
	t.Run("keys of sessions", func(t *testing.T) { sessionKeysRotate(t, c) })

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
