package api

import (
	"fmt"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreignAnnotations: those of another controller come, close the Ingress, and
// go again with all that was made of them.
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
	annotate(nginx+"session-cookie-name=mine", nginx+"app-root=/start")
	want("mine")
	wantEvent(t, c, namespace, "shop", "Warning ForeignAnnotation")
	annotate(nginx + "auth-type=basic")
	eventually(t, func() error {
		routes, err := byPath(c, namespace)
		if err == nil && len(routes) > 0 {
			err = fmt.Errorf("%d Routes are left", len(routes))
		}
		return err
	})
	wantEvent(t, c, namespace, "shop", "Warning ForeignProtection")
	annotate(nginx+"auth-type-", nginx+"session-cookie-name-", nginx+"app-root-")
	want("")
}
