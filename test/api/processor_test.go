package api

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	names "github.com/fairlead/fairlead/api"
)

// TestHAProxyCPU: an annotation of the IngressController says what HAProxy reserves, at
// once; what cannot be used leaves the default.
func TestHAProxyCPU(t *testing.T) {
	c, _ := startOperator(t)
	if err := apply(t, `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: reserve, namespace: openshift-ingress-operator}
spec: {domain: reserve.example.com, endpointPublishingStrategy: {type: Private}}
`); err != nil {
		t.Fatal(err)
	}
	reserves := func(want string) func() error {
		return func() error {
			d := &appsv1.Deployment{}
			if err := get(t, c, operandKey("router-reserve"), d); err != nil {
				return err
			}
			for _, container := range d.Spec.Template.Spec.InitContainers {
				if cpu := container.Resources.Requests.Cpu().String(); container.Name == "haproxy" && cpu != want {
					return errors.New("HAProxy reserves " + cpu)
				}
			}
			return nil
		}
	}
	eventually(t, reserves("100m"))
	for _, step := range [][2]string{{"=500m", "500m"}, {"=65", "100m"}, {"=0.25", "250m"}, {"-", "100m"}} {
		if _, err := server.Kubectl(t.Context(), "annotate", "-n", names.OperatorNamespace, "ic/reserve", "--overwrite", names.AnnotationHAProxyCPU+step[0]); err != nil {
			t.Fatal(err)
		}
		eventually(t, reserves(step[1]))
	}
}
