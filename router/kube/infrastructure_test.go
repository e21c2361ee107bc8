package kube

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
)

// TestInfrastructure: the addresses of nodes, of the API server and of routers are those
// that tenants may not reach, as long as they are there; those of others are not.
func TestInfrastructure(t *testing.T) {
	t.Parallel()
	i := newInfrastructure("https://198.18.0.1:6443")
	expect := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, p := range i.all() {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", what, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
	expect("at first", "198.18.0.1/32")
	services, endpoints := i.services(part(backend.NewService)), i.slices(part(backend.NewSlice))
	service := func(namespace, name string, addresses ...string) {
		services(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIPs: addresses}})
	}
	slice := func(namespace, service string, addresses ...string) {
		endpoints(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: addresses}},
		})
	}
	service("default", "kubernetes", "10.96.0.1", "fd00::1")
	service("demo", "kubernetes", "10.96.0.2")
	service("openshift-ingress", "router-internal-default", "None")
	service("openshift-ingress", "auth", "10.96.0.3")
	slice("default", "kubernetes", "198.18.0.2")
	slice("openshift-ingress", "router-internal-default", "10.0.0.7")
	slice("openshift-ingress", "auth", "10.0.0.8")
	slice("demo", "router-internal-default", "10.0.0.9")
	n := readNode(&corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "198.18.0.3"}, {Type: corev1.NodeHostName, Address: "n1"}, {Type: corev1.NodeExternalIP, Address: "2001:db8::3"},
	}}})
	i.set(keyOf(kindNode, &metav1.ObjectMeta{Name: "n1"}), n.addresses)
	expect("with all", "10.0.0.7/32", "10.96.0.1/32", "198.18.0.1/32", "198.18.0.2/32", "198.18.0.3/32", "2001:db8::3/128", "fd00::1/128")
	before := i.all()
	slice("openshift-ingress", "router-internal-default", "10.0.0.17")
	i.set(keyOf(kindNode, &metav1.ObjectMeta{Name: "n1"}), nil)
	i.set(keyOf(door.KindService, &metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}), nil)
	expect("later", "10.0.0.17/32", "198.18.0.1/32", "198.18.0.2/32")
	if !slices.Contains(before, netip.MustParsePrefix("10.0.0.7/32")) {
		t.Error("what was returned has changed")
	}
}
