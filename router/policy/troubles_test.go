package policy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// TestAgentFindings: what the agent finds out is a condition of the policy that has the
// authentication, and one finding each; those that refuse requests come first.
func TestAgentFindings(t *testing.T) {
	t.Parallel()
	o := ReadRoutePolicy(&v1alpha1.RoutePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "members", UID: "u", Generation: 3},
		Spec:       v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Authentication: &v1alpha1.Authentication{JWT: &v1alpha1.JWTAuthentication{}}}},
	})
	key := model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}
	report := func(f Fate) (map[string]metav1.Condition, []api.Finding) {
		tally := NewTally(o, NewSet([]*Object{o}), "default")
		tally.Add(key, &Effective{Origins: []Origin{{GroupAuthentication, o.source(RankObject)}}}, f)
		r := tally.Report(nil)
		conditions := map[string]metav1.Condition{}
		for _, c := range r.Conditions {
			conditions[c.Type] = c
		}
		return conditions, r.Findings
	}
	c, findings := report(Fate{})
	if c[api.ConditionResolvedRefs].Status != metav1.ConditionTrue || len(findings) > 0 {
		t.Errorf("good: %v, %v", c, findings)
	}
	c, findings = report(Fate{Troubles: []snapshot.Trouble{
		{Kind: snapshot.KindIssuer, Address: "https://login.example.com", Cause: "connect: connection refused", Until: 1_800_000_030},
		{Kind: snapshot.KindKeys, Place: 2, Address: "https://keys.example.com/jwks", Cause: "status 500"},
	}})
	const want = "spec.authentication.jwt.issuers[2].jwks.uri: https://keys.example.com/jwks cannot be read: status 500; requests with tokens of this issuer answer 503 until it can be read; " +
		"the router goes on trying. Check the address, its certificate, and whether the router's pods reach it. There are 1 more"
	if r := c[api.ConditionResolvedRefs]; r.Status != metav1.ConditionFalse || r.Reason != "JWKSUnavailable" || r.Message != want {
		t.Errorf("ResolvedRefs %+v", r)
	}
	if c[api.ConditionProtecting].Status != metav1.ConditionTrue || c[api.ConditionProgrammed].Status != metav1.ConditionTrue {
		t.Errorf("what protects still does: %v", c)
	}
	if len(findings) != 2 || findings[0].Reason != api.ReasonJWKSUnavailable || findings[0].Severity != api.SeverityError ||
		findings[1].Reason != api.ReasonIssuerUnreachable || findings[1].Severity != api.SeverityWarning || !strings.Contains(findings[1].Text(), "until 2027-01-15 08:00 UTC, then logins answer 503") {
		t.Errorf("findings %v", findings)
	}
	c, findings = report(Fate{Troubles: []snapshot.Trouble{{Kind: snapshot.KindAuthServer, Address: "http://auth.demo.svc/check", Cause: "timeout"}}})
	if len(findings) != 1 || findings[0].Reason != api.ReasonAuthServerError || findings[0].Severity != api.SeverityWarning || c[api.ConditionResolvedRefs].Status != metav1.ConditionTrue {
		t.Errorf("an auth server: %v, %v", findings, c)
	}
	c, findings = report(Fate{Undecided: true, Unusable: "more than 1000 key sets are fetched"})
	if p := c[api.ConditionProtecting]; p.Reason != "ClosedPaths" || !strings.Contains(p.Message, "more than 1000 key sets") {
		t.Errorf("Protecting %+v", p)
	}
	if p := c[api.ConditionProgrammed]; p.Reason != "AgentUnavailable" || !strings.Contains(p.Message, "more than 1000 key sets") {
		t.Errorf("Programmed %+v", p)
	}
	if len(findings) != 1 || findings[0].Reason != api.ReasonPolicyClosed {
		t.Errorf("findings %v", findings)
	}
}

// TestForeignFindings: what the agent finds out is no finding of a policy that another one
// overrides, nor of a former version.
func TestForeignFindings(t *testing.T) {
	t.Parallel()
	read := func(name string, generation int64) *Object {
		return ReadRoutePolicy(&v1alpha1.RoutePolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "u", Generation: generation},
			Spec:       v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Authentication: &v1alpha1.Authentication{OIDC: &v1alpha1.OIDCAuthentication{}}}},
		})
	}
	o := read("members", 3)
	for name, source := range map[string]*Source{"another": read("other", 3).source(RankObject), "a former version": read("members", 2).source(RankObject)} {
		tally := NewTally(o, NewSet([]*Object{o}), "default")
		tally.Add(model.Object{Kind: "Route", Namespace: "demo", Name: "shop"}, &Effective{Origins: []Origin{{GroupAuthentication, source}}}, Fate{
			Unusable: "x", Troubles: []snapshot.Trouble{{Kind: snapshot.KindIssuer, Address: "https://a", Cause: "x"}},
		})
		if r := tally.Report(nil); len(r.Findings) > 0 {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}
