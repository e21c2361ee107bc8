package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// MaxServiceCodes is for how many statuses one entry may ask a Service.
const MaxServiceCodes = 32

// ServicePages are the pages that a Service answered last, by status. They are never
// changed.
type ServicePages struct {
	Pages map[int]model.PageUse
	// Unfit says why there is no newer page for a status.
	Unfit map[int]string
}

// Equal reports whether two are the same pages, with the same complaints.
func (s *ServicePages) Equal(o *ServicePages) bool {
	return s == o || s != nil && o != nil && maps.Equal(s.Unfit, o.Unfit) && maps.EqualFunc(s.Pages, o.Pages, func(a, b model.PageUse) bool {
		return a.Hash == b.Hash && a.Type == b.Type
	})
}

// NewPageUse returns a page of which the text and the Content-Type come over the network.
func NewPageUse(text []byte, kind string) (model.PageUse, error) {
	switch {
	case len(text) == 0:
		return model.PageUse{}, fmt.Errorf("the page is empty")
	case len(text) > model.MaxPage:
		return model.PageUse{}, fmt.Errorf("the page is longer than %d bytes, which is what fits into HAProxy's buffer", model.MaxPage)
	}
	word, err := contentType(kind)
	if err != nil || word == "" {
		word = pageHTML
	}
	return model.PageUse{Page: model.NewPage(string(text)), Type: word}, nil
}

// service takes in the pages of a Service.
func (r *PageReader) service(field string, e *v1alpha1.ErrorPage, codes map[int]bool, kind string) {
	if len(e.Codes) == 0 || len(codes) > MaxServiceCodes {
		r.find(field+".codes", api.ReasonInvalidField, fmt.Sprintf("a Service is asked for 1 to %d statuses", MaxServiceCodes), "it shows no page")
		return
	}
	pages, problem := r.Service(e.Service, slices.Sorted(maps.Keys(codes)))
	if problem != nil {
		r.find(field+".service", problem.Reason, problem.Message, problem.Effect)
	}
	if pages == nil {
		return
	}
	uses := map[int]model.PageUse{}
	var unfit []string
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		if u, ok := pages.Pages[status]; ok {
			uses[status] = u
		}
		if why := pages.Unfit[status]; why != "" {
			unfit = append(unfit, fmt.Sprintf("%d: %s", status, why))
		}
	}
	if len(unfit) > 0 && problem == nil {
		r.find(field+".service", api.ReasonPageUnavailable, fmt.Sprintf("Service %s for %s", e.Service.Name, strings.Join(unfit[:min(len(unfit), maxExamples)], "; ")), "answers are as without a page, or have the one of before")
	}
	r.use(e.From, uses, kind)
}
