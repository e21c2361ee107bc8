package stack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settleTime is how long a load balancer that was replaced stays after the new
// one's name took its place: the name in DNS must follow, and caches of the
// former one run out.
const settleTime = 2 * time.Minute

// Steps are what a Plan says.
type Steps struct {
	// Actions are to be carried out in order.
	Actions []Action
	// Waits says what cannot be done yet, and is to be looked at again.
	Waits []string
}

// Creates reports whether something new with a name is made.
func (s Steps) Creates() bool {
	return slices.ContainsFunc(s.Actions, func(a Action) bool {
		switch a.(type) {
		case CreateBalancer, CreateTargetGroup:
			return true
		}
		return false
	})
}

// Plan returns the way from what there is to what is wanted: it opens the new,
// turns, and a later pass closes the old. Nothing is done in it that would
// disturb a port that stays as it is.
func Plan(want Stack, have State, now time.Time) Steps {
	p := &planner{want: want, have: have, now: now}
	p.frontend()
	p.openNodes()
	for _, g := range want.Groups {
		p.group(g)
	}
	replacing := p.replacing()
	if p.balancer() {
		return p.steps
	}
	p.targets(replacing) // they stand ready before a listener turns to them
	p.listeners()
	if b := p.have.Balancer; b != nil && b.AddressType != want.Balancer.AddressType && want.Balancer.AddressType != "dualstack" {
		p.add(SetAddressType{want.Balancer.AddressType}) // no listener leads to IPv6 any more
	}
	p.targets(without(want.Groups, replacing))
	p.closeNodes()
	p.leftovers()
	return p.steps
}

type planner struct {
	want  Stack
	have  State
	now   time.Time
	steps Steps
}

func (p *planner) add(a ...Action) { p.steps.Actions = append(p.steps.Actions, a...) }
func (p *planner) wait(why string) {
	if !slices.Contains(p.steps.Waits, why) {
		p.steps.Waits = append(p.steps.Waits, why)
	}
}

func (p *planner) balancerNow() Balancer {
	if p.have.Balancer == nil {
		return Balancer{}
	}
	return *p.have.Balancer
}

// tags plans the tags of a resource. Keys that are not ours to know stay.
func (p *planner) tags(r Resource, want, have map[string]string) {
	set := map[string]string{}
	for k, v := range want {
		if old, ok := have[k]; !ok || old != v {
			set[k] = v
		}
	}
	var remove []string
	for _, k := range []string{tagAttributes, tagTags} {
		if _, still := want[k]; !still && have[k] != "" {
			remove = append(remove, k)
		}
	}
	for k := range strings.FieldsSeq(have[tagTags]) {
		if _, still := want[k]; !still && have[k] != "" {
			remove = append(remove, k)
		}
	}
	if len(set)+len(remove) > 0 {
		p.add(Tag{Resource: r, Set: set, Remove: remove})
	}
}

func (p *planner) existing(name string) *TargetGroup {
	i := slices.IndexFunc(p.have.Groups, func(g TargetGroup) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &p.have.Groups[i]
}

func (p *planner) group(want TargetGroup) {
	have := p.existing(want.Name)
	if have == nil {
		p.add(CreateTargetGroup{want})
		have = &TargetGroup{Attributes: defaultGroupAttributes(want), Tags: want.Tags}
	} else if have.Check != want.Check {
		p.add(ModifyTargetGroup{want.Name, want.Check})
	}
	if changed := changedAttributes(want.Attributes, have.Attributes, have.Tags, defaultGroupAttributes(want)); len(changed) > 0 {
		p.add(SetGroupAttributes{want.Name, changed})
	}
	p.tags(Resource{Group: want.Name}, want.Tags, have.Tags)
}

// replacing returns the groups that listeners which are there will turn to.
func (p *planner) replacing() []TargetGroup {
	return slices.DeleteFunc(slices.Clone(p.want.Groups), func(g TargetGroup) bool {
		return !slices.ContainsFunc(p.have.Listeners, func(l Listener) bool { return l.Port == g.ServicePort && l.Group != "" && l.Group != g.Name })
	})
}

func without(groups, others []TargetGroup) []TargetGroup {
	return slices.DeleteFunc(slices.Clone(groups), func(g TargetGroup) bool {
		return slices.ContainsFunc(others, func(o TargetGroup) bool { return o.Name == g.Name })
	})
}

// balancer plans the load balancer itself. It reports whether everything else
// must wait, because one must go before another can come.
func (p *planner) balancer() bool {
	want, have := p.want.Balancer, p.have.Balancer
	frontend := p.want.Frontend != nil
	if have != nil && have.State == "failed" {
		if p.now.Before(have.Created.Add(failedRetry)) {
			p.wait("the load balancer failed (" + have.StateReason + "); it is created again after five minutes")
			return true
		}
		n, _ := strconv.Atoi(have.Tags[tagAttempt]) // none is 0
		if n >= failedAttempts {
			p.wait(fmt.Sprintf("the load balancer failed %d times (%s); it is not created again. Change the Service's subnets, or delete it", n+1, have.StateReason))
			return true
		}
		want.Tags = maps.Clone(want.Tags)
		want.Tags[tagAttempt] = strconv.Itoa(n + 1)
		p.add(DeleteBalancer{have.Name})
		have, p.have.Balancer, p.have.Listeners = nil, nil, nil
	}
	if have == nil {
		for _, old := range p.have.Former {
			if usesAllocations(want, old) {
				// An address can only be in one place.
				p.add(DeleteBalancer{old.Name})
			}
		}
		p.add(CreateBalancer{want, frontend})
		if changed := changedAttributes(want.Attributes, defaultBalancerAttributes(want.Kind), nil, nil); len(changed) > 0 {
			p.add(SetBalancerAttributes{want.Name, changed})
		}
		p.acl()
		return false
	}
	p.tags(Resource{Balancer: have.Name}, want.Tags, have.Tags)
	p.securityGroups(want, *have, frontend)
	if !slices.Equal(want.Subnets, withoutUnasked(have.Subnets, want.Subnets)) {
		p.subnets(want, *have)
	}
	if want.AddressType != have.AddressType && want.AddressType == "dualstack" {
		p.add(SetAddressType{want.AddressType})
	}
	if changed := changedAttributes(want.Attributes, have.Attributes, have.Tags, defaultBalancerAttributes(want.Kind)); len(changed) > 0 {
		p.add(SetBalancerAttributes{have.Name, changed})
	}
	p.acl()
	return false
}

// failedRetry is how old a load balancer that failed is before it is made again.
const failedRetry = 5 * time.Minute

// failedAttempts is how often that is done; tagAttempt counts.
const (
	failedAttempts = 3
	tagAttempt     = "fairlead.dev/attempt"
)

func usesAllocations(want, old Balancer) bool {
	return slices.ContainsFunc(want.Subnets, func(m Mapping) bool {
		return m.Allocation != "" && slices.ContainsFunc(old.Subnets, func(o Mapping) bool { return o.Allocation == m.Allocation })
	})
}

// withoutUnasked leaves out the addresses that were not asked for.
func withoutUnasked(have, want []Mapping) []Mapping {
	list := slices.Clone(have)
	for i, m := range list {
		j := slices.IndexFunc(want, func(w Mapping) bool { return w.Subnet == m.Subnet })
		if j >= 0 && want[j].PrivateIP == "" {
			list[i].PrivateIP = ""
		}
	}
	return list
}

// subnets plans other subnets. Addresses of a subnet cannot be changed, so a
// subnet whose addresses change is taken out first, as long as another
// one stays.
func (p *planner) subnets(want, have Balancer) {
	var stay []Mapping
	for _, w := range want.Subnets {
		if !readdressed(w, have.Subnets) {
			stay = append(stay, w)
		}
	}
	switch n := len(want.Subnets); {
	case len(stay) == n:
	case len(stay) > 0:
		p.add(SetSubnets{stay})
	case len(have.Subnets) > 1:
		// All change: one serves with its old address until others have their new one.
		old := have.Subnets[0]
		others := slices.DeleteFunc(slices.Clone(want.Subnets), func(m Mapping) bool { return m.Subnet == old.Subnet })
		p.add(SetSubnets{[]Mapping{old}}, SetSubnets{append([]Mapping{old}, others...)}, SetSubnets{others})
	}
	p.add(SetSubnets{want.Subnets})
}

func (p *planner) securityGroups(want, have Balancer, frontend bool) {
	if len(have.SecurityGroups) == 0 {
		return // born without, and so it stays
	}
	ids := slices.Clone(want.SecurityGroups)
	if frontend && p.unserved() {
		p.wait("the security groups of the load balancer change once listeners that are not wanted are gone")
		return
	}
	if frontend {
		if p.have.Frontend == nil {
			p.add(SetSecurityGroups{ids, true})
			return
		}
		ids = append([]string{p.have.Frontend.ID}, ids...)
	}
	if !sameSet(ids, have.SecurityGroups) {
		p.add(SetSecurityGroups{want.SecurityGroups, frontend})
	}
}

func sameSet(a, b []string) bool {
	return maps.Equal(setOf(a), setOf(b))
}

func setOf(list []string) map[string]bool {
	all := map[string]bool{}
	for _, v := range list {
		all[v] = true
	}
	return all
}

func (p *planner) acl() {
	switch want := p.want.ACL; {
	case want == "", want == p.have.ACL, want == "none" && p.have.ACL == "":
	default:
		p.add(SetACL{want})
	}
}

// ready reports whether the wanted load balancer has taken over for good.
func (p *planner) ready() bool {
	b := p.balancerNow()
	return b.State == "active" && len(p.have.Listeners) >= len(p.want.Listeners) && Healthy(p.want, p.have) &&
		!p.have.PublishedAt.IsZero() && !p.now.Before(p.have.PublishedAt.Add(settleTime))
}

// Healthy reports whether every wanted target group has a healthy target.
func Healthy(want Stack, have State) bool {
	for _, g := range want.Groups {
		i := slices.IndexFunc(have.Groups, func(h TargetGroup) bool { return h.Name == g.Name })
		led := slices.ContainsFunc(want.Listeners, func(l Listener) bool { return l.Group == g.Name })
		if !led {
			continue
		}
		if i < 0 || !slices.ContainsFunc(slices.Collect(maps.Values(have.Groups[i].Health)), func(h Health) bool { return h.State == "healthy" }) {
			return false
		}
	}
	return true
}

// leftovers plans the end of what is not wanted any more.
func (p *planner) leftovers() {
	others := map[string]bool{}
	for _, old := range p.have.Former {
		switch {
		case slices.ContainsFunc(p.steps.Actions, func(a Action) bool { d, ok := a.(DeleteBalancer); return ok && d.Name == old.Name }):
		case p.have.Balancer != nil && p.ready():
			p.add(DeleteBalancer{old.Name})
		default:
			others[old.ARN] = true
			p.wait("the former load balancer " + old.Name + " stays until the new one serves and resolvers have forgotten the former name")
		}
	}
	for _, g := range p.have.Groups {
		if slices.ContainsFunc(p.want.Groups, func(w TargetGroup) bool { return w.Name == g.Name }) ||
			slices.ContainsFunc(g.UsedBy, func(arn string) bool { return others[arn] }) {
			continue
		}
		if slices.ContainsFunc(p.have.Listeners, func(l Listener) bool { return l.Group == g.Name }) {
			p.wait("the former target group " + g.Name + " stays until no listener leads to it")
			continue
		}
		if len(g.Targets) > 0 {
			p.deregister(g.Name, g.Targets)
		}
		draining := slices.ContainsFunc(slices.Collect(maps.Values(g.Health)), func(h Health) bool { return h.State == "draining" })
		if len(g.Targets) > 0 || draining {
			p.wait("the former target group " + g.Name + " drains")
			continue
		}
		p.add(DeleteTargetGroup{g.Name})
	}
	switch f := p.have.Frontend; {
	case p.want.Frontend != nil || f == nil:
	case slices.Contains(p.have.InUse(), f.ID):
		p.wait("the former security group " + f.Name + " stays until no load balancer has it")
	default:
		p.add(DeleteSecurityGroup{f.ID})
	}
}
