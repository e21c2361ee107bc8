package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

func guarded(guards ...v1alpha1.Guard) *Selection {
	s := &Selection{}
	for i := range guards {
		s.guards = append(s.guards, &guards[i])
	}
	return s
}

// TestMayAsk: hosts of all guards add up, patterns are names below a domain, and without a
// guard there is no host.
func TestMayAsk(t *testing.T) {
	t.Parallel()
	s := guarded(v1alpha1.Guard{ExternalURLs: []string{"*.login.test"}}, v1alpha1.Guard{ExternalURLs: []string{"auth.test", "198.18.0.1"}}, v1alpha1.Guard{MaxRequestsPerLimit: 1})
	for host, want := range map[string]bool{
		"a.login.test": true, "a.b.login.test": true, "login.test": false, "evillogin.test": false, "a.login.test.evil": false,
		"auth.test": true, "a.auth.test": false, "198.18.0.1": true, "198.18.0.2": false, "": false,
	} {
		if s.MayAsk(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
		if guarded().MayAsk(host) || guarded(v1alpha1.Guard{}).MayAsk(host) {
			t.Errorf("%q: allowed by no guard", host)
		}
	}
}

// TestGuardFaults: a fault of a tenant needs a guard; that of an administrator does not.
func TestGuardFaults(t *testing.T) {
	t.Parallel()
	abort := &v1alpha1.Fault{Abort: &v1alpha1.FaultAbort{Status: 503}}
	for _, tt := range []struct {
		kind    model.Kind
		guards  []v1alpha1.Guard
		applied bool
	}{
		{KindRoutePolicy, nil, false},
		{KindRoutePolicy, []v1alpha1.Guard{{}, {MaxRequestsPerLimit: 1}}, false},
		{KindRoutePolicy, []v1alpha1.Guard{{}, {FaultInjection: true}}, true},
		{KindClusterRoutePolicy, nil, true},
	} {
		e := Merge([]*Source{{Rank: RankObject, Key: model.Object{Kind: tt.kind, Name: "p"}, Spec: &v1alpha1.PolicySpec{Fault: abort}}})
		guarded(tt.guards...).bound(e)
		if (e.Spec.Fault != nil) != tt.applied || (e.Origin(GroupFault) != nil) != tt.applied {
			t.Errorf("%s with %d guards: fault %v of %v", tt.kind, len(tt.guards), e.Spec.Fault, e.Origin(GroupFault))
		}
		if tt.applied != (len(e.Unapplied) == 0) || e.Closed() {
			t.Errorf("%s with %d guards: %+v, closed %v", tt.kind, len(tt.guards), e.Unapplied, e.Closed())
		}
	}
}

// TestGuardLimits: what tenants write is bounded by the smallest guard; what
// administrators write is not.
func TestGuardLimits(t *testing.T) {
	t.Parallel()
	bytes := func(text string) *resource.Quantity { q := resource.MustParse(text); return &q }
	s := guarded(v1alpha1.Guard{MaxRequestsPerLimit: 100, BodyBytesMax: bytes("1Mi")}, v1alpha1.Guard{MaxRequestsPerLimit: 50}, v1alpha1.Guard{BodyBytesMax: bytes("10Mi")})
	for name, tt := range map[string]struct {
		limits v1alpha1.Limits
		want   string
	}{
		"none":               {},
		"small":              {limits: v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{Requests: 50}}, Body: &v1alpha1.BodyLimit{Max: *bytes("1Mi")}}},
		"many requests":      {limits: v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{Requests: 1}, {Requests: 51}}}, want: "spec.limits.requests[1] requests and burst may be at most 50"},
		"a large burst":      {limits: v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{Requests: 1, Burst: 51}}}, want: "spec.limits.requests[0] requests and burst"},
		"a large body":       {limits: v1alpha1.Limits{Body: &v1alpha1.BodyLimit{Max: *bytes("2Mi")}}, want: "spec.limits.body.max must be from 1 to 1048576"},
		"a body of any size": {limits: v1alpha1.Limits{Body: &v1alpha1.BodyLimit{}}, want: "spec.limits.body.max must be from 1"},
	} {
		for kind, bound := range map[model.Kind]bool{KindRoutePolicy: true, KindClusterRoutePolicy: false} {
			e := Merge([]*Source{{Rank: RankObject, Key: model.Object{Kind: kind, Name: "p"}, Spec: &v1alpha1.PolicySpec{Limits: &tt.limits}}})
			s.bound(e)
			text := ""
			for _, c := range e.Closings {
				text += c.Field + " " + c.Message
				if c.Reason != api.ReasonNotAllowed {
					t.Errorf("%s: reason %s", name, c.Reason)
				}
			}
			if bound && (!strings.Contains(text, tt.want) || tt.want == "" && text != "") || !bound && text != "" {
				t.Errorf("%s of a %s: %q", name, kind, text)
			}
		}
	}
	e := &Effective{}
	s.BoundAnnotations(e, model.Object{Kind: "Route"}, &v1alpha1.Limits{Requests: []v1alpha1.RequestLimit{{Requests: 51}}, Body: &v1alpha1.BodyLimit{}})
	if len(e.Closings) != 2 || e.Closings[0].Field != "metadata.annotations["+AnnotationLimit+"]" || e.Closings[1].Field != "metadata.annotations["+AnnotationMaxBody+"]" {
		t.Errorf("annotations: %+v", e.Closings)
	}
}
