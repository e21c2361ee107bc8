package policy

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// maxHeaderChanges bounds each list of the group headers.
const maxHeaderChanges = 20

// compileHeaders sets the changes of headers that a policy asks for. One that cannot
// be used is left out.
func compileHeaders(h *v1alpha1.Headers, p *model.Policy) []Problem {
	if h == nil {
		return nil
	}
	var problems []Problem
	p.RequestHeaders, p.ResponseHeaders = nil, nil
	if r := h.Request; r != nil {
		request := headerChanges{field: "request", fetch: "req"}
		for i, c := range r.Set {
			request.add("set", i, model.HeaderAction{Name: string(c.Name), Value: c.Value})
		}
		for i, c := range r.Add {
			request.add("add", i, model.HeaderAction{Name: string(c.Name), Value: c.Value, Add: true})
		}
		request.remove(r.Remove)
		p.RequestHeaders, problems = request.actions, request.problems
	}
	if r := h.Response; r != nil {
		response := headerChanges{field: "response", fetch: "res"}
		for i, c := range r.Set {
			response.add("set", i, model.HeaderAction{Name: string(c.Name), Value: c.Value})
		}
		for i, c := range r.Add {
			response.add("add", i, model.HeaderAction{Name: string(c.Name), Value: c.Value, Add: true})
		}
		response.remove(r.Remove)
		p.ResponseHeaders, problems = response.actions, append(problems, response.problems...)
	}
	return problems
}

// headerChanges gathers those of one direction.
type headerChanges struct {
	field, fetch string
	actions      []model.HeaderAction
	problems     []Problem
}

func (h *headerChanges) remove(names []v1alpha1.ChangedHeader) {
	for i, name := range names {
		h.add("remove", i, model.HeaderAction{Name: string(name), Delete: true})
	}
}

// add takes an item of a list in, unless it cannot be used.
func (h *headerChanges) add(list string, i int, a model.HeaderAction) {
	at, problem := a.Problem(h.fetch, true, model.ReservedHeaders())
	switch {
	case i >= maxHeaderChanges:
		at, problem = "", fmt.Sprintf("is beyond the limit of %d", maxHeaderChanges)
	case a.Delete && at == ".name":
		at = ""
	case at == ".action":
		at, problem = ".value", "must be "+model.HeaderValueForm(h.fetch)
	}
	if problem != "" {
		h.problems = append(h.problems, Problem{
			Key: fmt.Sprintf("headers.%s.%s[%d]%s", h.field, list, i, at), Severity: api.SeverityWarning, Reason: api.ReasonInvalidField,
			Message: problem, Effect: "it changes nothing",
		})
		return
	}
	h.actions = append(h.actions, a)
}
