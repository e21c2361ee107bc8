package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// TestAgentStatus: why and explain show what only the agent of a running router can know, as long
// as it is about the version of now.
func TestAgentStatus(t *testing.T) {
	t.Parallel()
	const message = "https://login.example.com cannot be read"
	for name, tt := range map[string]struct {
		router     string
		generation int64
		shown      bool
	}{"of now": {"default", 4, true}, "a former version": {"default", 3, false}, "another router": {"blue", 4, false}} {
		o := NewObjects()
		o.Add(&routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"},
			Spec: routev1.RouteSpec{
				Host: "r.test", To: routev1.RouteTargetReference{Name: "s"},
				TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge},
			},
		})
		guard := &v1alpha1.ClusterRoutePolicy{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
		guard.Spec.Guard = &v1alpha1.Guard{ExternalURLs: []string{"login.example.com"}}
		o.Add(guard)
		p := &v1alpha1.RoutePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "members", Generation: 4}}
		p.Spec.TargetRefs = []v1alpha1.TargetRef{{Group: routev1.GroupName, Kind: "Route", Name: "r"}}
		p.Spec.Authentication = &v1alpha1.Authentication{OIDC: &v1alpha1.OIDCAuthentication{Issuer: "https://login.example.com", ClientID: "shop"}}
		p.Status.Ancestors = []v1alpha1.PolicyAncestor{{
			AncestorRef: v1alpha1.AncestorRef{Kind: "IngressController", Name: tt.router}, ControllerName: api.PolicyControllerName,
			Conditions: []metav1.Condition{{Type: api.ConditionResolvedRefs, Status: metav1.ConditionFalse, Reason: "IssuerUnreachable", Message: message + "\x1b", ObservedGeneration: tt.generation}},
		}}
		o.Add(p)
		w, err := NewSnapshot(o, Options{Now: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		y, err := w.Why("routepolicy", "a", "members")
		if err != nil {
			t.Fatal(err)
		}
		shown := slices.ContainsFunc(y.Policy.Conditions, func(c WhyCondition) bool {
			return c.Type == api.ConditionResolvedRefs && c.Reason == "IssuerUnreachable" && strings.HasPrefix(c.Message, message) && !strings.Contains(c.Message, "\x1b")
		})
		found := slices.ContainsFunc(y.Findings, func(f Finding) bool { return f.Reason == api.ReasonIssuerUnreachable && f.Remedy != "" })
		if shown != tt.shown || found != tt.shown {
			t.Errorf("%s: why: %+v, %+v", name, y.Policy.Conditions, y.Findings)
		}
		r, err := ParseRequest(RequestArgs{URL: "https://r.test/"})
		if err != nil {
			t.Fatal(err)
		}
		if e := w.Explain(r); slices.ContainsFunc(e.Notes, func(n string) bool { return strings.Contains(n, "RoutePolicy a/members: IssuerUnreachable: "+message) }) != tt.shown {
			t.Errorf("%s: explain: %v", name, e.Notes)
		}
	}
}
