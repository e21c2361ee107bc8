package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/regex"
)

// rulePath is a path as the Route has it.
type rulePath struct {
	path  string
	exact bool
}

// asRules makes rules of the paths of the Ingress, which are patterns of ingress-nginx. A
// target with captures says what becomes of the paths that they match; it may be empty.
// Nothing changes if one of the patterns is no rule.
func (c *carried) asRules(target string) error {
	all := make([][]networkingv1.HTTPIngressPath, len(c.ingress.Spec.Rules))
	rewrites, further := map[rulePath]string{}, map[string]string{}
	for i := range c.ingress.Spec.Rules {
		http := c.ingress.Spec.Rules[i].HTTP
		if http == nil {
			continue
		}
		all[i] = slices.Clone(http.Paths)
		for j := range http.Paths {
			rules, err := rulesOf(&http.Paths[j], target, rewrites)
			if err != nil {
				c.patterns = c.field
				return err
			}
			all[i][j] = withRule(http.Paths[j], rules[0])
			for _, r := range rules[1:] {
				further[fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, len(all[i]))] = fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)
				all[i] = append(all[i], withRule(http.Paths[j], r))
			}
		}
	}
	for i := range all {
		if http := c.ingress.Spec.Rules[i].HTTP; http != nil {
			http.Paths = all[i]
		}
	}
	c.same, c.prefixes, c.further, c.folded = true, true, further, c.field
	if _, own := c.ingress.Annotations[api.AnnotationRewrite]; !own {
		c.rewrites = rewrites
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
	if into.prefixes || into.ingress.Annotations[api.AnnotationPathType] != "Regex" {
		return
	}
	into.field = "metadata.annotations[" + api.AnnotationPathType + "]"
	if err := into.asRules(""); err != nil {
		c.invalid(into.field, err)
	}
	into.folded = ""
}

// rulesOf returns the rules of a pattern, and notes what becomes of its paths.
func rulesOf(p *networkingv1.HTTPIngressPath, target string, rewrites map[rulePath]string) ([]regex.Rule, error) {
	text := cmp.Or(p.Path, "/")
	pattern, err := regex.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q %w", text, err)
	}
	rules := pattern.Rules()
	if !strings.ContainsAny(text, `\^$*+?()[]{}|`) { // as a path without patterns is one
		rules = []regex.Rule{{Path: text, Exact: p.PathType != nil && *p.PathType == networkingv1.PathTypeExact}}
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("the pattern %q is not one of some texts with what is below, such as /foo(/|$)(.*); write each path as a rule with pathType Prefix or Exact", text)
	}
	if target == "" {
		return rules, nil
	}
	rewrite, err := rewriteOf(text, target)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		path, err := routePath(r.Path, r.Exact)
		if err != nil {
			return nil, err
		}
		at := rulePath{path, r.Exact}
		if other := cmp.Or(rewrites[at], rewrite); other != rewrite {
			return nil, fmt.Errorf("two patterns are for the path %s", path)
		}
		rewrites[at] = rewrite
	}
	return rules, nil
}

// rewriteOf returns the annotation that does what nginx does with the paths of a pattern:
// it ignores case, and captures that are not there are empty.
func rewriteOf(text, target string) (string, error) {
	text = "(?i)" + text
	pattern, err := regex.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the pattern %q %w", text, err)
	}
	replacement := cmp.Or(pattern.Without(target), "/")
	if err := pattern.CheckReplacement(replacement); err != nil {
		return "", fmt.Errorf("%q %w", target, err)
	}
	return text + " " + replacement, nil
}
