package api

import (
	"fmt"
	"slices"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/operator/effective"
)

// TestCloudDeletion: routers serve until the load balancer of a cloud is gone,
// and then end soon. The test plays the cloud hook, by its finalizer.
func TestCloudDeletion(t *testing.T) {
	const hold = "example.com/cloud"
	c, _ := startOperatorWith(t, dns.Options{}, operator.Options{Defaults: effective.Defaults{CloudClass: names.LoadBalancerClassWebhook}})
	service := &corev1.Service{}
	eventually(t, func() error {
		if err := get(t, c, operandKey("router-default"), service); err != nil {
			return err
		}
		controllerutil.AddFinalizer(service, hold)
		return c.Update(t.Context(), service)
	})
	eventually(t, func() error { return get(t, c, operandKey("router-default"), &appsv1.Deployment{}) })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: names.OperandNamespace, Name: "ends", Finalizers: []string{"example.com/ends"},
			Labels: map[string]string{names.LabelDeploymentIngressController: "default"},
		},
		Spec: restrictedPod(),
	}
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = "nowhere", new(int64(3600))
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := createDefault(t.Context(), c, "false"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		err := get(t, c, operandKey("router-default"), service)
		if err == nil && service.DeletionTimestamp == nil {
			err = fmt.Errorf("the Service is not being deleted")
		}
		return err
	})
	eventually(t, func() error {
		reasons, err := eventReasons(c, names.OperatorNamespace, "default")
		if err == nil && !slices.Contains(reasons, "Normal DeletionWaits") {
			err = fmt.Errorf("events are %v", reasons)
		}
		return err
	})
	if err := get(t, c, operandKey("router-default"), &appsv1.Deployment{}); err != nil {
		t.Errorf("the routers went before the load balancer: %v", err)
	}

	controllerutil.RemoveFinalizer(service, hold)
	if err := c.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(c, operandKey("router-default"), &appsv1.Deployment{}) })
	// What the Deployment's controller does, if there were one.
	if err := c.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		err := get(t, c, operandKey("ends"), pod)
		if err == nil && *pod.DeletionGracePeriodSeconds != 60 {
			err = fmt.Errorf("the pod has %d seconds", *pod.DeletionGracePeriodSeconds)
		}
		return err
	})
	pod.Finalizers = nil
	if err := c.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(c, icKey("default"), &operatorv1.IngressController{}) })
}
