package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// rulesOf returns the paths of matches.
func rulesOf(matches []model.Match) (all []match.Rule) {
	for i := range matches {
		all = append(all, match.Rule{Path: matches[i].Path, Exact: matches[i].Exact, Conditions: matches[i].Conditions})
	}
	return all
}

// wholePaths returns the paths of all rules of the route.
func (b *builder) wholePaths() (all []match.Rule) {
	for i := range b.route.Spec.Rules {
		matches := b.route.Spec.Rules[i].Matches
		if len(matches) == 0 {
			return []match.Rule{{}}
		}
		for j := range matches {
			all = append(all, wholePath(matches[j].Path))
		}
	}
	return all
}

func wholePath(p *gatewayv1.HTTPPathMatch) (r match.Rule) {
	if p == nil || p.Value == nil {
		return r
	}
	r.Path = *p.Value
	switch {
	case p.Type == nil || *p.Type == gatewayv1.PathMatchPathPrefix:
	case *p.Type == gatewayv1.PathMatchExact:
		r.Exact = true
	default: // an expression, or what the rule itself refuses
		r.Conditions = &model.Conditions{Path: &model.PathExpression{}}
	}
	return r
}
