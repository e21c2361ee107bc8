package api

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// testListenerSets: a Gateway gets the ports of the ListenerSets that it allows, and loses them,
// and routers may read the Secrets that these name.
func (g gatewayTest) testListenerSets(t *testing.T) {
	if err := apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: sets}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: team, namespace: sets}
spec:
  parentRef: {name: joint, namespace: gateways}
  listeners:
  - {name: shared, port: 8080, protocol: HTTP, hostname: team.test}
  - {name: high, port: 8081, protocol: HTTP}
  - {name: tls, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: team}]}}
  - {name: conflict, port: 8080, protocol: HTTPS}
`); err != nil {
		t.Fatal(err)
	}
	state := func(ports int, secret bool) {
		t.Helper()
		eventually(t, func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:openshift-ingress:router",
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "sets", Verb: "get", Resource: "secrets", Name: "team"},
			}}
			if err := g.Create(t.Context(), review); err != nil {
				return err
			}
			if n := len(g.slots(t, "joint")); n != ports || review.Status.Allowed != secret {
				return fmt.Errorf("the Gateway has %d ports, and routers may read the Secret: %t", n, review.Status.Allowed)
			}
			return nil
		})
	}
	// It has the quarter of all ports that the namespace may have.
	if err := g.Delete(t.Context(), &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: "many"}}); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	const listeners = "  listeners: [{name: web, port: 8080, protocol: HTTP}]\n"
	g.apply(t, "joint", listeners)
	g.wants(t, "joint", "Accepted=True/Accepted", "Programmed=True/Programmed")
	state(1, false)
	const bySelector = "  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}\n"
	g.apply(t, "joint", listeners+bySelector)
	g.wants(t, "joint", "Programmed=True/Programmed")
	state(1, false)
	label := func(team string) {
		t.Helper()
		if err := apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: sets, labels: {team: "+team+"}}\n"); err != nil {
			t.Fatal(err)
		}
	}
	label("a")
	state(3, true)
	eventually(t, func() error { // slots are taken before the Service is written
		if ports := g.service(t, "joint").Spec.Ports; len(ports) != 3 {
			return fmt.Errorf("the Service has ports %v", ports)
		}
		return nil
	})
	label("b")
	state(1, false)
	label("a")
	state(3, true)
	if err := g.Delete(t.Context(), &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "sets", Name: "team"}}); err != nil {
		t.Fatal(err)
	}
	state(1, false)
}
