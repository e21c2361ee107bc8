package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group cors.
const (
	AnnotationCORSOrigins     = "fairlead.dev/cors-origins"
	AnnotationCORSCredentials = "fairlead.dev/cors-credentials" //nolint:gosec // the name of an annotation
)

// maxOrigins, maxNames and maxCORSAge bound what the group holds. Browsers remember
// a preflight for a day at most.
const (
	maxOrigins, maxNames = 50, 50
	maxCORSAge           = 24 * time.Hour
)

var (
	originText = regexp.MustCompile(`^https?://(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$`)
	methodText = regexp.MustCompile(`^[A-Z]{1,32}$`)
)

// compileCORS sets the group cors of a policy. What cannot be used is left out, and
// with it the origin that it was for: never is more admitted than is written.
func compileCORS(c *v1alpha1.CORS, p *model.Policy) []Problem {
	if c == nil {
		return nil
	}
	var problems []Problem
	find := func(field, message, effect string) {
		problems = append(problems, Problem{Key: "cors." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effect})
	}
	out := &model.CORS{Credentials: c.Credentials, Forward: c.Preflight == "Forward", MaxAge: maxCORSAge}
	if len(c.Origins) > maxOrigins {
		find("origins", fmt.Sprintf("has more than %d origins", maxOrigins), "no origin is admitted")
		c = &v1alpha1.CORS{}
	}
	for i, text := range c.Origins {
		origin, err := parseOrigin(text, c.Credentials)
		if err != nil {
			find(fmt.Sprintf("origins[%d]", i), err.Error(), "it is not admitted")
			continue
		}
		out.Origins = append(out.Origins, origin)
	}
	if c.MaxAge != "" {
		age, err := api.ParseTime(string(c.MaxAge))
		if err != nil || age > maxCORSAge {
			find("maxAge", "must be a time of 24h at most", "24h is used")
		} else {
			out.MaxAge = age
		}
	}
	names := func(field string, list, usual []string, good func(string) bool) string {
		if len(list) == 0 {
			list = usual
		}
		bad := func(s string) bool { return !good(s) }
		if len(list) > maxNames || slices.ContainsFunc(list, bad) {
			find(field, fmt.Sprintf("must hold at most %d names", maxNames), "names that cannot be used are left out")
			list = slices.DeleteFunc(slices.Clone(list[:min(len(list), maxNames)]), bad)
		}
		return strings.Join(list, ", ")
	}
	out.Methods = names("methods", c.Methods, []string{"GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"}, methodText.MatchString)
	out.Headers = names("headers", c.Headers, []string{
		"DNT", "Keep-Alive", "User-Agent", "X-Requested-With", "If-Modified-Since", "Cache-Control", "Content-Type", "Range", "Authorization",
	}, nameInRecord)
	out.Expose = names("expose", c.Expose, nil, nameInRecord)
	p.CORS = out
	return problems
}

// parseOrigin reads an origin as browsers write it.
func parseOrigin(text string, credentials bool) (string, error) {
	origin := strings.ToLower(text)
	_, port, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://"), ":")
	n, err := strconv.Atoi(port)
	switch {
	case origin == "*" && credentials:
		return "", errors.New("* is for requests without credentials; name the origins")
	case origin == "*":
		return origin, nil
	case !originText.MatchString(origin), port != "" && (err != nil || n < 1 || n > 65535):
		return "", fmt.Errorf("%q is not an origin such as https://shop.example.com, https://*.example.com or *", text)
	}
	// Browsers leave out the port that a scheme has anyway.
	for scheme, usual := range map[string]string{"https://": ":443", "http://": ":80"} {
		if strings.HasPrefix(origin, scheme) {
			origin = strings.TrimSuffix(origin, usual)
		}
	}
	return origin, nil
}

// nameInRecord reports whether a header's name may stand in a field of a record.
func nameInRecord(name string) bool { return model.HeaderName(name) && !strings.Contains(name, "|") }

// setCORSOrigins reads fairlead.dev/cors-origins. If one cannot be read, none is
// admitted.
func setCORSOrigins(s *Spec, v string) error {
	list := items(v)
	if len(list) == 0 || len(list) > maxOrigins {
		return fmt.Errorf("must hold 1 to %d origins", maxOrigins)
	}
	for _, text := range list {
		if _, err := parseOrigin(text, s.Groups.CORS != nil && s.Groups.CORS.Credentials); err != nil {
			return err
		}
	}
	s.setCORS(func(c *v1alpha1.CORS) { c.Origins = list })
	return nil
}

// noOrigin takes pods' own headers out of answers: what they admit is not what the
// annotation was to say.
func noOrigin(s *Spec) string {
	s.setCORS(func(c *v1alpha1.CORS) { c.Origins = nil })
	return "no origin is admitted"
}

// setCORSCredentials reads fairlead.dev/cors-credentials.
func setCORSCredentials(s *Spec, v string) error {
	credentials, err := parseBool(v)
	if err != nil {
		return err
	}
	s.setCORS(func(c *v1alpha1.CORS) { c.Credentials = credentials })
	return nil
}

// setCORS changes a copy of the group, because Specs share groups.
func (s *Spec) setCORS(change func(*v1alpha1.CORS)) {
	var c v1alpha1.CORS
	if s.Groups.CORS != nil {
		c = *s.Groups.CORS
	}
	change(&c)
	s.Groups.CORS = &c
}
