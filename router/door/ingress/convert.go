package ingress

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// Annotations on Ingresses that OpenShift defines.
const (
	annotationTermination     = "route.openshift.io/termination"
	annotationDestinationCA   = "route.openshift.io/destination-ca-certificate-secret"
	annotationReconcileLabels = "route.openshift.io/reconcile-labels"
)

// defaultWeight is that of the API server.
const defaultWeight = 100

// hostOfAny is spec.host of Routes for any host, which routers do not look at.
// No name of a real host ends so (RFC 6761).
const hostOfAny = "any-host.invalid"

// Input is what the Routes of an Ingress depend on. All maps are by name,
// within the namespace of the Ingress.
type Input struct {
	Ingress *networkingv1.Ingress
	// Class is that of the Ingress, or nil.
	Class    *networkingv1.IngressClass
	Services map[string]*corev1.Service
	Secrets  map[string]*corev1.Secret
	// Routes are those that the Ingress owns now. What users may change by
	// hand is taken from them, and the last good certificate.
	Routes map[string]*routev1.Route
	// ClosedHosts are hosts that other Ingresses of the namespace close, with
	// the names of those.
	ClosedHosts map[string]string
	// Relatives are other Ingresses of the namespace that have hosts in common with this
	// one: the canaries, and for a canary all of them.
	Relatives []*networkingv1.Ingress
	// Limits are those of this Ingress; the default is DefaultLimits.
	Limits Limits
	// Verdicts say what is wrong with the pairs in Secrets, whose content need not
	// be in Secrets then, unless it is copied; others are judged by JudgeSecret.
	Verdicts map[string]Verdict
}

// Output is what an Ingress stands for.
type Output struct {
	// Routes are in the order of the paths in the Ingress.
	Routes   []*routev1.Route
	Findings []api.Finding
	// Cut is set if the limits of the namespace left too little. That may change
	// without a change of the Ingress.
	Cut bool
}

// Convert returns the Routes of an Ingress and what is wrong with it.
func Convert(in Input) Output {
	c := newConversion(in)
	if IsCanary(in.Ingress) {
		return c.convertCanary()
	}
	c.branches = c.canaries()
	c.carryVendorAnnotations()
	in = c.in
	c.checkCertificates()
	c.only, c.copies = c.controller(), Copies(in.Ingress)
	c.checkLabels()
	c.protectedServices()
	for i, rule := range in.Ingress.Spec.Rules {
		c.rule(i, rule)
	}
	c.defaults()
	c.reportSize()
	return Output{Routes: c.routes, Findings: c.findings, Cut: c.in.Limits.Namespace && (c.tooMany > 0 || c.secretsLeft > 0)}
}

func newConversion(in Input) *conversion {
	in.Limits = in.Limits.Or(DefaultLimits())
	return &conversion{in: in, seen: map[api.Finding]bool{}, taken: map[hostPath]int{}, verdicts: map[string]Verdict{}}
}

// hostPath is what a path asks for; two paths with equal ones mean the same.
type hostPath struct {
	// host is empty for any host.
	host, path string
	exact      bool
	// fallback is for what no other path of the host matches.
	fallback bool
	// kind is that of an expression (expressionKind), or empty.
	kind string
}

type conversion struct {
	in       Input
	routes   []*routev1.Route
	spelled  []string // the path of each route as the Ingress spells it
	fields   []string // the field of each route
	findings []api.Finding
	seen     map[api.Finding]bool
	taken    map[hostPath]int
	// only names the one IngressController for the Routes, or is empty.
	only string
	// copies puts certificates into the Routes, keys included.
	copies bool
	// closed Ingresses keep their paths, and no pod gets a request for them;
	// effect says so, where something does close one.
	closed bool
	effect string
	// hostwide is the field of the annotation that closes the hosts, or empty.
	hostwide string
	// clients says which certificates clients of its hosts have to show, or is empty.
	clients string
	// verdicts are those about the Secrets that were looked at.
	verdicts map[string]Verdict
	entries  *entries
	// bytes are those of the Routes. tooMany counts those that the limits do not
	// allow, of which firstTooMany is the field of the first; unreported counts
	// findings, and secretsLeft says whether there are more than may be read.
	bytes, tooMany, unreported, secretsLeft int
	firstTooMany                            string
	// unverified is set where the CA of the pods is missing that the Ingress names.
	unverified bool
	// groups are what annotations of other controllers ask for that only a policy can
	// say, and groupBytes is about how long they are in a Route.
	groups     v1alpha1.PolicySpec
	groupBytes int
	// closedService are Services that annotations of their own protect.
	closedService map[string]bool
	// branches are what canaries get, by the field of the path.
	branches map[string]string
	// rewrites are what becomes of the paths of another controller's patterns.
	rewrites map[rulePath]string
	// moves says that they are addresses to which requests are redirected.
	moves bool
	// insecure is what plain HTTP gets by the word of another controller's
	// annotation, or empty.
	insecure routev1.InsecureEdgeTerminationPolicyType
}

func (c *conversion) warn(field string, reason api.Reason, message, effect string) {
	c.find(api.SeverityWarning, field, reason, message, effect)
}

func (c *conversion) object() api.ObjectRef {
	return api.ObjectRef{Group: networkingv1.GroupName, Kind: "Ingress", Namespace: c.in.Ingress.Namespace, Name: c.in.Ingress.Name}
}

func (c *conversion) find(severity api.Severity, field string, reason api.Reason, message, effect string) {
	f := api.Finding{Object: c.object(), Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect}
	switch {
	case len(c.findings) >= maxFindings && reason != api.ReasonIngressTooLarge:
		c.unreported++
	case !c.seen[f]:
		c.seen[f] = true
		c.findings = append(c.findings, f)
	}
}

func (c *conversion) rule(i int, rule networkingv1.IngressRule) {
	field := fmt.Sprintf("spec.rules[%d]", i)
	if rule.HTTP == nil {
		if c.in.Ingress.Spec.DefaultBackend == nil {
			c.warn(field+".http", api.ReasonUnsupportedDefaultBackend, "a rule without http needs spec.defaultBackend", "the rule gets no traffic")
		}
		return
	}
	for j, p := range rule.HTTP.Paths {
		c.path(fmt.Sprintf("%s.http.paths[%d]", field, j), rule.Host, p)
	}
}

func (c *conversion) path(field, host string, p networkingv1.HTTPIngressPath) {
	if !c.service(field+".backend", &p.Backend, "the path is not served") {
		return
	}
	exact, kind, text := p.PathType != nil && *p.PathType == networkingv1.PathTypeExact, expressionKind(&p), p.Path
	if kind == "" {
		text = c.withoutStar(field, p)
	}
	path, err := routePath(text, exact || kind != "")
	if err != nil {
		c.warn(field+".path", api.ReasonUnsupportedPath, err.Error(), "the path is not served")
		return
	}
	passthrough := c.passthrough()
	if passthrough && host == "" {
		c.warn(field, api.ReasonUnsupportedHostlessRule, "passthrough goes by the name of a host", "the path is not served")
		return
	}
	if passthrough && (path != "/" || exact) {
		c.warn(field+".path", api.ReasonUnsupportedPath, "with passthrough the router does not see paths; only Prefix / is possible", "the path is not served")
		return
	}
	key := hostPath{host: host, path: path, exact: exact, kind: kind}
	if at, dup := c.taken[key]; dup {
		c.duplicate(at, field, p.Path)
		if len(p.Path) <= len(c.spelled[at]) {
			return
		}
		c.routes[at], c.spelled[at], c.fields[at] = c.route(field+".backend.service", key, p.Backend.Service), p.Path, field
		return
	}
	c.add(field, field+".backend.service", key, p.Path, p.Backend.Service)
}

func (c *conversion) add(field, backendField string, key hostPath, spelled string, backend *networkingv1.IngressServiceBackend) {
	if c.tooMany == 0 {
		if r := c.route(backendField, key, backend); c.fits(r) {
			c.taken[key] = len(c.routes)
			c.routes = append(c.routes, r)
			c.spelled = append(c.spelled, spelled)
			c.fields = append(c.fields, field)
			return
		}
		c.firstTooMany = field
	}
	c.tooMany++
}

func (c *conversion) passthrough() bool {
	return c.in.Ingress.Annotations[annotationTermination] == string(routev1.TLSTerminationPassthrough)
}

// service reports whether a backend is a Service.
func (c *conversion) service(field string, b *networkingv1.IngressBackend, effect string) bool {
	if b.Service != nil {
		return true
	}
	message := "the backend is no Service"
	if r := b.Resource; r != nil {
		message = fmt.Sprintf("the backend is a %s, and only Services are supported", r.Kind)
	}
	c.warn(field, api.ReasonUnsupportedBackend, message, effect)
	return false
}

// defaults serves spec.defaultBackend: at each host of the rules what no path
// matches, or without any rule all hosts that no object names.
func (c *conversion) defaults() {
	const field = "spec.defaultBackend"
	b := c.in.Ingress.Spec.DefaultBackend
	if b == nil || !c.service(field, b, "there is no default backend") {
		return
	}
	if c.passthrough() {
		c.warn(field, api.ReasonUnsupportedDefaultBackend, "with passthrough the router does not see paths", "it gets no traffic")
		return
	}
	hosts := []string{}
	for _, rule := range c.in.Ingress.Spec.Rules {
		hosts = append(hosts, rule.Host)
	}
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	for _, host := range hosts {
		key := hostPath{host: host, path: "/", fallback: true}
		_, all := c.taken[hostPath{host: host, path: "/"}]
		if _, done := c.taken[key]; !all && !done {
			c.add(field, field+".service", key, "/", b.Service)
		}
	}
}

// duplicate reports which of two equal paths is served: the one that is
// spelled longer (with a slash at the end), else the first.
func (c *conversion) duplicate(at int, field, path string) {
	loser, winner := field, c.fields[at]
	if len(path) > len(c.spelled[at]) {
		loser, winner = winner, loser
	}
	c.warn(loser+".path", api.ReasonDuplicatePath, "the path means the same as "+winner+".path", "that one is served instead")
}

// routePath returns the path of the Route. Exact paths and expressions stay; a Prefix
// path means the same with and without a slash at its end.
func routePath(path string, exact bool) (string, error) {
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("the path %q does not begin with /", path)
	}
	for _, r := range path {
		if r <= ' ' || r == '#' || r == 0x7f {
			return "", fmt.Errorf("the path has the character %s, which no request path can have", strconv.QuoteRune(r))
		}
	}
	if exact || path == "/" {
		return path, nil
	}
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed, nil
	}
	return "/", nil
}

// route makes the Route of one path.
func (c *conversion) route(backendField string, key hostPath, backend *networkingv1.IngressServiceBackend) *routev1.Route {
	ingress := c.in.Ingress
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{
		Namespace:       ingress.Namespace,
		Name:            c.routeName(key),
		Labels:          maps.Clone(ingress.Labels),
		Annotations:     c.routeAnnotations(key, c.branches[strings.TrimSuffix(backendField, ".backend.service")]),
		OwnerReferences: ownedBy(ingress),
	}}
	live := c.in.Routes[r.Name]
	weight := int32(defaultWeight)
	if live != nil && live.Spec.To.Weight != nil {
		weight = *live.Spec.To.Weight
	}
	r.Spec = routev1.RouteSpec{
		Host:           key.host,
		Path:           key.path,
		To:             routev1.RouteTargetReference{Kind: "Service", Name: backend.Name, Weight: &weight},
		Port:           c.port(backendField, backend),
		WildcardPolicy: routev1.WildcardPolicyNone,
		TLS:            c.tls(key.host, live),
	}
	if r.Spec.TLS != nil && r.Spec.TLS.Termination == routev1.TLSTerminationPassthrough {
		r.Spec.Path = ""
	}
	if parent, wildcard := strings.CutPrefix(key.host, "*."); wildcard {
		r.Spec.Host = "wildcard." + parent
		r.Spec.WildcardPolicy = routev1.WildcardPolicySubdomain
	}
	if key.host == "" {
		r.Spec.Host = hostOfAny
	}
	if c.closed || c.unverified || c.closedService[backend.Name] || c.closedHost(key.host) {
		r.Spec.Port = &routev1.RoutePort{TargetPort: intstr.FromString(api.ClosedPort)}
	}
	return r
}

// port returns the port of the Route. A Route names the port of the pods, an
// Ingress that of the Service, so the Service must be asked. Without it the
// Route exists all the same and answers 503 until the Service is there.
func (c *conversion) port(field string, backend *networkingv1.IngressServiceBackend) *routev1.RoutePort {
	const effect = "the path answers 503 until it does"
	named := func(name string) *routev1.RoutePort { return &routev1.RoutePort{TargetPort: intstr.FromString(name)} }
	service := c.in.Services[backend.Name]
	if service == nil {
		c.warn(field+".name", api.ReasonBackendNotFound, fmt.Sprintf("Service %s does not exist", backend.Name), effect)
		if backend.Port.Name != "" {
			return named(backend.Port.Name)
		}
		return nil
	}
	for _, p := range service.Spec.Ports {
		switch {
		case backend.Port.Name != "" && p.Name == backend.Port.Name, backend.Port.Name == "" && p.Port == backend.Port.Number && p.Name != "":
			return named(p.Name)
		case backend.Port.Name == "" && p.Port == backend.Port.Number:
			return nil // Only the single port of a Service can be without a name.
		}
	}
	wanted := backend.Port.Name
	if wanted == "" {
		wanted = strconv.Itoa(int(backend.Port.Number))
	}
	c.warn(field+".port", api.ReasonBackendNotFound, fmt.Sprintf("Service %s has no port %s", backend.Name, wanted), effect)
	// The number of a Service's port could by chance be that of a pod's port.
	// No port name can have an underscore, so this matches nothing.
	return named("missing_" + wanted)
}
