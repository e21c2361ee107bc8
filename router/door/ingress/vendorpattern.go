package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/regex"
)

// rulePath is a path as the Route has it. For an expression, kind is the value of the
// annotation that says so.
type rulePath struct {
	path  string
	exact bool
	kind  string
}

// expressionKind returns what annotation api.AnnotationPathType of a Route is for a path
// that withExpression has changed, or "".
func expressionKind(p *networkingv1.HTTPIngressPath) string {
	if p.PathType != nil && (*p.PathType == api.PathTypeRegex || *p.PathType == api.PathTypeRegexIgnoreCase) {
		return string(*p.PathType)
	}
	return ""
}

// asRules makes rules of the paths of the Ingress, which are patterns: paths without
// patterns where these match the same requests, and else expressions of a kind. A
// target with captures says what becomes of the paths that they match; it may be empty.
// Nothing changes if one of the patterns cannot be used.
func (c *carried) asRules(target, kind string) error {
	all := make([][]networkingv1.HTTPIngressPath, len(c.ingress.Spec.Rules))
	rewrites, further, folded := map[rulePath]string{}, map[string]string{}, false
	for i := range c.ingress.Spec.Rules {
		http := c.ingress.Spec.Rules[i].HTTP
		if http == nil {
			continue
		}
		all[i] = slices.Clone(http.Paths)
		for j := range http.Paths {
			rules, err := rulesOf(&http.Paths[j], target, kind, rewrites)
			if err != nil {
				c.patterns = c.field
				return err
			}
			folded = folded || expressionKind(&rules[0]) == ""
			all[i][j] = rules[0]
			for _, r := range rules[1:] {
				further[fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, len(all[i]))] = fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)
				all[i] = append(all[i], r)
			}
		}
	}
	for i := range all {
		if http := c.ingress.Spec.Rules[i].HTTP; http != nil {
			http.Paths = all[i]
		}
	}
	c.same, c.prefixes, c.further = true, true, further
	if folded && kind != api.PathTypeRegex {
		c.folded = c.field
	}
	if _, own := c.ingress.Annotations[api.AnnotationRewrite]; !own {
		c.rewrites, c.moves = rewrites, isAddress(target)
	}
	return nil
}

func withRule(p networkingv1.HTTPIngressPath, r regex.Rule) networkingv1.HTTPIngressPath {
	p.Path, p.PathType = r.Path, new(networkingv1.PathTypePrefix)
	if r.Exact {
		p.PathType = new(networkingv1.PathTypeExact)
	}
	return p
}

// ownPatterns reads paths as patterns where our own annotation says that they are.
func (c *conversion) ownPatterns(into *carried) {
	kind := into.ingress.Annotations[api.AnnotationPathType]
	if into.prefixes || kind != api.PathTypeRegex && kind != api.PathTypeRegexIgnoreCase {
		return
	}
	into.field = "metadata.annotations[" + api.AnnotationPathType + "]"
	if err := into.asRules("", kind); err != nil {
		c.invalid(into.field, err)
	}
}

// rulesOf returns what a pattern becomes, and notes what becomes of its paths.
func rulesOf(p *networkingv1.HTTPIngressPath, target, kind string, rewrites map[rulePath]string) ([]networkingv1.HTTPIngressPath, error) {
	text := cmp.Or(p.Path, "/")
	pattern, err := regex.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q %w", text, err)
	}
	var rules []networkingv1.HTTPIngressPath
	if !strings.ContainsAny(text, `\^$*+?()[]{}|`) { // as a path without patterns is one
		rules = append(rules, withRule(*p, regex.Rule{Path: text, Exact: p.PathType != nil && *p.PathType == networkingv1.PathTypeExact}))
	} else {
		for _, r := range pattern.Rules() {
			rules = append(rules, withRule(*p, r))
		}
	}
	if len(rules) == 0 {
		if rules, err = withExpression(*p, text, kind); err != nil {
			return nil, fmt.Errorf("the pattern %q %w", text, err)
		}
	}
	if target == "" {
		return rules, nil
	}
	rewrite, err := rewriteOf(text, target)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		exact := *rules[i].PathType == networkingv1.PathTypeExact
		path, err := routePath(rules[i].Path, exact || expressionKind(&rules[i]) != "")
		if err != nil {
			return nil, err
		}
		at := rulePath{path, exact, expressionKind(&rules[i])}
		if other := cmp.Or(rewrites[at], rewrite); other != rewrite {
			return nil, fmt.Errorf("two patterns are for the path %s", path)
		}
		rewrites[at] = rewrite
	}
	return rules, nil
}

// withExpression makes an expression of a path.
func withExpression(p networkingv1.HTTPIngressPath, text, kind string) ([]networkingv1.HTTPIngressPath, error) {
	text = strings.TrimPrefix(text, "^")
	if _, err := regex.ParseMatcher(text, kind == api.PathTypeRegexIgnoreCase); err != nil {
		return nil, err
	}
	p.Path, p.PathType = text, new(networkingv1.PathType(kind))
	return []networkingv1.HTTPIngressPath{p}, nil
}

// isAddress reports whether nginx redirects to a target, where it replaces the path by others.
func isAddress(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// rewriteOf returns the annotation that does what nginx does with the paths of a pattern:
// it ignores case, and captures that are not there are empty. It is one of policy.AnnotationRewrite,
// or for addresses of policy.AnnotationRedirectPattern.
func rewriteOf(text, target string) (string, error) {
	text = "(?i)" + text
	pattern, err := regex.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the pattern %q %w", text, err)
	}
	replacement := cmp.Or(pattern.Without(target), "/")
	if isAddress(target) {
		if _, err := policy.PatternRedirect(text, replacement); err != nil {
			return "", fmt.Errorf("%q cannot be redirected to: %w", target, err)
		}
		return text + " " + replacement, nil
	}
	if err := pattern.CheckReplacement(replacement); err != nil {
		return "", fmt.Errorf("%q %w", target, err)
	}
	return text + " " + replacement, nil
}
