package api

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Texts of refusals.
const (
	noHost        = "you do not have permission to set the host field of the route"
	noSubdomain   = "you do not have permission to set the subdomain field of the route"
	noCertificate = "you do not have permission to set certificate fields on the route"
)

// users try each change: those without permission on
// routes/custom-host, with "create" (the roles admin and edit), with "update", and with both.
type users map[string]client.Client

func newUsers(t *testing.T, admin client.Client, ns string) users {
	t.Helper()
	return users{
		"nobody": userWith(t, admin, ns, "nobody"),
		"create": userWith(t, admin, ns, "creator", "create"),
		"update": userWith(t, admin, ns, "updater", "update"),
		"both":   userWith(t, admin, ns, "both", "create", "update"),
	}
}

// TestRouteCustomHostCreate: who may create what. refused maps a user to the texts of the refusal.
func TestRouteCustomHostCreate(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	byUser := newUsers(t, admin, ns)
	readable(t, admin, ns, "readable")
	deny := func(texts ...string) map[string][]string {
		return map[string][]string{"nobody": texts, "update": texts}
	}
	tests := []struct {
		name, route string
		refused     map[string][]string
	}{
		{"nothing", "spec: {to: {name: a}}", nil},
		{"subdomain", "spec: {subdomain: a, to: {name: a}}", nil},
		{"tls", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge}}", nil},
		{"empty certificate", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge, certificate: ''}}", nil},
		{"host", "spec: {host: a.b, to: {name: a}}", deny("spec.host", noHost)},
		{"host that says it is generated", "metadata: {annotations: {openshift.io/host.generated: 'true'}}\nspec: {host: a.b, to: {name: a}}", deny("spec.host", noHost)},
		{"certificate", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge, certificate: x}}", deny("spec.tls", noCertificate)},
		{"key", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge, key: x}}", deny("spec.tls", noCertificate)},
		{"caCertificate", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge, caCertificate: x}}", deny("spec.tls", noCertificate)},
		{"destinationCACertificate", "spec: {subdomain: a, to: {name: a}, tls: {termination: reencrypt, destinationCACertificate: x}}", deny("spec.tls", noCertificate)},
		{"externalCertificate", "spec: {subdomain: a, to: {name: a}, tls: {termination: edge, externalCertificate: {name: readable}}}", deny("spec.tls", noCertificate)},
		{"host and certificate", "spec: {host: a.b, to: {name: a}, tls: {termination: edge, certificate: x}}", deny("spec.host", noHost)},
	}
	for _, test := range tests {
		for user, c := range byUser {
			t.Run(test.name+" by "+user, func(t *testing.T) {
				t.Parallel()
				checkRule(t, c, parseRoute(t, ns, "created", test.route), test.refused[user])
			})
		}
	}
}

// readable lets the routers read a Secret, as the documentation says.
func readable(t *testing.T, admin client.Client, ns, secret string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns, Name: "router-reads-" + secret}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret}, Verbs: []string{"get", "list", "watch"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "openshift-ingress", Name: "router"}},
		},
	} {
		if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		r := parseRoute(t, ns, "readable", "spec: {host: a.b, to: {name: a}, tls: {termination: edge, externalCertificate: {name: "+secret+"}}}")
		return admin.Create(t.Context(), r, client.DryRunAll)
	})
}

// TestRouteCustomHostUpdate: who may change what.
func TestRouteCustomHostUpdate(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	byUser := newUsers(t, admin, ns)
	readable(t, admin, ns, "readable")
	notNobody := func(texts ...string) map[string][]string { return map[string][]string{"nobody": texts} }
	onlyUpdate := func(texts ...string) map[string][]string {
		return map[string][]string{"nobody": texts, "create": texts}
	}
	const (
		plain    = "spec: {host: a.b, to: {name: a}}"
		edge     = "spec: {host: a.b, to: {name: a}, tls: {termination: edge}}"
		cert     = "spec: {host: a.b, to: {name: a}, tls: {termination: edge, certificate: x, key: x, caCertificate: x}}"
		external = "spec: {host: a.b, to: {name: a}, tls: {termination: edge, externalCertificate: {name: readable}}}"
	)
	tests := []struct {
		name, old, new string
		refused        map[string][]string
	}{
		{"backend", plain, "spec: {host: a.b, to: {name: b}}", nil},
		{"host", plain, "spec: {host: b.b, to: {name: a}}", onlyUpdate("spec.host", noHost)},
		{"host for the first time", "spec: {subdomain: s, to: {name: a}}", "spec: {host: b.b, subdomain: s, to: {name: a}}", onlyUpdate("spec.host", noHost)},
		{"host and certificate", plain, "spec: {host: b.b, to: {name: a}, tls: {termination: edge, certificate: x}}", onlyUpdate("spec.host", noHost)},
		{"subdomain", plain, "spec: {host: a.b, subdomain: b, to: {name: a}}", onlyUpdate("spec.subdomain", noSubdomain)},
		{"subdomain taken away", "spec: {subdomain: s, to: {name: a}}", "spec: {to: {name: a}}", onlyUpdate("spec.subdomain", noSubdomain)},
		{"tls without certificate", plain, edge, nil},
		{"first tls with certificate", plain, cert, notNobody("spec.tls.certificate", "spec.tls.key", "spec.tls.caCertificate", noCertificate)},
		{"certificate added", edge, cert, notNobody("spec.tls.certificate", noCertificate)},
		{"certificate changed", cert, "spec: {host: a.b, to: {name: a}, tls: {termination: edge, certificate: z, key: x, caCertificate: x}}", notNobody("spec.tls.certificate", noCertificate)},
		{"destination CA added", plain, "spec: {host: a.b, to: {name: a}, tls: {termination: reencrypt, destinationCACertificate: x}}", notNobody("spec.tls.destinationCACertificate", noCertificate)},
		{"certificate stays", cert, "spec: {host: a.b, path: /a, to: {name: b}, tls: {termination: edge, certificate: x, key: x, caCertificate: x}}", nil},
		{"certificate taken away", cert, edge, nil},
		{"one certificate taken away", cert, "spec: {host: a.b, to: {name: a}, tls: {termination: edge, certificate: x, key: x}}", nil},
		{"tls taken away", cert, plain, nil},
		{"Secret added", edge, external, notNobody("spec.tls.externalCertificate", noCertificate)},
		{"Secret stays", external, "spec: {host: a.b, path: /a, to: {name: a}, tls: {termination: edge, externalCertificate: {name: readable}}}", notNobody("spec.tls.externalCertificate", noCertificate)},
		{"Secret taken away", external, edge, nil},
	}
	for i, test := range tests {
		old := parseRoute(t, ns, fmt.Sprintf("old%d", i), test.old)
		if err := admin.Create(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		for user, c := range byUser {
			t.Run(test.name+" by "+user, func(t *testing.T) {
				t.Parallel()
				checkUpdate(t, c, old, parseRoute(t, ns, old.GetName(), test.new), test.refused[user])
			})
		}
	}
}

// TestRouteRoles: the role that is part of admin and edit lets users choose a
// host once, and change certificates.
func TestRouteRoles(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	c := userWithRole(t, admin, nil, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-routes-edit"}, ns, "editor")
	old := parseRoute(t, ns, "mine", "spec: {host: mine.example.com, to: {name: a}}")
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	checkUpdate(t, c, old, parseRoute(t, ns, "mine", "spec: {host: mine.example.com, to: {name: a}, tls: {termination: edge, certificate: x}}"), nil)
	checkUpdate(t, c, old, parseRoute(t, ns, "mine", "spec: {host: yours.example.com, to: {name: a}}"), []string{"spec.host", noHost})
}

// TestRouteOperator: what the operator makes of Ingresses passes, and so do
// its changes, with the permissions that config/rbac gives.
func TestRouteOperator(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	operator := clientWith(t, func(config *rest.Config) {
		config.Impersonate.UserName = "system:serviceaccount:openshift-ingress-operator:ingress-operator"
	})
	old := parseRoute(t, ns, "made", "spec: {host: a.b, to: {name: a}, tls: {termination: edge, certificate: x, key: x}}")
	if err := operator.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	checkUpdate(t, operator, old, parseRoute(t, ns, "made", "spec: {host: b.b, to: {name: a}, tls: {termination: edge, certificate: z, key: z}}"), nil)
}

// TestRouteGeneratedHostBeforeOperator: the domain that an IngressController
// asks for counts until its operator has seen it.
func TestRouteGeneratedHostBeforeOperator(t *testing.T) {
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	ingressDomain(t, admin, "early.example.com", "")
	eventually(t, func() error {
		r := parseRoute(t, ns, "my.shop", "spec: {to: {name: a}}")
		if err := admin.Create(t.Context(), r, client.DryRunAll); err != nil {
			return err
		}
		if host, _, _ := unstructured.NestedString(r.Object, "spec", "host"); host != "my-shop-"+ns+".early.example.com" {
			return fmt.Errorf("host %q", host)
		}
		return nil
	})
	r := parseRoute(t, ns, "", "metadata: {generateName: shop-}\nspec: {to: {name: a}}")
	if err := admin.Create(t.Context(), r, client.DryRunAll); err != nil {
		t.Errorf("generateName: %v", err)
	}
	long := parseRoute(t, ns, strings.Repeat("n", 60), "spec: {to: {name: a}}")
	checkRule(t, admin, long, []string{"spec.host", "must be no more than 63 characters"})
}

// TestRouteGeneratedHostRights: a generated host needs no permission, one that
// only looks so does. Not parallel: it owns the IngressController "default".
func TestRouteGeneratedHostRights(t *testing.T) {
	admin := newClient(t)
	policiesInForce(t, admin)
	ns := routeNamespace(t, admin)
	nobody := userWith(t, admin, ns, "nobody")
	ingressDomain(t, admin, "", "apps.example.com")
	want := "shop-" + ns + ".apps.example.com"
	eventually(t, func() error {
		r := parseRoute(t, ns, "shop", "spec: {to: {name: a}}")
		if err := nobody.Create(t.Context(), r, client.DryRunAll); err != nil {
			return err
		}
		if host, _, _ := unstructured.NestedString(r.Object, "spec", "host"); host != want {
			return fmt.Errorf("host %q, want %q", host, want)
		}
		return nil
	})
	const generated = "metadata: {annotations: {openshift.io/host.generated: 'true'}}\n"
	// The validating policy watches the IngressController for itself.
	eventually(t, func() error {
		r := parseRoute(t, ns, "shop", generated+"spec: {host: shop-"+ns+".bank.example.com, to: {name: a}}")
		return refusal(nobody.Create(t.Context(), r, client.DryRunAll), "spec.host", noHost)
	})
	checkRule(t, nobody, parseRoute(t, ns, "shop", generated+"spec: {host: "+want+", to: {name: a}}"), nil)
	checkRule(t, nobody, parseRoute(t, ns, "shop", "spec: {host: "+want+", to: {name: a}}"), []string{"spec.host", noHost})
	checkRule(t, nobody, parseRoute(t, ns, "shop", "spec: {to: {name: a}, tls: {termination: edge, certificate: x}}"), []string{"spec.tls", noCertificate})
}
