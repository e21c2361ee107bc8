package controller_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTypeChanged: a Service that asks for no load balancer any more loses
// everything that was made for it, and stays; one that asks again gets another.
func TestTypeChanged(t *testing.T) {
	b := newBed(t)
	b.node(0)
	defer b.start()()
	s := b.service("router-default", nil)
	b.settled(s, 1)
	class := s.Spec.LoadBalancerClass
	s.Spec.Type, s.Spec.LoadBalancerClass, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, nil, ""
	must(t, b.Update(t.Context(), s))
	b.eventually(func() string {
		must(t, b.Get(t.Context(), client.ObjectKeyFromObject(s), s))
		left := len(b.cloud.Balancers()) + len(b.cloud.Groups()) + len(b.cloud.SecurityGroups()) - 1 // the nodes' own
		if left > 0 || len(s.Finalizers) > 0 || len(s.Status.LoadBalancer.Ingress) > 0 || len(s.Status.Conditions) > 0 {
			return fmt.Sprintf("%d resources are left; finalizers %v, status %+v", left, s.Finalizers, s.Status)
		}
		return ""
	})
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, class
	must(t, b.Update(t.Context(), s))
	b.settled(s, 1)
}
