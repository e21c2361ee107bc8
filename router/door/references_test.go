package door_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// shared is a cluster with one Secret, and ReferenceGrants.
type shared struct {
	door.Source

	grants map[string][]*gatewayv1.ReferenceGrant
	asked  int
}

func (s *shared) Secret(key model.Object) (*corev1.Secret, error) {
	s.asked++
	if key.Name != "there" {
		return nil, nil
	}
	return &corev1.Secret{Data: map[string][]byte{"a": nil}}, nil
}

func (s *shared) Grants(namespace string) []*gatewayv1.ReferenceGrant { return s.grants[namespace] }

func grant(from gatewayv1.ReferenceGrantFrom, to ...gatewayv1.ReferenceGrantTo) *gatewayv1.ReferenceGrant {
	return &gatewayv1.ReferenceGrant{Spec: gatewayv1.ReferenceGrantSpec{From: []gatewayv1.ReferenceGrantFrom{from}, To: to}}
}

// TestReferencesOfOtherNamespaces: what a policy names elsewhere is read by a grant alone.
// Without one, an object that exists and one that does not give the same, and nothing is read.
func TestReferencesOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	good := gatewayv1.ReferenceGrantFrom{Group: "fairlead.dev", Kind: "RoutePolicy", Namespace: "own"}
	secrets := gatewayv1.ReferenceGrantTo{Kind: "Secret"}
	named := func(name string) gatewayv1.ReferenceGrantTo {
		return gatewayv1.ReferenceGrantTo{Kind: "Secret", Name: new(gatewayv1.ObjectName(name))}
	}
	ours := model.Object{Kind: policy.KindRoutePolicy, Namespace: "own", Name: "p"}
	for name, test := range map[string]struct {
		grant     *gatewayv1.ReferenceGrant
		from      model.Object
		permitted bool
	}{
		"all Secrets":          {grant(good, secrets), ours, true},
		"an empty name":        {grant(good, named("")), ours, true},
		"both Secrets":         {grant(good, named("there"), named("missing")), ours, true},
		"another Secret":       {grant(good, named("thereof")), ours, false},
		"nothing":              {grant(good), ours, false},
		"another kind":         {grant(good, gatewayv1.ReferenceGrantTo{Kind: "ConfigMap"}), ours, false},
		"another group":        {grant(good, gatewayv1.ReferenceGrantTo{Group: "core", Kind: "Secret"}), ours, false},
		"from a Gateway":       {grant(gatewayv1.ReferenceGrantFrom{Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "own"}, secrets), ours, false},
		"from another group":   {grant(gatewayv1.ReferenceGrantFrom{Group: "gateway.networking.k8s.io", Kind: "RoutePolicy", Namespace: "own"}, secrets), ours, false},
		"from administrators":  {grant(gatewayv1.ReferenceGrantFrom{Group: "fairlead.dev", Kind: "ClusterRoutePolicy", Namespace: "own"}, secrets), ours, false},
		"from other policies":  {grant(gatewayv1.ReferenceGrantFrom{Group: "fairlead.dev", Kind: "RoutePolicy", Namespace: "ow"}, secrets), ours, false},
		"of an annotation":     {grant(good, secrets), model.Object{Kind: "Route", Namespace: "own", Name: "r"}, false},
		"of nothing":           {grant(good, secrets), model.Object{}, false},
		"of an administrator":  {grant(good, secrets), model.Object{Kind: policy.KindClusterRoutePolicy, Name: "p"}, false},
		"with from of Routes":  {grant(gatewayv1.ReferenceGrantFrom{Group: "fairlead.dev", Kind: "Route", Namespace: "own"}, secrets), model.Object{Kind: "Route", Namespace: "own", Name: "r"}, false},
		"in the own namespace": {nil, ours, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &shared{grants: map[string][]*gatewayv1.ReferenceGrant{"else": {}, "own": {grant(good, secrets)}}}
			if test.grant != nil {
				src.grants["else"] = []*gatewayv1.ReferenceGrant{test.grant}
			}
			messages := map[string]bool{}
			for _, secret := range []string{"there", "missing"} {
				r := &door.References{Result: &door.Result{}, Source: src, Namespace: "own", From: test.from}
				data, err := r.Secret("else/" + secret)
				var denied interface{ Reason() api.Reason }
				refused := errors.As(err, &denied) && denied.Reason() == api.ReasonRefNotPermitted
				if refused == test.permitted || test.permitted != (data != nil) && secret == "there" {
					t.Errorf("%s gives %v, %v", secret, data, err)
				}
				if refused {
					messages[strings.ReplaceAll(err.Error(), "/"+secret, "/NAME")] = true
				}
				for _, key := range r.Result.Depends {
					if key.Kind == door.KindSecret && !test.permitted {
						t.Errorf("depends on %s without a grant", key)
					}
				}
				if policy.IsKind(test.from.Kind) && (len(r.Result.Depends) == 0 || r.Result.Depends[0] != door.GrantsOf("else")) {
					t.Errorf("depends on %v, not on the grants of the namespace", r.Result.Depends)
				}
			}
			if len(messages) > 1 || !test.permitted && src.asked > 0 {
				t.Errorf("%d different messages, %d Secrets read", len(messages), src.asked)
			}
		})
	}
}

// TestReferencesOfOwnNamespace: NAMESPACE/NAME of the policy's own namespace is NAME.
func TestReferencesOfOwnNamespace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"there", "own/there"} {
		r := &door.References{Result: &door.Result{}, Source: &shared{}, Namespace: "own"}
		if data, err := r.Secret(name); err != nil || data == nil {
			t.Errorf("%s gives %v, %v", name, data, err)
		}
	}
}
