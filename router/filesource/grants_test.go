package filesource

import (
	"errors"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestGrants: of the Gateway API, files have ReferenceGrants: policies name objects of other
// namespaces by them. What no file has is not permitted.
func TestGrants(t *testing.T) {
	t.Parallel()
	const grant = "apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: own, namespace: else}\nspec:\n  from: [{group: fairlead.dev, kind: RoutePolicy, namespace: own}]\n  to: [{group: \"\", kind: Secret}]\n"
	b := newBed(t, map[string]string{"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: else}\nstringData: {ann: ann-key-0123456789abcdef}\n"})
	named := func(permitted bool) {
		t.Helper()
		r := &door.References{Result: &door.Result{}, Source: b.source, Namespace: "own", From: model.Object{Kind: policy.KindRoutePolicy, Namespace: "own", Name: "p"}}
		data, err := r.Secret("else/keys")
		var denied interface{ Reason() api.Reason }
		if refused := errors.As(err, &denied) && denied.Reason() == api.ReasonRefNotPermitted; refused == permitted || (data != nil) != permitted {
			t.Errorf("permitted: %t, want %t: %v", !permitted, permitted, err)
		}
	}
	named(false)
	for _, step := range []struct {
		text      string
		permitted bool
	}{{grant, true}, {"", false}} {
		b.write("grant.yaml", step.text)
		if err := b.source.Reload(); err != nil {
			t.Fatal(err)
		}
		if _, marked := b.source.Take().Objects[door.GrantsOf("else")]; !marked {
			t.Error("what depends on the grants is not read again")
		}
		named(step.permitted)
	}
}
