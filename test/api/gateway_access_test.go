package api

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
)

// TestOperatorWritesNoOtherServices: in namespaces of tenants the operator may write the
// Services and EndpointSlices of Gateways. The API server refuses it all others.
func TestOperatorWritesNoOtherServices(t *testing.T) {
	c := newClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gateway-access-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + names.OperatorNamespace + ":ingress-operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + names.OperatorNamespace, "system:authenticated"},
	}
	operator, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	meta := func(name, label, ownerKind, group string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: ns.Name, Name: name, Labels: map[string]string{gateway.LabelManagedBy: label},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: group + "/v1", Kind: ownerKind, Name: "web", UID: "1", Controller: new(true)}},
		}
	}
	const group = "gateway.networking.k8s.io"
	spec := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}
	ours := &corev1.Service{ObjectMeta: meta("ours", gateway.ManagedBy, "Gateway", group), Spec: spec}
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "theirs"}, Spec: spec}
	if err := c.Create(t.Context(), theirs.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	slice := func(m metav1.ObjectMeta) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: m, AddressType: discoveryv1.AddressTypeIPv4}
	}
	selects := ours.DeepCopy()
	selects.Name, selects.Spec.Selector = "selects", map[string]string{"app": "a"}
	create := func(o client.Object) error { return operator.Create(t.Context(), o) }
	for _, test := range []struct {
		name    string
		do      func() error
		refused string
	}{
		{"a Gateway's Service", func() error { return create(ours) }, ""},
		{"a Gateway's slice", func() error { return create(slice(meta("ours", gateway.ManagedBy, "Gateway", group))) }, ""},
		{"the end of a Gateway's Service", func() error { return operator.Delete(t.Context(), ours) }, ""},
		{"without the label", func() error {
			return create(&corev1.Service{ObjectMeta: meta("a", "me", "Gateway", group), Spec: spec})
		}, "those that it made for Gateways"},
		{"of another kind", func() error {
			return create(&corev1.Service{ObjectMeta: meta("a", gateway.ManagedBy, "Deployment", "apps"), Spec: spec})
		}, "those that it made for Gateways"},
		{"with a selector", func() error { return create(selects) }, "no selector"},
		{"another slice", func() error { return create(slice(meta("a", "me", "Gateway", group))) }, "those that it made for Gateways"},
		{"the end of a tenant's Service", func() error { return operator.Delete(t.Context(), theirs) }, "those that it made for Gateways"},
		{"taking over a tenant's Service", func() error {
			taken := &corev1.Service{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(theirs), taken); err != nil {
				return err
			}
			m := meta("theirs", gateway.ManagedBy, "Gateway", group)
			taken.Labels, taken.OwnerReferences, taken.Spec.Ports[0].Port = m.Labels, m.OwnerReferences, 81
			return operator.Update(t.Context(), taken)
		}, "those that it made for Gateways"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.do()
			switch {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("got %v, want a refusal with %q", err, test.refused)
			}
		})
	}
}
