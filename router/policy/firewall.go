package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Bounds of the group firewall.
const (
	maxParanoia           = 4
	maxFirewallThreshold  = 1000
	usualThreshold        = 5
	maxFirewallExclusions = 32
	minFirewallBody       = 1 << 10
	maxFirewallBody       = 16 << 10
	// Rules with other IDs set the rule set up, or count its scores.
	firstRule, lastRule = 911000, 948999
	// maxFirewalls is how many sets of settings one request may have to pass.
	maxFirewalls = 4
)

// The modes of a firewall, and what happens to bodies that are too long.
const (
	FirewallBlock  = "Block"
	firewallDetect = "Detect"
	bodyRefuse     = "Refuse"
	bodyPass       = "Pass"
)

// Firewall is that of one policy. All of them hold.
type Firewall struct {
	From *Source
	*v1alpha1.Firewall
}

func (e *Effective) combineFirewalls(s *Source) {
	e.Firewalls = append(e.Firewalls, Firewall{s, s.Spec.Firewall})
}

// compileFirewall adds a firewall to those that a policy has. One that cannot be read
// closes.
func compileFirewall(f *v1alpha1.Firewall, p *model.Policy) []Problem {
	if f == nil {
		return nil
	}
	rules, field, err := readFirewall(f)
	if err != nil {
		return []Problem{closing("firewall."+field, err.Error())}
	}
	if p.Firewall == nil {
		p.Firewall = &model.Firewall{}
	}
	p.Firewall.Add(rules)
	p.Firewall.Body = max(p.Firewall.Body, cmp.Or(int(f.RequestBody), maxFirewallBody))
	p.Firewall.RefusesOver = p.Firewall.RefusesOver || rules.Block && f.BodyOver != bodyPass
	return nil
}

func readFirewall(f *v1alpha1.Firewall) (out model.FirewallRules, field string, err error) {
	out = model.FirewallRules{
		Block: f.Mode == FirewallBlock, Paranoia: cmp.Or(int(f.Paranoia), 1), Threshold: cmp.Or(int(f.Threshold), usualThreshold),
	}
	switch {
	case f.Mode != FirewallBlock && f.Mode != firewallDetect:
		return out, "mode", errors.New("must be Block or Detect")
	case out.Paranoia < 1 || out.Paranoia > maxParanoia:
		return out, "paranoia", fmt.Errorf("must be from 1 to %d", maxParanoia)
	case out.Threshold < 1 || out.Threshold > maxFirewallThreshold:
		return out, "threshold", fmt.Errorf("must be from 1 to %d", maxFirewallThreshold)
	case f.RequestBody != 0 && (f.RequestBody < minFirewallBody || f.RequestBody > maxFirewallBody):
		return out, "requestBody", fmt.Errorf("must be from %d to %d", minFirewallBody, maxFirewallBody)
	case f.BodyOver != "" && f.BodyOver != bodyRefuse && f.BodyOver != bodyPass:
		return out, "bodyOver", errors.New("must be Refuse or Pass")
	case len(f.Exclusions) > maxFirewallExclusions:
		return out, "exclusions", fmt.Errorf("must hold %d rules at most", maxFirewallExclusions)
	}
	for i, id := range f.Exclusions {
		if id < firstRule || id > lastRule {
			return out, fmt.Sprintf("exclusions[%d]", i), fmt.Errorf("must be the ID of a rule from %d to %d", firstRule, lastRule)
		}
		out.Without = append(out.Without, int(id))
	}
	slices.Sort(out.Without)
	out.Without = slices.Compact(out.Without)
	return out, "", nil
}

// checkFirewalls closes where all policies together ask for too much: none of them may
// be left out.
func (e *Effective) checkFirewalls() {
	var p model.Policy
	for _, f := range e.Firewalls {
		compileFirewall(f.Firewall, &p)
	}
	if p.Firewall != nil && len(p.Firewall.Rules) > maxFirewalls {
		e.close(e.Firewalls[len(e.Firewalls)-1].From, GroupFirewall, "", api.ReasonLimitExceeded,
			fmt.Sprintf("all policies of the object together have more than %d firewalls with settings of their own", maxFirewalls))
	}
}

// boundFirewalls closes where a tenant leaves out rules that no guard allows to.
func (s *Selection) boundFirewalls(e *Effective) {
	for _, f := range e.Firewalls {
		if f.From.Key.Kind == KindClusterRoutePolicy {
			continue
		}
		for i, id := range f.Exclusions {
			if !slices.ContainsFunc(s.guards, func(g *v1alpha1.Guard) bool { return excludes(g.FirewallExclusions, int(id)) }) {
				e.close(f.From, GroupFirewall, fmt.Sprintf(".exclusions[%d]", i), api.ReasonNotAllowed,
					fmt.Sprintf("no guard.firewallExclusions of a ClusterRoutePolicy for the object has rule %d", id))
			}
		}
	}
}

// excludes reports whether a list of IDs and ranges has a rule.
func excludes(list []string, id int) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		return err1 == nil && err2 == nil && from <= id && id <= to
	})
}
