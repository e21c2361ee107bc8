package stack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// namedGroups are the security groups that the user names. Where one is not
// there, a load balancer keeps those that it has, and a new one is not made.
func (d *desire) namedGroups() error {
	s := &d.Settings
	field, wrong := d.wrongGroups()
	have := d.existing()
	switch {
	case len(wrong) == 0:
	case have == nil:
		return &hook.Error{
			Class: hook.ClassInvalidConfig, Code: "InvalidConfiguration", Field: field, RetryAfter: subnetsRetry,
			Message: "the security group " + strings.Join(wrong, ", ") + "; no load balancer is made",
		}
	default:
		d.note("InvalidConfiguration", field, fmt.Sprintf("the security group %s; the load balancer keeps the groups that it has, %s",
			strings.Join(wrong, ", "), strings.Join(have.SecurityGroups, ", ")))
		s.SecurityGroups, s.ExtraGroups = have.SecurityGroups, nil
		if f := d.State.Frontend; f != nil && slices.Contains(have.SecurityGroups, f.ID) {
			s.SecurityGroups, s.ExtraGroups = nil, slices.DeleteFunc(slices.Clone(have.SecurityGroups), func(id string) bool { return id == f.ID })
		}
	}
	d.out.Balancer.SecurityGroups = slices.Concat(s.SecurityGroups, s.ExtraGroups)
	return nil
}

// wrongGroups returns the annotation that names security groups that are not
// there, and what is wrong with each.
func (d *desire) wrongGroups() (field string, wrong []string) {
	for _, named := range []struct {
		suffix string
		ids    []string
	}{{"security-groups", d.Settings.SecurityGroups}, {"extra-security-groups", d.Settings.ExtraGroups}} {
		for _, id := range named.ids {
			vpc, found := d.Environment.NamedGroups[id]
			switch {
			case !found:
				wrong = append(wrong, id+" does not exist")
			case vpc != d.Environment.VPC:
				wrong = append(wrong, id+" is in "+vpc+" and not in "+d.Environment.VPC)
			default:
				continue
			}
			if field == "" {
				field = balancerPrefix + named.suffix
			}
		}
	}
	return field, wrong
}

// frontend is the security group of the load balancer.
func (d *desire) frontend() {
	if len(d.Settings.SecurityGroups) > 0 {
		return
	}
	g := &SecurityGroup{
		Name: frontendName(d.Spec.Ref), VPC: d.Environment.VPC,
		Description: fmt.Sprintf("load balancer of Service %s in cluster %s", d.Spec.Ref, d.Spec.Ref.Cluster),
		Tags:        Tags(d.Spec.Ref, ResourceFrontend, d.tags(ResourceFrontend)),
	}
	ranges := sourceRanges(d.Spec, d.Settings)
	for _, p := range d.Spec.Ports {
		base := Rule{Protocol: strings.ToLower(p.Protocol), From: p.Port, To: p.Port}
		for _, r := range ranges {
			ru := base
			ru.CIDR = r
			g.Rules = append(g.Rules, ru)
		}
		for _, id := range d.Settings.PrefixLists {
			ru := base
			ru.PrefixList = id
			g.Rules = append(g.Rules, ru)
		}
	}
	if !d.Settings.NoICMP {
		for _, r := range ranges {
			if !strings.Contains(r, ":") && len(g.Rules) < maxRules {
				// Fragmentation needed, without which path MTU discovery fails.
				g.Rules = append(g.Rules, Rule{Protocol: "icmp", From: 3, To: 4, CIDR: r})
			}
		}
	}
	d.out.Frontend = g
}
