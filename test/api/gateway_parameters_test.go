package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
)

// testParameters: a Gateway that names an IngressController moves to its routers once that permits the
// namespace, stays where it is after a mistake, and has nothing once the permission is gone.
func (g gatewayTest) testParameters(t *testing.T) {
	if err := apply(t, `
apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: internal, namespace: openshift-ingress-operator}
spec: {domain: internal.example.com, endpointPublishingStrategy: {type: Private}}
`); err != nil {
		t.Fatal(err)
	}
	internal := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "internal"}}
	g.addRouter(t, "internal", "router-internal", "10.1.2.9")
	g.apply(t, "named", webAndTLS)
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.has(t, "named", "default")

	refer := func(to string) {
		t.Helper()
		document := `{"spec":{"infrastructure":{"parametersRef":null}}}`
		if to != "" {
			document = fmt.Sprintf(`{"spec":{"infrastructure":{"parametersRef":{"group":"operator.openshift.io","kind":"IngressController","name":%q}}}}`, to)
		}
		object, err := g.get(t, "named")
		if err == nil {
			err = g.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(document)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(part string) {
		t.Helper()
		g.wants(t, "named", "Accepted=False/InvalidParameters", "Programmed=False/Invalid")
		object, err := g.get(t, "named")
		if err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(object.Status.Conditions, "Accepted"); !strings.Contains(c.Message, part) {
			t.Errorf("message %q", c.Message)
		}
	}
	const unknown = "does not exist or does not permit Gateways of namespace gateways"
	refer("internal")
	refused(unknown)
	g.has(t, "named", "default")
	g.annotate(t, internal, gateway.AnnotationGatewayNamespaces, "kubernetes.io/metadata.name=elsewhere")
	refused(unknown)
	g.annotate(t, internal, gateway.AnnotationGatewayNamespaces, "kubernetes.io/metadata.name=gateways")
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.has(t, "named", "internal")
	g.leads(t, "named", "port-80 10.1.2.9:20000 ready=true", "port-443 10.1.2.9:21000 ready=true")

	refer("internel")
	refused(unknown)
	g.has(t, "named", "internal")
	refer("internal")
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")

	g.annotate(t, internal, gateway.AnnotationGatewayNamespaces, "")
	refused(unknown)
	g.has(t, "named")
	eventually(t, func() error { return errors.Join(g.hasNothing(t, "named"), g.roles(t, "named", 0)) })

	refer("default") // that of the class needs no permission
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.has(t, "named", "default")

	g.annotate(t, internal, gateway.AnnotationGatewayNamespaces, "team=shop")
	refer("internal")
	refused(unknown)
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gatewayNamespace}}
	label := func(value string) {
		t.Helper()
		if err := g.Patch(t.Context(), space, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":`+value+`}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	label(`"shop"`)
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")
	g.has(t, "named", "internal")
	label("null")
	refused(unknown)
	g.has(t, "named")
	refer("")
	g.wants(t, "named", "Accepted=True/Accepted", "Programmed=True/Programmed")

	object, err := g.get(t, "named")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperandNamespace, Name: "router-internal"}}
	if err = errors.Join(err, g.Delete(t.Context(), object), g.Delete(t.Context(), internal), g.Delete(t.Context(), pod, client.GracePeriodSeconds(0))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(g.Client, icKey("internal"), &operatorv1.IngressController{}) })
}

// has checks which IngressControllers have slots for a Gateway.
func (g gatewayTest) has(t *testing.T, name string, want ...string) {
	t.Helper()
	eventually(t, func() error {
		object, err := g.get(t, name)
		if err != nil {
			return err
		}
		for _, ic := range []string{"default", "internal"} {
			config := &corev1.ConfigMap{}
			if err := g.Get(t.Context(), operandKey(gateway.SlotsName(ic)), config); client.IgnoreNotFound(err) != nil {
				return err
			}
			table, _ := gateway.ReadTable(config.Data)
			if has := len(table.Slots(object)) > 0; has != (strings.Join(want, " ") == ic) {
				return fmt.Errorf("slots of %s: %t, want those of %q", ic, has, want)
			}
		}
		return nil
	})
}
