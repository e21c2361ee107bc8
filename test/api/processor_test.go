package api

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	names "github.com/fairlead/fairlead/api"
)

// TestProcessorTime: annotations of the IngressController say what HAProxy and the router
// process reserve, at once; what cannot be used leaves the default.
func TestProcessorTime(t *testing.T) {
	c, _ := startOperator(t)
	if err := apply(t, `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: reserve, namespace: openshift-ingress-operator}
spec: {domain: reserve.example.com, endpointPublishingStrategy: {type: Private}}
`); err != nil {
		t.Fatal(err)
	}
	reserves := func(name, want string) func() error {
		return func() error {
			d := &appsv1.Deployment{}
			if err := get(t, c, operandKey("router-reserve"), d); err != nil {
				return err
			}
			pod := d.Spec.Template.Spec
			for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
				if cpu := container.Resources.Requests.Cpu().String(); container.Name == name && cpu != want {
					return fmt.Errorf("%s reserves %s", name, cpu)
				}
			}
			return nil
		}
	}
	for _, of := range []struct{ container, annotation, usual string }{
		{"haproxy", names.AnnotationHAProxyCPU, "100m"}, {"router", names.AnnotationRouterCPU, "25m"},
	} {
		eventually(t, reserves(of.container, of.usual))
		for _, step := range [][2]string{{"=500m", "500m"}, {"=65", of.usual}, {"=0.25", "250m"}, {"-", of.usual}} {
			if _, err := server.Kubectl(t.Context(), "annotate", "-n", names.OperatorNamespace, "ic/reserve", "--overwrite", of.annotation+step[0]); err != nil {
				t.Fatal(err)
			}
			eventually(t, reserves(of.container, step[1]))
		}
	}
}
