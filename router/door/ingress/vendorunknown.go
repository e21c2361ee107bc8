package ingress

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// Controllers without "ingress" in the prefix of their annotations.
const otherControllers = " nginx.org nginx.com konghq.com projectcontour.io getambassador.io traefik.io "

// protective are words in the names of annotations that keep requests away.
var protective = regexp.MustCompile(`auth|allow|deny|white|black|block|limit|middleware|waf|firewall|cidr|jwt|oidc|security|mutual|protect|polic|plugin|restrict|client-?c|tls[-.]?option|(^|[-._])acl([-._]|$)`)

// vendorAnnotationOf returns what becomes of an annotation, and whether it is another
// controller's.
func vendorAnnotationOf(key string) (vendorAnnotation, bool) {
	if prefix, name, ok := cutPrefix(key); ok {
		table := vendorTable(prefix)
		if f, known := table[name]; known {
			return f, true
		}
		return misspelt(name, table), true
	}
	prefix, name, _ := strings.Cut(key, "/")
	if !strings.Contains(prefix, "ingress") && !strings.Contains(otherControllers, " "+prefix+" ") || prefix == api.OperatorAnnotationPrefix {
		return vendorAnnotation{}, false
	}
	name = strings.ToLower(name)
	switch {
	case protective.MatchString(name) && name != "ssl-policy":
		return vendorAnnotation{instead: "it looks as if it kept requests away, and annotations of this controller are not read", protects: enabled}, true
	case strings.Contains(name, "tls"):
		return vendorAnnotation{instead: "annotations of this controller are not read; certificates are those of spec.tls, and " + annotationTermination + " says where TLS ends"}, true
	}
	return vendorAnnotation{}, false
}

// misspelt is for names that a known controller does not have.
func misspelt(name string, table map[string]vendorAnnotation) vendorAnnotation {
	f := vendorAnnotation{instead: "it is not known; look for a spelling mistake"}
	for distance := 2; distance > 0; distance-- { // the nearest one is named
		for _, known := range slices.Sorted(maps.Keys(table)) {
			if !near(name, known, distance) {
				continue
			}
			f.instead = fmt.Sprintf("it is not known; is %s meant?", known)
			if table[known].protects != nil {
				f.protects = enabled
			}
		}
	}
	if protective.MatchString(strings.ToLower(name)) {
		f.protects = enabled
	}
	return f
}

// near reports whether at most n characters must be added, removed or changed to
// make b of a.
func near(a, b string, n int) bool {
	if n < 0 {
		return false
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= n
	default:
		return near(a[1:], b[1:], n-1) || near(a[1:], b, n-1) || near(a, b[1:], n-1)
	}
}

// protectedServices closes the paths to Services with protective annotations of
// the HAProxy controllers, which read them there, too.
func (c *conversion) protectedServices() {
	c.closedService = map[string]bool{}
	for _, name := range backendNames(c.in.Ingress) {
		service := c.in.Services[name]
		if service == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(service.Annotations)) {
			if why := serviceProtection(key, service.Annotations[key]); why != "" {
				c.closedService[name] = true
				c.find(api.SeverityError, fmt.Sprintf("Service %s: metadata.annotations[%s]", name, key), api.ReasonForeignProtection, why,
					"the paths to the Service answer 503; remove the annotation to serve them without")
			}
		}
	}
}

// serviceProtection says why an annotation of a Service protects, or "".
func serviceProtection(key, value string) string {
	prefix, _, ok := cutPrefix(key)
	if !ok || prefix == prefixNginx {
		return ""
	}
	f, _ := vendorAnnotationOf(key)
	if f.protects == nil || !f.protects(value) {
		return ""
	}
	if f.carry != nil && f.becomes == "" && (strings.Contains(key, "snippet") || strings.Contains(key, "config-")) {
		if err := haproxySnippet(value); err != nil {
			return err.Error()
		}
		return ""
	}
	if f.instead == "" {
		return "annotations of Services are not read; write it on the Ingress"
	}
	return f.instead
}

// ClosedHosts returns the hosts that an Ingress closes, for other Ingresses of
// its namespace too: what protected them was about the whole host, or there is
// no room for all of its paths. Ingresses that ask for the same certificates of clients
// stay open: HostClients.
func ClosedHosts(i *networkingv1.Ingress, limits Limits) []string {
	vendor := slices.ContainsFunc(slices.Collect(maps.Keys(i.Annotations)), func(key string) bool { _, ok := vendorAnnotationOf(key); return ok })
	if !vendor && !keepsOut(i.Annotations) {
		return nil
	}
	c := newConversion(Input{Ingress: i, Limits: limits})
	c.carryVendorAnnotations()
	if c.hostwide == "" && c.clients == "" {
		return nil
	}
	return Hosts(c.in.Ingress) // with those of server-alias
}

// Hosts returns the hosts of the rules of an Ingress, each once, sorted.
func Hosts(i *networkingv1.Ingress) []string {
	hosts := []string{}
	for _, rule := range i.Spec.Rules {
		hosts = append(hosts, rule.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// closedHost reports whether another Ingress closes a host, and says so.
func (c *conversion) closedHost(host string) bool {
	by, closed := c.in.ClosedHosts[host]
	if closed {
		name := host
		if name == "" {
			name = "any host"
		}
		c.find(api.SeverityError, "spec.rules", api.ReasonForeignProtection,
			fmt.Sprintf("an annotation of Ingress %s keeps requests away from all of %s", by, name),
			"all paths of that host answer 503; the events of that Ingress say what to do")
	}
	return closed
}
