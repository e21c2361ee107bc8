package gateway_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// TestPermittedNamespaces: only a selector that can be read, and that asks for something, selects namespaces.
func TestPermittedNamespaces(t *testing.T) {
	t.Parallel()
	shop := labels.Set{"team": "shop", "kubernetes.io/metadata.name": "shop-1"}
	for text, want := range map[string]struct{ selects, wrong bool }{
		"team=shop":                   {true, false},
		"team in (shop, bank)":        {true, false},
		"team!=bank":                  {true, false},
		"kubernetes.io/metadata.name": {true, false},
		"team=bank":                   {false, false},
		"":                            {false, true},
		" ":                           {false, true},
		",":                           {false, true},
		"*":                           {false, true},
		"team=shop;":                  {false, true},
		"team=(shop":                  {false, true},
		"!":                           {false, true},
	} {
		of, problem := gateway.PermittedNamespaces(map[string]string{gateway.AnnotationGatewayNamespaces: text})
		if of.Matches(shop) != want.selects || (problem != "") != want.wrong {
			t.Errorf("%q: selects %t, problem %q; want %+v", text, of.Matches(shop), problem, want)
		}
	}
	if of, problem := gateway.PermittedNamespaces(nil); of.Matches(shop) || problem != "" {
		t.Errorf("without the annotation: selects %t, problem %q", of.Matches(shop), problem)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ref    *gatewayv1.LocalParametersReference
		shared bool
		want   string
		wrong  bool
	}{
		"none":                 {},
		"an IngressController": {ref: &gatewayv1.LocalParametersReference{Group: "operator.openshift.io", Kind: "IngressController", Name: "internal"}, want: "internal"},
		"another group":        {ref: &gatewayv1.LocalParametersReference{Group: "operator.openshift.io.example", Kind: "IngressController", Name: "internal"}, wrong: true},
		"another kind":         {ref: &gatewayv1.LocalParametersReference{Kind: "ConfigMap", Name: "internal"}, wrong: true},
		"at the router":        {ref: &gatewayv1.LocalParametersReference{Group: "operator.openshift.io", Kind: "IngressController", Name: "internal"}, shared: true, wrong: true},
	} {
		g := &gatewayv1.Gateway{}
		if c.ref != nil {
			g.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{ParametersRef: c.ref}
		}
		if c.shared {
			g.Annotations = map[string]string{gateway.AnnotationAddress: gateway.AddressRouter}
		}
		if ic, err := gateway.Parameters(g); ic != c.want || (err != nil) != c.wrong {
			t.Errorf("%s: %q, %v", name, ic, err)
		}
	}
}
