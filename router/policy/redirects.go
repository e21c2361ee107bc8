package policy

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group redirects.
const (
	AnnotationRedirect     = "fairlead.dev/redirect"
	AnnotationRedirectCode = "fairlead.dev/redirect-code"
	AnnotationAppRoot      = "fairlead.dev/app-root"
	AnnotationWWW          = "fairlead.dev/www"
	// AnnotationRedirectPattern is a redirect by an expression.
	AnnotationRedirectPattern = "fairlead.dev/redirect-pattern"
)

const (
	// maxRedirects bounds the rules of one policy, maxTarget the length of an address.
	maxRedirects, maxTarget = 20, 1024
	// maxRedirectList bounds the text of the rules where there are expressions among them, in
	// bytes: they are one variable of a request then.
	maxRedirectList = 8000
)

var (
	pathText = regexp.MustCompile(`^/[!-~]*$`)
	hostText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
)

// compileRedirects sets the redirects of a policy. They protect nothing, so a rule
// that cannot be used is left out.
func compileRedirects(r *v1alpha1.Redirects, p *model.Policy) []Problem {
	if r == nil {
		return nil
	}
	_, problems := toHTTPS(r.HTTPS)
	find := func(severity api.Severity, field string, reason api.Reason, message string) {
		problems = append(problems, Problem{Key: "redirects." + field, Severity: severity, Reason: reason, Message: message, Effect: "it redirects nothing"})
	}
	p.Redirects = nil
	if r.AppRoot != "" {
		if err := checkPath(r.AppRoot); err != nil {
			find(api.SeverityWarning, "appRoot", api.ReasonInvalidField, err.Error())
		} else {
			p.Redirects = append(p.Redirects, model.Redirect{Path: "/", Exact: true, Status: 302, To: r.AppRoot, Whole: true})
		}
	}
	if r.WWW != "" && r.WWW != wwwAdd && r.WWW != wwwStrip {
		find(api.SeverityWarning, "www", api.ReasonInvalidField, wwwForm)
	}
	if len(r.Rules) > maxRedirects {
		find(api.SeverityWarning, "rules", api.ReasonInvalidField, fmt.Sprintf("has more than %d rules", maxRedirects))
		return problems
	}
	for i := range r.Rules {
		field := fmt.Sprintf("rules[%d]", i)
		rule, err := redirectRule(&r.Rules[i])
		if err != nil {
			find(api.SeverityWarning, field, ReasonOf(err, api.ReasonInvalidField), err.Error())
			continue
		}
		if at := slices.IndexFunc(p.Redirects, func(o model.Redirect) bool { return match.RuleOfRedirect(&o).Covers(match.RuleOfRedirect(&rule)) }); at >= 0 {
			find(api.SeverityInfo, field, api.ReasonUnreachableRule, "a rule before it takes all of its requests")
			continue
		}
		if all := append(slices.Clone(p.Redirects), rule); model.Patterned(all) && len(match.RedirectList(all)) > maxRedirectList {
			find(api.SeverityWarning, field, api.ReasonLimitExceeded, fmt.Sprintf("the rules up to this one take more than %d bytes, where expressions are among them", maxRedirectList))
			continue
		}
		p.Redirects = append(p.Redirects, rule)
	}
	return problems
}

// ToHTTPS is how plain HTTP is redirected to https, where that is asked for.
func (s *Spec) ToHTTPS() model.ToHTTPS {
	if s.Groups.Redirects == nil {
		return model.ToHTTPS{}
	}
	to, _ := toHTTPS(s.Groups.Redirects.HTTPS)
	return to
}

func toHTTPS(r *v1alpha1.RedirectHTTPS) (to model.ToHTTPS, problems []Problem) {
	if r == nil {
		return to, nil
	}
	find := func(field, message string) {
		problems = append(problems, Problem{
			Key: "redirects.https." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: message, Effect: effectDefault,
		})
	}
	switch code := int(r.Code); {
	case slices.Contains(match.RedirectStatuses, code):
		to.Status = uint16(code)
	case code != 0:
		find("code", "must be 301, 302, 303, 307 or 308")
	}
	if r.Port < 0 || r.Port > math.MaxUint16 {
		find("port", "must be from 1 to 65535")
	} else {
		to.Port = uint16(r.Port)
	}
	return to, problems
}

func redirectRule(r *v1alpha1.RedirectRule) (model.Redirect, error) {
	out := model.Redirect{Status: 302, Query: r.Query != "Drop"}
	if r.Code != 0 {
		out.Status = int(r.Code)
	}
	if !slices.Contains(match.RedirectStatuses, out.Status) {
		return out, errors.New("code must be 301, 302, 303, 307 or 308")
	}
	if r.Query != "" && r.Query != "Keep" && r.Query != "Drop" {
		return out, errors.New("query must be Keep or Drop")
	}
	if err := redirectMatch(&out, r.Match); err != nil {
		return out, err
	}
	if r.To.URL != "" {
		out.Query = r.Query == "Keep"
		return wholeTarget(out, r.To.URL)
	}
	return partTarget(out, &r.To)
}

// wholeTarget redirects to an address.
func wholeTarget(r model.Redirect, text string) (model.Redirect, error) {
	if err := checkTarget(text); err != nil {
		return r, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return r, fmt.Errorf("it is not an address: %w", err)
	}
	r.Scheme, r.Host, r.Whole = u.Scheme, u.Hostname(), true
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return r, errors.New("its port is not one")
		}
		r.Port = int(n)
	}
	if strings.Contains(r.Host, ":") {
		r.Host = "[" + r.Host + "]"
	}
	r.To = text
	if u.Scheme != "" {
		_, rest, _ := strings.Cut(text, "://")
		i := strings.IndexAny(rest+"/", "/?#")
		r.To = rest[min(i, len(rest)):]
	}
	return r, nil
}

// checkTarget returns why a text cannot stand in a Location header as it is.
func checkTarget(text string) error {
	const form = "must be a path, or an address that begins with http:// or https://"
	switch {
	case len(text) > maxTarget:
		return fmt.Errorf("must be at most %d characters long", maxTarget)
	case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return errors.New("must consist of visible ASCII characters; write others percent-encoded")
	case strings.Contains(text, "$"):
		return errors.New("must not have $: there are no variables; write %24 for a dollar sign")
	}
	u, err := url.Parse(text)
	switch {
	case strings.HasPrefix(text, "/") && err != nil:
		return errors.New("its % signs must begin an escape; write %25 for a percent sign")
	case strings.HasPrefix(text, "/"):
		return checkPath(text)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return errors.New(form)
	}
	if h := strings.ToLower(u.Hostname()); !hostText.MatchString(h) && !strings.Contains(h, ":") {
		return errors.New("its host is not a host name")
	}
	return nil
}

// checkPath returns why a text cannot be a path, perhaps with a query.
func checkPath(text string) error {
	switch {
	case !pathText.MatchString(text) || len(text) > maxTarget:
		return fmt.Errorf("must begin with / and consist of at most %d visible ASCII characters", maxTarget)
	case strings.HasPrefix(text, "//") || strings.HasPrefix(text, `/\`):
		return errors.New("must not begin with //, which names another host")
	case strings.Contains(text, "$"):
		return errors.New("must not have $: there are no variables; write %24 for a dollar sign")
	}
	return nil
}

// partTarget redirects to the address of the request, with parts of it changed.
func partTarget(r model.Redirect, to *v1alpha1.RedirectTarget) (model.Redirect, error) {
	switch {
	case to.Scheme != "" && to.Scheme != "http" && to.Scheme != "https":
		return r, errors.New("to.scheme must be http or https")
	case to.Host != "" && !hostText.MatchString(to.Host):
		return r, errors.New("to.host must be a host name in lower case")
	case to.Port < 0 || to.Port > 65535:
		return r, errors.New("to.port must be from 1 to 65535")
	case to.Path != "" && to.Prefix != "" || to.RegexPath != "" && to.Path+to.Prefix != "":
		return r, errors.New("to has several of path, prefix and regexPath; set one of them")
	case to.Prefix != "" && r.Regex != nil:
		return r, errors.New("to.prefix does not go with a match of type Regex; set to.regexPath")
	case *to == v1alpha1.RedirectTarget{}:
		return r, errors.New("to is empty; set url, scheme, host, port, path, prefix or regexPath")
	}
	r.Scheme, r.Host, r.Port = to.Scheme, to.Host, int(to.Port)
	switch {
	case to.RegexPath != "":
		return replaced(r, to.RegexPath)
	case to.Path != "":
		r.To, r.Whole = to.Path, true
		return r, checkPath(to.Path)
	case to.Prefix != "":
		r.Strip, r.To = len(strings.TrimRight(r.Path, "/")), strings.TrimRight(to.Prefix, "/")
		return r, checkPath(to.Prefix)
	}
	return r, nil
}

func setRedirect(s *Spec, v string) error {
	if err := checkTarget(v); err != nil {
		return err
	}
	s.setRedirects(func(r *v1alpha1.Redirects) {
		r.Rules = []v1alpha1.RedirectRule{{To: v1alpha1.RedirectTarget{URL: v}}}
	})
	return nil
}

func setRedirectCode(s *Spec, v string) error {
	code, err := parseRedirectCode(v)
	if err != nil {
		return err
	}
	if s.Groups.Redirects != nil && len(s.Groups.Redirects.Rules) > 0 {
		s.setRedirects(func(r *v1alpha1.Redirects) {
			r.Rules = slices.Clone(r.Rules)
			for i := range r.Rules {
				r.Rules[i].Code = code
			}
		})
	}
	return nil
}

func parseRedirectCode(v string) (int32, error) {
	i := slices.IndexFunc(match.RedirectStatuses, func(status int) bool { return v == strconv.Itoa(status) })
	if i < 0 {
		return 0, errors.New("must be 301, 302, 303, 307 or 308")
	}
	return int32(match.RedirectStatuses[i]), nil
}

func setAppRoot(s *Spec, v string) error {
	if err := checkPath(v); err != nil {
		return err
	}
	s.setRedirects(func(r *v1alpha1.Redirects) { r.AppRoot = v })
	return nil
}

// setRedirects changes a copy of the group, because Specs share groups.
func (s *Spec) setRedirects(change func(*v1alpha1.Redirects)) {
	var r v1alpha1.Redirects
	if s.Groups.Redirects != nil {
		r = *s.Groups.Redirects
	}
	change(&r)
	s.Groups.Redirects = &r
}

// withoutPassthroughRedirects are the fields that answer in place of the pods, which
// the router of a passthrough route cannot. It can redirect plain HTTP.
func withoutPassthroughRedirects(r *v1alpha1.Redirects) []string {
	var fields []string
	if len(r.Rules) > 0 {
		fields = append(fields, "rules")
	}
	if r.AppRoot != "" {
		fields = append(fields, "appRoot")
	}
	if r.WWW != "" {
		fields = append(fields, "www")
	}
	return fields
}
