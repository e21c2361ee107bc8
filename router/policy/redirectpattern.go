package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// matchRegex is the type of a match by expressions.
const matchRegex = "Regex"

// redirectPatternRow is the annotation of rules with an expression. It comes after that for all
// requests, and is tried before it.
var redirectPatternRow = Annotation{
	Key: AnnotationRedirectPattern, Group: GroupRedirects, Values: "PATTERN ADDRESS", Default: "none", Terminations: http,
	Doc: "Requests whose path a regular expression matches get this address, whose path may have captures of it ($1 to $9).",
	set: func(s *Spec, v string) error {
		pattern, address, _ := strings.Cut(strings.Trim(v, " "), " ")
		rule, err := PatternRedirect(pattern, strings.TrimLeft(address, " "))
		if err != nil {
			return err
		}
		s.setRedirects(func(r *v1alpha1.Redirects) {
			r.Rules = append([]v1alpha1.RedirectRule{rule}, r.Rules...)
		})
		return nil
	},
}

// patternSite is what of an address comes before its path.
var patternSite = regexp.MustCompile(`^(https?)://([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)(?::([0-9]{1,5}))?(/.*)?$`)

// PatternRedirect returns the rule for paths that a pattern matches, with an address whose
// path may have captures. What comes before that path is text, so that no request says which
// host it is.
func PatternRedirect(pattern, address string) (v1alpha1.RedirectRule, error) {
	rule := v1alpha1.RedirectRule{Match: &v1alpha1.RedirectMatch{Path: pattern, Type: matchRegex}, To: v1alpha1.RedirectTarget{RegexPath: address}}
	if !strings.HasPrefix(address, "/") {
		m := patternSite.FindStringSubmatch(address)
		if m == nil {
			return rule, errors.New("the address must be a path, or begin with http:// or https:// and a host without captures")
		}
		rule.To = v1alpha1.RedirectTarget{Scheme: m[1], Host: m[2], RegexPath: m[4]}
		if m[4] == "" {
			rule.To.RegexPath = "/"
		}
		if m[3] != "" {
			port, err := strconv.ParseUint(m[3], 10, 16)
			if err != nil || port == 0 {
				return rule, errors.New("the port of the address is not one")
			}
			rule.To.Port = int32(port)
		}
	}
	_, err := redirectRule(&rule)
	return rule, err
}

// redirectMatch says which requests a redirect is for.
func redirectMatch(out *model.Redirect, m *v1alpha1.RedirectMatch) error {
	switch {
	case m == nil:
		return nil
	case m.Type == matchRegex:
		pattern, err := regex.Parse(m.Path)
		if err != nil {
			return fmt.Errorf("match.path: %w", err)
		}
		out.Path, out.Beginning = m.Path, pattern.Beginning()
		out.Regex = &model.PathRegex{Pattern: pattern.Text, Longest: pattern.Compared()}
		return nil
	case m.Type != "" && m.Type != "Exact" && m.Type != "Prefix":
		return errors.New("match.type must be Exact, Prefix or Regex")
	}
	if err := checkPath(m.Path); err != nil {
		return fmt.Errorf("match.path: %w", err)
	}
	out.Path, out.Exact = m.Path, m.Type == "Exact"
	return nil
}

// replaced redirects to a path with captures. Its host is that of the rule or of the request.
func replaced(r model.Redirect, text string) (model.Redirect, error) {
	if r.Regex == nil {
		return r, errors.New("to.regexPath needs a match of type Regex")
	}
	pattern, err := regex.Parse(r.Path)
	if err != nil {
		return r, fmt.Errorf("match.path: %w", err)
	}
	if err := pattern.CheckReplacement(text); err != nil {
		return r, fmt.Errorf("to.regexPath: %w", err)
	}
	r.Regex.Replacement = text
	return r, nil
}
