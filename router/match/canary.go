package match

import (
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Branching is how a canary decides about a request.
type Branching struct {
	// To is the number of a branch, counted from 1, or 0 for the claim's own backend.
	To int
	// Rule is the condition that decided, or nil.
	Rule *model.CanaryRule
	// Held is true if the client's cookie decided, Chance if weights do: then To is not
	// known.
	Held, Chance bool
}

// Branch decides about a request as templates/canary.lua does. Value returns what the
// request has of a name.
func Branch(c *model.Canary, value func(model.CanarySource, string) (string, bool)) Branching {
	for i := range c.Rules {
		if v, has := value(c.Rules[i].Source, c.Rules[i].Name); has && meets(&c.Rules[i], v) {
			return Branching{To: c.Rules[i].To, Rule: &c.Rules[i]}
		}
	}
	weights := 0
	for _, b := range c.Branches {
		weights += b.Weight
	}
	if weights == 0 {
		return Branching{}
	}
	if c.Cookie != nil {
		if id, has := value(model.CanaryCookie, c.Cookie.Name); has {
			if to, kept := c.Held(id); kept {
				return Branching{To: to, Held: true}
			}
		}
	}
	return Branching{Chance: true}
}

func meets(r *model.CanaryRule, value string) bool {
	switch r.Compare {
	case model.CanaryPresent:
		return true
	case model.CanaryExact:
		return value == r.Value
	case model.CanaryPrefix:
		return strings.HasPrefix(value, r.Value)
	case model.CanaryRegex:
		e, err := regexp.Compile(r.Value)
		return err == nil && len(value) <= model.CanaryRegexBytes && e.MatchString(value)
	}
	return false
}
