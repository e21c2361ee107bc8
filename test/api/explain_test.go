package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
)

// TestExplainCluster: explain reads a cluster, and says plainly what the user
// may not read.
func TestExplainCluster(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	ns := routeNamespace(t, admin)
	readable(t, admin, ns, "missing")
	explainObjects(t, admin, ns)
	url := "https://" + ns + ".example.com/"
	ask := func(user string) (*explain.Snapshot, *explain.Explanation) {
		t.Helper()
		config, err := server.RESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			config = rest.CopyConfig(config)
			config.Impersonate.UserName = user
		}
		objects, err := cluster.Read(t.Context(), config, ns)
		if err != nil {
			t.Fatal(err)
		}
		w, err := explain.NewSnapshot(objects, explain.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := explain.ParseRequest(explain.RequestArgs{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return w, w.Explain(r)
	}
	has := func(e *explain.Explanation, part string) {
		t.Helper()
		if !slices.ContainsFunc(e.Notes, func(n string) bool { return strings.Contains(n, part) }) {
			t.Errorf("no note with %q: %v", part, e.Notes)
		}
	}

	w, e := ask("")
	// Routes for any host, which other tests may have left, stand beside it.
	refused := slices.ContainsFunc(e.Others, func(o explain.Other) bool {
		return o.Route.Namespace == ns && o.Code == "ExternalCertificateValidationFailed"
	})
	if e.Served || e.Backend != "" || !refused {
		t.Errorf("admin: a missing Secret is not found: %+v", e)
	}
	if y, err := w.Why("route", ns, "web"); err != nil || len(y.Next) == 0 {
		t.Errorf("admin: why: %v, %+v", err, y)
	}

	// A developer sees the own namespace, without Secrets.
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "developer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{routev1.GroupName, "", "networking.k8s.io"}, Resources: []string{"routes", "services", "ingresses"}, Verbs: []string{"list", "get"}},
		{APIGroups: []string{discoveryv1.GroupName}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "get"}},
	}}
	bind(t, admin, role, ns, "explain-developer")
	w, e = ask("explain-developer")
	if list, err := w.Certs(explain.CertArgs{Namespace: ns}); err != nil || len(list.Items) != 1 || list.Items[0].State != "Unknown" || !list.Good(true) || !list.Partial {
		t.Errorf("developer: certificates: %v, %+v", err, list)
	}
	if !e.Served || e.Route == nil || len(e.Endpoints) != 1 || e.Certificate.Source != "unknown" {
		t.Errorf("developer: %+v", e)
	}
	has(e, "Secret "+ns+"/missing could not be read")
	has(e, "those of namespace "+ns+" were read")
	has(e, "selectors and settings of router default are not known")
	has(e, "annotations and labels of namespaces, which may name policies, could not be read")

	// A user who may only list Routes learns which route it is.
	bind(t, admin, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "visitor"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{routev1.GroupName}, Resources: []string{"routes"}, Verbs: []string{"list"}},
	}}, ns, "explain-visitor")
	_, e = ask("explain-visitor")
	if e.Route == nil || e.Route.Name != "web" || e.EndpointsKnown || !e.Served {
		t.Errorf("visitor: %+v", e)
	}
	has(e, "Services of all namespaces could not be read")
	has(e, "endpoints could not be read")
}

func bind(t *testing.T, admin client.Client, role *rbacv1.Role, ns, user string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	// The authorizer sees a new binding after a moment.
	eventually(t, func() error {
		config, err := server.RESTConfig()
		if err != nil {
			return err
		}
		config = rest.CopyConfig(config)
		config.Impersonate.UserName = user
		c, err := client.New(config, client.Options{Scheme: scheme(t)})
		if err != nil {
			return err
		}
		return c.List(t.Context(), &routev1.RouteList{}, client.InNamespace(ns))
	})
}

// explainObjects makes a route whose Secret is missing, with an endpoint.
func explainObjects(t *testing.T, admin client.Client, ns string) {
	t.Helper()
	port, name, tcp := int32(8080), "http", corev1.ProtocolTCP
	objects := []client.Object{
		&routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec: routev1.RouteSpec{
				Host: ns + ".example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "web"},
				TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge, ExternalCertificate: &routev1.LocalObjectReference{Name: "missing"}},
			},
		},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 80}}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: ns, Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
			Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}},
		},
	}
	for _, o := range objects {
		// The policy on external certificates sees the router's rights after a moment.
		eventually(t, func() error { return client.IgnoreAlreadyExists(admin.Create(t.Context(), o)) })
	}
}
