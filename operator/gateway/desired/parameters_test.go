package desired_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// TestPermitted: an IngressController that is there and says so permits Gateways to name it.
func TestPermitted(t *testing.T) {
	t.Parallel()
	shop := map[string]string{"team": "shop"}
	with := func(selector string) *operatorv1.IngressController {
		return &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Name: "internal", Annotations: map[string]string{gateway.AnnotationGatewayNamespaces: selector}}}
	}
	going := with("team=shop")
	going.DeletionTimestamp = &metav1.Time{}
	*going.DeletionTimestamp = metav1.Now()
	for name, c := range map[string]struct {
		ic   *operatorv1.IngressController
		want bool
	}{
		"its namespace":     {with("team=shop"), true},
		"another one":       {with("team=bank"), false},
		"no selector":       {with("team=="), false},
		"no annotation":     {&operatorv1.IngressController{}, false},
		"none":              {nil, false},
		"one being deleted": {going, false},
	} {
		if got := desired.Permitted(c.ic, shop) != nil; got != c.want {
			t.Errorf("%s: permitted %t", name, got)
		}
	}
}

// TestForbidden: a Gateway loses the slots of the IngressController that it names when that does not permit it
// any more, and keeps those of another one.
func TestForbidden(t *testing.T) {
	t.Parallel()
	in := desired.Input{Gateway: &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Infrastructure: parameters("internal")}}}
	for holder, want := range map[string]bool{"internal": true, "default": false, "": false} {
		in.Parameters, in.Settings.Name = nil, holder
		if got := in.Forbidden(); got != want {
			t.Errorf("slots of %q, not permitted: forbidden %t", holder, got)
		}
		in.Parameters = &operatorv1.IngressController{}
		if in.Forbidden() {
			t.Errorf("slots of %q, permitted: forbidden", holder)
		}
	}
}
