package api

import (
	"fmt"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/operator/effective"
)

const albController = `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: alb, namespace: openshift-ingress-operator}
spec:
  domain: alb.example.com
  endpointPublishingStrategy:
    type: LoadBalancerService
    loadBalancer:
      scope: External
      providerParameters: {type: AWS, aws: {type: NLB}}
`

// TestPassthroughUnsupported: a passthrough Route behind a load balancer that
// ends TLS is told as soon as it is admitted, and the word goes when the Route
// changes or goes.
func TestPassthroughUnsupported(t *testing.T) {
	c, _ := startOperatorWith(t, dns.Options{}, operator.Options{Defaults: effective.Defaults{CloudClass: names.LoadBalancerClassAWS}})
	if err := apply(t, albController); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{}
	eventually(t, func() error { return get(t, c, operandKey("router-alb"), service) })
	before := service.DeepCopy()
	service.Annotations["service.beta.kubernetes.io/aws-load-balancer-type"] = "alb"
	if err := c.Patch(t.Context(), service, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	condition := func(named string) func() error {
		return func() error {
			ic := &operatorv1.IngressController{}
			if err := get(t, c, icKey("alb"), ic); err != nil {
				return err
			}
			for _, have := range ic.Status.Conditions {
				if have.Type == "PassthroughUnsupported" {
					if named == "" || have.Status != operatorv1.ConditionTrue || !strings.Contains(have.Message, named) {
						return fmt.Errorf("the condition says %s: %s", have.Status, have.Message)
					}
					return nil
				}
			}
			if named != "" {
				return fmt.Errorf("no condition, want %s named in it", named)
			}
			return nil
		}
	}
	// eventually gives up long before anything is looked at again by time alone.
	soon := func(named string) {
		t.Helper()
		eventually(t, condition(named))
	}
	// Nothing else may wake the IngressController while Routes change.
	eventually(t, func() error { return wantCondition(c, "alb", "Admitted", operatorv1.ConditionTrue, "") })
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "passthrough-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	namespace := ns.Name
	route := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "through"},
		Spec: routev1.RouteSpec{
			Host: "through.alb.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"},
			TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough},
		},
	}
	if err := c.Create(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	soon("")
	admit(t, c, route, "alb")
	soon(namespace + "/through")
	before2 := route.DeepCopy()
	route.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge}
	if err := c.Patch(t.Context(), route, client.MergeFrom(before2)); err != nil {
		t.Fatal(err)
	}
	soon("")
	before2 = route.DeepCopy()
	route.Spec.TLS.Termination = routev1.TLSTerminationPassthrough
	if err := c.Patch(t.Context(), route, client.MergeFrom(before2)); err != nil {
		t.Fatal(err)
	}
	soon(namespace + "/through")
	if err := c.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}
	soon("")
}

// admit writes what a router writes about a Route that it serves.
func admit(t *testing.T, c client.Client, route *routev1.Route, router string) {
	t.Helper()
	now := metav1.Now()
	before := route.DeepCopy()
	route.Status.Ingress = []routev1.RouteIngress{{
		RouterName: router, Host: route.Spec.Host,
		Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionTrue, LastTransitionTime: &now}},
	}}
	if err := c.Status().Patch(t.Context(), route, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
