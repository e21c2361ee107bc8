package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// routeNamespace returns a new namespace of the test's own.
func routeNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	return name
}

// parseRoute reads a Route as a user writes it: fields that are not set stay unset.
func parseRoute(t *testing.T, namespace, name, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	u.SetAPIVersion("route.openshift.io/v1")
	u.SetKind("Route")
	u.SetNamespace(namespace)
	if u.GetGenerateName() == "" {
		u.SetName(name)
	}
	return u
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// clientWith returns a client whose configuration is changed by change.
func clientWith(t *testing.T, change func(*rest.Config)) client.Client {
	t.Helper()
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// userWith returns a client of a new user, who may write Routes in the
// namespace, and has these verbs on routes/custom-host there.
func userWith(t *testing.T, admin client.Client, namespace, name string, verbs ...string) client.Client {
	t.Helper()
	rules := []rbacv1.PolicyRule{{
		APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes"}, Verbs: []string{"get", "create", "update", "patch"},
	}}
	if len(verbs) > 0 {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes/custom-host"}, Verbs: verbs,
		})
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	return userWithRole(t, admin, role, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, namespace, name)
}

// userWithRole returns a client of a user to whom the role is bound; role is created if it is not nil.
func userWithRole(t *testing.T, admin client.Client, role *rbacv1.Role, ref rbacv1.RoleRef, namespace, name string) client.Client {
	t.Helper()
	user := namespace + ":" + name
	objects := []client.Object{&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: ref,
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}}
	if role != nil {
		objects = append(objects, role)
	}
	for _, o := range objects {
		if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	c := clientWith(t, func(config *rest.Config) { config.Impersonate.UserName = user })
	// The authorizer learns of roles by watching them.
	eventually(t, func() error {
		r := parseRoute(t, namespace, "rights", "spec: {subdomain: rights, to: {kind: Service, name: a}}")
		return c.Create(t.Context(), r, client.DryRunAll)
	})
	return c
}

// policiesInForce waits until the API server follows the policies, which it
// learns of by watching them, one by one.
func policiesInForce(t *testing.T, admin client.Client) {
	t.Helper()
	long := strings.Repeat("x", 64)
	eventually(t, func() error {
		r := parseRoute(t, "default", "policies", "spec: {host: "+long+".example.com, to: {kind: '', name: a}, tls: {termination: edge, externalCertificate: {name: nobody}}}")
		err := admin.Create(t.Context(), r, client.DryRunAll)
		return refusal(err, "denied request")
	})
	eventually(t, func() error {
		r := parseRoute(t, "default", "policies", "spec: {host: a.example.com, to: {kind: '', name: a}, tls: {termination: edge, externalCertificate: {name: nobody}}}")
		return refusal(admin.Create(t.Context(), r, client.DryRunAll), "spec.tls.externalCertificate")
	})
	eventually(t, func() error {
		r := parseRoute(t, "default", "policies", "spec: {host: a.example.com, to: {kind: '', name: a}}")
		if err := admin.Create(t.Context(), r, client.DryRunAll); err != nil {
			return err
		}
		if kind, _, _ := unstructured.NestedString(r.Object, "spec", "to", "kind"); kind != "Service" {
			return fmt.Errorf("spec.to.kind is %q", kind)
		}
		return nil
	})
	nobody := clientWith(t, func(config *rest.Config) {
		config.Impersonate.UserName = "policies"
		config.Impersonate.Groups = []string{"route-writers"}
	})
	meta := metav1.ObjectMeta{Name: "route-writers"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes"}, Verbs: []string{"create"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: meta.Name}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		r := parseRoute(t, "default", "policies", "spec: {host: a.example.com, to: {kind: Service, name: a}}")
		return refusal(nobody.Create(t.Context(), r, client.DryRunAll), "spec.host")
	})
}

// refusal returns nil if err is the API server's refusal of an invalid object,
// with all of these texts in its message.
func refusal(err error, texts ...string) error {
	if err == nil {
		return errors.New("accepted, want a refusal")
	}
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("refused with code %v, want 422: %w", apierrors.ReasonForError(err), err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			return fmt.Errorf("want %q in: %w", text, err)
		}
	}
	return nil
}

// ingressDomain creates the IngressController "default" again, which asks for one
// domain and was given another by its operator; either may be empty.
func ingressDomain(t *testing.T, admin client.Client, asked, given string) {
	t.Helper()
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "default"}}
	ic.Spec.Domain = asked
	if err := admin.Create(t.Context(), ic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), ic)); err != nil {
			t.Error(err)
		}
	})
	if given == "" {
		return
	}
	ic.Status.Domain = given
	if err := admin.Status().Update(t.Context(), ic); err != nil {
		t.Fatal(err)
	}
}
