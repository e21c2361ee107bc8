package ingress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// tracingKeys are the annotations about traces.
type tracingKeys struct{ enabled, trust said }

// nginxTracing are the annotations of ingress-nginx about traces.
func nginxTracing(t map[string]vendorAnnotation) {
	const differs = "the IngressController says where traces are sent (`fairlead.dev/tracing`)"
	t["enable-opentelemetry"] = vendorAnnotation{carry: onOff(func(k *tracingKeys) *said { return &k.enabled }), becomes: "`tracing.enabled`", differs: differs}
	t["opentelemetry-trust-incoming-span"] = vendorAnnotation{
		carry: onOff(func(k *tracingKeys) *said { return &k.trust }), becomes: "`tracing.trustIncoming`", differs: "with enable-opentelemetry alone it is true, as there",
	}
	t["opentelemetry-operation-name"] = vendorAnnotation{instead: "spans have the name of the method and the Route"}
}

// onOff reads a value that is true or false.
func onOff(of func(*tracingKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error {
		switch v := strings.ToLower(strings.TrimSpace(value)); v {
		case "true", "false":
			*of(&into.tracing) = said{v, into.field}
			return nil
		}
		return fmt.Errorf("%q is neither true nor false", value)
	}
}

// finishTracing puts both together. Where traces are on, that of the client goes on unless the
// Ingress says otherwise: that is the default of ingress-nginx.
func (c *conversion) finishTracing(into *carried) {
	k := &into.tracing
	field := cmp.Or(k.enabled.field, k.trust.field)
	if field == "" {
		return
	}
	t := &v1alpha1.Tracing{}
	on, trust := k.enabled.value != "false", k.trust.value != "false"
	if k.enabled.value != "" {
		t.Enabled = &on
	}
	if on {
		t.TrustIncoming = &trust
	}
	c.shape(into, field, func(s *v1alpha1.PolicySpec) { s.Tracing = t })
}
