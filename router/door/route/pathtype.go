package route

import (
	"errors"
	"strings"
	"unicode"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// matchOf returns which paths a Route is for, as far as spec.path and the kind of path
// say, or what is wrong with spec.path.
func matchOf(r *routev1.Route) (m model.Match, wrong error) {
	text, kind := r.Spec.Path, r.Annotations[api.AnnotationPathType]
	if kind != api.PathTypeRegex && kind != api.PathTypeRegexIgnoreCase {
		if problem := door.PathProblem(text); problem != "" {
			return model.Match{Path: text}, errors.New(problem)
		}
		return model.Match{Path: text}, nil
	}
	e, err := regex.ParseMatcher(text, kind == api.PathTypeRegexIgnoreCase)
	if err != nil {
		return allBelow(text, kind), err
	}
	return model.Match{
		Path: e.Beginning,
		Conditions: &model.Conditions{Path: &model.PathExpression{
			Written: text, Pattern: e.Pattern, Longest: e.Longest, Certain: e.Certain,
		}},
	}, nil
}

// allBelow is for an expression that cannot be read: all paths that it may mean, which is
// what a closed claim keeps from others. These begin as it does, up to the first character
// that may mean another one: what repeats or is optional, a letter where case does not count.
// With alternatives, nothing is known.
func allBelow(text, kind string) model.Match {
	beginning := text
	if at := strings.IndexAny(text, `\^$*+?()[]{}|.%;`); at >= 0 {
		beginning = text[:at]
		if strings.IndexByte("*+?{", text[at]) >= 0 && at > 0 {
			beginning = text[:at-1]
		}
	}
	if kind == api.PathTypeRegexIgnoreCase {
		if at := strings.IndexFunc(beginning, unicode.IsLetter); at >= 0 {
			beginning = beginning[:at]
		}
	}
	if !strings.HasPrefix(beginning, "/") || strings.Contains(text, "|") || door.PathProblem(beginning) != "" {
		beginning = "/"
	}
	return below(beginning, text)
}

// below closes what begins as the paths of an expression do.
func below(beginning, written string) model.Match { return expression(beginning, written, `\A/`) }

// nothing is for an expression that is one too many: no path.
func nothing(text string) model.Match { return expression("/", text, model.NoPath) }

func expression(beginning, written, pattern string) model.Match {
	return model.Match{Path: beginning, Conditions: &model.Conditions{Path: &model.PathExpression{
		Written: written, Pattern: pattern, Longest: longerThanAny, Certain: true,
	}}}
}

// longerThanAny is longer than any path.
const longerThanAny = 1 << 20
