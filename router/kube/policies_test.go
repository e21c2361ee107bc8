package kube

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

func (e *env) policy(t *testing.T, namespace, name string, spec v1alpha1.RoutePolicySpec) *v1alpha1.RoutePolicy {
	t.Helper()
	p := &v1alpha1.RoutePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "RoutePolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec,
	}
	result := &v1alpha1.RoutePolicy{}
	if err := e.crds.fairlead.Post().Namespace(namespace).Resource("routepolicies").Body(p).Do(t.Context()).Into(result); err != nil {
		t.Fatal(err)
	}
	return result
}

func (e *env) readPolicy(t *testing.T, namespace, name string) *v1alpha1.RoutePolicy {
	t.Helper()
	p := &v1alpha1.RoutePolicy{}
	if err := e.crds.fairlead.Get().Namespace(namespace).Resource("routepolicies").Name(name).Do(t.Context()).Into(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func (e *env) installPolicies(t *testing.T) {
	t.Helper()
	e.installCRDs(t, "crd", "routepolicies.fairlead.dev", "clusterroutepolicies.fairlead.dev")
}

// TestPolicies: a router starts without the kinds of policies, and reads them as soon
// as they are there; its own status writes make no work.
func TestPolicies(t *testing.T) {
	t.Parallel()
	e := startEnv(t)
	e.namespace(t, "shop", nil)
	r := e.route(t, "shop", "web", nil)
	w, _ := e.watcher(t, Options{})
	changesUntil(t, w, "the first state", all)
	if set := w.Policies("shop"); set != nil {
		t.Fatalf("policies of an older installation: %v", set.All())
	}
	e.installPolicies(t)
	p := e.policy(t, "shop", "inner", v1alpha1.RoutePolicySpec{
		TargetRefs: []v1alpha1.TargetRef{{Group: "route.openshift.io", Kind: "Route", Name: r.Name}},
		PolicySpec: v1alpha1.PolicySpec{Access: &v1alpha1.Access{Allow: []v1alpha1.CIDR{"10.0.0.0/8"}}},
	})
	key := model.Object{Kind: policy.KindRoutePolicy, Namespace: "shop", Name: "inner"}
	changesUntil(t, w, "the policy", has(key))
	o := w.Policies("shop").Get("inner")
	if o == nil || o.Access == nil || !o.Access.Restricted || o.UID != string(p.UID) || o.Generation != 1 {
		t.Fatalf("the policy is %+v", o)
	}
	s, err := NewStatusWriter(StatusOptions{Watcher: w, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	e.policyStatus(t, s, p)
	if ch := w.Take(); len(ch.Objects) > 0 {
		t.Errorf("writing a status makes work: %v", ch.Objects)
	}
	patch(t, e.crds.fairlead, "routepolicies", "shop", "inner", "", `{"spec":{"access":{"allow":["10.0.0.0/16"]}}}`)
	changesUntil(t, w, "its change", has(key))
	if err := e.crds.fairlead.Delete().Namespace("shop").Resource("routepolicies").Name("inner").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	changesUntil(t, w, "its end", has(key))
	if w.Policies("shop").Get("inner") != nil {
		t.Error("a deleted policy is still there")
	}
}

// policyStatus: the entry of this router is written, and only if it differs; those of
// others stay.
func (e *env) policyStatus(t *testing.T, s *StatusWriter, p *v1alpha1.RoutePolicy) {
	t.Helper()
	patch(t, e.crds.fairlead, "routepolicies", p.Namespace, p.Name, "status",
		`{"status":{"ancestors":[{"ancestorRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","namespace":"a","name":"b"},"controllerName":"example.com/other","conditions":[]}]}}`)
	report := policy.Report{
		Key: model.Object{Kind: policy.KindRoutePolicy, Namespace: p.Namespace, Name: p.Name}, UID: string(p.UID), Generation: p.Generation, Targets: 1,
		Conditions: []metav1.Condition{{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: "Accepted", Message: "applies to 1 object"}},
	}
	written := func(reason string) func() bool {
		return func() bool {
			list := e.readPolicy(t, p.Namespace, p.Name).Status.Ancestors
			return len(list) == 2 && list[0].ControllerName == "example.com/other" && list[1].ControllerName == api.PolicyControllerName &&
				list[1].AncestorRef.Name == "default" && list[1].Conditions[0].Reason == reason && list[1].Conditions[0].ObservedGeneration == p.Generation
		}
	}
	s.PublishPolicies([]policy.Report{report})
	eventually(t, "the status of the policy", written("Accepted"))
	version := e.readPolicy(t, p.Namespace, p.Name).ResourceVersion
	s.PublishPolicies([]policy.Report{report})
	report.Conditions = slices.Clone(report.Conditions)
	report.Conditions[0].Status, report.Conditions[0].Reason = metav1.ConditionFalse, "Conflicted"
	other := report
	other.Key.Name, other.UID = "of-nobody", "x"
	s.PublishPolicies([]policy.Report{other})
	if v := e.readPolicy(t, p.Namespace, p.Name).ResourceVersion; v != version {
		t.Errorf("the same report was written again: version %s, then %s", version, v)
	}
	s.PublishPolicies([]policy.Report{report})
	eventually(t, "the changed status of the policy", written("Conflicted"))
	e.policyEvents(t, s, report)
}

// policyEvents: a finding about a policy is one event, and another one when it has changed.
func (e *env) policyEvents(t *testing.T, s *StatusWriter, report policy.Report) {
	t.Helper()
	told := func() map[string]int {
		list, err := e.core.CoreV1().Events(report.Key.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=RoutePolicy,involvedObject.uid=" + report.UID})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for i := range list.Items {
			count[list.Items[i].Reason+" "+list.Items[i].Message]++
		}
		return count
	}
	say := func(status metav1.ConditionStatus, effects ...string) {
		report.Conditions = slices.Clone(report.Conditions)
		report.Conditions[0].Status, report.Findings = status, nil
		for _, effect := range effects {
			report.Findings = append(report.Findings, api.Finding{Object: policy.Ref(report.Key), Reason: api.ReasonIssuerUnreachable, Severity: api.SeverityError, Message: "no answer", Effect: effect})
		}
		s.PublishPolicies([]policy.Report{report})
	}
	say(metav1.ConditionFalse, "503")
	eventually(t, "an event", func() bool { return told()["IssuerUnreachable no answer; 503"] == 1 })
	report.Conditions[0].Message = "other"
	say(metav1.ConditionFalse, "503")
	say(metav1.ConditionFalse, "503", "until noon")
	eventually(t, "a second event", func() bool { return told()["IssuerUnreachable no answer; until noon"] == 1 })
	say(metav1.ConditionTrue)
	eventually(t, "the good status", func() bool {
		return e.readPolicy(t, report.Key.Namespace, report.Key.Name).Status.Ancestors[1].Conditions[0].Status == metav1.ConditionTrue
	})
	say(metav1.ConditionFalse, "503")
	eventually(t, "it is told again", func() bool { return told()["IssuerUnreachable no answer; 503"] == 2 })
	if all := told(); len(all) != 2 {
		t.Errorf("events %v", all)
	}
}

// TestAncestors: the entry of a router among others, without an API server.
func TestAncestors(t *testing.T) {
	t.Parallel()
	now, before := metav1.NewTime(time.Unix(2000, 0)), metav1.NewTime(time.Unix(1000, 0))
	ref := v1alpha1.AncestorRef{Group: "operator.openshift.io", Kind: "IngressController", Namespace: "n", Name: "default"}
	shard := ref
	shard.Name = "shard"
	entry := func(r v1alpha1.AncestorRef, status metav1.ConditionStatus) v1alpha1.PolicyAncestor {
		return v1alpha1.PolicyAncestor{AncestorRef: r, ControllerName: api.PolicyControllerName, Conditions: []metav1.Condition{
			{Type: "Accepted", Status: status, Reason: "R", Message: "m", ObservedGeneration: 3, LastTransitionTime: before},
		}}
	}
	report := func(status metav1.ConditionStatus, generation int64) *policy.Report {
		return &policy.Report{Generation: generation, Conditions: []metav1.Condition{{Type: "Accepted", Status: status, Reason: "R", Message: "m"}}}
	}
	var crowd []v1alpha1.PolicyAncestor
	for i := range maxAncestors {
		other := shard
		other.Name = fmt.Sprint("shard", i)
		crowd = append(crowd, entry(other, "True"))
	}
	for name, test := range map[string]struct {
		current []v1alpha1.PolicyAncestor
		report  *policy.Report
		differs bool
		entries int
		at      int
		time    metav1.Time
	}{
		"first":               {nil, report("True", 3), true, 1, 0, now},
		"the same":            {[]v1alpha1.PolicyAncestor{entry(shard, "True"), entry(ref, "True")}, report("True", 3), false, 2, 1, before},
		"another generation":  {[]v1alpha1.PolicyAncestor{entry(ref, "True"), entry(shard, "True")}, report("True", 4), true, 2, 0, before},
		"another status":      {[]v1alpha1.PolicyAncestor{entry(ref, "True"), entry(shard, "True")}, report("False", 3), true, 2, 0, now},
		"one entry too many":  {[]v1alpha1.PolicyAncestor{entry(ref, "True"), entry(shard, "True"), entry(ref, "True")}, report("True", 3), true, 2, 0, before},
		"not for this router": {[]v1alpha1.PolicyAncestor{entry(ref, "True"), entry(shard, "True")}, &policy.Report{}, true, 1, -1, before},
		"nothing to remove":   {[]v1alpha1.PolicyAncestor{entry(shard, "True")}, &policy.Report{}, false, 1, -1, before},
		"no room":             {crowd, report("True", 3), false, maxAncestors, -1, before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, differs := withAncestor(test.current, ref, test.report, now)
			if differs != test.differs || len(got) != test.entries {
				t.Fatalf("differs %v, %d entries", differs, len(got))
			}
			at := slices.IndexFunc(got, func(a v1alpha1.PolicyAncestor) bool { return a.AncestorRef == ref })
			if at != test.at || at >= 0 && (!got[at].Conditions[0].LastTransitionTime.Equal(&test.time) || got[at].Conditions[0].ObservedGeneration != test.report.Generation) {
				t.Errorf("at %d: %+v", at, got)
			}
		})
	}
}
