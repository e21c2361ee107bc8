package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// The kinds of objects that policies are written in.
const (
	KindRoutePolicy        model.Kind = "RoutePolicy"
	KindClusterRoutePolicy model.Kind = "ClusterRoutePolicy"
)

// IsKind reports whether a kind is that of policies.
func IsKind(k model.Kind) bool { return k == KindRoutePolicy || k == KindClusterRoutePolicy }

// Object is a RoutePolicy or ClusterRoutePolicy, read once for each version. It is
// never changed.
type Object struct {
	Key        model.Object
	UID        string
	Version    string
	Generation int64
	Created    time.Time
	// Spec has the groups without access, which is read.
	Spec   v1alpha1.PolicySpec
	Access *Access
	// Status is what stands in the object.
	Status v1alpha1.PolicyStatus

	refs     []v1alpha1.TargetRef
	selector *v1alpha1.TargetSelector
	// guard is what a ClusterRoutePolicy lets tenants do, or nil.
	guard *v1alpha1.Guard
	// cluster is nil for a RoutePolicy.
	cluster *clusterTargets
	// sources are the policy with each rank, made once for all objects that it
	// applies to.
	sources [ranks]Source
}

type clusterTargets struct {
	override, mayOptOut            bool
	controllers, namespaces, hosts []string
	// labels selects namespaces by their labels; nil for all. One that cannot be read
	// selects all, and badLabels says why.
	labels    labels.Selector
	badLabels string
}

// Access is who is admitted. It is never changed.
type Access struct {
	// Restricted admits only clients in Allow.
	Restricted bool
	Allow      []netip.Prefix
	// Deny refuses clients, whatever Allow says.
	Deny []netip.Prefix
	// BadAllow and BadDeny cannot be read. An item of BadAllow admits no client, one of
	// BadDeny closes the paths: it is not known whom it means.
	BadAllow, BadDeny []string
}

// ReadRoutePolicy returns what a RoutePolicy says.
func ReadRoutePolicy(p *v1alpha1.RoutePolicy) *Object {
	o := read(KindRoutePolicy, p, &p.Spec.PolicySpec, &p.Status)
	o.refs, o.selector = p.Spec.TargetRefs, p.Spec.TargetSelector
	for rank := range o.sources {
		o.sources[rank].Alone = len(o.refs) == 1
	}
	return o
}

// ReadClusterRoutePolicy returns what a ClusterRoutePolicy says.
func ReadClusterRoutePolicy(p *v1alpha1.ClusterRoutePolicy) *Object {
	o := read(KindClusterRoutePolicy, p, &p.Spec.PolicySpec, &p.Status)
	o.guard = p.Spec.Guard
	o.cluster = &clusterTargets{
		// Whatever cannot be read ranks high: that loses no protection.
		override:    p.Spec.Mode != "Default",
		mayOptOut:   p.Spec.OptOut == "Allowed",
		controllers: p.Spec.IngressControllers, namespaces: p.Spec.Namespaces, hosts: p.Spec.Hosts,
	}
	o.cluster.selectLabels(p.Spec.NamespaceSelector)
	o.keepsAuthentication()
	return o
}

// selectLabels reads the selector of namespaces.
func (c *clusterTargets) selectLabels(s *v1alpha1.NamespaceSelector) {
	if s == nil {
		return
	}
	standard := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, r := range s.MatchExpressions {
		standard.MatchExpressions = append(standard.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values,
		})
	}
	selector, err := metav1.LabelSelectorAsSelector(standard)
	switch {
	case err != nil:
		c.badLabels = err.Error()
	case !selector.Empty():
		c.labels = selector
	}
}

// ByLabels reports whether the policy selects namespaces by their labels.
func (o *Object) ByLabels() bool { return o.cluster != nil && o.cluster.labels != nil }

// selects reports whether a namespace is selected, and whether that is certain: as long
// as its labels are not known, it is.
func (c *clusterTargets) selects(n *Namespace) (selected, certain bool) {
	switch {
	case c.labels == nil:
		return true, c.badLabels == ""
	case n == nil:
		return true, false
	}
	return c.labels.Matches(labels.Set(n.Labels)), true
}

func read(kind model.Kind, m metav1.Object, spec *v1alpha1.PolicySpec, status *v1alpha1.PolicyStatus) *Object {
	o := &Object{
		Key: model.Object{Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName()},
		UID: string(m.GetUID()), Version: m.GetResourceVersion(), Generation: m.GetGeneration(), Created: m.GetCreationTimestamp().Time,
		Spec: *spec, Status: *status, Access: ReadAccess(spec.Access),
	}
	o.Spec.Access = nil
	for rank := range o.sources {
		o.sources[rank] = Source{
			Rank: Rank(rank), Key: o.Key, Created: o.Created, UID: o.UID, Generation: o.Generation, Spec: &o.Spec, Access: o.Access,
			Kept: Rank(rank) == RankGateway, // no route does without the authentication of its Gateway
		}
	}
	return o
}

// keepsAuthentication has no policy of a tenant drop the authentication of this one.
func (o *Object) keepsAuthentication() {
	for rank := range o.sources {
		o.sources[rank].Kept = o.cluster != nil && !o.cluster.mayOptOut
	}
}

// ReadAccess reads lists of addresses, and puts them into normal form.
func ReadAccess(a *v1alpha1.Access) *Access {
	if a == nil {
		return nil
	}
	out := &Access{Restricted: len(a.Allow) > 0}
	out.Allow, out.BadAllow = readPrefixes(a.Allow)
	out.Deny, out.BadDeny = readPrefixes(a.Deny)
	return out
}

func readPrefixes(list []v1alpha1.CIDR) (read []netip.Prefix, bad []string) {
	if len(list) == 0 {
		return nil, nil
	}
	read = make([]netip.Prefix, 0, len(list))
	for _, item := range list {
		if p, ok := ParsePrefix(string(item)); ok {
			read = append(read, p)
		} else {
			bad = append(bad, string(item))
		}
	}
	return normal(read), bad
}

// ParsePrefix reads an address or a CIDR as the API server takes it.
func ParsePrefix(text string) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, false
	}
	return prefix.Masked(), true
}

// Ref names the policy in findings.
func (o *Object) Ref() api.ObjectRef { return Ref(o.Key) }

// Ref names a policy in findings.
func Ref(key model.Object) api.ObjectRef {
	return api.ObjectRef{Group: v1alpha1.Group, Kind: string(key.Kind), Namespace: key.Namespace, Name: key.Name}
}

// Groups returns the groups that the policy sets, in order.
func (o *Object) Groups() []Group { return o.source(0).groups() }

// Protects reports whether the policy keeps requests out.
func (o *Object) Protects() bool {
	return slices.ContainsFunc(o.Groups(), Group.Protects)
}

// source returns the policy as it applies with a rank.
func (o *Object) source(rank Rank) *Source { return &o.sources[rank] }

// older compares sources by age, as conflicts are decided.
func older(a, b *Source) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name),
		cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.UID, b.UID))
}
