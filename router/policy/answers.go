package policy

import (
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

const (
	effectCookies  = "these attributes of cookies stay as they are"
	effectLocation = "Location stays as it is"
)

// maxLocation is in bytes, as in the CRD.
const maxLocation = 1024

var locationText = regexp.MustCompile(`^(https?://|/)[!-~]*$`)

// compileCookies sets what becomes of cookies of pods. It protects nothing, so what
// cannot be read is left out.
func compileCookies(c *v1alpha1.Cookies, p *model.Policy) []Problem {
	if c == nil {
		return nil
	}
	var problems []Problem
	find := func(field, message string) {
		problems = append(problems, Problem{Key: "cookies." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effectCookies})
	}
	out := model.CookieChanges{Secure: c.Secure}
	const path, domain = "must be a path that begins with / and holds only letters, digits and ! $ % & ( ) * + , - . / : = @ _ ~", "must be a host name in lower case"
	switch {
	case c.Path == nil:
	case !isCookiePath(c.Path.From):
		find("path.from", path)
	case !isCookiePath(c.Path.To):
		find("path.to", path)
	default:
		out.PathFrom, out.PathTo = c.Path.From, c.Path.To
	}
	switch {
	case c.Domain == nil:
	case !cookieDomain().MatchString(c.Domain.From):
		find("domain.from", domain)
	case !cookieDomain().MatchString(c.Domain.To):
		find("domain.to", domain)
	default:
		out.DomainFrom, out.DomainTo = strings.TrimPrefix(c.Domain.From, "."), strings.TrimPrefix(c.Domain.To, ".")
	}
	switch c.SameSite {
	case "":
	case sameSiteLax, sameSiteStrict:
		out.SameSite = c.SameSite
	case sameSiteNone:
		if c.Secure {
			out.SameSite = c.SameSite
			break
		}
		find("sameSite", "None needs secure: true, because browsers keep no other such cookies")
	default:
		find("sameSite", "must be Lax, Strict or None")
	}
	if p.Cookies = nil; out != (model.CookieChanges{}) {
		p.Cookies = &out
	}
	return problems
}

// compileLocation sets what becomes of redirects of pods.
func compileLocation(l *v1alpha1.Location, p *model.Policy) []Problem {
	if l == nil {
		return nil
	}
	p.Location = nil
	for _, f := range [][2]string{{"from", l.From}, {"to", l.To}} {
		if len(f[1]) > maxLocation || !locationText.MatchString(f[1]) {
			return []Problem{{
				Key: "location." + f[0], Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Effect: effectLocation,
				Message: "must be a path, or an address with http:// or https://, of at most 1024 visible ASCII characters",
			}}
		}
	}
	p.Location = &model.LocationChange{From: l.From, To: l.To}
	return nil
}
