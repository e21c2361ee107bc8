package api

import (
	"errors"
	"fmt"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/route"
)

// foreignAnnotations: those of another controller come, close the Ingress, and
// go again with all that was made of them. A closed path stays claimed, by the
// same Route, and opens as it was.
func foreignAnnotations(t *testing.T, c client.Client, namespace string) {
	const nginx = "nginx.ingress.kubernetes.io/"
	annotate := func(changes ...string) {
		t.Helper()
		if _, err := server.Kubectl(t.Context(), append([]string{"annotate", "--overwrite", "ingress", "shop", "-n", namespace}, changes...)...); err != nil {
			t.Fatal(err)
		}
	}
	want := func(cookie string) {
		t.Helper()
		wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
			if got := r.Annotations["router.openshift.io/cookie_name"]; got != cookie {
				return fmt.Errorf("cookie %q, want %q", got, cookie)
			}
			return nil
		})
	}
	annotate(nginx+"session-cookie-name=mine", nginx+"proxy-http-version=1.0")
	want("mine")
	wantEvent(t, c, namespace, "shop", "Warning ForeignAnnotation")
	open, err := byPath(c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	annotate(nginx + "auth-type=basic")
	wantSame(t, c, namespace, open, func(_, now routev1.Route) bool {
		return now.Spec.Port != nil && now.Spec.Port.TargetPort.StrVal == names.ClosedPort
	})
	wantEvent(t, c, namespace, "shop", "Warning ForeignProtection")
	annotate(nginx+"auth-type-", nginx+"session-cookie-name-", nginx+"proxy-http-version-")
	wantSame(t, c, namespace, open, func(before, now routev1.Route) bool {
		return equality.Semantic.DeepEqual(before.Spec, now.Spec)
	})
	want("")
	closedForGood(t, c, namespace, annotate)
}

// wantSame waits until a namespace has the Routes that it had, each of which
// passes the check.
func wantSame(t *testing.T, c client.Client, namespace string, before map[string]routev1.Route, check func(before, now routev1.Route) bool) {
	t.Helper()
	eventually(t, func() error {
		now, err := byPath(c, namespace)
		if err != nil || len(now) != len(before) {
			return fmt.Errorf("%d Routes, want %d: %w", len(now), len(before), err)
		}
		for path, r := range now {
			if b := before[path]; b.UID != r.UID || !check(b, r) {
				return fmt.Errorf("%s: %+v, was %+v", path, r, b)
			}
		}
		return nil
	})
}

// closedForGood: a Route that cannot be changed to what it is to be, since the
// API server refuses that, is closed as it is. Here it would name a Secret that
// routers may not read, since a Role of another stands in the way.
func closedForGood(t *testing.T, c client.Client, namespace string, annotate func(...string)) {
	t.Helper()
	applyCertificate(t, namespace)
	annotate(names.AnnotationCertificates + "=copy")
	wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
		if r.Spec.TLS == nil || r.Spec.TLS.Certificate == "" {
			return fmt.Errorf("TLS %+v", r.Spec.TLS)
		}
		return nil
	})
	wantAccess(t, c, namespace)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.IngressAccessName("shop")}}
	if err := c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	annotate(names.AnnotationCertificates+"=reference", "nginx.ingress.kubernetes.io/auth-type=basic")
	wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
		if !route.Closed(&r) {
			return errors.New("the Route is open")
		}
		return nil
	})
	wantEvent(t, c, namespace, "shop", "Warning RouteRefused")
	if err := c.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	annotate(names.AnnotationCertificates+"-", "nginx.ingress.kubernetes.io/auth-type-")
	wantRoute(t, c, namespace, "shop.example.com/", wantReference)
}
