package pipeline_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// TestAuthServerFinding: where annotations of a Route name an auth server that fails, it is the
// Route's finding, and the Route is served all the same.
func TestAuthServerFinding(t *testing.T) {
	t.Parallel()
	src := newCrowd(6)
	r := src[routeKey("r0")].DeepCopy()
	r.Annotations = map[string]string{"fairlead.dev/auth-url": "auth/check"}
	src[routeKey("r0")] = r
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default", Agent: true}, &model.Certificate{})
	_, all := p.Update(door.Changes{All: true})
	p.Accept(all)
	c, _ := p.Claim(routeKey("r0"))
	if c == nil || c.Backend.Policy().Agent == nil {
		t.Fatalf("the agent is not asked: %+v", p.Status(routeKey("r0")))
	}
	bad := snapshot.Troubles{c.Backend.Policy().Agent.ID: {{Kind: snapshot.KindAuthServer, Address: "http://auth/check", Cause: "timeout"}}}
	if told := p.AgentFinds(nil, bad); len(told) != 1 {
		t.Errorf("another status of %v", told)
	}
	st := p.Status(routeKey("r0"))
	if n := len(st.Findings); !st.Admitted || n == 0 || st.Findings[n-1].Reason != api.ReasonAuthServerError || st.Findings[n-1].Field == "" {
		t.Errorf("%+v", st)
	}
	if told := p.AgentFinds(nil, bad); len(told) > 0 {
		t.Errorf("told again of %v", told)
	}
	if told := p.AgentFinds(nil, nil); len(told) != 1 || len(p.Status(routeKey("r0")).Findings) >= len(st.Findings) {
		t.Errorf("it stays: %v", told)
	}
}

// TestAgentFinds: what the agent finds out is told of the policies that it is about, once, and
// again when it has changed; others are not told of.
func TestAgentFinds(t *testing.T) {
	t.Parallel()
	src := policed{newCrowd(6), map[model.Object]*policy.Object{}}
	p := pipeline.New(doors.All(), src, door.Settings{RouterName: "default", Agent: true}, &model.Certificate{})
	guard := &v1alpha1.ClusterRoutePolicy{ObjectMeta: metav1.ObjectMeta{Name: "guard", UID: "g"}}
	guard.Spec.Guard = &v1alpha1.Guard{ExternalURLs: []string{"keys.example.com"}}
	g := policy.ReadClusterRoutePolicy(guard)
	src.policies[g.Key] = g
	tokens := func(route, issuer string) v1alpha1.RoutePolicySpec {
		spec := named(route)
		spec.Authentication = &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{Issuers: []v1alpha1.JWTIssuer{
			{Issuer: issuer, JWKS: &v1alpha1.RemoteKeys{URI: "https://keys.example.com/"}},
		}}}
		return spec
	}
	src.put("one", 1, tokens("r0", "https://one.example.com"))
	src.put("two", 1, tokens("r3", "https://two.example.com"))
	_, all := p.Update(door.Changes{All: true})
	p.Accept(all)
	ids := map[string]string{}
	for _, route := range []string{"r0", "r3"} {
		if c, _ := p.Claim(routeKey(route)); c != nil && c.Backend.Policy().Agent != nil {
			ids[route] = c.Backend.Policy().Agent.ID
		}
	}
	if len(ids) != 2 {
		t.Fatalf("the agent is asked by %v", ids)
	}
	say := func() map[string]string {
		said := map[string]string{}
		for _, r := range p.PolicyReports(func() model.Objects { return nil }) {
			for _, c := range r.Conditions {
				if c.Type == api.ConditionResolvedRefs || c.Type == api.ConditionProtecting && c.Status == metav1.ConditionFalse {
					said[r.Key.Name] += " " + c.Reason
				}
			}
			if len(r.Findings) > 0 {
				said[r.Key.Name] += " " + string(r.Findings[0].Reason)
			}
		}
		return said
	}
	want := func(what string, one, two string) {
		t.Helper()
		if said := say(); said["one"] != one || said["two"] != two {
			t.Errorf("%s: %q", what, said)
		}
	}
	want("at first", " ResolvedRefs", " ResolvedRefs")
	p.AgentFinds(nil, nil)
	want("nothing", "", "")
	bad := []snapshot.Trouble{{Kind: snapshot.KindKeys, Address: "https://keys.example.com/", Cause: "status 500"}}
	p.AgentFinds(nil, snapshot.Troubles{ids["r0"]: bad, "unknown": bad})
	want("a set of keys", " JWKSUnavailable JWKSUnavailable", "")
	p.AgentFinds(nil, snapshot.Troubles{ids["r0"]: bad})
	want("the same again", "", "")
	p.AgentFinds(map[string]string{ids["r3"]: "too much"}, nil)
	want("another one", " ResolvedRefs", " ResolvedRefs ClosedPaths PolicyClosed")
	p.AgentFinds(nil, nil)
	want("all is good", "", " ResolvedRefs")
}
