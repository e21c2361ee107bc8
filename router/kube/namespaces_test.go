package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestNamespaceLabels: labels that change concern the routes of the namespace from the
// first policy on that selects by them; those of other namespaces, and annotations that
// name no policy, concern none. All are known before a router starts.
func TestNamespaceLabels(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.installPolicies(t)
	e.namespace(t, "shop", map[string]string{"team": "a"})
	r := e.route(t, "shop", "web", nil)
	e.route(t, "default", "other", nil)
	w, _ := e.watcher(t, Options{})
	changesUntil(t, w, "the first state", all)
	if n := w.Namespace("shop"); n == nil || n.Labels["team"] != "a" {
		t.Fatalf("the namespace is %v", n)
	}
	p := &v1alpha1.ClusterRoutePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "ClusterRoutePolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: "team-a"},
		Spec: v1alpha1.ClusterRoutePolicySpec{
			Mode: "Override", NamespaceSelector: &v1alpha1.NamespaceSelector{MatchLabels: map[string]string{"team": "a"}},
			PolicySpec: v1alpha1.PolicySpec{Access: &v1alpha1.Access{Allow: []v1alpha1.CIDR{"10.0.0.0/8"}}},
		},
	}
	created := &v1alpha1.ClusterRoutePolicy{}
	if err := e.crds.fairlead.Post().Resource("clusterroutepolicies").Body(p).Do(t.Context()).Into(created); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "the policy", has(keyOf(policy.KindClusterRoutePolicy, created)))
	applies := func() bool {
		_, applies := w.Policies("").Get("team-a").RankFor(&policy.Place{Object: model.Object{Namespace: "shop"}, Namespace: w.Namespace("shop")})
		return applies
	}
	if !applies() {
		t.Fatal("the policy does not apply")
	}
	core := e.core.CoreV1().RESTClient()
	patch(t, core, "namespaces", "", "shop", "", `{"metadata":{"annotations":{"a":"b"}}}`)
	patch(t, core, "namespaces", "", "shop", "", `{"metadata":{"labels":{"team":"b"}}}`)
	changesUntil(t, w, "the routes of the namespace", has(keyOf("Route", r)))
	if applies() {
		t.Errorf("the labels are %v, and the policy still applies", w.Namespace("shop").Labels)
	}
	patch(t, core, "namespaces", "", "shop", "", `{"metadata":{"annotations":{"fairlead.dev/default-policy":"inner"}}}`)
	changesUntil(t, w, "the default policy", has(keyOf("Route", r)))
	later, _ := e.watcher(t, Options{RouterName: "later"})
	if n := later.Namespace("shop"); n == nil || n.Labels["team"] != "b" {
		t.Errorf("a router that starts knows of the namespace: %v", n)
	}
}

// TestNamespaceFirst: a Route whose namespace is not known waits for it, because it is
// not known which policy is for it; afterwards only a change that means something concerns it.
func TestNamespaceFirst(t *testing.T) {
	t.Parallel()
	w, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, RouterName: "default"})
	if err != nil {
		t.Fatal(err)
	}
	w.want(&selection{router: "default"})
	if err := w.namespaces.Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	version := 0
	namespace := func(labels, annotations map[string]string) {
		t.Helper()
		version++
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "ns", ResourceVersion: string(rune('0' + version)), Labels: labels, Annotations: annotations}}
		if err := w.namespaces.Update(m); err != nil {
			t.Fatal(err)
		}
	}
	route := newRoute("web", "web", "1")
	if err := w.routes.Add(route); err != nil {
		t.Fatal(err)
	}
	key := keyOf("Route", route)
	take := func() bool {
		ch := w.Take()
		_, marked := ch.Objects[key]
		return marked || ch.All
	}
	take()
	if w.Route(key) != nil || len(w.All()) > 0 || w.Object(key) != door.Version(nil) {
		t.Fatal("the route does not wait for its namespace")
	}
	for _, step := range []struct {
		what                string
		labels, annotations map[string]string
		concerns            bool
	}{
		{"the namespace comes", nil, nil, true},
		{"a label", map[string]string{"team": "a"}, nil, false},
		{"an annotation of others", nil, map[string]string{"example.com/a": "b"}, false},
		{"a default policy", nil, map[string]string{api.AnnotationDefaultPolicy: "inner"}, true},
		{"the same, and a label", map[string]string{"team": "b"}, map[string]string{api.AnnotationDefaultPolicy: "inner"}, false},
		{"another one", nil, map[string]string{api.AnnotationDefaultPolicy: "outer"}, true},
		{"one that is wrong", nil, map[string]string{api.AnnotationDefaultPolicy: "/"}, true},
		{"none", nil, nil, true},
	} {
		namespace(step.labels, step.annotations)
		if got := take(); got != step.concerns {
			t.Errorf("%s: the route is concerned: %t", step.what, got)
		}
		if w.Route(key) == nil {
			t.Errorf("%s: there is no route", step.what)
		}
	}
}
