package config

import (
	"cmp"
	"fmt"
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
	effectEntry   = "the entry keeps its last valid value, if it had one"
	effectWaits   = "it is used as soon as that is there"

	effectWithoutBFD  = "the session runs without BFD until that is there"
	effectProfileKept = "the session goes on as the profile said last"
)

// Parse makes a Config of res. An object that is bad now but was good in last
// keeps its last version; a pool that this process has never seen good gives
// what can be used of it, so that a restart does not take its addresses away.
// Findings are sorted by object.
func Parse(res Resources, last *Config) (*Config, []api.Finding) {
	if last == nil {
		last = &Config{}
	}
	p := parser{res: &res, nodes: res.Nodes, last: last, cfg: &Config{
		l2: map[string]*L2Advertisement{}, bgp: map[string]*BGPAdvertisement{},
		profiles: map[string]*BFDProfile{}, communities: map[string]map[string]Community{},
	}}
	if res.OnlyNode != "" {
		p.onlyNode()
	}
	// Older objects come first, so that of two that exclude each other the
	// younger one gives way.
	each(&p, res.Communities, "Community", (*parser).community)
	each(&p, res.BFDProfiles, "BFDProfile", (*parser).profile)
	each(&p, res.BGPPeers, "BGPPeer", (*parser).peer)
	each(&p, res.L2Advertisements, "L2Advertisement", (*parser).l2)
	each(&p, res.BGPAdvertisements, "BGPAdvertisement", (*parser).bgp)
	each(&p, res.Pools, "IPAddressPool", (*parser).pool)
	p.attach()
	slices.SortFunc(p.cfg.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.cfg.Peers, func(a, b *Peer) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(p.findings, func(a, b api.Finding) int { return cmp.Compare(a.Object.String(), b.Object.String()) })
	return p.cfg, p.findings
}

// each reads the objects of one kind that are in the provider's namespace,
// the oldest first.
func each[T any, O interface {
	*T
	metav1.Object
}](p *parser, list []T, kind string, read func(*parser, O),
) {
	objects := make([]O, 0, len(list))
	for i := range list {
		objects = append(objects, O(&list[i]))
	}
	slices.SortFunc(objects, func(a, b O) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, o := range objects {
		if p.inNamespace(o, kind) {
			read(p, o)
		}
	}
}

type parser struct {
	res  *Resources
	last *Config
	// nodes are those to which what is found out applies; nil if unknown.
	nodes    []Node
	cfg      *Config
	findings []api.Finding
	// bgpOrder are the names of cfg.bgp, the oldest first.
	bgpOrder []string
}

// problem is a finding before its object and effect are known.
type problem struct {
	field   string
	reason  api.Reason
	message string
}

// onlyNode limits the view to one node. One that is not known has no labels.
func (p *parser) onlyNode() {
	own := Node{Name: p.res.OnlyNode}
	for _, n := range p.res.Nodes {
		if n.Name == own.Name {
			own = n
		}
	}
	p.nodes = []Node{own}
}

// elsewhere says whether selectors leave out the only node that counts.
func (p *parser) elsewhere(selectors []labels.Selector) bool {
	return p.res.OnlyNode != "" && !MatchesAny(selectors, p.nodes[0].Labels)
}

// intersect says whether some node is selected by both. Without knowledge of nodes,
// it is assumed.
func (p *parser) intersect(a, b []labels.Selector) bool {
	return p.nodes == nil || slices.ContainsFunc(p.nodes, func(n Node) bool {
		return MatchesAny(a, n.Labels) && MatchesAny(b, n.Labels)
	})
}

func ref(kind string, obj metav1.Object) api.ObjectRef {
	return api.ObjectRef{Group: v1beta1.Group, Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// report says what is wrong with an object.
func (p *parser) report(object api.ObjectRef, effect string, problems ...problem) {
	for _, pr := range problems {
		p.findings = append(p.findings, api.Finding{
			Object: object, Field: pr.field, Reason: pr.reason, Message: pr.message,
			Severity: api.SeverityError, Effect: effect,
		})
	}
}

// warn says what is odd about an object that is used nevertheless.
func (p *parser) warn(object api.ObjectRef, problems ...problem) {
	before := len(p.findings)
	p.report(object, "", problems...)
	for i := range p.findings[before:] {
		p.findings[before+i].Severity = api.SeverityWarning
	}
}

func (p *parser) inNamespace(obj metav1.Object, kind string) bool {
	want := p.res.ProviderNamespace
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
	p.known(object, obj, api.AnnotationDefaultPool, "true", "false")
	p.known(object, obj, api.AnnotationSharingScope, "namespace", "cluster")
	pool, problems := readPool(obj, p.res.Namespaces)
	usable, overlaps := p.withoutOverlaps(pool.Ranges)
	problems = append(problems, overlaps...)
	p.warn(object, p.clusterAddresses(pool.Ranges)...)
	if len(problems) == 0 {
		p.cfg.Pools = append(p.cfg.Pools, pool)
		return
	}
	if old := p.last.Pool(obj.Name); old != nil && !old.partial {
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
	pool.partial = true
	if pool.Ranges = usable; len(usable) > 0 {
		p.cfg.Pools = append(p.cfg.Pools, pool)
	}
}

// known reports an annotation with a value that means nothing.
func (p *parser) known(object api.ObjectRef, obj metav1.Object, key string, values ...string) {
	value, set := obj.GetAnnotations()[key]
	if !set || slices.Contains(values, value) {
		return
	}
	p.warn(object, problem{
		field: "metadata.annotations[" + key + "]", reason: api.ReasonIgnoredField,
		message: fmt.Sprintf("unknown value %q; use one of %q. It has no effect", value, values),
	})
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
		Default:       obj.Annotations[api.AnnotationDefaultPool] == "true",

		ShareWithinNamespace: obj.Annotations[api.AnnotationSharingScope] == "namespace",
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

func (p *parser) l2(obj *v1beta1.L2Advertisement) {
	ad := &L2Advertisement{
		Name:       obj.Name,
		Interfaces: slices.Sorted(slices.Values(obj.Spec.Interfaces)),
		pools:      obj.Spec.IPAddressPools,
		Stay:       obj.Annotations[api.AnnotationPreempt] == "false",
	}
	p.known(ref("L2Advertisement", obj), obj, api.AnnotationPreempt, "true", "false")
	var problems []problem
	selectors := func(field string, in []metav1.LabelSelector) []labels.Selector {
		out, bad := readSelectors("spec."+field, in)
		problems = append(problems, bad...)
		return out
	}
	ad.poolSelectors = selectors("ipAddressPoolSelectors", obj.Spec.IPAddressPoolSelectors)
	ad.Nodes = selectors("nodeSelectors", obj.Spec.NodeSelectors)
	ad.Services = selectors("serviceSelectors", obj.Spec.ServiceSelectors)
	for i, pref := range obj.Spec.PreferredNodeSelectors {
		sel, bad := readSelectors(fmt.Sprintf("spec.preferredNodeSelectors[%d].preference", i), []metav1.LabelSelector{pref.Preference})
		problems = append(problems, bad...)
		if len(sel) == 1 {
			ad.Preferred = append(ad.Preferred, Preference{Weight: int(pref.Weight), Nodes: sel[0]})
		}
	}
	settle(p, ref("L2Advertisement", obj), p.cfg.l2, p.last.l2, ad, problems)
}

// settle puts object, or its last version if there are problems, into the
// configuration, and reports the problems.
func settle[T any](p *parser, name api.ObjectRef, into, last map[string]T, object T, problems []problem) (used bool) {
	if len(problems) == 0 {
		into[name.Name] = object
		return true
	}
	old, ok := last[name.Name]
	if ok {
		into[name.Name] = old
		p.report(name, effectKept, problems...)
		return true
	}
	effect := effectUnused
	if !slices.ContainsFunc(problems, func(pr problem) bool { return pr.reason != api.ReasonMissingReference }) {
		effect = effectWaits
	}
	p.report(name, effect, problems...)
	return false
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
