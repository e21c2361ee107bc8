package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// pages reads the error pages that a route asks for, and reports those that cannot be
// shown. They protect nothing, so the route is served without them.
func (b *builder) pages(spec *policy.Spec) *model.Pages {
	namespace := b.route.Namespace
	from := b.result.Effective.Origin(policy.GroupPages)
	if from != nil {
		namespace = cmp.Or(from.Key.Namespace, api.OperandNamespace)
	}
	refs := b.references(b.result.Effective, policy.GroupPages, namespace)
	reader := policy.PageReader{ConfigMap: refs.ConfigMap, Service: b.servicePages}
	pages, problems := reader.Read(spec.Groups.Pages)
	for _, p := range problems {
		b.pageFinding(from, p)
	}
	if pages != nil && b.past.Unpaged {
		all, ofNamespace := b.settings.PageLimits()
		pages.Unused = true
		b.pageFinding(from, policy.Problem{
			Key: "pages", Severity: api.SeverityWarning, Reason: api.ReasonLimitExceeded, Effect: "the Route shows none of its pages",
			Message: fmt.Sprintf("with those of older Routes the pages are more than %d bytes in the namespace, or %d in the router", ofNamespace, all),
		})
	}
	return pages
}

// pageFinding reports what is wrong with the pages of a source, or of the annotation.
func (b *builder) pageFinding(from *policy.Source, p policy.Problem) {
	field, message, reason := "metadata.annotations["+policy.AnnotationErrorPages+"]", p.Message, p.Reason
	switch {
	case from != nil && policy.IsKind(from.Key.Kind):
		field, message = "", from.Title()+" "+from.Field(policy.GroupPages)+strings.TrimPrefix(p.Key, "pages")+": "+p.Message
	case b.route.Annotations[policy.AnnotationErrorPages] == "":
		field = "metadata.annotations[" + api.AnnotationIngressPolicy + "]"
	}
	b.find(p.Severity, field, reason, message, p.Effect)
}

// depend notes that the route depends on an object.
func (b *builder) depend(key model.Object) {
	if !slices.Contains(b.result.Depends, key) {
		b.result.Depends = append(b.result.Depends, key)
	}
}
