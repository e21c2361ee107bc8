package api

import (
	"context"
	"testing"

	names "github.com/fairlead/fairlead/api"
)

// TestClusterWideAnnotations: what ingresses.config.openshift.io/cluster says
// arrives at the IngressControllers, where their routers read it, and goes again.
func TestClusterWideAnnotations(t *testing.T) {
	startOperator(t)
	if err := apply(t, `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: wide, namespace: openshift-ingress-operator}
spec: {domain: wide.example.com, endpointPublishingStrategy: {type: Private}}
`); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return field(t, "wide", "{.status.effectiveHAProxyVersion}", "3.4") })
	// Without its policy, which is TestRequiredHSTS's.
	const crd = "../../config/required-hsts/config.openshift.io_ingresses.yaml"
	if _, err := server.Kubectl(t.Context(), "apply", "--server-side", "-f", crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kubectlAfter("delete", "--ignore-not-found", "-f", crd); err != nil {
			t.Error(err)
		}
	})
	const config = `apiVersion: config.openshift.io/v1
kind: Ingress
metadata:
  name: cluster
  annotations:
    ingress.operator.openshift.io/default-enable-http2: "true"
    ingress.operator.openshift.io/hard-stop-after: 30m
spec: {}
`
	eventually(t, func() error { return apply(t, config) })
	http2, hardStop := "{.metadata.annotations.fairlead\\.dev/cluster-default-enable-http2}", "{.metadata.annotations.fairlead\\.dev/cluster-hard-stop-after}"
	eventually(t, func() error { return field(t, "wide", http2, "true") })
	eventually(t, func() error { return field(t, "wide", hardStop, "30m") })
	if _, err := server.Kubectl(t.Context(), "annotate", "ingresses.config.openshift.io", "cluster", names.AnnotationHTTP2+"-"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return field(t, "wide", http2, "") })
	if err := field(t, "wide", hardStop, "30m"); err != nil {
		t.Error(err)
	}
}

// kubectlAfter runs kubectl when the test's own context has ended.
func kubectlAfter(args ...string) error {
	_, err := server.Kubectl(context.Background(), args...)
	return err
}
