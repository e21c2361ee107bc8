package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

// edit changes the IngressController "default".
func edit(t *testing.T, c client.Client, change func(*operatorv1.IngressController)) {
	t.Helper()
	eventually(t, func() error {
		ic := &operatorv1.IngressController{}
		if err := get(t, c, icKey("default"), ic); err != nil {
			return err
		}
		change(ic)
		return c.Update(t.Context(), ic)
	})
}

// TestNamedConfigMaps: what an IngressController names in openshift-config
// arrives where the routers mount it, follows the source, and outlives it.
func TestNamedConfigMaps(t *testing.T) {
	c, _ := startOperator(t)
	target := operandKey("router-client-ca-default")
	copied := func(want string) func() error {
		return func() error {
			m := &corev1.ConfigMap{}
			if err := get(t, c, target, m); err != nil {
				return err
			}
			if m.Data["ca-bundle.pem"] != want || m.Annotations[names.AnnotationCopiedFrom] != "openshift-config/trusted" {
				return fmt.Errorf("%v, annotations %v", m.Data, m.Annotations)
			}
			return nil
		}
	}
	edit(t, c, func(ic *operatorv1.IngressController) {
		ic.Spec.ClientTLS = operatorv1.ClientTLS{ClientCertificatePolicy: "Required", ClientCA: configv1.ConfigMapNameReference{Name: "trusted"}}
		ic.Spec.HttpErrorCodePages.Name = "pages"
	})
	eventually(t, func() error {
		return wantCondition(c, "default", "ObjectsReconciled", operatorv1.ConditionFalse, "ConfigMap trusted does not exist in namespace openshift-config")
	})
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names.ConfigNamespace, Name: "trusted"}, Data: map[string]string{"ca-bundle.pem": "one"}}
	pages := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names.ConfigNamespace, Name: "pages"}, Data: map[string]string{"error-page-503.http": "x"}}
	if err := errors.Join(c.Create(t.Context(), source), c.Create(t.Context(), pages)); err != nil {
		t.Fatal(err)
	}
	eventually(t, copied("one"))
	eventually(t, func() error { return get(t, c, operandKey("default-errorpages"), &corev1.ConfigMap{}) })
	eventually(t, func() error {
		return wantCondition(c, "default", "ObjectsReconciled", operatorv1.ConditionTrue, "")
	})
	source.Data["ca-bundle.pem"] = "two"
	if err := c.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	eventually(t, copied("two"))
	if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, copied("two"))

	if err := c.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		return wantCondition(c, "default", "ObjectsReconciled", operatorv1.ConditionFalse, "its last copy stays in use")
	})
	if err := copied("two")(); err != nil {
		t.Error("the copy went with its source: ", err)
	}
	edit(t, c, func(ic *operatorv1.IngressController) { ic.Spec.ClientTLS = operatorv1.ClientTLS{} })
	eventually(t, func() error { return gone(c, target, &corev1.ConfigMap{}) })
}

// TestClusterTLSProfile: the profile of the cluster holds where the
// IngressController has none, also if its kind appears later.
func TestClusterTLSProfile(t *testing.T) {
	c, log := startOperator(t)
	has := func(want configv1.TLSProtocolVersion) func() error {
		return func() error {
			ic := &operatorv1.IngressController{}
			if err := get(t, c, icKey("default"), ic); err != nil {
				return err
			}
			if p := ic.Status.TLSProfile; p == nil || p.MinTLSVersion != want {
				return fmt.Errorf("status.tlsProfile is %+v, want %s", p, want)
			}
			return nil
		}
	}
	eventually(t, has(configv1.VersionTLS12))
	if n := log.count("level=ERROR"); n != 0 {
		t.Errorf("%d errors are logged where the kind does not exist", n)
	}
	if err := apply(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: apiservers.config.openshift.io
  annotations: {api-approved.kubernetes.io: unapproved}
spec:
  group: config.openshift.io
  names: {kind: APIServer, listKind: APIServerList, plural: apiservers, singular: apiserver}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`); err != nil {
		t.Fatal(err)
	}
	server := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	server.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}
	eventually(t, func() error { return c.Create(t.Context(), server.DeepCopy()) })
	eventually(t, has(configv1.VersionTLS13))

	// From now on it is watched.
	profile := func(document string) {
		t.Helper()
		if err := c.Patch(t.Context(), &configv1.APIServer{ObjectMeta: server.ObjectMeta}, client.RawPatch(types.MergePatchType, []byte(document))); err != nil {
			t.Fatal(err)
		}
	}
	profile(`{"spec":{"tlsSecurityProfile":{"type":"Old"}}}`)
	eventually(t, has(configv1.VersionTLS10))
	profile(`{"spec":{"tlsSecurityProfile":null}}`)
	eventually(t, has(configv1.VersionTLS12))

	edit(t, c, func(ic *operatorv1.IngressController) {
		ic.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileOldType}
	})
	eventually(t, has(configv1.VersionTLS10))
}

// TestServiceMonitor: where there are ServiceMonitors, each IngressController
// has one, and changes by others are reverted with the next change.
func TestServiceMonitor(t *testing.T) {
	c, log := startOperator(t)
	eventually(t, func() error {
		return wantCondition(c, "default", "ObjectsReconciled", operatorv1.ConditionTrue, "")
	})
	if n := log.count("level=ERROR"); n != 0 {
		t.Errorf("%d errors are logged where the kind does not exist", n)
	}
	if err := apply(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`); err != nil {
		t.Fatal(err)
	}
	spec := func() (string, error) {
		return server.Kubectl(t.Context(), "get", "servicemonitor", "-n", names.OperandNamespace, "router-default", "-o", "jsonpath={.metadata.ownerReferences[0].kind} {.spec}")
	}
	want := []string{`Deployment`, `"path":"/metrics/haproxy"`, `"serverName":"router-default.apps.example.com"`, `"name":"router-certs-default"`}
	replicas := int32(3)
	has := func() error {
		// Nothing but a change of something else makes the operator look.
		replicas++
		edit(t, c, func(ic *operatorv1.IngressController) { ic.Spec.Replicas = &replicas })
		text, err := spec()
		for _, w := range want {
			if err == nil && !strings.Contains(text, w) {
				err = fmt.Errorf("%s is not in %s", w, text)
			}
		}
		return err
	}
	eventually(t, has)
	if _, err := server.Kubectl(t.Context(), "patch", "servicemonitor", "-n", names.OperandNamespace, "router-default", "--type=merge", "-p", `{"spec":{"endpoints":[]}}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, has)
}
