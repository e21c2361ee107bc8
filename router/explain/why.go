package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/regex"
)

// Why is the answer to "what does this object do, and why not more".
type Why struct {
	Schema string `json:"schema"`
	// Object is "route/ns/name" and so on with the kind in lower case; of a
	// ClusterRoutePolicy "clusterroutepolicy/name".
	Object string `json:"object"`
	Router string `json:"router"`
	// Served is true if a request can reach an endpoint by way of the object.
	Served bool `json:"served"`
	// Endpoints is the number of ready endpoints of a service, -1 if unknown.
	Endpoints *int       `json:"endpoints,omitempty"`
	Routes    []WhyRoute `json:"routes,omitempty"`
	// Parents and Reach are of a route of the Gateway API, Listeners and Conditions of a
	// Gateway or ListenerSet.
	Parents    []WhyParent    `json:"parents,omitempty"`
	Reach      []Reach        `json:"reach,omitempty"`
	Listeners  []WhyListener  `json:"listeners,omitempty"`
	Conditions []WhyCondition `json:"conditions,omitempty"`
	// Policies are what holds for a route of the Gateway API, with where it comes from.
	Policies []Policy `json:"policies,omitempty"`
	// Policy is what the object does, if it is a policy.
	Policy *WhyPolicy `json:"policy,omitempty"`
	// Findings are those about the object itself, if it is not a route.
	Findings []Finding `json:"findings,omitempty"`
	Next     []string  `json:"next,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// WhyRoute is one route of the object.
type WhyRoute struct {
	Route   RouteInfo `json:"route"`
	Served  bool      `json:"served"`
	Backend string    `json:"backend,omitempty"`
	// Share is the percentage of requests that the service asked for gets.
	Share *float64 `json:"share,omitempty"`
	Reach []Reach  `json:"reach,omitempty"`
	// Shadows are routes that take a part of what the route claims, or all.
	Shadows  []Other   `json:"shadows,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// Reach is a set of URLs and what becomes of it.
type Reach struct {
	URL string `json:"url"`
	// Below is true if all paths below are meant, too.
	Below  bool   `json:"below,omitempty"`
	Served bool   `json:"served"`
	Result string `json:"result"`

	elsewhere bool // another route has them
}

// Why explains an object. The error says what to ask instead.
func (s *Snapshot) Why(kind, namespace, name string) (*Why, error) {
	key := func(kind model.Kind) model.Object { return model.Object{Kind: kind, Namespace: namespace, Name: name} }
	if s.hidesNamespace(namespace) {
		return nil, fmt.Errorf("%s %s/%s is not there, or you have no right to list Routes of namespace %s", kind, namespace, name, namespace)
	}
	y := &Why{Schema: SchemaWhy, Router: s.options.Router, Notes: s.Notes()}
	var err error
	switch strings.ToLower(kind) {
	case "route", "routes", "route.route.openshift.io":
		o := key(route.Kind)
		y.Object, err = "route/"+o.String(), s.whyRoute(y, o)
	case "ingress", "ingresses", "ing", "ingress.networking.k8s.io":
		o := key(ingress.Kind)
		y.Object, err = "ingress/"+o.String(), s.whyIngress(y, o)
	case "service", "services", "svc":
		o := key(door.KindService)
		y.Object, err = "service/"+o.String(), s.whyService(y, o)
	default:
		word, _, _ := strings.Cut(strings.ToLower(kind), ".gateway.networking.k8s.io")
		if of, known := gatewayKinds[word]; known {
			o := key(of)
			y.Object, err = strings.ToLower(string(of))+"/"+o.String(), s.whyGatewayObject(y, o)
			y.gatewayNext(o)
			break
		}
		o, known := policyKey(kind, namespace, name)
		if !known {
			return nil, fmt.Errorf("kind %q is not one of route, ingress, service, routepolicy, clusterroutepolicy, gateway, listenerset, httproute, grpcroute, tlsroute, tcproute and udproute", kind)
		}
		y.Object, err = objectText(policy.Ref(o)), s.whyPolicy(y, o)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range y.Routes {
		y.Served = y.Served || r.Served
		for _, f := range r.Findings {
			if f.Severity == api.SeverityError {
				y.next("route %s/%s: %s", r.Route.Namespace, r.Route.Name, f.Remedy)
			}
		}
	}
	return y, nil
}

func (y *Why) next(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(y.Next, n) {
		y.Next = append(y.Next, n)
	}
}

// missing says that an object is not there, or that it cannot be known.
func (s *Snapshot) missing(kind string, key model.Object) error {
	switch {
	case !s.objects.readable(kind, key.Namespace):
		return fmt.Errorf("%s %s could not be read: you have no right to list %s of namespace %s", kind, key, plural(kind), key.Namespace)
	case s.objects.Offline:
		return fmt.Errorf("the manifests have no %s %s; another namespace is named with -n", kind, key)
	}
	return fmt.Errorf("there is no %s %s; another namespace is named with -n", kind, key)
}

func (s *Snapshot) whyRoute(y *Why, key model.Object) error {
	if s.source.routes[key] == nil {
		return s.missing("Route", key)
	}
	y.Routes = []WhyRoute{s.oneRoute(key)}
	r := y.Routes[0]
	if why := s.source.unselected[key]; why != "" {
		y.next("%s: change the labels, or ask another router with --router", why)
		if names := admittingRouters(s.source.routes[key]); len(names) > 0 {
			y.next("it is served by router %s: %s", strings.Join(names, ", "), terminal.Command("kubectl", "fairlead", "why", "route/"+key.Name, "-n", key.Namespace, "--router", names[0]))
		}
	}
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Reason == api.ReasonNoEndpoints }) {
		for _, text := range s.behindAll(key) {
			y.next("%s", text)
		}
	}
	if !r.Served && len(r.Findings) == 0 && len(r.Reach) > 0 {
		y.next("see one request in full: %s", terminal.Command("kubectl", "fairlead", "explain", strings.ReplaceAll(r.Reach[0].URL, "*", anyLabel)))
	}
	s.routerWord(y, key)
	return nil
}

// routerWord adds what the running router says, where it differs.
func (s *Snapshot) routerWord(y *Why, key model.Object) {
	if s.objects.Offline || s.source.unselected[key] != "" {
		return
	}
	said, known := admittedBy(s.source.routes[key], s.options.Router)
	if !known {
		y.Notes = append(y.Notes, fmt.Sprintf("router %s has not written a status for route %s yet", s.options.Router, key))
		return
	}
	if st := s.pipeline.Status(key); said.ok != st.Admitted {
		y.Notes = append(y.Notes, fmt.Sprintf("router %s itself says of route %s: admitted %v %s %s", s.options.Router, key, said.ok, said.reason, said.message))
		if remedy, ok := api.RemedyOf(api.Reason(said.reason)); ok {
			y.next("route %s: %s", key, remedy.Remedy)
		}
	}
}

// anyLabel stands for any first label of a wildcard host.
const anyLabel = "any-host"

// oneRoute says what a route does.
func (s *Snapshot) oneRoute(key model.Object) WhyRoute {
	out := WhyRoute{Route: s.info(key), Findings: s.findingsOf(key)}
	c, served := s.pipeline.Claim(key)
	if !served {
		return out
	}
	out.Backend = c.Backend.Name()
	for _, url := range urls(c) {
		r, err := ParseRequest(RequestArgs{URL: strings.ReplaceAll(url, "*", anyLabel)})
		if err != nil {
			continue
		}
		e := s.Explain(r)
		reach := Reach{URL: url, Below: !c.Exact && c.Conditions == nil && c.Termination != model.Passthrough, Served: e.Served, Result: strings.ReplaceAll(e.Result.Text, anyLabel, "*")}
		if e.Route == nil || e.Route.Namespace != key.Namespace || e.Route.Name != key.Name {
			reach.Served, reach.Result = false, "goes elsewhere: "+e.Result.Text
			if e.Route != nil && !e.Route.Hidden {
				reach.Result = fmt.Sprintf("goes to route %s/%s, which goes first", e.Route.Namespace, e.Route.Name)
			}
		}
		out.Served = out.Served || reach.Served
		out.Reach = append(out.Reach, reach)
	}
	out.Shadows = s.shadows(c)
	return out
}

// urls are those that a claim is about, on both listeners.
func urls(c *model.Claim) []string {
	path := samplePath(c)
	if c.Termination == model.Plain {
		return []string{"http://" + c.Host + path}
	}
	return []string{"https://" + c.Host + path, "http://" + c.Host + path}
}

// shadows lists the served claims that take a part of a claim's requests.
func (s *Snapshot) shadows(c *model.Claim) []Other {
	var out []Other
	candidates := s.byHost[c.Host]
	if wild(c) { // hosts below it take their part
		candidates = s.source.keys()
	}
	for _, key := range candidates {
		o, served := s.claimAt(key, c.Host)
		if !served || key == c.Owner || !overlaps(c, o) {
			continue
		}
		if s.hides(key) {
			out = append(out, Other{Route: hiddenInfo(), Why: "takes a part of the requests"})
			continue
		}
		where := "takes " + claimText(o.Host, o.Path, false) + " and all below"
		switch {
		case o.Expression() != nil:
			where = "takes paths of " + o.Host + " that match " + o.Expression().Written
		case o.Exact:
			where = "takes exactly " + o.Host + o.Path
		}
		if o.Termination == model.Plain && c.Termination != model.Plain {
			where += ", without TLS"
		}
		code := LostShorterPath
		switch {
		case wild(c) && !wild(o):
			code = LostWildcard
		case o.Exact:
			code = LostPrefix
		}
		out = append(out, Other{Route: s.info(key), Code: code, Why: where})
	}
	return conceal(out)
}

// overlaps reports whether o takes requests that would else be c's.
func overlaps(c, o *model.Claim) bool {
	covered := o.Host == c.Host || wild(c) && match.Wildcard(o.Host) == c.Host
	return covered && moreSpecific(o, c) && (matches(c, sample(o.Host), samplePath(o), nil) || o.Termination == model.Passthrough)
}

func sample(host string) string { return strings.ReplaceAll(host, "*", anyLabel) }

// samplePath is a path that the claim is for.
func samplePath(c *model.Claim) string {
	if e := c.Expression(); e != nil {
		return cmp.Or(regex.Example(e.Pattern), c.Path)
	}
	if c.Path == "" {
		return "/"
	}
	return c.Path
}

func (s *Snapshot) whyIngress(y *Why, key model.Object) error {
	i := s.objects.Ingresses[key]
	if i == nil {
		return s.missing("Ingress", key)
	}
	for _, k := range s.source.keys() {
		if k.Namespace == key.Namespace && s.source.ingress[k] == key.Name {
			y.Routes = append(y.Routes, s.oneRoute(k))
		}
	}
	ref := Ref(i)
	for _, f := range s.allFindings() {
		if f.Object == ref {
			y.Findings = append(y.Findings, s.finding(f))
			if remedy, ok := api.RemedyOf(f.Reason); ok {
				y.next("%s: %s", f.Field, remedy.Remedy)
			}
		}
	}
	if len(y.Routes) == 0 {
		s.noRoutes(y, i)
	}
	return nil
}

// noRoutes says why an Ingress has no Route.
func (s *Snapshot) noRoutes(y *Why, i *networkingv1.Ingress) {
	name := ingress.ClassOf(i)
	class, _ := s.class(i)
	switch {
	case name == "":
		y.next("the Ingress names no class; set spec.ingressClassName: %s", api.IngressClassName(s.options.Router))
	case !ingress.Managed(i, class, true):
		y.next("IngressClass %s is not there, or another controller's; set spec.ingressClassName: %s", name, api.IngressClassName(s.options.Router))
	case len(y.Findings) == 0:
		y.next("no Route was made of the Ingress: see its events with %s", terminal.Command("kubectl", "-n", i.Namespace, "describe", "ingress", i.Name))
	}
}

func (s *Snapshot) whyService(y *Why, key model.Object) error {
	if s.source.Service(key) == nil {
		return s.missing("Service", key)
	}
	for _, k := range s.source.keys() {
		share, named := serviceShare(s.source.routes[k], key)
		if !named {
			continue
		}
		r := s.oneRoute(k)
		r.Share = &share
		if share == 0 && r.Served {
			r.Served = false
			y.next("route %s gives the Service weight 0, so only clients with its sticky cookie get there; give it a weight above 0", k)
		}
		y.Routes = append(y.Routes, r)
	}
	count := -1
	if s.source.endpointsKnown(key) {
		count = readyEndpoints(s.objects.Slices[key])
	}
	y.Endpoints = &count
	if len(y.Routes) == 0 {
		y.next("no route names the Service; create one with spec.to.name: %s", key.Name)
	}
	if count == 0 {
		y.next("%s", s.behind(key))
	}
	return nil
}

// serviceShare returns the percentage of a route's requests for a Service.
func serviceShare(r *routev1.Route, service model.Object) (share float64, named bool) {
	if r.Namespace != service.Namespace {
		return 0, false
	}
	total, own := 0, 0
	for _, t := range append([]routev1.RouteTargetReference{r.Spec.To}, r.Spec.AlternateBackends...) {
		weight := 1 // as the router takes it; the API server sets 100
		if t.Weight != nil {
			weight = int(*t.Weight)
		}
		total += weight
		if t.Name == service.Name {
			own, named = own+weight, true
		}
	}
	if total == 0 {
		return 0, named
	}
	return percent(own, total), named
}
