package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// Annotations of the group rewrite, beside OpenShift's.
const (
	AnnotationHost    = "fairlead.dev/host"
	AnnotationRewrite = "fairlead.dev/rewrite"
)

var (
	// rewriteText keeps out what cannot stand in a path, and "|", which separates
	// the fields of a policy record.
	rewriteText = regexp.MustCompile(`^/[!$%&()*+,\-./0-9:;<=>@A-Z\[\]^_\x60a-z{}~]*$`)
	// percentRuns are percent signs in rewrite targets. As OpenShift's router
	// has it, an even number of them stands for half as many.
	percentRuns = regexp.MustCompile(`%+`)
)

const (
	// maxPath keeps policy records far below HAProxy's buffer.
	maxPath = 2048
	// anyPath is longer than any path that HAProxy takes.
	anyPath = 1 << 20
	maxHost = 253
)

// compileRewrite sets the host that pods get. The path depends on the route's own, so
// that is Spec.Rewrite.
func compileRewrite(r *v1alpha1.Rewrite, p *model.Policy) []Problem {
	if r == nil {
		return nil
	}
	var problems []Problem
	find := func(field string, err error, effect string) {
		problems = append(problems, Problem{
			Key: "rewrite." + field, Severity: api.SeverityWarning, Reason: ReasonOf(err, api.ReasonInvalidField), Message: err.Error(), Effect: effect,
		})
	}
	const samePath, sameHost = "the path stays as it is", "the Host header stays as it is"
	for _, f := range []struct{ name, text string }{{"prefix", r.Prefix}, {"full", r.Full}} {
		if err := checkRewrite(f.text); f.text != "" && err != nil {
			find(f.name, err, samePath)
		}
	}
	if r.Prefix != "" && r.Full != "" {
		find("full", errors.New("is set, and prefix is, too"), "prefix is used")
	}
	if r.Regex != nil {
		if _, field, err := pathRegex(r.Regex); err != nil {
			find("regex."+field, err, samePath)
		}
		if r.Prefix+r.Full != "" {
			find("regex", errors.New("is set, and prefix or full is, too"), "it has no effect")
		}
	}
	p.PodHost = r.Host
	if err := checkPodHost(r.Host); r.Host != "" && err != nil {
		find("host", err, sameHost)
		p.PodHost = ""
	}
	return problems
}

// Rewrite is what becomes of the path of requests, for a route with such paths; nil if it
// stays. A prefix is replaced on whole segments: what is left of the path always
// begins with a slash. Of paths that an expression matches all is replaced.
func (s *Spec) Rewrite(m *model.Match) *model.Rewrite {
	r := s.Groups.Rewrite
	switch {
	case r == nil:
		return nil
	case r.Prefix != "" && checkRewrite(r.Prefix) == nil && m.Expression() != nil:
		return &model.Rewrite{Strip: anyPath, Empty: r.Prefix}
	case r.Prefix != "" && checkRewrite(r.Prefix) == nil:
		return &model.Rewrite{Strip: len(strings.TrimRight(m.Path, "/")), To: strings.TrimRight(r.Prefix, "/"), Empty: r.Prefix}
	case r.Prefix == "" && r.Full != "" && checkRewrite(r.Full) == nil:
		return &model.Rewrite{Strip: anyPath, Empty: r.Full}
	case r.Prefix+r.Full == "" && r.Regex != nil:
		if p, _, err := pathRegex(r.Regex); err == nil {
			return &model.Rewrite{Regex: p}
		}
	}
	return nil
}

// ReasonOf is that of a finding about a value that cannot be used.
func ReasonOf(err error, usual api.Reason) api.Reason {
	if errors.As(err, new(regex.BacktracksError)) {
		return api.ReasonRegexBacktracks
	}
	var own interface{ Reason() api.Reason }
	if errors.As(err, &own) {
		return own.Reason()
	}
	return usual
}

// pathRegex also returns the field that is wrong.
func pathRegex(r *v1alpha1.RewriteRegex) (*model.PathRegex, string, error) {
	p, err := regex.Parse(r.Pattern)
	if err != nil {
		return nil, "pattern", err
	}
	if err := p.CheckReplacement(r.Replacement); err != nil {
		return nil, "replacement", err
	}
	return &model.PathRegex{Pattern: p.Text, Replacement: r.Replacement, Longest: p.Longest}, "", nil
}

// patternRow is the annotation of the field regex. It comes after that of the prefix.
var patternRow = Annotation{
	Key: AnnotationRewrite, Group: GroupRewrite, Values: "PATTERN REPLACEMENT", Default: "none", Terminations: http,
	Doc: "Replaces the whole path of requests whose path a regular expression matches; $1 to $9 stand for its captures.",
	set: setPattern,
}

func setPattern(s *Spec, v string) error {
	pattern, replacement, _ := strings.Cut(strings.Trim(v, " "), " ")
	r := &v1alpha1.RewriteRegex{Pattern: pattern, Replacement: strings.TrimLeft(replacement, " ")}
	if _, field, err := pathRegex(r); err != nil {
		return fmt.Errorf("the %s %w", field, err)
	}
	if g := s.Groups.Rewrite; g != nil && g.Prefix != "" {
		return errors.New("cannot hold beside " + api.AnnotationRewrite)
	}
	s.setRewrite(func(g *v1alpha1.Rewrite) { g.Regex, g.Full = r, "" })
	return nil
}

func checkRewrite(text string) error {
	if len(text) > maxPath || !rewriteText.MatchString(text) {
		return errors.New("must be a path that begins with / and holds only visible ASCII characters without \" ' # ? | and backslash")
	}
	return nil
}

func checkPodHost(text string) error {
	if len(text) > maxHost || !hostText.MatchString(text) {
		return errors.New("must be a host name in lower case, without a port")
	}
	return nil
}

// halvedPercents reads the percent signs of the annotation.
func halvedPercents(text string) string {
	return percentRuns.ReplaceAllStringFunc(text, func(run string) string {
		if len(run)%2 == 0 {
			return run[:len(run)/2]
		}
		return run
	})
}

// setRewrite changes a copy of the group, because Specs share groups.
func (s *Spec) setRewrite(change func(*v1alpha1.Rewrite)) {
	var r v1alpha1.Rewrite
	if s.Groups.Rewrite != nil {
		r = *s.Groups.Rewrite
	}
	change(&r)
	s.Groups.Rewrite = &r
}
