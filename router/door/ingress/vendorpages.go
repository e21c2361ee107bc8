package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// nginxPages are the annotations about answers that are errors.
func nginxPages(t map[string]vendorAnnotation) {
	t["default-backend"] = vendorAnnotation{
		carry: defaultBackend, becomes: "`pages.noEndpoints`",
		differs: "it gets the requests as pods would, without X-Code and other headers; see custom-http-errors",
	}
	t["custom-http-errors"] = vendorAnnotation{
		carry: customErrors, becomes: "`pages.errors` with the Service of default-backend",
		differs: "the Service is asked ahead of time, once for each status, with X-Code, X-Format and X-Namespace; the status stays; without default-backend no page is shown",
	}
	add(t, vendorAnnotation{harmless: true}, "disable-proxy-intercept-errors")
}

// errorPages are the statuses of custom-http-errors.
type errorPages struct {
	codes []v1alpha1.StatusCodes
	field string
}

// customErrors reads the statuses for which a Service is asked for a page.
func customErrors(value string, into *carried) error {
	var codes []v1alpha1.StatusCodes
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); !errorStatus.MatchString(item) {
			return fmt.Errorf("%q is not a status from 400 to 599", item)
		}
		codes = append(codes, v1alpha1.StatusCodes(item))
	}
	if len(codes) > policy.MaxServiceCodes {
		return fmt.Errorf("names more than %d statuses", policy.MaxServiceCodes)
	}
	into.errorPages = errorPages{codes, into.field}
	return nil
}

// errorStatus is one status that may have a page.
var errorStatus = regexp.MustCompile(`^[45][0-9]{2}$`)

// defaultBackend reads the name of a Service that gets the requests while no pod of the
// Ingress's own is ready.
func defaultBackend(value string, into *carried) error {
	if len(validation.IsDNS1035Label(value)) > 0 {
		return errors.New("is not the name of a Service")
	}
	into.standIn = said{value, into.field}
	return nil
}

func (c *conversion) finishPages(into *carried) {
	k := into.standIn
	service := func() *v1alpha1.PageService { return &v1alpha1.PageService{Name: v1alpha1.ObjectName(k.value)} }
	switch {
	case k.field != "":
		c.shape(into, k.field, func(s *v1alpha1.PolicySpec) {
			s.Pages = &v1alpha1.Pages{NoEndpoints: service()}
			if len(into.errorPages.codes) > 0 {
				s.Pages.Errors = []v1alpha1.ErrorPage{{Codes: into.errorPages.codes, Service: service()}}
			}
		})
	case len(into.errorPages.codes) > 0:
		c.warn(into.errorPages.field, api.ReasonForeignAnnotation, "the router has no default backend of its own to ask for pages; name a Service in default-backend", "answers are as without it")
	}
}
