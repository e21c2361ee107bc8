package explain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// What the policy agent finds out while it decides, such as an OpenID provider that does not
// answer, is not in the objects. The routers write it to the policy's status, and this file reads
// it from there.

// agentConditions returns what this router's agents have found wrong with the policy's version of
// now.
func (s *Snapshot) agentConditions(key model.Object) (found []metav1.Condition) {
	o := s.objects.Policies[key]
	if o == nil {
		return nil
	}
	for _, a := range o.Status.Ancestors {
		if a.ControllerName != api.PolicyControllerName || a.AncestorRef.Kind != "IngressController" || a.AncestorRef.Name != s.options.Router {
			continue
		}
		for _, c := range a.Conditions {
			if c.Status == metav1.ConditionFalse && c.ObservedGeneration == o.Generation && policy.FromAgent(c.Reason) {
				c.Message = terminal.Line(c.Message)
				found = append(found, c)
			}
		}
	}
	return found
}

// withStatus returns a report with what its agents have found, where nothing else is wrong.
func (s *Snapshot) withStatus(key model.Object, r policy.Report) policy.Report {
	found := s.agentConditions(key)
	if len(found) == 0 {
		return r
	}
	conditions := make([]metav1.Condition, len(r.Conditions))
	for i, c := range r.Conditions {
		for _, f := range found {
			if f.Type == c.Type && c.Status == metav1.ConditionTrue {
				c.Status, c.Reason, c.Message = f.Status, f.Reason, f.Message
			}
		}
		conditions[i] = c
	}
	r.Conditions = conditions
	return r
}

// agentNotes says what agents have found wrong with the policies that authenticate clients of an
// object.
func (s *Snapshot) agentNotes(p *pipeline.Pipeline, owner model.Object) (notes []string) {
	e := p.Effective(owner)
	if e == nil {
		return nil
	}
	for _, o := range e.Origins {
		if o.Group != policy.GroupAuthentication {
			continue
		}
		for _, c := range s.agentConditions(o.Source.Key) {
			notes = append(notes, fmt.Sprintf("router %s says of %s: %s: %s", s.options.Router, o.Source.Title(), c.Reason, c.Message))
		}
	}
	return notes
}
