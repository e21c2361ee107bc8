package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// TestElsewhere: a tenant's Service of our class is told that it gets nothing,
// once, and one of another class is left alone.
func TestElsewhere(t *testing.T) {
	b := newBed(t)
	b.node(0)
	mine, other := api.LoadBalancerClassAWS, "example.com/other"
	create := func(name string, class *string) *corev1.Service {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		must(t, b.Create(t.Context(), s))
		return s
	}
	tenant := create("tenant", &mine)
	create("others", &other)
	create("nobodys", nil)
	stop := b.start()
	told := func() (list []string) {
		events := &corev1.EventList{}
		must(t, b.List(t.Context(), events, client.InNamespace("default")))
		for _, e := range events.Items {
			if e.Reason == string(api.ReasonNamespaceNotServed) {
				list = append(list, e.InvolvedObject.Name+": "+e.Message)
			}
		}
		return list
	}
	b.eventually(func() string {
		if all := told(); len(all) != 1 || !strings.HasPrefix(all[0], "tenant: spec.loadBalancerClass: ") {
			return strings.Join(append(all, "want one event about tenant"), "\n")
		}
		return ""
	})
	tenant.Spec.Ports[0].Port = 81
	must(t, b.Update(t.Context(), tenant))
	s := b.service("router-default", nil) // what is served comes after the edit
	b.settled(s, 1)
	if all := told(); len(all) != 1 {
		t.Errorf("told more than once: %q", all)
	}
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(tenant), tenant))
	if len(tenant.Finalizers)+len(tenant.Status.Conditions) > 0 {
		t.Errorf("a Service that is not served was changed: %v %v", tenant.Finalizers, tenant.Status.Conditions)
	}
	stop()
}
