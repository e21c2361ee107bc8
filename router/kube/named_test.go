package kube

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
)

// TestNamedRouter: a Gateway that names an IngressController is served by its router once that permits the
// namespace, and by one that has slots for it; by that of its class no more than by others.
func TestNamedRouter(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", map[string]string{"team": "a"})
	e.installCRDs(t, "crd", "ingresscontrollers.operator.openshift.io")
	e.controller(t, "shop", "internal", operatorv1.IngressControllerSpec{})
	e.installGateways(t)
	ofClass, _ := e.watcher(t, Options{Namespace: "shop", ControllerNamespace: "shop"})
	named, _ := e.watcher(t, Options{Namespace: "shop", ControllerNamespace: "shop", RouterName: "internal"})
	e.create(t, "gatewayclasses", "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: "+string(gatewayapi.ControllerName)+"}")
	gw := e.create(t, "gateways", "kind: Gateway\nmetadata: {namespace: shop, name: ours}\nspec: {gatewayClassName: ours, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	route := e.create(t, "httproutes", "kind: HTTPRoute\nmetadata: {namespace: shop, name: web}\nspec: {parentRefs: [{name: ours}]}")
	serves := func(w *Watcher) bool { return w.Object(gw) != nil && w.Object(route) != nil }
	by := func(what string, byClass, byName bool) {
		t.Helper()
		eventually(t, what, func() bool { return serves(ofClass) == byClass && serves(named) == byName })
	}
	by("no reference", true, false)
	e.patchGateway(t, gw, "", `{"spec":{"infrastructure":{"parametersRef":{"group":"operator.openshift.io","kind":"IngressController","name":"internal"}}}}`)
	by("no permission", false, false)

	permit := func(selector string) {
		t.Helper()
		patch(t, e.crds.operator, "ingresscontrollers", "shop", "internal", "", `{"metadata":{"annotations":{"`+gatewayapi.AnnotationGatewayNamespaces+`":"`+selector+`"}}}`)
	}
	permit("team=b")
	permit("team=a")
	by("the permission", false, true)
	label := func(team string) {
		t.Helper()
		if _, err := e.core.CoreV1().Namespaces().Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"`+team+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	label("b")
	by("another namespace", false, false)
	label("a")
	by("the namespace again", false, true)
	permit("")
	by("no permission any more", false, false)

	table := gatewayapi.Table{20007: {Namespace: gw.Namespace, Name: gw.Name, UID: ofClass.gateways.objects.get(gw).UID, Port: 80}}
	m, err := e.core.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: gatewayapi.SlotsName("default")}, Data: table.Data()}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	by("slots", true, false)
	m.Data = nil
	if _, err := e.core.CoreV1().ConfigMaps("shop").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	by("no slots", false, false)
	e.patchGateway(t, gw, "", `{"spec":{"infrastructure":{"parametersRef":{"name":"default"}}}}`)
	by("the router of the class by its name", true, false)
}
