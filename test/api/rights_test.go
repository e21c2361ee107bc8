package api

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

// TestRouterRights: a deleted ServiceAccount or role of the routers comes back,
// and a rule that was taken out; what an administrator added stays.
func TestRouterRights(t *testing.T) {
	c, log := startOperator(t)
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta(names.OperandNamespace, "router")},
		&rbacv1.ClusterRole{ObjectMeta: meta("", "openshift-ingress-router")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "openshift-ingress-router")},
		&rbacv1.Role{ObjectMeta: meta(names.OperatorNamespace, "router")},
		&rbacv1.RoleBinding{ObjectMeta: meta(names.OperatorNamespace, "router")},
		&rbacv1.Role{ObjectMeta: meta(names.OperandNamespace, "router")},
		&rbacv1.RoleBinding{ObjectMeta: meta(names.OperandNamespace, "router")},
	} {
		key := client.ObjectKeyFromObject(object)
		if err := c.Get(t.Context(), key, object); err != nil {
			t.Fatal(err)
		}
		old := object.GetUID()
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			err := c.Get(t.Context(), key, object)
			if err == nil && object.GetUID() == old {
				err = fmt.Errorf("%T %s is still the old one", object, key)
			}
			return err
		})
	}
	role := &rbacv1.ClusterRole{}
	if err := get(t, c, client.ObjectKey{Name: "openshift-ingress-router"}, role); err != nil {
		t.Fatal(err)
	}
	before := len(role.Rules)
	added := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}
	role.Rules[0] = added
	if err := c.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if err := get(t, c, client.ObjectKey{Name: "openshift-ingress-router"}, role); err != nil {
			return err
		}
		if len(role.Rules) != before+1 {
			return fmt.Errorf("rules are %v", role.Rules)
		}
		return nil
	})
	if log.count("level=ERROR") > 0 {
		t.Error("an error was logged")
	}
}

// TestOperatorGivesNoClusterRights: the operator's token cannot create roles of the
// cluster.
func TestOperatorGivesNoClusterRights(t *testing.T) {
	newClient(t)
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
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "of-its-own"}, Rules: []rbacv1.PolicyRule{rule}}
	eventually(t, func() error {
		if err := operator.Create(t.Context(), role.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "writes no others") {
			return fmt.Errorf("a ClusterRole of another name: %w", err)
		}
		return nil
	})
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "openshift-ingress-router"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: names.OperandNamespace, Name: "router"}},
	}
	if err := operator.Update(t.Context(), binding, client.DryRunAll); err == nil {
		t.Error("the operator can make the routers cluster-admin")
	}
}
