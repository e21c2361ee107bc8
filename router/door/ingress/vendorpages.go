package ingress

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// nginxPages are the annotations about answers that are errors.
func nginxPages(t map[string]vendorAnnotation) {
	t["default-backend"] = vendorAnnotation{
		carry: defaultBackend, becomes: "`pages.noEndpoints`",
		differs: "it gets no X-Code and other headers, and no answers of custom-http-errors",
	}
	add(t, vendorAnnotation{instead: "no Service is asked for pages; put them into a ConfigMap and name it in " + policy.AnnotationErrorPages}, "custom-http-errors")
	add(t, vendorAnnotation{harmless: true}, "disable-proxy-intercept-errors")
}

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
	if k := into.standIn; k.field != "" {
		c.shape(into, k.field, func(s *v1alpha1.PolicySpec) {
			s.Pages = &v1alpha1.Pages{NoEndpoints: &v1alpha1.PageService{Name: v1alpha1.ObjectName(k.value)}}
		})
	}
}
