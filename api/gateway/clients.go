package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Validation returns what a Gateway says about certificates of clients at a port where it
// ends TLS, nil if it asks for none, and the field that says it. What is said for the port
// takes the place of what is said for all.
func Validation(g *gatewayv1.Gateway, port int32) (v *gatewayv1.FrontendTLSValidation, field string) {
	if g.Spec.TLS == nil || g.Spec.TLS.Frontend == nil {
		return nil, ""
	}
	f := g.Spec.TLS.Frontend
	for i := range f.PerPort {
		if p := &f.PerPort[i]; int32(p.Port) == port {
			return p.TLS.Validation, fmt.Sprintf("spec.tls.frontend.perPort[%d].tls.validation", i)
		}
	}
	return f.Default.Validation, "spec.tls.frontend.default.validation"
}

// LetsAllIn reports whether clients are asked for certificates and let in whatever they show.
func LetsAllIn(v *gatewayv1.FrontendTLSValidation) bool {
	return v != nil && v.Mode == gatewayv1.AllowInsecureFallback
}

// Insecure returns the first field by which a Gateway lets in clients whatever certificate
// they show, empty if there is none.
func Insecure(g *gatewayv1.Gateway) string {
	if g.Spec.TLS == nil || g.Spec.TLS.Frontend == nil {
		return ""
	}
	f := g.Spec.TLS.Frontend
	if LetsAllIn(f.Default.Validation) {
		return "spec.tls.frontend.default.validation.mode"
	}
	for i := range f.PerPort {
		if LetsAllIn(f.PerPort[i].TLS.Validation) {
			return fmt.Sprintf("spec.tls.frontend.perPort[%d].tls.validation.mode", i)
		}
	}
	return ""
}

// unknownValidation says why a listener that ends TLS cannot ask clients for what the Gateway
// says, empty if it can as far as the Gateway alone tells.
func unknownValidation(g *gatewayv1.Gateway, l *gatewayv1.Listener) string {
	v, field := Validation(g, int32(l.Port))
	switch {
	case v == nil:
	case v.Mode != "" && v.Mode != gatewayv1.AllowValidOnly && v.Mode != gatewayv1.AllowInsecureFallback:
		return fmt.Sprintf("%s.mode %q is not known, so the listener is not served; use %s or %s", field, v.Mode, gatewayv1.AllowValidOnly, gatewayv1.AllowInsecureFallback)
	case LetsAllIn(v) && l.Protocol != gatewayv1.HTTPSProtocolType:
		return fmt.Sprintf("%s.mode %s is for listeners of protocol HTTPS, so this one is not served; use %s for its port", field, v.Mode, gatewayv1.AllowValidOnly)
	}
	return ""
}

// blockOf returns the block of the slot that a listener needs, zero if it needs none.
func blockOf(g *gatewayv1.Gateway, l *gatewayv1.Listener) Block {
	if SharesAddress(g) {
		return Block{}
	}
	block, _ := BlockFor(l.Protocol)
	if v, _ := Validation(g, int32(l.Port)); block == HTTPS && LetsAllIn(v) {
		return Fallback
	}
	return block
}
