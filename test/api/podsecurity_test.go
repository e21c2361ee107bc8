package api

import (
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

// TestPodSecurity creates the pods of the manifests and of the operator's
// Deployments as the API server's own Pod Security admission judges them: all
// but speakers and routers on the network of a node pass as "restricted", in
// namespaces that enforce it.
func TestPodSecurity(t *testing.T) {
	c, _ := startOperator(t)
	for _, name := range []string{names.OperatorNamespace, names.OperandNamespace} {
		ns := &corev1.Namespace{}
		if err := get(t, c, client.ObjectKey{Name: name}, ns); err != nil {
			t.Fatal(err)
		}
		if level := ns.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("namespace %s enforces %q, want restricted", name, level)
		}
	}
	for _, ic := range []*operatorv1.IngressController{
		controllerOf("logs", operatorv1.PrivateStrategyType, func(s *operatorv1.IngressControllerSpec) {
			s.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
				Destination: operatorv1.LoggingDestination{Type: operatorv1.ContainerLoggingDestinationType},
			}}
		}),
		controllerOf("host", operatorv1.HostNetworkStrategyType, func(*operatorv1.IngressControllerSpec) {}),
	} {
		if err := c.Create(t.Context(), ic); err != nil {
			t.Fatal(err)
		}
	}
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "pods-restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Create(t.Context(), restricted); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		deployment client.ObjectKey
		refusal    string
	}{
		{deployment: client.ObjectKey{Namespace: names.OperatorNamespace, Name: "ingress-operator"}},
		{deployment: operandKey("router-default")},
		{deployment: operandKey("router-logs")},
		{deployment: operandKey("router-host"), refusal: `violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`},
	} {
		t.Run(test.deployment.Name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			eventually(t, func() error { return get(t, c, test.deployment, d) })
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: restricted.Name, Name: test.deployment.Name}, Spec: d.Spec.Template.Spec}
			err := c.Create(t.Context(), pod, client.DryRunAll)
			switch {
			case test.refusal == "" && err != nil:
				t.Error(err)
			case test.refusal != "" && (err == nil || !strings.Contains(err.Error(), test.refusal)):
				t.Errorf("got %v, want %s", err, test.refusal)
			}
			for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				if container.Resources.Limits.Memory().IsZero() {
					t.Errorf("container %s has no memory limit", container.Name)
				}
			}
			for _, v := range pod.Spec.Volumes {
				if v.EmptyDir != nil && v.EmptyDir.SizeLimit.IsZero() {
					t.Errorf("volume %s has no size limit", v.Name)
				}
			}
		})
	}
}

func controllerOf(name string, kind operatorv1.EndpointPublishingStrategyType, edit func(*operatorv1.IngressControllerSpec)) *operatorv1.IngressController {
	ic := &operatorv1.IngressController{}
	ic.Namespace, ic.Name = names.OperatorNamespace, name
	ic.Spec.Domain = name + ".example.com"
	ic.Spec.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{Type: kind}
	edit(&ic.Spec)
	return ic
}
