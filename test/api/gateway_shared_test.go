package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// annotate sets an annotation, or removes it if the value is "-".
func (g gatewayTest) annotate(t *testing.T, o client.Object, key, value string) {
	t.Helper()
	text := fmt.Sprintf("%q", value)
	if value == "-" {
		text = "null"
	}
	if err := g.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, key, text))); err != nil {
		t.Fatal(err)
	}
}

// testShared: a Gateway at the address of the router has no Service, no slots and no address of
// its own, but that of the IngressController's Service, once this is permitted.
func (g gatewayTest) testShared(t *testing.T) {
	g.apply(t, "door", webAndTLS)
	g.wants(t, "door", "Accepted=True/Accepted", "Programmed=True/Programmed")
	object, err := g.get(t, "door")
	if err != nil {
		t.Fatal(err)
	}
	own := object.Status.Addresses[0].Value
	ic := &operatorv1.IngressController{}
	ic.Namespace, ic.Name = names.OperatorNamespace, "default"

	g.annotate(t, object, gateway.AnnotationAddress, "router")
	g.wants(t, "door", "Accepted=False/InvalidParameters", "Programmed=False/Invalid")
	if object, err = g.get(t, "door"); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(object.Status.Conditions, "Accepted"); !strings.Contains(c.Message, gateway.AnnotationSharedAddress) || !strings.Contains(c.Message, "IngressController default") {
		t.Errorf("message %q", c.Message)
	}
	eventually(t, func() error { return g.roles(t, "door", 0) })

	g.annotate(t, ic, gateway.AnnotationSharedAddress, "true")
	g.wants(t, "door", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.sharesAddress(t, "door", own)

	g.annotate(t, object, gateway.AnnotationAddress, "elsewhere")
	g.wants(t, "door", "Accepted=False/InvalidParameters", "Programmed=False/Invalid")
	g.annotate(t, object, gateway.AnnotationAddress, "router")
	g.wants(t, "door", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.annotate(t, ic, gateway.AnnotationSharedAddress, "yes")
	g.wants(t, "door", "Accepted=False/InvalidParameters", "Programmed=False/Invalid")
	if err := g.hasNothing(t, "door"); err != nil {
		t.Error(err)
	}
	eventually(t, func() error {
		object, err := g.get(t, "door")
		if err == nil && len(object.Status.Addresses) > 0 {
			err = fmt.Errorf("addresses %v", object.Status.Addresses)
		}
		return err
	})
	g.annotate(t, object, gateway.AnnotationAddress, "-")
	g.wants(t, "door", "Accepted=True/Accepted", "Programmed=True/Programmed")
	if s := g.service(t, "door"); len(s.Spec.Ports) != 2 {
		t.Errorf("ports %v", s.Spec.Ports)
	}
	g.annotate(t, ic, gateway.AnnotationSharedAddress, "-")
	if err := g.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// sharesAddress checks that a Gateway is at the address of the router and has nothing else, of
// its own address neither.
func (g gatewayTest) sharesAddress(t *testing.T, name, own string) {
	t.Helper()
	front := &corev1.Service{}
	if err := g.Get(t.Context(), operandKey(names.RouterName("default")), front); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		object, err := g.get(t, name)
		if err != nil || len(front.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("router %v, %w", front.Status.LoadBalancer, err)
		}
		if a := object.Status.Addresses; len(a) != 1 || a[0].Value != front.Status.LoadBalancer.Ingress[0].IP || a[0].Value == own {
			return fmt.Errorf("addresses %v, those of the router %v", a, front.Status.LoadBalancer.Ingress)
		}
		return errors.Join(g.hasNothing(t, name), g.roles(t, name, 1))
	})
	if slots := g.slots(t, name); len(slots) > 0 {
		t.Errorf("slots %v", slots)
	}
}

// hasNothing checks that no Service and no EndpointSlice is there for a Gateway.
func (g gatewayTest) hasNothing(t *testing.T, name string) error {
	t.Helper()
	err := g.Get(t.Context(), client.ObjectKey{Namespace: gatewayNamespace, Name: gateway.ServiceName(name)}, &corev1.Service{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("its Service: %w", err)
	}
	list := &discoveryv1.EndpointSliceList{}
	err = g.List(t.Context(), list, client.InNamespace(gatewayNamespace), client.MatchingLabels{gateway.LabelGateway: gateway.LabelValue(name)})
	if err == nil && len(list.Items) > 0 {
		err = fmt.Errorf("%d EndpointSlices are left", len(list.Items))
	}
	return err
}

// roles checks how many Roles let routers read the certificates of a Gateway.
func (g gatewayTest) roles(t *testing.T, name string, want int) error {
	t.Helper()
	list := &rbacv1.RoleList{}
	err := g.List(t.Context(), list, client.MatchingLabels(desired.AccessLabels(gatewayNamespace, name)))
	if err == nil && len(list.Items) != want {
		err = fmt.Errorf("%d Roles, want %d", len(list.Items), want)
	}
	return err
}
