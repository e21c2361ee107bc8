package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestGeneratedHost: a Route without a host gets one, from the API server
// alone. It runs after the operator's tests, which own the IngressController.
func TestGeneratedHost(t *testing.T) {
	c := newClient(t)
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "default"}}
	err := c.Create(t.Context(), ic)
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	ic.Status.Domain = "apps.example.com"
	if err == nil {
		if err := c.Status().Update(t.Context(), ic); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(
			c.Delete(context.Background(), ic),
			c.DeleteAllOf(context.Background(), &routev1.Route{}, client.InNamespace("default")),
		); err != nil {
			t.Error(err)
		}
	})
	number := 0
	// The API server follows policies and their parameters by watching them,
	// so the first Routes may come too early.
	eventually(t, func() error {
		number++
		r := &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("my.generated%d", number)},
			Spec:       routev1.RouteSpec{To: routev1.RouteTargetReference{Kind: "Service", Name: "a"}},
		}
		if err := c.Create(t.Context(), r); err != nil {
			return err
		}
		if want := fmt.Sprintf("my-generated%d-default.apps.example.com", number); r.Spec.Host != want {
			return fmt.Errorf("host %q, want %q", r.Spec.Host, want)
		}
		if r.Annotations["openshift.io/host.generated"] != "true" {
			return fmt.Errorf("annotations %v", r.Annotations)
		}
		host := r.Spec.Host
		r.Spec.Host = ""
		if err := c.Update(t.Context(), r); err != nil {
			return err
		}
		if r.Spec.Host != host {
			return fmt.Errorf("the host is %q after an update without it", r.Spec.Host)
		}
		return nil
	})
	for name, spec := range map[string]routev1.RouteSpec{
		"with-host":      {Host: "mine.example.com"},
		"with-subdomain": {Subdomain: "mine"},
	} {
		spec.To = routev1.RouteTargetReference{Kind: "Service", Name: "a"}
		r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec}
		if err := c.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if r.Spec.Host != spec.Host {
			t.Errorf("%s: host %q", name, r.Spec.Host)
		}
	}
}
