package api

import (
	"fmt"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const referring = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: NAMESPACE, annotations: {fairlead.dev/certificates: reference}}
spec:
  ingressClassName: openshift-default
  tls: [{hosts: [reference.example.com], secretName: shop-tls}]
  rules:
  - host: reference.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
`

// TestIngressCertificateReference: the key of an Ingress that asks for that is
// in no Route. Routers must be allowed to read the Secret, and whoever forgets
// it is told.
func TestIngressCertificateReference(t *testing.T) {
	c, _ := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reference-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	sample, err := server.Kubectl(t.Context(), "kustomize", "../../config/samples")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(sample, "\n---\n") {
		if strings.Contains(document, "kind: Secret") {
			err = apply(t, strings.NewReplacer("namespace: demo", "namespace: "+ns.Name, "name: ingress-demo-certificate", "name: shop-tls").Replace(document))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		return get(t, c, client.ObjectKey{Name: "openshift-default"}, &networkingv1.IngressClass{})
	})
	if err := apply(t, strings.ReplaceAll(referring, "NAMESPACE", ns.Name)); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, c, ns.Name, "shop", "Warning RouteRefused")
	if routes, err := byPath(c, ns.Name); err != nil || len(routes) > 0 {
		t.Fatalf("without the right to read the Secret: routes %v, %v", routes, err)
	}
	for _, args := range [][]string{
		{"create", "role", "router-reads-shop-tls", "-n", ns.Name, "--verb=get,list,watch", "--resource=secrets", "--resource-name=shop-tls"},
		{"create", "rolebinding", "router-reads-shop-tls", "-n", ns.Name, "--role=router-reads-shop-tls", "--serviceaccount=openshift-ingress:router"},
	} {
		if _, err := server.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	eventually(t, func() error {
		routes, err := byPath(c, ns.Name)
		if err != nil {
			return err
		}
		r, ok := routes["reference.example.com/"]
		if !ok { // the operator tries again by itself, but only once a minute
			tries++
			_, err := server.Kubectl(t.Context(), "annotate", "ingress", "shop", "-n", ns.Name, "--overwrite", fmt.Sprintf("example.com/try=%d", tries))
			return fmt.Errorf("no Route yet, %w", err)
		}
		return wantReference(r)
	})
}

func wantReference(r routev1.Route) error {
	if e := r.Spec.TLS.ExternalCertificate; e == nil || e.Name != "shop-tls" || r.Spec.TLS.Key != "" || r.Spec.TLS.Certificate != "" {
		return fmt.Errorf("TLS %+v", r.Spec.TLS)
	}
	return nil
}
