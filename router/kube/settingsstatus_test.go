package kube

import (
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

func TestSettingsCondition(t *testing.T) {
	t.Parallel()
	before, now := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	one := api.Finding{Field: "spec.a", Reason: api.ReasonInvalidField, Message: "is wrong", Effect: "it is not used", Severity: api.SeverityWarning}
	two := api.Finding{Field: "spec.b", Reason: api.ReasonRefusedByHAProxy, Message: "is refused", Severity: api.SeverityError}
	hint := api.Finding{Field: "spec.c", Reason: api.ReasonNoEffect, Message: "has no effect", Severity: api.SeverityInfo}
	other := operatorv1.OperatorCondition{Type: "Available", Status: operatorv1.ConditionTrue}
	well := operatorv1.OperatorCondition{Type: api.ConditionSettingsApplied, Status: operatorv1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: before}
	ill := operatorv1.OperatorCondition{
		Type: api.ConditionSettingsApplied, Status: operatorv1.ConditionFalse, Reason: "InvalidField", Message: one.Text(), LastTransitionTime: before,
	}
	for _, test := range []struct {
		name     string
		current  []operatorv1.OperatorCondition
		findings []api.Finding
		status   operatorv1.ConditionStatus
		since    metav1.Time
		reported int
		differs  bool
	}{
		{"first word, all well", []operatorv1.OperatorCondition{other}, nil, operatorv1.ConditionTrue, now, 0, true},
		{"nothing new", []operatorv1.OperatorCondition{other, well}, nil, operatorv1.ConditionTrue, before, 0, false},
		{"becomes wrong", []operatorv1.OperatorCondition{well}, []api.Finding{one}, operatorv1.ConditionFalse, now, 1, true},
		{"reported before, as after a restart", []operatorv1.OperatorCondition{ill}, []api.Finding{one}, operatorv1.ConditionFalse, before, 0, false},
		{"one more", []operatorv1.OperatorCondition{ill}, []api.Finding{one, two}, operatorv1.ConditionFalse, before, 1, true},
		{"only a hint", []operatorv1.OperatorCondition{well}, []api.Finding{hint}, operatorv1.ConditionTrue, before, 0, true},
		{"mended", []operatorv1.OperatorCondition{ill, other}, nil, operatorv1.ConditionTrue, now, 0, true},
	} {
		got, reported, differs := settingsCondition(test.current, test.findings, now)
		if got.Status != test.status || got.LastTransitionTime != test.since || len(reported) != test.reported || differs != test.differs {
			t.Errorf("%s: %+v, %d reported, differs is %t", test.name, got, len(reported), differs)
		}
	}
}

// testSettings publishes findings about an IngressController whose other
// conditions somebody else writes.
func (e *env) testSettings(t *testing.T, s *StatusWriter, namespace string) {
	t.Helper()
	name := s.watcher.name
	patch(t, e.crds.operator, "ingresscontrollers", namespace, name, "status",
		`{"status":{"conditions":[{"type":"Available","status":"True","reason":"AsExpected","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	conditions := func() map[string]operatorv1.OperatorCondition {
		ic := &operatorv1.IngressController{}
		if err := e.crds.operator.Get().Namespace(namespace).Resource("ingresscontrollers").Name(name).Do(t.Context()).Into(ic); err != nil {
			t.Fatal(err)
		}
		all := map[string]operatorv1.OperatorCondition{}
		for _, c := range ic.Status.Conditions {
			all[c.Type] = c
		}
		return all
	}
	wrong := api.Finding{Field: "spec.tuningOptions.threadCount", Reason: api.ReasonInvalidField, Message: "is too much", Effect: "the value is not used", Severity: api.SeverityWarning}
	s.PublishSettings([]api.Finding{wrong})
	eventually(t, "SettingsApplied=False", func() bool {
		c := conditions()[api.ConditionSettingsApplied]
		return c.Status == operatorv1.ConditionFalse && strings.Contains(c.Message, wrong.Text())
	})
	if c := conditions()["Available"]; c.Status != operatorv1.ConditionTrue {
		t.Errorf("somebody else's condition is %+v", c)
	}
	eventually(t, "the event", func() bool {
		out, err := e.server.Kubectl(t.Context(), "describe", "ingresscontroller", name, "-n", namespace)
		return err == nil && strings.Contains(out, "Warning  InvalidField") && strings.Contains(out, wrong.Text())
	})
	// Whoever overwrites the conditions gets ours back.
	patch(t, e.crds.operator, "ingresscontrollers", namespace, name, "status", `{"status":{"conditions":[]}}`)
	eventually(t, "SettingsApplied to return", func() bool { return conditions()[api.ConditionSettingsApplied].Status == operatorv1.ConditionFalse })
	s.PublishSettings(nil)
	eventually(t, "SettingsApplied=True", func() bool { return conditions()[api.ConditionSettingsApplied].Status == operatorv1.ConditionTrue })
}
