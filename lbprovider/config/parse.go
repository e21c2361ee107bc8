package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
)

const (
	effectKept    = "its last valid version stays in force"
	effectUnused  = "it is not used"
	effectPartial = "the entry is not used"
)

// Parse makes a Config of res. An object that is bad now but was good in last
// keeps its last version; a pool that this process has never seen good gives
// what can be used of it, so that a restart does not take its addresses away.
// Findings are sorted by object.
func Parse(res Resources, last *Config) (*Config, []api.Finding) {
	p := parser{last: last, namespaces: res.Namespaces, cfg: &Config{advertisements: map[string]*L2Advertisement{}}}
	for i := range res.L2Advertisements {
		if ad := &res.L2Advertisements[i]; p.inNamespace(ad, "L2Advertisement", res.ProviderNamespace) {
			p.advertisement(ad)
		}
	}
	// Older pools come first, so that of two pools that overlap the younger
	// one gives way.
	pools := slices.SortedFunc(slices.Values(res.Pools), func(a, b v1beta1.IPAddressPool) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range pools {
		if p.inNamespace(&pools[i], "IPAddressPool", res.ProviderNamespace) {
			p.pool(&pools[i])
		}
	}
	p.attach()
	slices.SortFunc(p.cfg.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(p.findings, func(a, b api.Finding) int { return cmp.Compare(a.Object.String(), b.Object.String()) })
	return p.cfg, p.findings
}

type parser struct {
	last       *Config
	namespaces []Namespace
	cfg        *Config
	findings   []api.Finding
}

// problem is a finding before its object and effect are known.
type problem struct {
	field   string
	reason  api.Reason
	message string
}

func ref(kind string, obj metav1.Object) api.ObjectRef {
	return api.ObjectRef{Group: v1beta1.Group, Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (p *parser) report(object api.ObjectRef, effect string, problems ...problem) {
	for _, pr := range problems {
		p.findings = append(p.findings, api.Finding{
			Object: object, Field: pr.field, Reason: pr.reason, Message: pr.message,
			Severity: api.SeverityError, Effect: effect,
		})
	}
}

func (p *parser) inNamespace(obj metav1.Object, kind, want string) bool {
	if obj.GetNamespace() == want {
		return true
	}
	p.report(ref(kind, obj), effectUnused, problem{
		field: "metadata.namespace", reason: api.ReasonWrongNamespace,
		message: fmt.Sprintf("resource must be created in %s namespace", want),
	})
	return false
}

func (p *parser) pool(obj *v1beta1.IPAddressPool) {
	object := ref("IPAddressPool", obj)
	pool, problems := readPool(obj, p.namespaces)
	usable, overlaps := p.withoutOverlaps(pool.Ranges)
	problems = append(problems, overlaps...)
	if len(problems) == 0 {
		p.cfg.Pools = append(p.cfg.Pools, pool)
		return
	}
	if old := p.last.Pool(obj.Name); old != nil {
		if _, overlaps := p.withoutOverlaps(old.Ranges); len(overlaps) == 0 {
			p.cfg.Pools = append(p.cfg.Pools, *old)
			p.report(object, effectKept, problems...)
			return
		}
	}
	if slices.ContainsFunc(problems, func(pr problem) bool { return pr.reason == api.ReasonInvalidSelector }) {
		// A selector restricts who may have the addresses. Without it the pool
		// would open to everybody.
		p.report(object, effectUnused, problems...)
		return
	}
	p.report(object, effectPartial, problems...)
	if pool.Ranges = usable; len(usable) > 0 {
		p.cfg.Pools = append(p.cfg.Pools, pool)
	}
}

// withoutOverlaps returns the ranges that overlap neither each other nor the
// pools taken so far.
func (p *parser) withoutOverlaps(ranges []Range) (usable []Range, problems []problem) {
	for _, r := range ranges {
		holder := ""
		for i := range p.cfg.Pools {
			if other := &p.cfg.Pools[i]; slices.ContainsFunc(other.Ranges, r.Overlaps) {
				holder = fmt.Sprintf("IPAddressPool %q", other.Name)
				break
			}
		}
		if holder == "" && slices.ContainsFunc(usable, r.Overlaps) {
			holder = "another entry of this pool"
		}
		if holder == "" {
			usable = append(usable, r)
			continue
		}
		problems = append(problems, problem{
			field: "spec.addresses", reason: api.ReasonOverlap,
			message: fmt.Sprintf("%s overlaps with %s", r, holder),
		})
	}
	return usable, problems
}

func readPool(obj *v1beta1.IPAddressPool, namespaces []Namespace) (Pool, []problem) {
	pool := Pool{
		Name: obj.Name, Labels: obj.Labels,
		AutoAssign:    obj.Spec.AutoAssign == nil || *obj.Spec.AutoAssign,
		AvoidBuggyIPs: obj.Spec.AvoidBuggyIPs,
	}
	var problems []problem
	for i, entry := range obj.Spec.Addresses {
		r, err := ParseRange(entry)
		if err != nil {
			problems = append(problems, problem{
				field: fmt.Sprintf("spec.addresses[%d]", i), reason: api.ReasonInvalidAddresses, message: err.Error(),
			})
			continue
		}
		pool.Ranges = append(pool.Ranges, r)
	}
	if len(obj.Spec.Addresses) == 0 {
		problems = append(problems, problem{field: "spec.addresses", reason: api.ReasonInvalidAddresses, message: "the pool has no addresses"})
	}
	to := obj.Spec.AllocateTo
	if to == nil {
		return pool, problems
	}
	pool.Allocation = &Allocation{
		Priority:    to.Priority,
		ByNamespace: len(to.Namespaces) > 0 || len(to.NamespaceSelectors) > 0,
		Namespaces:  map[string]bool{},
	}
	for _, ns := range to.Namespaces {
		pool.Allocation.Namespaces[ns] = true
	}
	nsSelectors, bad := readSelectors("spec.serviceAllocation.namespaceSelectors", to.NamespaceSelectors)
	problems = append(problems, bad...)
	for _, ns := range namespaces {
		if len(nsSelectors) > 0 && MatchesAny(nsSelectors, ns.Labels) {
			pool.Allocation.Namespaces[ns.Name] = true
		}
	}
	pool.Allocation.Services, bad = readSelectors("spec.serviceAllocation.serviceSelectors", to.ServiceSelectors)
	return pool, append(problems, bad...)
}

func (p *parser) advertisement(obj *v1beta1.L2Advertisement) {
	ad := &L2Advertisement{
		Name:       obj.Name,
		Interfaces: slices.Sorted(slices.Values(obj.Spec.Interfaces)),
		pools:      obj.Spec.IPAddressPools,
	}
	var problems, bad []problem
	ad.poolSelectors, bad = readSelectors("spec.ipAddressPoolSelectors", obj.Spec.IPAddressPoolSelectors)
	problems = append(problems, bad...)
	ad.Nodes, bad = readSelectors("spec.nodeSelectors", obj.Spec.NodeSelectors)
	problems = append(problems, bad...)
	ad.Services, bad = readSelectors("spec.serviceSelectors", obj.Spec.ServiceSelectors)
	problems = append(problems, bad...)
	for i, pref := range obj.Spec.PreferredNodeSelectors {
		sel, bad := readSelectors(fmt.Sprintf("spec.preferredNodeSelectors[%d].preference", i), []metav1.LabelSelector{pref.Preference})
		problems = append(problems, bad...)
		if len(sel) == 1 {
			ad.Preferred = append(ad.Preferred, Preference{Weight: int(pref.Weight), Nodes: sel[0]})
		}
	}
	if len(problems) == 0 {
		p.cfg.advertisements[obj.Name] = ad
		return
	}
	effect := effectUnused
	if p.last != nil && p.last.advertisements[obj.Name] != nil {
		effect = effectKept
		p.cfg.advertisements[obj.Name] = p.last.advertisements[obj.Name]
	}
	p.report(ref("L2Advertisement", obj), effect, problems...)
}

// attach gives each pool the advertisements that select it.
func (p *parser) attach() {
	ads := p.cfg.advertisements
	for i := range p.cfg.Pools {
		pool := &p.cfg.Pools[i]
		pool.L2 = nil
		for _, name := range slices.Sorted(maps.Keys(ads)) {
			if ads[name].selects(pool) {
				pool.L2 = append(pool.L2, ads[name])
			}
		}
	}
}

func (ad *L2Advertisement) selects(pool *Pool) bool {
	if len(ad.pools) == 0 && len(ad.poolSelectors) == 0 {
		return true
	}
	return slices.Contains(ad.pools, pool.Name) ||
		len(ad.poolSelectors) > 0 && MatchesAny(ad.poolSelectors, pool.Labels)
}

func readSelectors(field string, in []metav1.LabelSelector) (out []labels.Selector, problems []problem) {
	for i := range in {
		sel, err := metav1.LabelSelectorAsSelector(&in[i])
		if err != nil {
			problems = append(problems, problem{
				field: fmt.Sprintf("%s[%d]", field, i), reason: api.ReasonInvalidSelector, message: err.Error(),
			})
			continue
		}
		out = append(out, sel)
	}
	return out, problems
}
