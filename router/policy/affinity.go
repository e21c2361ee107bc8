package policy

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// The values of affinity.type.
const (
	affinityCookie = "Cookie"
	affinityNone   = "None"
)

// The values of SameSite in cookies: RFC 6265bis, section 4.1.2.7.
const (
	sameSiteLax    = "Lax"
	sameSiteStrict = "Strict"
	sameSiteNone   = "None"
)

// maxCookiePath bounds paths of cookies, in bytes, as the CRD does.
const maxCookiePath = 1024

// maxCookieAge is the longest time that browsers keep a cookie, in seconds (RFC 6265bis).
const maxCookieAge = 400 * 24 * 3600

var (
	// cookiePath holds nothing that ends an attribute of a cookie (";"), a field of a
	// policy record ("|"), or that replace-header reads as a capture (a backslash).
	cookiePath    = regexp.MustCompile(`^/[A-Za-z0-9!$%&()*+,./:=@_~-]*$`)
	cookieAgeText = regexp.MustCompile(`^([1-9][0-9]{0,7})(s|m|h|d)$`)
	cookieDomain  = regex.Later(`^\.?[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?$`)
)

// These are the rows of OpenShift's annotations.
var (
	disableCookiesRow = Annotation{
		Key: api.AnnotationDisableCookies, Group: GroupAffinity, Values: "true or false", Default: "false", Terminations: http,
		Doc: "Turns the sticky cookie off.",
		set: func(s *Spec, v string) error {
			off, err := parseBool(v)
			s.changeAffinity(func(a *v1alpha1.Affinity) {
				if a.Type = affinityCookie; off {
					a.Type = affinityNone
				}
			})
			return err
		},
	}
	cookieNameRow = Annotation{
		Key: api.AnnotationCookieName, Group: GroupAffinity, Values: "letters, digits, _ and -", Default: "a hash of namespace and name", Terminations: http,
		Doc: "Name of the sticky cookie.",
		set: func(s *Spec, v string) error {
			if !cookieName().MatchString(v) {
				return errors.New("must consist of letters, digits, _ and -")
			}
			s.changeCookie(func(c *v1alpha1.AffinityCookie) { c.Name = v })
			return nil
		},
	}
	cookieSameSiteRow = Annotation{
		Key: api.AnnotationCookieSameSite, Group: GroupAffinity, Values: "Lax, Strict or None", Default: "None", Terminations: tls,
		Doc: "SameSite attribute of the sticky cookie where plain HTTP is not allowed.",
		set: func(s *Spec, v string) error {
			if err := oneOf(func(s *Spec) *string { return &s.CookieSameSite }, sameSiteLax, sameSiteStrict, sameSiteNone)(s, v); err != nil {
				return err
			}
			s.changeCookie(func(c *v1alpha1.AffinityCookie) { c.SameSite = "" })
			return nil
		},
	}
)

// changeAffinity changes a copy of the group, because Specs share groups.
func (s *Spec) changeAffinity(change func(*v1alpha1.Affinity)) {
	var a v1alpha1.Affinity
	if s.Groups.Affinity != nil {
		a = *s.Groups.Affinity
	}
	change(&a)
	s.Groups.Affinity = &a
}

func (s *Spec) changeCookie(change func(*v1alpha1.AffinityCookie)) {
	s.changeAffinity(func(a *v1alpha1.Affinity) {
		var c v1alpha1.AffinityCookie
		if a.Cookie != nil {
			c = *a.Cookie
		}
		change(&c)
		a.Cookie = &c
	})
}

// compileAffinity finds what is wrong with the group. The cookie itself depends on the
// route, so that is Spec.StickyCookie.
func compileAffinity(a *v1alpha1.Affinity) []Problem {
	_, problems := readAffinity(a)
	return problems
}

// readAffinity returns what can be used of the group. It protects nothing, so a field
// that cannot be read has its default.
func readAffinity(a *v1alpha1.Affinity) (v1alpha1.AffinityCookie, []Problem) {
	var out v1alpha1.AffinityCookie
	if a == nil {
		return out, nil
	}
	var problems []Problem
	find := func(field, message string) {
		problems = append(problems, Problem{
			Key: "affinity." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effectDefault,
		})
	}
	if t := cmp.Or(a.Type, affinityCookie); t != affinityCookie && t != affinityNone {
		find("type", "must be Cookie or None")
	}
	if a.Cookie == nil {
		return out, problems
	}
	out = *a.Cookie
	for _, f := range []struct {
		name, message string
		text          *string
		good          func(string) bool
	}{
		{"name", "must consist of letters, digits, _ and -", &out.Name, cookieName().MatchString},
		{"path", "must be a path that begins with / and holds only letters, digits and ! $ % & ( ) * + , - . / : = @ _ ~", &out.Path, isCookiePath},
		{"domain", "must be a host name in lower case", &out.Domain, cookieDomain().MatchString},
		{"sameSite", "must be Lax, Strict or None", &out.SameSite, func(v string) bool { return v == sameSiteLax || v == sameSiteStrict || v == sameSiteNone }},
		{"maxAge", "must be a time from 1s to 400d", &out.MaxAge, func(v string) bool { return cookieAge(v) > 0 }},
	} {
		if *f.text != "" && !f.good(*f.text) {
			find("cookie."+f.name, f.message)
			*f.text = ""
		}
	}
	return out, problems
}

// cookieAge returns whole seconds, or 0 for what is no such time. api.ParseTime ends at
// 24 days, as HAProxy does.
func cookieAge(text string) int64 {
	m := cookieAgeText.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	n *= map[string]int64{"s": 1, "m": 60, "h": 3600, "d": 86400}[m[2]]
	if err != nil || n > maxCookieAge {
		return 0
	}
	return n
}

// isCookiePath reports whether a text can be the path of a cookie.
func isCookiePath(text string) bool {
	return len(text) <= maxCookiePath && cookiePath.MatchString(text)
}

// Sticky reports whether clients get a cookie that leads them back to their pod.
func (s *Spec) Sticky() bool {
	return !s.DisableCookies && (s.Groups.Affinity == nil || s.Groups.Affinity.Type != affinityNone)
}

// CookieName returns the name that is asked for, or the usual one.
func (s *Spec) CookieName(usual string) string {
	c, _ := readAffinity(s.Groups.Affinity)
	return cmp.Or(c.Name, usual)
}

// StickyCookie returns the cookie of a route for a host, and what does not apply to it.
// Secure is true if the route takes requests over TLS only.
func (s *Spec) StickyCookie(usual, host string, secure bool) (model.Cookie, []Problem) {
	c, _ := readAffinity(s.Groups.Affinity)
	out := model.Cookie{Name: cmp.Or(c.Name, usual), Attributes: strings.TrimPrefix(c.Path, "/")}
	var problems []Problem
	without := func(field, message string) {
		problems = append(problems, Problem{Key: "affinity.cookie." + field, Severity: api.SeverityWarning, Reason: api.ReasonPolicyNotApplicable, Message: message, Effect: "the cookie is without it"})
	}
	add := func(set bool, text string) {
		if set {
			out.Attributes += "; " + text
		}
	}
	add(c.MaxAge != "", "Max-Age="+strconv.FormatInt(cookieAge(c.MaxAge), 10))
	if domain := strings.TrimPrefix(c.Domain, "."); domain != "" {
		within := host == domain || strings.HasSuffix(host, "."+domain)
		if add(within, "Domain="+domain); !within {
			without("domain", domain+" is neither the host of the Route nor a domain above it, so browsers would not keep the cookie")
		}
	}
	sameSite := c.SameSite
	if c.Secure != nil {
		secure = *c.Secure
	}
	if secure {
		sameSite = cmp.Or(sameSite, s.CookieSameSite, sameSiteNone)
	}
	add(secure, "Secure")
	add(sameSite != "" && (secure || sameSite != sameSiteNone), "SameSite="+sameSite)
	if add(secure && c.Partitioned, "Partitioned"); c.Partitioned && !secure {
		without("partitioned", "the Route allows plain HTTP, so its cookie is not Secure")
	}
	if c.SameSite == sameSiteNone && !secure {
		without("sameSite", "None is for Secure cookies, and the Route allows plain HTTP")
	}
	return out, problems
}
