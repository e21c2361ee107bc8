package explain

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// openPath finds a route that is open to all clients around a path that is
// not: its pods get what is written like the protected path and is not, if they
// serve that as well.
func (s *Snapshot) openPath(key model.Object, find finder) {
	open, served := s.pipeline.Claim(key)
	if !served || open.Guard() != "" || open.Termination == model.Passthrough {
		return
	}
	for _, c := range s.claimsFor(open.Host) {
		if c.Guard() == "" || c.Host != open.Host || c.Termination == model.Passthrough || !ruleOf(open).Covers(ruleOf(c)) {
			continue
		}
		field, protected := "spec.path", "a route of another namespace"
		if c.Owner.Namespace == key.Namespace {
			protected = "route " + c.Owner.Name
		}
		find(api.SeverityInfo, field, api.ReasonOpenPath, fmt.Sprintf("is open around path %s, which %s protects", pathText(c), protected),
			"paths of the host are normalised before they are matched, and ambiguous ones get 400; the pods of this route must not serve the protected path under another name")
		return
	}
}

func ruleOf(c *model.Claim) match.Rule { return match.RuleOf(c, "") }
