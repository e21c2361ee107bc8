package convert

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policyPart is what one RoutePolicy is to say of a Route.
type policyPart struct {
	// wanted is the name that it is to have.
	wanted string
	// alias has it hold for redirects from the second host, too: that is so of lists of
	// clients. Redirects to https are for all clients.
	alias bool
	spec  v1alpha1.PolicySpec
}

// madePolicy is a RoutePolicy of the output: of all routes of which the same is to be said.
type madePolicy struct {
	namespace, wanted, text, from string
	spec                          v1alpha1.PolicySpec
	targets                       []v1alpha1.TargetRef
}

// maxTargets is the API's.
const maxTargets = 16

// readPolicy reads the annotations of a Route, and which of their groups are in force. What
// protects and cannot be read has closed it already.
func (c *conversion) readPolicy(d *draft) {
	defaults := policy.Spec{CheckInterval: cmp.Or(c.in.Settings.CheckInterval, 5*time.Second), Forwarded: c.in.Settings.Forwarded}
	d.spec, _ = policy.Read(d.Route.Annotations, defaults, d.claim.Termination, false)
	all := d.spec.Groups
	d.groups = all
	if d.Effective == nil {
		return
	}
	keep := func(g policy.Group) bool { return d.Effective.FromOwn(g) }
	own := v1alpha1.PolicySpec{Access: all.Access, Limits: all.Limits}
	for _, o := range d.Effective.Origins {
		if o.Source.Own() && o.Group != policy.GroupAccess && keep(o.Group) {
			overlay(&own, o.Source.Only(o.Group))
		}
	}
	d.groups = own
}

// overlay takes the groups that are set of another spec.
func overlay(to, from *v1alpha1.PolicySpec) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range source.NumField() {
		if !source.Field(i).IsZero() {
			target.Field(i).Set(source.Field(i))
		}
	}
}

// planPolicies says what RoutePolicies are to say: what is left of the annotations, and what
// policies say that name the Route or select it. Those for Services, namespaces and the
// cluster hold for routes of Gateways by themselves.
func (c *conversion) planPolicies(d *draft) {
	if d.closed {
		return
	}
	d.planOwn()
	if d.Effective == nil {
		return
	}
	sources := map[*policy.Source]*v1alpha1.PolicySpec{}
	var order []*policy.Source
	for _, o := range d.Effective.Origins {
		if o.Source.Key.Kind != policy.KindRoutePolicy || o.Source.Rank != policy.RankObject && o.Source.Rank != policy.RankSection {
			continue
		}
		if sources[o.Source] == nil {
			sources[o.Source] = &v1alpha1.PolicySpec{}
			order = append(order, o.Source)
		}
		if o.Group == policy.GroupAccess {
			sources[o.Source].Access = accessOf(o.Source.Access.Restricted, o.Source.Access.Allow, o.Source.Access.Deny)
			continue
		}
		overlay(sources[o.Source], o.Source.Only(o.Group))
	}
	for _, s := range order {
		d.split(s.Key.Name+"-gateway", *sources[s])
	}
}

// planOwn plans the policies of what annotations say.
func (d *draft) planOwn() {
	spec := d.groups
	spec.Access = nil
	name := d.Route.Name
	var read model.Policy
	read.Restricted, read.Allow = d.spec.Restricted, d.spec.Allow
	policy.Compile(&v1alpha1.PolicySpec{Access: d.spec.Groups.Access}, &read)
	access := accessOf(read.Restricted, read.Allow, read.Deny)
	if spec.Authentication != nil && spec.Authentication.Satisfy == "Any" && access != nil && read.Restricted {
		// The list is an alternative to what else clients show where both stand in one policy.
		spec.Access, access = accessOf(true, read.Allow, nil), accessOf(false, nil, read.Deny)
	}
	if access != nil {
		d.policies = append(d.policies, policyPart{wanted: name + "-clients", alias: true, spec: v1alpha1.PolicySpec{Access: access}})
	}
	if l := limitsOf(d.spec.Limits); l != nil {
		d.policies = append(d.policies, policyPart{wanted: name + "-limits", spec: v1alpha1.PolicySpec{Limits: l}})
	}
	if !reflect.ValueOf(spec).IsZero() {
		d.policies = append(d.policies, policyPart{wanted: name, spec: spec})
	}
}

// split has lists of clients hold for the second host, too, unless they are an alternative to what else
// clients show.
func (d *draft) split(wanted string, spec v1alpha1.PolicySpec) {
	either := spec.Authentication != nil && spec.Authentication.Satisfy == "Any"
	if spec.Access != nil && !either {
		d.policies = append(d.policies, policyPart{wanted: wanted + "-clients", alias: true, spec: v1alpha1.PolicySpec{Access: spec.Access}})
		spec.Access = nil
	}
	if !reflect.ValueOf(spec).IsZero() {
		d.policies = append(d.policies, policyPart{wanted: wanted, spec: spec})
	}
}

// accessOf writes lists of clients, nil for none.
func accessOf(restricted bool, allow, deny []netip.Prefix) *v1alpha1.Access {
	a := &v1alpha1.Access{}
	if restricted {
		a.Allow = cidrs(allow)
	}
	if a.Deny = cidrs(deny); len(a.Allow)+len(a.Deny) == 0 {
		return nil
	}
	return a
}

func cidrs(list []netip.Prefix) (out []v1alpha1.CIDR) {
	for _, p := range list {
		out = append(out, v1alpha1.CIDR(p.String()))
	}
	return out
}

// limitsOf writes OpenShift's limits of a client as those of a policy, nil for none.
func limitsOf(l model.Limits) *v1alpha1.Limits {
	out := &v1alpha1.Limits{}
	for _, rate := range []struct {
		name    string
		most    int
		seconds int
	}{{"rate-tcp", l.Connections, 3}, {"rate-http", l.Requests, 10}} {
		if rate.most > 0 {
			out.Requests = append(out.Requests, within(rate.name, rate.most, rate.seconds))
		}
	}
	if l.Concurrent > 0 {
		out.Concurrent = &v1alpha1.ConcurrentLimit{Count: int32(l.Concurrent)}
	}
	if len(out.Requests) == 0 && out.Concurrent == nil {
		return nil
	}
	return out
}

// within admits at most so many requests in any time of that length. A limit of a policy
// admits its burst at once and its rate besides, so the number is shared out between both.
func within(name string, most, seconds int) v1alpha1.RequestLimit {
	rate := (most + 1) / 2
	return v1alpha1.RequestLimit{
		Name: name, Requests: int32(rate), Per: v1alpha1.Duration(strconv.Itoa(seconds) + "s"), Burst: int32(most + 1 - rate), Headers: string(model.HeadersNone),
	}
}

// attach notes which routes the policies of a draft are for.
func (c *conversion) attach(d *draft, route model.Object, as part) {
	for i := range d.policies {
		p := &d.policies[i]
		if as == partHTTPS || as == partAlias && !p.alias {
			continue
		}
		text, err := json.Marshal(&p.spec)
		if err != nil {
			continue // such a struct can always be marshalled
		}
		ref := v1alpha1.TargetRef{Group: gatewayv1.GroupName, Kind: string(route.Kind), Name: route.Name}
		at := slices.IndexFunc(c.policies, func(o *madePolicy) bool {
			return o.namespace == route.Namespace && o.text == string(text) && len(o.targets) < maxTargets
		})
		// The same text may be said twice of one route: two lists, or two limits.
		if at >= 0 && !slices.Contains(c.policies[at].targets, ref) {
			c.policies[at].targets = append(c.policies[at].targets, ref)
			continue
		}
		c.policies = append(c.policies, &madePolicy{
			namespace: route.Namespace, wanted: p.wanted, text: string(text), from: d.from(), spec: p.spec, targets: []v1alpha1.TargetRef{ref},
		})
	}
}

func (c *conversion) writePolicies() {
	for _, p := range c.policies {
		o := &v1alpha1.RoutePolicy{ObjectMeta: meta(p.namespace, c.name(policy.KindRoutePolicy, p.namespace, p.wanted), p.from)}
		o.Spec = v1alpha1.RoutePolicySpec{TargetRefs: p.targets, PolicySpec: p.spec}
		c.add(o)
	}
}
