package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// The two usual ways of ingress-nginx to say "what is below this path": a path
// /foo(/|$)(.*) with a target that ends in $2, or /foo/(.*) with one in $1.
var (
	belowSecond = regexp.MustCompile(`^(/?[-/A-Z_a-z0-9.~]*)\(/\|\$\)\(\.\*\)$`)
	belowFirst  = regexp.MustCompile(`^(/|/[-/A-Z_a-z0-9.~]*/)\(\.\*\)$`)
)

// rewriteTarget takes targets without captures, since paths are text here, and
// those that only keep what is below the path.
func rewriteTarget(value string, into *carried) error {
	if !strings.Contains(value, "$") {
		return to(api.AnnotationRewrite)(value, into)
	}
	if into.keepsBelow(value) {
		return nil
	}
	into.patterns = into.field
	return errors.New("of captures only a path /foo(/|$)(.*) with a target that ends in $2, and /foo/(.*) with $1, have an equivalent; write the path without its pattern, pathType Prefix, and the target without captures")
}

// keepsBelow reports whether a target with a capture only keeps what is below the paths,
// and asks for that.
func (c *carried) keepsBelow(target string) bool {
	before, capture, _ := strings.Cut(target, "$")
	form := map[string]*regexp.Regexp{"1": belowFirst, "2": belowSecond}[capture]
	if form == nil || !strings.HasPrefix(before, "/") || !c.pathsBelow(form) {
		return false
	}
	c.same, c.prefixes, c.folded = true, true, c.field
	c.set(api.AnnotationRewrite, before, nil)
	return true
}

// useRegex is read after rewrite-target, which may have dealt with patterns.
func useRegex(value string, into *carried) error {
	if !enabled(value) || into.prefixes {
		return nil
	}
	return into.asRules("", api.PathTypeRegexIgnoreCase)
}

// pathsBelow makes prefixes of paths of one form, if all of them have it.
func (c *carried) pathsBelow(form *regexp.Regexp) bool {
	var paths []*networkingv1.HTTPIngressPath
	for i := range c.ingress.Spec.Rules {
		if http := c.ingress.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				paths = append(paths, &http.Paths[j])
			}
		}
	}
	if slices.ContainsFunc(paths, func(p *networkingv1.HTTPIngressPath) bool { return !form.MatchString(p.Path) }) {
		return false
	}
	for _, p := range paths {
		p.Path = form.FindStringSubmatch(p.Path)[1]
		p.PathType = new(networkingv1.PathTypePrefix)
	}
	return true
}

// pathType is that of HAProxy Ingress, which counts for paths of type
// ImplementationSpecific.
func pathType(value string, into *carried) error {
	switch value {
	case "prefix", "begin":
		return nil
	}
	into.patterns = into.field
	return errors.New("paths of type ImplementationSpecific are prefixes; write each as a rule with pathType Prefix or Exact")
}

// verify is for annotations by which pods are verified.
func verify(value string, into *carried) error {
	if enabled(value) {
		into.verifies = into.field
	}
	return nil
}

// withoutStar returns the path as text. On GKE and in AWS a path of type
// ImplementationSpecific may end in /*, which means all below; of the other types
// a star is a character like any other.
func (c *conversion) withoutStar(field string, p networkingv1.HTTPIngressPath) string {
	if !strings.Contains(p.Path, "*") {
		return p.Path
	}
	if before, ok := strings.CutSuffix(p.Path, "/*"); ok && ofController(p) && !strings.Contains(before, "*") {
		c.find(api.SeverityInfo, field+".path", api.ReasonPathPattern, strconv.Quote(p.Path)+" is a pattern of other controllers",
			"it is served as Prefix "+strconv.Quote(before+"/")+"; write that")
		return before + "/"
	}
	c.warn(field+".path", api.ReasonPathPattern, "the * in "+strconv.Quote(p.Path)+" is no pattern here",
		"it is compared as text, which few requests have; write a path of type Prefix or Exact")
	return p.Path
}

// ofController reports whether the meaning of a path is the controller's.
func ofController(p networkingv1.HTTPIngressPath) bool {
	return p.PathType == nil || *p.PathType == networkingv1.PathTypeImplementationSpecific
}

// patterns returns the field of a path that is a pattern in other controllers and
// has no equivalent, or "".
func patterns(i *networkingv1.Ingress) string {
	for n, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for m, p := range rule.HTTP.Paths {
			if ofController(p) && strings.Contains(strings.TrimSuffix(p.Path, "/*"), "*") {
				return fmt.Sprintf("spec.rules[%d].http.paths[%d].path", n, m)
			}
		}
	}
	return ""
}
