package api

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/access"
)

// TestMetricsAccess: the ClusterRole router-monitoring lets a ServiceAccount
// read metrics, and the routers have the rights to find that out.
func TestMetricsAccess(t *testing.T) {
	c := newClient(t)
	token := func(name string, audiences ...string) string {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), account)); err != nil {
			t.Fatal(err)
		}
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
		if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}
	if err := c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "monitoring"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "router-monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "prometheus"}},
	}); err != nil {
		t.Fatal(err)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + names.OperandNamespace + ":" + names.RouterServiceAccount,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + names.OperandNamespace, "system:authenticated"},
	}
	reviewer, err := access.New(config, "default")
	if err != nil {
		t.Fatal(err)
	}
	monitoring, other := token("prometheus"), token("other")
	for _, test := range []struct {
		name, token, verb, subresource string
		known, allowed                 bool
	}{
		{"metrics", monitoring, "get", "metrics", true, true},
		{"again, from memory", monitoring, "get", "metrics", true, true},
		{"profiles", monitoring, "get", "debug", true, false},
		{"to write", monitoring, "create", "metrics", true, false},
		{"another account", other, "get", "metrics", true, false},
		{"for routers only", token("prometheus", names.RouterAudience), "get", "metrics", true, true},
		{"for routers only, profiles", token("prometheus", names.RouterAudience), "get", "debug", true, false},
		{"requests", monitoring, "get", "log", true, false},
		{"for something else", token("prometheus", "vault"), "get", "metrics", false, false},
		{"made up", "eyJhbGciOi.made.up", "get", "metrics", false, false},
		{"nothing", "", "get", "metrics", false, false},
	} {
		known, allowed, err := reviewer.Review(t.Context(), test.token, test.verb, test.subresource)
		if err != nil || known != test.known || allowed != test.allowed {
			t.Errorf("%s: known %t, allowed %t, %v; want %t, %t", test.name, known, allowed, err, test.known, test.allowed)
		}
	}
	config.Impersonate.UserName = "somebody"
	config.Impersonate.Groups = nil
	if reviewer, err = access.New(config, "default"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reviewer.Review(t.Context(), monitoring, "get", "metrics"); err == nil {
		t.Error("a router without the right to ask reports no error")
	}
}

// TestLogAccess: the account of kubectl fairlead tail may see requests and nothing else, and
// a user whom an administrator binds to fairlead-log-reader may have tokens of it.
func TestLogAccess(t *testing.T) {
	c := newClient(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: names.LogReaderServiceAccount}}
	if err := c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: "ann-tails"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-log-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ann"}},
	}); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{names.RouterAudience}}}
	if err := clientAs(t, "bob").SubResource("token").Create(t.Context(), account, request); !apierrors.IsForbidden(err) {
		t.Errorf("a user without the role: %v", err)
	}
	ann := clientAs(t, "ann")
	if err := ann.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: names.RouterServiceAccount}}
	if err := ann.SubResource("token").Create(t.Context(), other, &authenticationv1.TokenRequest{}); !apierrors.IsForbidden(err) {
		t.Errorf("a token of the routers' account: %v", err)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	reviewer, err := access.New(config, "default")
	if err != nil {
		t.Fatal(err)
	}
	for right, want := range map[string]bool{"log": true, "metrics": false, "debug": false} {
		known, allowed, err := reviewer.Review(t.Context(), request.Status.Token, "get", right)
		if err != nil || !known || allowed != want {
			t.Errorf("%s: known %t, allowed %t, %v", right, known, allowed, err)
		}
	}
}
