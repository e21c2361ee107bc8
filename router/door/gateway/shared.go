package gateway

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Listeners of Gateways that share the router's address have no slot and no scope: what comes in
// there is looked up among Routes. So their claims are for exact hosts only, as those of Routes
// are, and a listener brings no more than its certificate.

// needsPermission is why a listener does not share the address.
const needsPermission = "the IngressController does not permit that Gateways share its address; give it the annotation " + gateway.AnnotationSharedAddress + `: "true", or remove ` + gateway.AnnotationAddress + " from the Gateway"

// permittedBy refuses listeners that would share the address of a router that does not permit it.
func permittedBy(s door.Settings, all []listener) []listener {
	for i := range all {
		if v := &all[i].verdict; v.Shared && !s.SharedAddress {
			v.Shared, v.Reason, v.Message = false, gatewayv1.ListenerReasonPortUnavailable, needsPermission
		}
	}
	return all
}

// sharedHosts returns the hosts for which a shared listener serves the route, and a hostname of
// the route that fits the listener's and stands for more hosts than one, if there is any.
func (b *builder) sharedHosts(l *listener) (hosts []string, inexact string) {
	for _, host := range b.hosts {
		if !fits(l.hostname, host) {
			continue
		}
		exact := host
		if !isExact(host) {
			exact = l.hostname
		}
		switch {
		case !isExact(exact):
			inexact = named(host)
		case !slices.Contains(hosts, exact) && !l.yields(exact):
			hosts = append(hosts, exact)
		}
	}
	return hosts, inexact
}

// isExact reports whether a hostname is that of one host.
func isExact(hostname string) bool { return hostname != "" && !strings.HasPrefix(hostname, wildcard) }

// yields reports whether another listener of the Gateway's port has a more specific hostname for
// a host: requests for it come in by that one alone.
func (l *listener) yields(host string) bool {
	for i := range l.gateway.Spec.Listeners {
		o := &l.gateway.Spec.Listeners[i]
		if name := hostnameOf(o); o.Port == l.spec.Port && o.Name != l.spec.Name && len(name) > len(l.hostname) && fits(name, host) && l.hostname != host {
			return true
		}
	}
	return false
}

// share makes a claim that of a shared listener.
func (b *builder) share(c *model.Claim, l *listener) {
	c.Shared = &model.Shared{Listener: l.scope, TakesOver: b.route.Annotations[gateway.AnnotationTakesOver] == "true"}
	if l.secure() {
		c.Termination, c.Shared.Only = model.Edge, model.HTTPSPort
	}
}

// sayShared says what of the route is not served at the router's address, and that an annotation
// has no meaning.
func (b *builder) sayShared() {
	for _, l := range b.scopes() {
		if !l.verdict.Shared {
			continue
		}
		if _, host := b.sharedHosts(&l); host != "" {
			b.findOnce(api.SeverityWarning, api.ReasonUnsupportedValue,
				"spec.hostnames: "+host+" is not exact, as hostnames at the address of the router have to be",
				"requests for other hosts than those that the route or its listener names exactly do not get there")
		}
	}
	if v, has := b.route.Annotations[gateway.AnnotationTakesOver]; has && v != "true" && v != "false" {
		b.find(api.SeverityWarning, "metadata.annotations["+gateway.AnnotationTakesOver+"]", api.ReasonInvalidAnnotation, `must be "true" or "false"`, "the route takes nothing over")
	}
}
