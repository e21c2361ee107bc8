package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// AnnotationErrorPages names a ConfigMap with the pages of a route.
const AnnotationErrorPages = "fairlead.dev/error-pages"

// errorPagesRow is the annotation's row in the table.
var errorPagesRow = Annotation{
	Key: AnnotationErrorPages, Group: GroupPages, Values: "name of a ConfigMap", Default: "none", Terminations: http,
	Doc: "Clients get its pages in place of error answers of pods and of the router: keys such as 404.html, 5xx.html or 503.json.",
	set: func(s *Spec, v string) error {
		if len(validation.IsDNS1123Subdomain(v)) > 0 {
			return errors.New("must be the name of a ConfigMap")
		}
		var pages v1alpha1.Pages // a copy, because Specs share groups
		if s.Groups.Pages != nil {
			pages = *s.Groups.Pages
		}
		pages.Errors = []v1alpha1.ErrorPage{{ConfigMap: &v1alpha1.PageSource{Name: v1alpha1.ObjectName(v)}}}
		s.Groups.Pages = &pages
		return nil
	},
}

// The bounds of the pages of one route.
const (
	maxPages      = 32
	maxPageCodes  = 32
	maxErrorPages = 32
)

// pageHTML is the Content-Type of most pages.
const pageHTML = "text/html;charset=utf-8"

// PageReader reads the group pages of one route.
type PageReader struct {
	// ConfigMap returns what a ConfigMap holds, or an error for the owner of the route.
	ConfigMap func(name string) (*ConfigMap, error)
	// Service returns what a Service answered for some statuses, or nil if it is not known
	// yet, and why it cannot be asked.
	Service func(s *v1alpha1.PageService, codes []int) (*ServicePages, *Problem)

	pages    *model.Pages
	count    map[string]struct{}
	problems []Problem
}

// Read returns the pages of the group, or nil if there are none, and what is wrong.
func (r *PageReader) Read(g *v1alpha1.Pages) (*model.Pages, []Problem) {
	if g == nil || len(g.Errors) == 0 {
		return nil, nil
	}
	r.pages, r.count = &model.Pages{Router: map[int]model.PageUse{}, Pod: map[int]model.PageUse{}}, map[string]struct{}{}
	for i := range g.Errors {
		if i == maxErrorPages {
			r.find(fmt.Sprintf("errors[%d]", i), api.ReasonLimitExceeded, fmt.Sprintf("only the first %d are read", maxErrorPages), "the others show no page")
			break
		}
		r.entry(fmt.Sprintf("errors[%d]", i), &g.Errors[i])
	}
	if len(r.pages.Router)+len(r.pages.Pod) == 0 {
		return nil, r.problems
	}
	return r.pages, r.problems
}

func (r *PageReader) find(field string, reason api.Reason, message, effect string) {
	r.problems = append(r.problems, Problem{Key: "pages." + field, Severity: api.SeverityWarning, Reason: reason, Message: message, Effect: effect})
}

// effectNoPage is what happens where a page cannot be read.
const effectNoPage = "answers are as without it"

// entry takes in one page, or the pages of one ConfigMap.
func (r *PageReader) entry(field string, e *v1alpha1.ErrorPage) {
	codes, err := pageCodes(e.Codes)
	if err != nil {
		r.find(field+".codes", api.ReasonInvalidField, err.Error(), "it shows no page")
		return
	}
	kind, err := contentType(e.ContentType)
	if err != nil {
		r.find(field+".contentType", api.ReasonInvalidField, err.Error(), "that of the key's ending is used")
	}
	if (e.ConfigMap == nil) == (e.Service == nil) {
		r.find(field, api.ReasonInvalidField, "must name either a ConfigMap or a Service", "it shows no page")
		return
	}
	if e.Service != nil {
		r.service(field, e, codes, kind)
		return
	}
	if e.ConfigMap.Key != "" && len(e.Codes) == 0 {
		r.find(field+".codes", api.ReasonInvalidField, "a key needs codes", "it shows no page")
		return
	}
	name := Named(e.ConfigMap.Namespace, e.ConfigMap.Name)
	set, err := r.ConfigMap(name)
	if err != nil || set == nil {
		if err == nil {
			err = fmt.Errorf("ConfigMap %q does not exist", name)
		}
		if !undecided(err) {
			r.find(field+".configMap", ReasonOf(err, api.ReasonPageUnavailable), err.Error(), effectNoPage)
		}
		return
	}
	var uses map[int]model.PageUse
	var unfit []string
	if key := e.ConfigMap.Key; key != "" {
		uses, unfit = set.one(key, codes)
	} else {
		uses, unfit = set.byStatus(codes)
	}
	if len(unfit) > 0 {
		r.find(field+".configMap", api.ReasonPageUnavailable, fmt.Sprintf("ConfigMap %s: %s", name, strings.Join(unfit[:min(len(unfit), maxExamples)], "; ")), effectNoPage)
	} else if len(uses) == 0 {
		r.find(field+".configMap", api.ReasonPageUnavailable, fmt.Sprintf("no key of ConfigMap %s is named after a status, such as 404.html or 5xx.html", name), "it shows no page")
	}
	r.use(e.From, uses, kind)
}

// undecided reports whether it is not known yet, or not known here, whether a ConfigMap
// exists.
func undecided(err error) bool {
	var pending interface{ Pending() bool }
	var unknown interface{ Unknown() bool }
	return errors.As(err, &pending) && pending.Pending() || errors.As(err, &unknown) && unknown.Unknown()
}

// use takes pages in where there is none yet.
func (r *PageReader) use(from string, uses map[int]model.PageUse, kind string) {
	for status := model.FirstPageStatus; status <= model.LastPageStatus; status++ {
		u, ok := uses[status]
		if !ok {
			continue
		}
		if _, known := r.count[u.Hash]; !known && len(r.count) == maxPages {
			r.find("errors", api.ReasonLimitExceeded, fmt.Sprintf("a Route shows %d different pages at most", maxPages), "the others are not shown")
			return
		}
		r.count[u.Hash] = struct{}{}
		if kind != "" {
			u.Type = kind
		}
		for _, to := range r.targets(from) {
			if _, taken := to[status]; !taken {
				to[status] = u
			}
		}
	}
}

// The values of from.
const (
	pageFromRouter = "Router"
	pageFromPod    = "Pod"
)

func (r *PageReader) targets(from string) []map[int]model.PageUse {
	switch from {
	case pageFromRouter:
		return []map[int]model.PageUse{r.pages.Router}
	case pageFromPod:
		return []map[int]model.PageUse{r.pages.Pod}
	}
	return []map[int]model.PageUse{r.pages.Router, r.pages.Pod}
}

// pageCodes returns the statuses of a list; all of an empty one.
func pageCodes(list []v1alpha1.StatusCodes) (map[int]bool, error) {
	codes := map[int]bool{}
	if len(list) == 0 {
		list = []v1alpha1.StatusCodes{"400-599"}
	}
	if len(list) > maxPageCodes {
		return nil, fmt.Errorf("has more than %d items", maxPageCodes)
	}
	for _, item := range list {
		first, last, isRange := strings.Cut(string(item), "-")
		if !isRange {
			last = first
		}
		a, b := pageStatus(first), pageStatus(last)
		if a == 0 || b == 0 || a > b {
			return nil, fmt.Errorf("%q is neither a status from 400 to 599 nor a range of them, such as 500-599", string(item))
		}
		for status := a; status <= b; status++ {
			codes[status] = true
		}
	}
	return codes, nil
}

// pageStatus reads a status that may have a page, or returns 0.
func pageStatus(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || len(text) != 3 || n < model.FirstPageStatus || n > model.LastPageStatus {
		return 0
	}
	return int(n)
}

// contentType returns a Content-Type as one word, or an empty text for none.
func contentType(text string) (string, error) {
	word := strings.ReplaceAll(text, " ", "")
	kind, parameter, more := strings.Cut(word, ";")
	charset, isCharset := strings.CutPrefix(strings.ToLower(parameter), "charset=")
	top, sub, whole := strings.Cut(kind, "/")
	switch {
	case text == "":
		return "", nil
	case len(text) > 100, !whole, !isMediaWord(top), !isMediaWord(sub), more && (!isCharset || !isMediaWord(charset)):
		return "", errors.New("must be a type such as text/html; charset=utf-8")
	}
	return word, nil
}

// isMediaWord reports whether a text is a restricted name of RFC 6838, section 4.2.
func isMediaWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !slices.Contains([]rune("!#$&^_.+-"), c)
	})
}
