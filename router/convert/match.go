package convert

import (
	"regexp"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
)

// pathMatch is the path of a rule.
type pathMatch struct {
	kind gatewayv1.PathMatchType
	// value is empty for all paths.
	value string
	// slashed says that the path ends in a slash: then the path without it is not meant, and
	// a prefix of the Gateway API would have it, too.
	slashed bool
	// problem says why there is none.
	problem string
}

const (
	// maxPathValue is the API's.
	maxPathValue = 1024
	// rest is what may follow a whole segment in an expression.
	rest = "(?:/.*)?"
)

// plainPath is what the API takes as a path that is not an expression.
var plainPath = regexp.MustCompile(`^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+$`)

// unplain are parts that it does not take, although all characters are good.
var unplain = regexp.MustCompile(`//|/\./|/\.\./|%2[fF]|/\.\.?$`)

// matchOf returns the path that a draft answers for.
func matchOf(d *draft) (m pathMatch) {
	switch e := d.claim.Expression(); {
	case e != nil:
		m = expressionOf(d, e.Written)
	case d.claim.Exact:
		m = literal(gatewayv1.PathMatchExact, d.claim.Path)
	case strings.Trim(d.claim.Path, "/") == "":
		return pathMatch{kind: gatewayv1.PathMatchPathPrefix}
	case strings.HasSuffix(d.claim.Path, "/"):
		m = pathMatch{kind: gatewayv1.PathMatchRegularExpression, value: regexp.QuoteMeta(d.claim.Path) + ".*", slashed: true}
	default:
		m = literal(gatewayv1.PathMatchPathPrefix, d.claim.Path)
	}
	if len(m.value) > maxPathValue {
		m.problem = "the path is longer than 1024 characters, which is the most that the Gateway API takes"
	}
	return m
}

// literal returns a match for a path as it is written. One that the API does not take as a
// path is written as an expression.
func literal(kind gatewayv1.PathMatchType, path string) pathMatch {
	if plainPath.MatchString(path) && !unplain.MatchString(path) {
		return pathMatch{kind: kind, value: path}
	}
	m := pathMatch{kind: gatewayv1.PathMatchRegularExpression, value: regexp.QuoteMeta(path)}
	if kind == gatewayv1.PathMatchPathPrefix {
		m.value += rest
	}
	return m
}

// expressionOf returns the expression of a Route. It is applied at the beginning of a path,
// those of the Gateway API are for whole paths.
func expressionOf(d *draft, written string) pathMatch {
	text := "(?:" + written + ")"
	if !strings.HasSuffix(written, ".*") && !strings.HasSuffix(written, "(.*)") {
		text += ".*"
	}
	if d.Route.Annotations[api.AnnotationPathType] == api.PathTypeRegexIgnoreCase {
		text = "(?i)" + text
	}
	return pathMatch{kind: gatewayv1.PathMatchRegularExpression, value: text}
}

// matches returns those of a rule of an HTTPRoute.
func (m *pathMatch) matches() []gatewayv1.HTTPRouteMatch {
	if m.value == "" {
		return nil
	}
	return []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &m.kind, Value: &m.value}}}
}

// methods returns those of a rule of a GRPCRoute, and false if the path is not one of calls.
func (m *pathMatch) methods() ([]gatewayv1.GRPCRouteMatch, bool) {
	if m.value == "" {
		return nil, true
	}
	service, method, called := strings.Cut(strings.TrimPrefix(m.value, "/"), "/")
	out := &gatewayv1.GRPCMethodMatch{Service: &service}
	switch {
	case m.kind == gatewayv1.PathMatchRegularExpression, service == "", called && (method == "" || m.kind != gatewayv1.PathMatchExact), !called && m.kind == gatewayv1.PathMatchExact:
		return nil, false
	case called:
		out.Method = &method
	}
	return []gatewayv1.GRPCRouteMatch{{Method: out}}, true
}
