package api

import (
	"fmt"
	"strconv"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestIngressTurns: eighty Ingresses of one namespace wait when the operator
// starts, and one of another namespace, which was the last to come. It is not the
// last to be served.
func TestIngressTurns(t *testing.T) {
	c := newClient(t)
	const loudOnes, few = 80, 15
	namespaces := map[string]*corev1.Namespace{"loud": nil, "quiet": nil}
	for name := range namespaces {
		namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
		if err := c.Create(t.Context(), namespaces[name]); err != nil {
			t.Fatal(err)
		}
	}
	loud, quiet := namespaces["loud"].Name, namespaces["quiet"].Name
	for n := range loudOnes {
		createIngress(t, c, manyPaths(loud, fmt.Sprint("loud-", n), fmt.Sprintf("h%d.%s.example.com", n, loud), 1))
	}
	createIngress(t, c, manyPaths(quiet, "quiet", quiet+".example.com", 1))
	c, _ = startOperator(t)
	wantRoutes(t, c, quiet, 1)
	wantRoutes(t, c, loud, loudOnes)
	at := versions(t, c, quiet)[0]
	before := 0
	for _, version := range versions(t, c, loud) {
		if version < at {
			before++
		}
	}
	if before > few {
		t.Errorf("%d Routes of another namespace were made before", before)
	}
	for _, namespace := range []string{loud, quiet} {
		for _, kind := range []client.Object{&networkingv1.Ingress{}, &routev1.Route{}} {
			if err := c.DeleteAllOf(t.Context(), kind, client.InNamespace(namespace)); err != nil {
				t.Error(err)
			}
		}
	}
}

func createIngress(t *testing.T, c client.Client, manifest string) {
	t.Helper()
	i := &networkingv1.Ingress{}
	if err := yaml.Unmarshal([]byte(manifest), i); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

// versions returns when the Routes of a namespace were written, in the count of
// the API server. None is written twice here: no router admits them.
func versions(t *testing.T, c client.Client, namespace string) []int {
	t.Helper()
	list := &routev1.RouteList{}
	if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil || len(list.Items) == 0 {
		t.Fatalf("%d Routes, %v", len(list.Items), err)
	}
	var all []int
	for _, r := range list.Items {
		version, err := strconv.Atoi(r.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, version)
	}
	return all
}
