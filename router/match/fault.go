package match

import "github.com/fairlead/fairlead/router/model"

// FaultMet reports whether a request meets all conditions of a fault.
func FaultMet(f *model.Fault, value func(model.CanarySource, string) (string, bool)) bool {
	for i := range f.When {
		if value == nil {
			return false
		}
		if v, has := value(f.When[i].Source, f.When[i].Name); !has || !meets(&f.When[i], v) {
			return false
		}
	}
	return true
}

// fault answers where that is certain: what comes before it may refuse the request, and
// percentages leave it to chance.
func fault(p *model.Policy, c *Client) (Answer, bool) {
	f := p.Fault
	if f == nil || f.Abort == 0 || f.AbortPercent < 100 || p.Agent != nil || p.APIKeys != nil || p.Firewall.Blocks() || !FaultMet(f, c.Value) {
		return Answer{}, false
	}
	return Answer{Status: f.Abort, Why: "the route has a fault, which a policy asks for", Group: groupFault}, true
}
