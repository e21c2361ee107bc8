package gateway

import (
	"fmt"
	"regexp"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// KindGRPCRoute is that of GRPCRoutes.
const KindGRPCRoute model.Kind = "GRPCRoute"

// GRPCRoutes is the front door of GRPCRoutes. A method of gRPC is a path, so the routes are
// read as HTTPRoutes of these paths. Sources give only those that name a Gateway of the
// router.
type GRPCRoutes struct{ former }

var _ door.Door = GRPCRoutes{}

// Kind implements door.Door.
func (GRPCRoutes) Kind() model.Kind { return KindGRPCRoute }

// Ref implements door.Door.
func (GRPCRoutes) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ingest implements door.Door.
func (GRPCRoutes) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*gatewayv1.GRPCRoute)
	if !ok {
		return &door.Result{}
	}
	b := newBuilder(KindGRPCRoute, v, src, s, past)
	b.route = b.asHTTP(r)
	return b.ingest()
}

// Content implements door.Door.
func (GRPCRoutes) Content(v door.Version) any {
	r, ok := v.(*gatewayv1.GRPCRoute)
	if !ok {
		return nil
	}
	return struct {
		UID         string
		Annotations map[string]string
		Spec        *gatewayv1.GRPCRouteSpec
	}{string(r.UID), r.Annotations, &r.Spec}
}

// Decode implements door.Door.
func (GRPCRoutes) Decode(text []byte) (door.Version, error) {
	r := &gatewayv1.GRPCRoute{}
	if err := decode(text, r); err != nil {
		return nil, err
	}
	return r, nil
}

// asHTTP returns the HTTPRoute that asks for the same, field by field in the same order. A
// method that cannot be read refuses the route.
func (b *builder) asHTTP(r *gatewayv1.GRPCRoute) *gatewayv1.HTTPRoute {
	out := &gatewayv1.HTTPRoute{ObjectMeta: r.ObjectMeta}
	out.Spec.CommonRouteSpec, out.Spec.Hostnames = r.Spec.CommonRouteSpec, r.Spec.Hostnames
	out.Spec.Rules = make([]gatewayv1.HTTPRouteRule, len(r.Spec.Rules))
	for i := range r.Spec.Rules {
		from, to := &r.Spec.Rules[i], &out.Spec.Rules[i]
		to.Name, to.SessionPersistence, to.Filters = from.Name, from.SessionPersistence, httpFilters(from.Filters)
		for m := range from.Matches {
			to.Matches = append(to.Matches, b.httpMatch(&from.Matches[m], fmt.Sprintf("spec.rules[%d].matches[%d]", i, m)))
		}
		for k := range from.BackendRefs {
			ref := &from.BackendRefs[k]
			to.BackendRefs = append(to.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref.BackendRef, Filters: httpFilters(ref.Filters)})
		}
	}
	return out
}

// httpFilters returns filters as those of HTTPRoutes: their types have the same names.
func httpFilters(all []gatewayv1.GRPCRouteFilter) (out []gatewayv1.HTTPRouteFilter) {
	for _, f := range all {
		out = append(out, gatewayv1.HTTPRouteFilter{
			Type: gatewayv1.HTTPRouteFilterType(f.Type), RequestHeaderModifier: f.RequestHeaderModifier, ResponseHeaderModifier: f.ResponseHeaderModifier,
			RequestMirror: f.RequestMirror, ExtensionRef: f.ExtensionRef,
		})
	}
	return out
}

func (b *builder) httpMatch(m *gatewayv1.GRPCRouteMatch, field string) (out gatewayv1.HTTPRouteMatch) {
	for _, h := range m.Headers {
		to := gatewayv1.HTTPHeaderMatch{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value}
		if h.Type != nil {
			kind := gatewayv1.HeaderMatchType(*h.Type)
			to.Type = &kind
		}
		out.Headers = append(out.Headers, to)
	}
	if m.Method != nil {
		out.Path = b.methodPath(m.Method, field+".method")
	}
	return out
}

// Names of services and methods as the API admits them.
var (
	serviceName = regexp.MustCompile(`^\.?[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$`)
	methodName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)
)

// anySegment is the expression of all services and of all methods.
const anySegment = "[^/]+"

// methodPath returns which paths have a service and method, or nil if these cannot be read,
// which refuses the route. Nearly all matches are paths and prefixes; what leaves the service
// open is an expression.
func (b *builder) methodPath(m *gatewayv1.GRPCMethodMatch, field string) *gatewayv1.HTTPPathMatch {
	service, method := deref(m.Service), deref(m.Method)
	kind := gatewayv1.GRPCMethodMatchExact
	if m.Type != nil {
		kind = *m.Type
	}
	if service == "" && method == "" {
		b.unsupported(field, "must have a service, a method, or both")
		return nil
	}
	var good bool
	switch kind {
	case gatewayv1.GRPCMethodMatchExact:
		const named = "must be a name of letters, digits and underscores"
		good = b.checkMethod(service, field+".service", func(s string) string { return unless(serviceName.MatchString(s), named+", with dots between") })
		good = b.checkMethod(method, field+".method", func(s string) string { return unless(methodName.MatchString(s), named) }) && good
	case gatewayv1.GRPCMethodMatchRegularExpression:
		good = b.checkMethod(service, field+".service", expressionProblem)
		good = b.checkMethod(method, field+".method", expressionProblem) && good
	default:
		b.unsupported(field+".type", "must be Exact or RegularExpression")
	}
	switch {
	case !good:
		return nil
	case kind == gatewayv1.GRPCMethodMatchRegularExpression:
		return pathOf(gatewayv1.PathMatchRegularExpression, "/"+segment(service)+"/"+segment(method))
	case method == "":
		return pathOf(gatewayv1.PathMatchPathPrefix, "/"+service)
	case service == "":
		return pathOf(gatewayv1.PathMatchRegularExpression, "/"+anySegment+"/"+method)
	}
	return pathOf(gatewayv1.PathMatchExact, "/"+service+"/"+method)
}

// checkMethod reports whether a service or method, if there is one, has no problem.
func (b *builder) checkMethod(text, field string, problem func(string) string) bool {
	if text == "" {
		return true
	}
	wrong := problem(text)
	if wrong != "" {
		b.unsupported(field, wrong)
	}
	return wrong == ""
}

func unless(good bool, problem string) string {
	if good {
		return ""
	}
	return problem
}

// expressionProblem says what is wrong with an expression that becomes a part of another.
func expressionProblem(text string) string {
	if _, err := regex.Parse(text); err != nil {
		return err.Error()
	}
	return ""
}

// segment returns the expression of one segment of a path.
func segment(expression string) string {
	if expression == "" {
		return anySegment
	}
	return "(?:" + expression + ")"
}

func pathOf(kind gatewayv1.PathMatchType, value string) *gatewayv1.HTTPPathMatch {
	return &gatewayv1.HTTPPathMatch{Type: &kind, Value: &value}
}
