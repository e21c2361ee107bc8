package api

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

// TestOperatorGivesNoOtherRights: the operator may write Roles to let routers
// read Secrets of Ingresses. The API server refuses it any others, also those of
// rights that the operator has itself.
func TestOperatorGivesNoOtherRights(t *testing.T) {
	c := newClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "access-"}}
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
	ours := map[string]string{names.LabelIngressAccess: "true"}
	role := func(labels map[string]string, rule rbacv1.PolicyRule) client.Object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, GenerateName: "r-", Labels: labels}, Rules: []rbacv1.PolicyRule{rule}}
	}
	secrets := func(verb string, of ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{verb}, ResourceNames: of}
	}
	binding := func(kind, account, namespace string) client.Object {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, GenerateName: "b-", Labels: ours},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: "missing"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
		}
	}
	tests := []struct {
		name    string
		object  client.Object
		refused string
	}{
		{"a named Secret", role(ours, secrets("get", "a")), ""},
		{"all Secrets", role(ours, secrets("get")), "by their names"},
		{"writing", role(ours, secrets("update", "a")), ""},
		{"another kind", role(ours, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}, ResourceNames: []string{"a"}}), "by their names"},
		{"without the label", role(nil, secrets("get", "a")), "certificates of Ingresses"},
		{"another account", binding("Role", "default", ns.Name), ""},
		{"a ClusterRole", binding("ClusterRole", "router", names.OperandNamespace), ""},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := operator.Create(t.Context(), test.object)
			switch {
			case i == 0 && err != nil:
				t.Error(err)
			case i > 0 && err == nil:
				t.Error("was accepted")
			case i > 0 && !strings.Contains(err.Error(), test.refused):
				t.Errorf("refused with %v, want %q", err, test.refused)
			}
		})
	}
}
