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
	i := newInfrastructure("https://198.18.0.1:6443", "default")
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

// TestPods: the routers that count together are the pods that are ready or were, until
// they are gone from the slice; a pod that starts is not yet one of them.
func TestPods(t *testing.T) {
	t.Parallel()
	w := &Watcher{infrastructure: newInfrastructure("", "default")}
	endpoints := w.infrastructure.slices(part(backend.NewSlice))
	type pod struct {
		address            string
		ready, terminating bool
	}
	slice := func(namespace, service, name string, pods ...pod) {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}}}
		for _, p := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{p.address}, Conditions: discoveryv1.EndpointConditions{Ready: &p.ready, Terminating: &p.terminating}})
		}
		endpoints(s)
	}
	expect := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, a := range w.Pods() {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", what, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
	const namespace, service = "openshift-ingress", "router-internal-default"
	slice("demo", service, "foreign", pod{"10.0.0.9", true, false})
	slice(namespace, "router-internal-other", "other", pod{"10.0.0.8", true, false})
	slice(namespace, service, "a", pod{"10.0.0.1", true, false}, pod{"10.0.0.2", false, false})
	expect("one starts", "10.0.0.1")
	slice(namespace, service, "a", pod{"10.0.0.1", true, false}, pod{"10.0.0.2", true, false})
	expect("both are ready", "10.0.0.1", "10.0.0.2")
	slice(namespace, service, "a", pod{"10.0.0.1", false, false}, pod{"10.0.0.2", false, true})
	expect("none is ready", "10.0.0.1", "10.0.0.2")
	slice(namespace, service, "b", pod{"10.0.0.1", false, false})
	slice(namespace, service, "a", pod{"10.0.0.2", false, true})
	expect("one is in another slice", "10.0.0.1", "10.0.0.2")
	slice(namespace, service, "a")
	expect("one is gone", "10.0.0.1")
	w.infrastructure.set(keyOf(kindSlice, &metav1.ObjectMeta{Namespace: namespace, Name: "b"}), nil)
	expect("all are gone")
}
