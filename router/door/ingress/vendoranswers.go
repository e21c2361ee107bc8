package ingress

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// answerKeys are the annotations about cookies and redirects of pods.
type answerKeys struct {
	path, domain *[2]string
	// cookies is the field of the last annotation about cookies.
	cookies  string
	from, to said
}

func nginxAnswers(t map[string]vendorAnnotation) {
	const literals = "text; no regular expressions and variables"
	t["proxy-cookie-path"] = vendorAnnotation{carry: cookiePair(func(k *answerKeys) **[2]string { return &k.path }), becomes: "`cookies.path`", differs: literals}
	t["proxy-cookie-domain"] = vendorAnnotation{carry: cookiePair(func(k *answerKeys) **[2]string { return &k.domain }), becomes: "`cookies.domain`", differs: literals}
	t["proxy-redirect-from"] = vendorAnnotation{carry: redirectPart(func(k *answerKeys) *said { return &k.from }), becomes: "`location.from`", differs: literals + "; not `default`; not the header Refresh"}
	t["proxy-redirect-to"] = vendorAnnotation{carry: redirectPart(func(k *answerKeys) *said { return &k.to }), becomes: "`location.to`", differs: literals}
}

// literal refuses what nginx does not read as text.
func literal(text string) error {
	switch {
	case strings.HasPrefix(text, "~"):
		return errors.New("regular expressions have no equivalent; write the text")
	case strings.Contains(text, "$"):
		return errors.New("variables have no equivalent; write the text")
	}
	return nil
}

// cookiePair reads what is replaced, and by what.
func cookiePair(pair func(*answerKeys) **[2]string) func(string, *carried) error {
	return func(value string, into *carried) error {
		parts := strings.Fields(value)
		if len(parts) == 1 && parts[0] == "off" {
			return nil
		}
		if err := literal(value); err != nil {
			return err
		}
		if len(parts) != 2 {
			return fmt.Errorf("%q is not what is replaced and what by, with a space between", value)
		}
		*pair(&into.answers), into.answers.cookies = &[2]string{parts[0], parts[1]}, into.field
		if err := policy.Usable(&v1alpha1.PolicySpec{Cookies: into.answers.group()}); err != nil {
			*pair(&into.answers) = nil
			return err
		}
		return nil
	}
}

// group is nil if nothing is said about cookies.
func (k *answerKeys) group() *v1alpha1.Cookies {
	if k.path == nil && k.domain == nil {
		return nil
	}
	g := &v1alpha1.Cookies{}
	if k.path != nil {
		g.Path = &v1alpha1.CookiePath{From: k.path[0], To: k.path[1]}
	}
	if k.domain != nil {
		g.Domain = &v1alpha1.CookieDomain{From: strings.ToLower(k.domain[0]), To: strings.ToLower(k.domain[1])}
	}
	return g
}

func redirectPart(part func(*answerKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error {
		if err := literal(value); err != nil {
			return err
		}
		if value == "default" {
			return errors.New("default has no equivalent; write what redirects of the pods begin with")
		}
		*part(&into.answers) = said{value, into.field}
		return nil
	}
}

// finishAnswers puts what the annotations say together into groups.
func (c *conversion) finishAnswers(into *carried) {
	k := &into.answers
	if g := k.group(); g != nil {
		c.shape(into, k.cookies, func(s *v1alpha1.PolicySpec) { s.Cookies = g })
	}
	if k.from.value == "" || k.from.value == "off" || k.to.value == "off" {
		return // as ingress-nginx has it without the first one
	}
	c.shape(into, k.from.field, func(s *v1alpha1.PolicySpec) {
		s.Location = &v1alpha1.Location{From: k.from.value, To: k.to.value}
	})
}
