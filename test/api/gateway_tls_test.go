package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
)

// testAccess: routers may read the Secrets that the listeners of a Gateway name, in other
// namespaces those that a ReferenceGrant permits, and no others.
func (g gatewayTest) testAccess(t *testing.T) {
	if err := apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: keys}\n"); err != nil {
		t.Fatal(err)
	}
	may := func(secret, namespace string, want bool) {
		t.Helper()
		for _, verb := range []string{"get", "list", "watch"} {
			eventually(t, func() error {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:openshift-ingress:router",
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets", Name: secret},
				}}
				if err := g.Create(t.Context(), review); err != nil {
					return err
				}
				if review.Status.Allowed != want {
					return fmt.Errorf("routers may %s secret %s of namespace %s: %t, want %t", verb, secret, namespace, !want, want)
				}
				return nil
			})
		}
	}
	const listener = "  listeners: [{name: tls, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: mine}, {name: theirs, namespace: keys}]}}]\n"
	g.apply(t, "access", listener)
	may("mine", gatewayNamespace, true)
	may("other", gatewayNamespace, false)
	may("theirs", "keys", false)
	const grant = `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: gateways, namespace: keys}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: gateways}]
  to: [{group: "", kind: Secret, name: theirs}]
`
	if err := apply(t, grant); err != nil {
		t.Fatal(err)
	}
	may("theirs", "keys", true)
	may("mine", "keys", false)
	if err := g.Delete(t.Context(), &gatewayv1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "gateways"}}); err != nil {
		t.Fatal(err)
	}
	may("theirs", "keys", false)
	if err := apply(t, grant); err != nil {
		t.Fatal(err)
	}
	may("theirs", "keys", true)
	g.apply(t, "access", strings.Replace(listener, "name: mine", "name: other", 1))
	may("other", gatewayNamespace, true)
	may("mine", gatewayNamespace, false)
	object, err := g.get(t, "access")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	may("other", gatewayNamespace, false)
	may("theirs", "keys", false)
	// What pods are shown.
	const shown = "  listeners: [{name: plain, port: 8080, protocol: HTTP}]\n  tls: {backend: {clientCertificateRef: {name: theirs, namespace: keys}}}\n"
	g.apply(t, "shows", shown)
	may("theirs", "keys", true)
	g.apply(t, "shows", strings.Replace(shown, "{name: theirs, namespace: keys}", "{name: mine}", 1))
	may("mine", gatewayNamespace, true)
	may("theirs", "keys", false)
	g.explains(t, "mine")
	// In the operator's own namespaces its cache has no Roles but the operator's own.
	const own = "openshift-ingress"
	for _, secret := range []string{"first", "second"} {
		if err := apply(t, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: own, namespace: %s}\nspec:\n  gatewayClassName: fairlead\n%s", own, strings.Replace(listener, "name: mine", "name: "+secret, 1))); err != nil {
			t.Fatal(err)
		}
		may(secret, own, true)
	}
	may("first", own, false)
	if err := g.Delete(t.Context(), &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "own"}}); err != nil {
		t.Fatal(err)
	}
	may("second", own, false)
}

// explains demands that explain reads what a Gateway names, and says what is wrong with it.
func (g gatewayTest) explains(t *testing.T, secret string) {
	t.Helper()
	if err := apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ntype: example.com/wrong\n", secret, gatewayNamespace)); err != nil {
		t.Fatal(err)
	}
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := cluster.Read(t.Context(), config, gatewayNamespace)
	if err != nil {
		t.Fatal(err)
	}
	w, err := explain.NewSnapshot(objects, explain.Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("secret %q must be of type kubernetes.io/tls, it is example.com/wrong", secret)
	if findings := w.Lint("").Findings; !slices.ContainsFunc(findings, func(f explain.Finding) bool { return strings.Contains(f.Message, want) }) {
		t.Errorf("no finding with %s: %v", want, findings)
	}
}
