package kube

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

const routerAccount = "system:serviceaccount:openshift-ingress:router"

// give gives a user rights, in a namespace or in all if that is empty.
func (e *env) give(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "allowed", Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	var err error
	if namespace == "" {
		if _, err = e.core.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err == nil {
			_, err = e.core.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}, Subjects: subjects}, metav1.CreateOptions{})
		}
	} else if _, err = e.core.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err == nil {
		_, err = e.core.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGrantsOfPolicies: a router reads a Secret of another namespace that a policy names once a
// ReferenceGrant there permits it, and its own rights do; the grant's end closes again. The kind
// may come later.
func TestGrantsOfPolicies(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.installPolicies(t)
	e.namespace(t, "own", nil)
	e.namespace(t, "else", nil)
	r := e.route(t, "own", "web", nil)
	e.policy(t, "own", "keys", v1alpha1.RoutePolicySpec{
		PolicySpec: v1alpha1.PolicySpec{Authentication: &v1alpha1.Authentication{APIKeys: &v1alpha1.APIKeyAuthentication{Secrets: []v1alpha1.ObjectReference{"else/keys"}}}},
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"ann": "ann-key-0123456789abcdef"}}
	if _, err := e.core.CoreV1().Secrets("else").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	every := []string{"get", "list", "watch"}
	e.give(t, routerAccount, "", rbacv1.PolicyRule{APIGroups: []string{"route.openshift.io", "fairlead.dev", "gateway.networking.k8s.io", "discovery.k8s.io", "operator.openshift.io"}, Resources: []string{"*"}, Verbs: every},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services", "namespaces", "configmaps", "nodes"}, Verbs: every})
	w, _ := e.watcher(t, Options{Config: e.as(routerAccount)})
	p := pipeline.New(doors.All(), w, door.Settings{}, &model.Certificate{ID: "default"})
	key := model.Object{Kind: route.Kind, Namespace: "own", Name: r.Name}
	var needed model.Objects
	closedBy := func(want string) {
		t.Helper()
		limit := time.After(30 * time.Second)
		for {
			p.Update(w.Take())
			if all, changed := p.Needed(); changed {
				needed = maps.Clone(all)
				w.Need(needed)
			}
			said := ""
			for _, f := range p.Status(key).Findings {
				if f.Reason == api.ReasonPolicyClosed {
					said += f.Message
				}
			}
			c, served := p.Claim(key)
			if served && c.Closed == (want != "") && strings.Contains(said, want) && (said == "") == (want == "") {
				return
			}
			select {
			case <-w.Wake():
			case <-limit:
				t.Fatalf("closed by %q (served %t), want %q", said, served, want)
			}
		}
	}
	closedBy("no ReferenceGrant of namespace else permits Secret else/keys")
	e.installGatewayKinds(t, "referencegrants")
	const grant = "kind: ReferenceGrant\nmetadata: {namespace: else, name: own}\nspec: {from: [{group: fairlead.dev, kind: RoutePolicy, namespace: own}], to: [{group: \"\", kind: Secret, name: keys}]}"
	e.create(t, "referencegrants", grant)
	closedBy(`the router may not get, list and watch secret "keys" in namespace "else"`)
	e.give(t, routerAccount, "else", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"keys"}, Verbs: every})
	closedBy("")
	remove := func() {
		t.Helper()
		if err := e.crds.gateway.Delete().Namespace("else").Resource("referencegrants").Name("own").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	closedBy("no ReferenceGrant of namespace else permits Secret else/keys")
	for key := range needed {
		if key.Kind == door.KindSecret {
			t.Errorf("%s is read without a grant", key)
		}
	}
	e.create(t, "referencegrants", strings.Replace(grant, "RoutePolicy", "Route", 1))
	remove()
	e.create(t, "referencegrants", grant)
	closedBy("")
}
