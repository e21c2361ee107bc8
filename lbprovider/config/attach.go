package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

// attach gives each pool the advertisements that select it.
func (p *parser) attach() {
	for i := range p.cfg.Pools {
		pool := &p.cfg.Pools[i]
		pool.L2, pool.BGP = nil, nil
		for _, name := range slices.Sorted(maps.Keys(p.cfg.l2)) {
			if ad := p.cfg.l2[name]; selects(pool, ad.pools, ad.poolSelectors) {
				pool.L2 = append(pool.L2, ad)
			}
		}
		for _, name := range p.bgpOrder {
			p.attachBGP(pool, p.cfg.bgp[name])
		}
		slices.SortFunc(pool.BGP, func(a, b *BGPAdvertisement) int { return strings.Compare(a.Name, b.Name) })
	}
}

// attachBGP attaches ad for the families of addresses in which it goes with the
// pool and with older advertisements of it. For a family in which it does not,
// the last version stays if that goes.
func (p *parser) attachBGP(pool *Pool, ad *BGPAdvertisement) {
	if !selects(pool, ad.pools, ad.poolSelectors) {
		return
	}
	fit, odd := p.fit(pool, ad)
	if len(odd) == 0 {
		pool.BGP = append(pool.BGP, ad)
		return
	}
	effect := fmt.Sprintf("it is not used for pool %q", pool.Name)
	if old := p.last.Pool(pool.Name).announcedBy(ad.Name); old != nil && p.goesOn(pool, fit, old) {
		fit = old
		effect = fmt.Sprintf("its last valid version stays in force for pool %q", pool.Name)
	} else if v6 := pool.announces(fit, true); v6 || pool.announces(fit, false) {
		effect = fmt.Sprintf("it is used for the %s addresses of pool %q only", family(v6), pool.Name)
	}
	if pool.announces(fit, false) || pool.announces(fit, true) {
		pool.BGP = append(pool.BGP, fit)
	}
	name := api.ObjectRef{Group: v1beta1.Group, Kind: "BGPAdvertisement", Namespace: p.res.ProviderNamespace, Name: ad.Name}
	p.report(name, effect, odd...)
}

// goesOn says whether the last version of an advertisement can announce all of
// the pool, where fit, what goes of the new one, cannot.
func (p *parser) goesOn(pool *Pool, fit, old *BGPAdvertisement) bool {
	_, odd := p.fit(pool, old)
	more := pool.announces(old, false) && !pool.announces(fit, false) || pool.announces(old, true) && !pool.announces(fit, true)
	return len(odd) == 0 && more
}

// announcedBy returns the advertisement of that name, or nil.
func (p *Pool) announcedBy(name string) *BGPAdvertisement {
	if p == nil {
		return nil
	}
	for _, ad := range p.BGP {
		if ad.Name == name {
			return ad
		}
	}
	return nil
}

// announces says whether ad announces the pool's addresses of a family.
func (p *Pool) announces(ad *BGPAdvertisement, v6 bool) bool {
	return ad.length(v6) != 0 && slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.From.Is6() == v6 })
}

// fit returns ad without the families in which it cannot announce pool, and why
// it cannot.
func (p *parser) fit(pool *Pool, ad *BGPAdvertisement) (fit *BGPAdvertisement, odd []problem) {
	fit = ad
	for _, v6 := range []bool{false, true} {
		if !pool.announces(ad, v6) {
			continue
		}
		if why, bad := p.unfit(pool, ad, v6); bad {
			odd = append(odd, why)
			fit = fit.without(v6)
		}
	}
	return fit, odd
}

// unfit says why ad cannot announce the pool's addresses of a family.
func (p *parser) unfit(pool *Pool, ad *BGPAdvertisement, v6 bool) (why problem, bad bool) {
	field, length := "spec.aggregationLength", ad.length(v6)
	if v6 {
		field = "spec.aggregationLengthV6"
	}
	for _, r := range pool.Ranges {
		if shortest := r.shortest(); r.From.Is6() == v6 && length < shortest {
			return problem{field: field, reason: api.ReasonInvalidAggregation, message: fmt.Sprintf(
				"invalid aggregation length %d: prefix %d in this pool is more specific than the aggregation length for addresses %s", length, shortest, r)}, true
		}
	}
	for _, other := range pool.BGP {
		if ad.LocalPref == other.LocalPref && ad.Prepend == other.Prepend || length != other.length(v6) || len(ad.Services) > 0 || len(other.Services) > 0 ||
			!samePeers(ad, other) || !p.intersect(ad.Nodes, other.Nodes) {
			continue
		}
		if ad.LocalPref == other.LocalPref {
			return problem{field: "spec.asPathPrepend", reason: api.ReasonConflictingAdvertisements, message: fmt.Sprintf(
				"BGPAdvertisement %q announces the same %s prefixes with the AS number prepended %d times instead of %d", other.Name, family(v6), other.Prepend, ad.Prepend)}, true
		}
		return problem{field: "spec.localPref", reason: api.ReasonConflictingAdvertisements, message: fmt.Sprintf(
			"BGPAdvertisement %q announces the same %s prefixes with local preference %d instead of %d", other.Name, family(v6), other.LocalPref, ad.LocalPref)}, true
	}
	return problem{}, false
}

// samePeers says whether some peer is sent both.
func samePeers(a, b *BGPAdvertisement) bool {
	return len(a.Peers) == 0 || len(b.Peers) == 0 ||
		slices.ContainsFunc(a.Peers, func(name string) bool { return slices.Contains(b.Peers, name) })
}

func selects(pool *Pool, names []string, selectors []labels.Selector) bool {
	if len(names) == 0 && len(selectors) == 0 {
		return true
	}
	return slices.Contains(names, pool.Name) || len(selectors) > 0 && MatchesAny(selectors, pool.Labels)
}

// clusterAddresses says which addresses of the cluster itself are in ranges:
// the first of each kind, because there may be thousands.
func (p *parser) clusterAddresses(ranges []Range) (odd []problem) {
	say := func(format string, args ...any) {
		odd = append(odd, problem{field: "spec.addresses", reason: api.ReasonClusterAddress, message: fmt.Sprintf(format, args...)})
	}
	holds := func(addr netip.Addr) bool {
		return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(addr) })
	}
	for _, n := range p.res.Nodes {
		if i := slices.IndexFunc(n.Addresses, holds); i >= 0 {
			say("%s is the address of node %q", n.Addresses[i], n.Name)
			break
		}
	}
	for _, n := range p.res.Nodes {
		i := slices.IndexFunc(n.PodRanges, func(c netip.Prefix) bool {
			pods := Range{From: c.Masked().Addr(), To: lastAddr(c.Masked())}
			return slices.ContainsFunc(ranges, pods.Overlaps)
		})
		if i >= 0 {
			say("it overlaps with %s, the addresses of pods on node %q", n.PodRanges[i], n.Name)
			break
		}
	}
	if i := slices.IndexFunc(p.res.ServiceAddresses, holds); i >= 0 {
		say("%s is the cluster IP of a Service", p.res.ServiceAddresses[i])
	}
	return odd
}
