package stack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Rules are opened before anything needs them and closed after nothing does any
// more. What a rule still serves is read from what there is, not from what this
// plan is about to do: whatever AWS refuses, a listener never leads where
// nothing lets it in. So a rule is closed by the pass after the one that turned.

// closeWait is what Waits says while rules stay for that.
const closeWait = "rules of security groups that were needed before are closed next"

// frontend plans the load balancer's own security group: it, and its rules.
func (p *planner) frontend() {
	want, have := p.want.Frontend, p.have.Frontend
	if want == nil {
		return
	}
	var rules []Rule
	if have == nil {
		p.add(CreateSecurityGroup{*want})
	} else {
		p.tags(Resource{Frontend: true}, want.Tags, have.Tags)
		rules = have.Rules
	}
	c := changedRules(want.Rules, rules)
	if c == nil {
		return
	}
	if n := len(c.Revoke); n > 0 {
		c.Revoke = slices.DeleteFunc(c.Revoke, p.listenedTo)
		if len(c.Revoke) < n {
			p.wait(closeWait)
		}
	}
	if len(c.Authorize)+len(c.Revoke) > 0 {
		p.add(*c)
	}
}

// listenedTo reports whether a rule of the frontend is all that lets clients
// reach a listener that is there.
func (p *planner) listenedTo(r Rule) bool {
	if r.Protocol == "icmp" || slices.ContainsFunc(p.want.Frontend.Rules, r.SamePort) {
		return false
	}
	// Which ports the former load balancers have is not known here.
	return len(p.have.Former) > 0 || slices.ContainsFunc(p.have.Listeners, func(l Listener) bool {
		return transport(l.Protocol) == r.Protocol && l.Port >= r.From && l.Port <= r.To
	})
}

// unserved reports whether the frontend would shut out the clients of a
// listener that is there.
func (p *planner) unserved() bool {
	if slices.Contains(p.balancerNow().SecurityGroups, p.have.FrontendID()) {
		return false // which keeps what is listened to
	}
	return slices.ContainsFunc(p.have.Listeners, func(l Listener) bool {
		return !slices.ContainsFunc(p.want.Frontend.Rules, func(r Rule) bool {
			return transport(l.Protocol) == r.Protocol && l.Port >= r.From && l.Port <= r.To
		})
	})
}

// transport is what a rule calls the protocol of a listener or a target group.
func transport(protocol string) string {
	if protocol == "UDP" {
		return "udp"
	}
	return "tcp"
}

// changedRules returns how to get from some rules to others, or nil.
func changedRules(want, have []Rule) *ChangeRules {
	c := ChangeRules{Authorize: missing(want, have), Revoke: missing(have, want)}
	if len(c.Authorize)+len(c.Revoke) == 0 {
		return nil
	}
	return &c
}

// missing returns the rules of one list that another has not.
func missing(list, from []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(list), func(r Rule) bool { return HasRule(from, r) })
}

// HasRule reports whether a list has a rule, whatever describes it.
func HasRule(list []Rule, r Rule) bool {
	return slices.ContainsFunc(list, func(o Rule) bool { return o.source() == r.source() })
}

// wantedRules are the rules that a security group of nodes must have, with the
// frontend's id where that exists.
func wantedRules(want Stack, have State, group string) []Rule {
	wanted := slices.Clone(want.NodeRules[group])
	for i := range wanted {
		if wanted[i].Group == "" {
			wanted[i].Group = have.FrontendID()
		}
	}
	return wanted
}

// openNodes opens the nodes to the load balancer. While it gets other security
// groups, which AWS may refuse, both its present and its wanted groups are let in
// to the ports that serve now and to those that will serve.
func (p *planner) openNodes() {
	for _, group := range p.have.Nodes {
		wanted := wantedRules(p.want, p.have, group.ID)
		leaving := p.leaving(group)
		ports, sources := slices.Clone(wanted), leaving
		if p.switching(wanted) {
			ports = append(ports, p.served()...)
			for _, w := range wanted {
				sources = append(sources, w.Group)
			}
		}
		for _, source := range sources {
			for _, r := range ports {
				r.Group, r.Description = source, nodeRuleDescription(p.want.Ref, source == p.have.FrontendID())
				if !HasRule(wanted, r) {
					wanted = append(wanted, r)
				}
			}
		}
		// What is open for another reason need not be opened again.
		if open := missing(wanted, group.Rules); len(open) > 0 {
			p.add(ChangeRules{Group: group.ID, Authorize: open})
		}
	}
}

// switching reports whether the load balancer has not all groups yet that are
// to be let in.
func (p *planner) switching(wanted []Rule) bool {
	return p.have.Balancer != nil && slices.ContainsFunc(wanted, func(w Rule) bool { return !slices.Contains(p.have.Balancer.SecurityGroups, w.Group) })
}

// served are the ports that target groups need which are there, without a source.
func (p *planner) served() []Rule {
	var list []Rule
	add := func(protocol string, port int32) {
		list = append(list, Rule{Protocol: protocol, From: port, To: port})
	}
	for _, g := range p.have.Groups {
		if n, err := strconv.ParseUint(g.Check.Port, 10, 16); err == nil {
			add("tcp", int32(n))
		}
		if g.Type == "instance" {
			add(transport(g.Protocol), g.Port)
		}
		for _, t := range g.Targets {
			add(transport(g.Protocol), t.Port)
		}
	}
	return list
}

// leaving are the load balancer's present security groups that our rules let
// in, and that are not wanted.
func (p *planner) leaving(group SecurityGroup) []string {
	var list []string
	for _, id := range p.balancerNow().SecurityGroups {
		wanted := slices.Contains(p.want.Balancer.SecurityGroups, id) || p.want.Frontend != nil && id == p.have.FrontendID()
		ours := slices.ContainsFunc(group.Rules, func(r Rule) bool { return r.Group == id && ownRule(p.want.Ref, p.have, r) })
		if !wanted && ours {
			list = append(list, id)
		}
	}
	return list
}

// ownRule reports whether a rule of the nodes' security groups was made for
// this Service.
func ownRule(ref hook.Ref, have State, r Rule) bool {
	return r.Group != "" && (r.Group == have.FrontendID() && strings.HasPrefix(r.Description, nodeRuleMark(ref.Cluster)) ||
		r.Description == nodeRuleDescription(ref, false))
}

// abandoned reports whether a rule was made for a Service that is not there any
// more, and lets in a security group of the user that this one has as well.
// Which Services there are must be known.
func abandoned(ref hook.Ref, have State, r Rule, groups []string) bool {
	mark := nodeRuleMark(ref.Cluster)
	uid, marked := strings.CutPrefix(r.Description, mark)
	if have.Sharing.Services == nil || !marked || !slices.Contains(groups, r.Group) {
		return false
	}
	uid, named := strings.CutPrefix(uid, nodeRuleService)
	return !named && uid == "" || named && !have.Sharing.Services[uid]
}

// closeNodes closes what nothing needs any more.
func (p *planner) closeNodes() {
	groups := slices.Concat(p.want.Balancer.SecurityGroups, p.have.InUse())
	for _, group := range p.have.Nodes {
		wanted := wantedRules(p.want, p.have, group.ID)
		c := ChangeRules{Group: group.ID}
		for _, r := range group.Rules {
			switch ours := ownRule(p.want.Ref, p.have, r) || r.Group != p.have.FrontendID() && abandoned(p.want.Ref, p.have, r, groups); {
			case !ours, HasRule(wanted, r), p.have.neededByOthers(group.ID, r):
			case p.serves(r):
				p.wait(closeWait)
			default:
				c.Revoke = append(c.Revoke, r)
			}
		}
		if len(c.Revoke) > 0 {
			p.add(c)
		}
	}
}

// neededByOthers reports whether another Service needs a rule, or may.
func (s State) neededByOthers(group string, r Rule) bool {
	return r.Group != s.FrontendID() && (slices.Contains(s.Sharing.Undetermined, r.Group) || HasRule(s.Sharing.Needed[group], r))
}

// serves reports whether a rule lets something in that is there now.
func (p *planner) serves(r Rule) bool {
	if stays := slices.Contains(p.want.Balancer.SecurityGroups, r.Group) || p.want.Frontend != nil && r.Group == p.have.FrontendID(); !stays {
		return slices.Contains(p.have.InUse(), r.Group) // until the load balancer has left the group
	}
	return p.want.NodeRules != nil && slices.ContainsFunc(p.have.Groups, func(g TargetGroup) bool { return reaches(g, r) })
}

// reaches reports whether a target group that is there needs a rule.
func reaches(g TargetGroup, r Rule) bool {
	at := func(protocol string, port int32) bool {
		return protocol == r.Protocol && port >= r.From && port <= r.To
	}
	if n, err := strconv.ParseUint(g.Check.Port, 10, 16); err == nil && at("tcp", int32(n)) {
		return true
	}
	protocol := transport(g.Protocol)
	return (g.Type == "instance" || len(g.Targets) == 0) && at(protocol, g.Port) ||
		slices.ContainsFunc(g.Targets, func(t Target) bool { return at(protocol, t.Port) })
}

// NeededRules are the rules that a Service needs and may share with others, by
// the nodes' security group: those that it wants, and those that serve what exists.
func NeededRules(want Stack, have State) map[string][]Rule {
	p := &planner{want: want, have: have}
	all := map[string][]Rule{}
	for id := range want.NodeRules {
		all[id] = slices.DeleteFunc(wantedRules(want, have, id), func(r Rule) bool { return r.Group == "" || r.Group == have.FrontendID() })
	}
	for _, group := range have.Nodes {
		for _, r := range group.Rules {
			if r.Group != have.FrontendID() && strings.HasPrefix(r.Description, nodeRuleMark(want.Ref.Cluster)) && p.serves(r) {
				all[group.ID] = append(all[group.ID], r)
			}
		}
	}
	return all
}

// ClosableSources are the security groups of users that a plan may shut out of
// the nodes if no other Service needs that they are let in.
func ClosableSources(want Stack, have State) []string {
	var list []string
	groups := slices.Concat(want.Balancer.SecurityGroups, have.InUse())
	for _, group := range have.Nodes {
		wanted := wantedRules(want, have, group.ID)
		for _, r := range group.Rules {
			marked := strings.HasPrefix(r.Description, nodeRuleMark(want.Ref.Cluster)) && r.Group != have.FrontendID()
			if marked && (slices.Contains(groups, r.Group) || ownRule(want.Ref, have, r)) && !HasRule(wanted, r) && !slices.Contains(list, r.Group) {
				list = append(list, r.Group)
			}
		}
	}
	return list
}
