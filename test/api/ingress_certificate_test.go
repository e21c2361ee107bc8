package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

const referring = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: NAMESPACE}
spec:
  ingressClassName: openshift-default
  tls: [{hosts: [reference.example.com], secretName: shop-tls}]
  rules:
  - host: reference.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
`

// TestIngressCertificateReference: the key of an Ingress is in no Route unless
// the Ingress asks for that. The operator lets the routers read the one Secret,
// and takes that back.
func TestIngressCertificateReference(t *testing.T) {
	c, _ := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reference-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	namespace := ns.Name
	applyCertificate(t, namespace)
	eventually(t, func() error {
		return get(t, c, client.ObjectKey{Name: "openshift-default"}, &networkingv1.IngressClass{})
	})
	if err := apply(t, strings.ReplaceAll(referring, "NAMESPACE", namespace)); err != nil {
		t.Fatal(err)
	}
	wantRoute(t, c, namespace, "reference.example.com/", wantReference)
	wantAccess(t, c, namespace, "shop-tls")
	for verb, want := range map[string]bool{"secrets/shop-tls": true, "secrets/other": false, "secrets": false} {
		out, err := server.Kubectl(t.Context(), "auth", "can-i", "watch", verb, "-n", namespace, "--as=system:serviceaccount:openshift-ingress:router")
		if got := err == nil; got != want {
			t.Errorf("routers may watch %s: %t, want %t: %s", verb, got, want, out)
		}
	}
	if refused, err := eventReasons(c, namespace, "shop"); err != nil || slices.Contains(refused, "Warning RouteRefused") {
		t.Errorf("what was refused before the right was known is told: %v, %v", refused, err)
	}
	t.Run("a deleted Role comes back", func(t *testing.T) {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.IngressAccessName("shop")}}
		if err := c.Delete(t.Context(), role); err != nil {
			t.Fatal(err)
		}
		wantAccess(t, c, namespace, "shop-tls")
	})
	t.Run("the Secret goes and comes back", func(t *testing.T) {
		if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-tls"}}); err != nil {
			t.Fatal(err)
		}
		wantEvent(t, c, namespace, "shop", "Warning CertificateInvalid")
		wantRoute(t, c, namespace, "reference.example.com/", wantReference)
		applyCertificate(t, namespace)
		wantRoute(t, c, namespace, "reference.example.com/", wantReference)
	})
	t.Run("copies are asked for", func(t *testing.T) { copies(t, c, namespace) })
	t.Run("a Role of the same name", func(t *testing.T) { takenRole(t, c, namespace) })
}

func wantReference(r routev1.Route) error {
	if r.Spec.TLS == nil || r.Spec.TLS.ExternalCertificate == nil || r.Spec.TLS.ExternalCertificate.Name != "shop-tls" || r.Spec.TLS.Key != "" || r.Spec.TLS.Certificate != "" {
		return fmt.Errorf("TLS %+v", r.Spec.TLS)
	}
	return nil
}

// wantAccess waits until routers may read these Secrets for Ingress shop; without
// any there is no Role.
func wantAccess(t *testing.T, c client.Client, namespace string, secrets ...string) {
	t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: names.IngressAccessName("shop")}
	eventually(t, func() error {
		role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
		err := c.Get(context.Background(), key, role)
		bound := c.Get(context.Background(), key, binding)
		switch {
		case len(secrets) == 0 && apierrors.IsNotFound(err) && apierrors.IsNotFound(bound):
			return nil
		case err != nil || bound != nil || len(secrets) == 0:
			return errors.Join(fmt.Errorf("want access to %v", secrets), err, bound)
		case len(role.Rules) != 1 || !slices.Equal(role.Rules[0].ResourceNames, secrets):
			return fmt.Errorf("rules %+v", role.Rules)
		}
		return nil
	})
}

func annotate(t *testing.T, namespace string, changes ...string) {
	t.Helper()
	if _, err := server.Kubectl(t.Context(), append([]string{"annotate", "--overwrite", "ingress", "shop", "-n", namespace}, changes...)...); err != nil {
		t.Fatal(err)
	}
}

func copies(t *testing.T, c client.Client, namespace string) {
	annotate(t, namespace, names.AnnotationCertificates+"=copy")
	wantRoute(t, c, namespace, "reference.example.com/", func(r routev1.Route) error {
		if r.Spec.TLS == nil || r.Spec.TLS.ExternalCertificate != nil || !strings.Contains(r.Spec.TLS.Key, "PRIVATE KEY") {
			return fmt.Errorf("no copy")
		}
		return nil
	})
	wantAccess(t, c, namespace)
	annotate(t, namespace, names.AnnotationCertificates+"-")
	wantRoute(t, c, namespace, "reference.example.com/", wantReference)
	wantAccess(t, c, namespace, "shop-tls")
}

// takenRole: a Role of the name that is needed may be another's, which then is
// left as it is.
func takenRole(t *testing.T, c client.Client, namespace string) {
	annotate(t, namespace, names.AnnotationCertificates+"=copy")
	wantAccess(t, c, namespace)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.IngressAccessName("shop")}}
	if err := c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	annotate(t, namespace, names.AnnotationCertificates+"-")
	wantEvent(t, c, namespace, "shop", "Warning CertificateAccessRefused")
	wantEvent(t, c, namespace, "shop", "Warning RouteRefused")
	wantRoute(t, c, namespace, "reference.example.com/", func(r routev1.Route) error {
		if r.Spec.TLS == nil || r.Spec.TLS.Key == "" {
			return fmt.Errorf("TLS %+v", r.Spec.TLS)
		}
		return nil
	})
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil || len(role.Rules) > 0 || len(role.Labels) > 0 {
		t.Errorf("the Role of another was changed: %+v, %v", role, err)
	}
}
