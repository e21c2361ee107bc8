package explain

import (
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// grantedObjects have a policy whose Secret is of another namespace.
func grantedObjects(grant, secret bool) *Objects {
	o := NewObjects()
	o.Add(&routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "r"}, Spec: routev1.RouteSpec{Host: "a.test", To: routev1.RouteTargetReference{Name: "s"}}})
	o.Add(&v1alpha1.RoutePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "p"},
		Spec:       v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Authentication: &v1alpha1.Authentication{APIKeys: &v1alpha1.APIKeyAuthentication{Secrets: []v1alpha1.ObjectReference{"else/keys"}}}}},
	})
	if secret {
		o.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "else", Name: "keys"}, Data: map[string][]byte{"ann": []byte("ann-key-0123456789abcdef")}})
	}
	if grant {
		o.Add(&gatewayv1.ReferenceGrant{
			ObjectMeta: metav1.ObjectMeta{Namespace: "else", Name: "g"},
			Spec: gatewayv1.ReferenceGrantSpec{
				From: []gatewayv1.ReferenceGrantFrom{{Group: "fairlead.dev", Kind: "RoutePolicy", Namespace: "own"}}, To: []gatewayv1.ReferenceGrantTo{{Kind: "Secret"}},
			},
		})
	}
	return o
}

// TestGrantsOfPolicies: a snapshot knows as much about the grants as its objects do. Where some
// may be missing, a policy is judged without what it names.
func TestGrantsOfPolicies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		objects *Objects
		change  func(*Objects)
		closed  string
	}{
		"granted":         {objects: grantedObjects(true, true)},
		"not granted":     {objects: grantedObjects(false, true), closed: "no ReferenceGrant of namespace else permits Secret else/keys"},
		"no Secret":       {objects: grantedObjects(true, false), closed: `Secret "keys" does not exist in namespace else`},
		"neither":         {objects: grantedObjects(false, false), closed: "no ReferenceGrant of namespace else permits Secret else/keys"},
		"manifests":       {objects: grantedObjects(false, false), change: func(o *Objects) { o.Offline = true }},
		"all manifests":   {objects: grantedObjects(false, true), change: func(o *Objects) { o.Offline, o.Complete = true, true }, closed: "no ReferenceGrant"},
		"no right":        {objects: grantedObjects(false, true), change: func(o *Objects) { o.Gaps = []Gap{{Kind: "ReferenceGrant", Except: "own"}} }},
		"the right there": {objects: grantedObjects(false, true), change: func(o *Objects) { o.Gaps = []Gap{{Kind: "ReferenceGrant", Except: "else"}} }, closed: "no ReferenceGrant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.change != nil {
				tt.change(tt.objects)
			}
			w, err := NewSnapshot(tt.objects, Options{Now: time.Unix(0, 0)})
			if err != nil {
				t.Fatal(err)
			}
			closed := ""
			for _, f := range w.pipeline.Status(model.Object{Kind: route.Kind, Namespace: "own", Name: "r"}).Findings {
				if f.Reason == api.ReasonPolicyClosed {
					closed += f.Message
				}
			}
			if (closed == "") != (tt.closed == "") || !strings.Contains(closed, tt.closed) {
				t.Errorf("closed by %q, want %q", closed, tt.closed)
			}
		})
	}
	// A user who may not see the other namespace knows the grants to its own, and no Secret.
	for _, grant := range []bool{true, false} {
		w, err := NewSnapshot(grantedObjects(grant, true), Options{Now: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		within, err := w.Within(func(namespace string) bool { return namespace == "own" })
		if err != nil {
			t.Fatal(err)
		}
		_, served := within.pipeline.Claim(model.Object{Kind: route.Kind, Namespace: "own", Name: "r"})
		all := within.pipeline.Status(model.Object{Kind: route.Kind, Namespace: "own", Name: "r"}).Findings
		denied := false
		for _, f := range all {
			denied = denied || strings.Contains(f.Message, "no ReferenceGrant of namespace else")
		}
		if denied == grant || !served {
			t.Errorf("granted: %t, findings %v", grant, all)
		}
	}
}
