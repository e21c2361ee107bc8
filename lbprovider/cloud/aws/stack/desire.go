package stack

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// DefaultPolicy is the TLS policy of listeners that name none: TLS 1.2 and 1.3.
const DefaultPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"

// drainSeconds is how long a target that leaves may finish its connections,
// unless an annotation says otherwise. AWS's own default, 300, is longer than
// routers take to drain.
const drainSeconds = 60

// podDrainSeconds is the same where the target is the pod itself: it must be
// over before a router that ends stops to serve.
const podDrainSeconds = 45

// Input is what a Stack is made of.
type Input struct {
	Spec        *hook.Spec
	Settings    Settings
	Defaults    Defaults
	Environment Environment
	// State is what there is: it decides what would need another load
	// balancer, and keeps subnets that were once found.
	State State
}

// Desire returns what there is to be, and what of it is not possible. An error
// says that nothing can be: it is of class InvalidConfig.
func Desire(in Input) (Stack, []hook.Problem, error) {
	in.Settings.TargetType = cmp.Or(in.Settings.TargetType, in.Defaults.TargetType)
	d := &desire{Input: in}
	d.out.Ref = in.Spec.Ref
	d.choose()
	if err := d.subnets(); err != nil {
		return Stack{}, nil, err
	}
	if err := d.namedGroups(); err != nil {
		return Stack{}, nil, err
	}
	d.frontend()
	d.groups()
	d.listeners()
	d.nodeRules()
	d.attributes()
	return d.out, d.problems, nil
}

type desire struct {
	Input
	out      Stack
	problems []hook.Problem
}

// choose decides on kind, scheme and name. What needs another load balancer
// stays as it is unless that is allowed.
func (d *desire) choose() {
	s, b := d.Settings, &d.out.Balancer
	b.Kind, b.Scheme = s.Kind, s.Scheme
	if b.Kind == "" {
		b.Kind = orKind(d.Spec.Kind, hook.KindNetwork)
	}
	existing := d.current()
	if b.Scheme == "" {
		b.Scheme = d.Spec.Scheme
	}
	if b.Scheme == "" && existing != nil {
		b.Scheme = existing.Scheme
	}
	if b.Scheme == "" {
		b.Scheme = d.Defaults.Scheme
	}
	b.Name = s.Name
	if b.Name == "" {
		b.Name = balancerName(d.Spec.Ref, b.Kind, b.Scheme)
	}
	namesake := d.existing()
	switch {
	case namesake != nil && (namesake.Kind != b.Kind || namesake.Scheme != b.Scheme):
		// The new one cannot stand beside it, so it would have to go first.
		d.problems = append(d.problems, hook.Problem{
			Reason: "RecreateRequired", Progressing: true, Field: balancerPrefix + "name",
			Message: fmt.Sprintf("%s cannot be changed in the load balancer %s, and another one cannot have the same name; choose another name, or delete the Service",
				changeOf(*namesake, *b), namesake.Name),
		})
		b.Name, b.Kind, b.Scheme = existing.Name, existing.Kind, existing.Scheme
	case existing != nil && existing.Name != b.Name && !d.Spec.Recreate:
		d.problems = append(d.problems, hook.Problem{
			Reason: "RecreateRequired", Progressing: true,
			Message: fmt.Sprintf("%s cannot be changed in the load balancer %s that is there; delete the Service, or annotate the IngressController with ingress.operator.openshift.io/auto-delete-load-balancer",
				changeOf(*existing, *b), existing.Name),
		})
		b.Name, b.Kind, b.Scheme = existing.Name, existing.Kind, existing.Scheme
	}
	b.AddressType = s.AddressType
	if b.AddressType == "" {
		b.AddressType = "ipv4"
	}
	b.VPC = d.Environment.VPC
	b.Tags = Tags(d.Spec.Ref, ResourceBalancer, d.tags(ResourceBalancer))
}

// current returns the load balancer that serves, as far as that is remembered:
// after a restart, the one that the Service's handle names, or any.
func (d *desire) current() *Balancer {
	others := d.State.Former
	if b := d.State.Balancer; b != nil || len(others) == 0 {
		return b
	}
	if i := slices.IndexFunc(others, func(b Balancer) bool { return b.ARN == d.Spec.Ref.Handle }); i >= 0 {
		return &others[i]
	}
	return &others[0]
}

func changeOf(have, want Balancer) string {
	switch {
	case have.Kind != want.Kind:
		return fmt.Sprintf("the type (from %s to %s)", have.Kind, want.Kind)
	case have.Scheme != want.Scheme:
		return fmt.Sprintf("the scheme (from %s to %s)", have.Scheme, want.Scheme)
	}
	return fmt.Sprintf("the name (from %s to %s)", have.Name, want.Name)
}

func orKind(k, fallback hook.Kind) hook.Kind {
	if k == "" {
		return fallback
	}
	return k
}

// tags are those besides ours, for a resource that the AWS Load Balancer
// Controller would call by the given name.
func (d *desire) tags(controllersName string) map[string]string {
	all := maps.Clone(d.Defaults.Tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, d.Settings.Tags)
	if d.Defaults.Ownership == OwnershipLBC {
		all[tagLBCStack], all[tagLBCResource] = d.Spec.Ref.String(), controllersName
	}
	return all
}

// subnetsRetry is when subnets are looked for again: some may be tagged by then.
const subnetsRetry = 2 * time.Minute

// existing returns the load balancer that d.out.Balancer stands for.
func (d *desire) existing() *Balancer {
	if b := d.State.Balancer; b != nil && b.Name == d.out.Balancer.Name {
		return b
	}
	for i, b := range d.State.Former {
		if b.Name == d.out.Balancer.Name {
			return &d.State.Former[i]
		}
	}
	return nil
}

func (d *desire) subnets() error {
	s, b := d.Settings, &d.out.Balancer
	have := d.existing()
	b.Found = len(s.Subnets)+len(s.Allocations) == 0
	if have != nil && b.Found {
		b.Subnets = have.Subnets // what was found once stays
		return nil
	}
	least := 1
	if b.Kind == hook.KindApplication {
		least = 2
	}
	chosen, err := chooseSubnets(d.Environment, subnetWish{
		cluster: d.Spec.Ref.Cluster, scheme: b.Scheme, dualStack: b.AddressType == "dualstack", least: least, names: s.Subnets,
	})
	if err != nil {
		return &hook.Error{
			Class: hook.ClassInvalidConfig, Code: "SubnetsNotFound", Field: balancerPrefix + "subnets", Message: err.Error(),
			RetryAfter: subnetsRetry,
		}
	}
	if n := len(s.Allocations); n > 0 && n != len(chosen) {
		return &hook.Error{Class: hook.ClassInvalidConfig, Field: balancerPrefix + "eip-allocations", Message: fmt.Sprintf("%d addresses for %d subnets", n, len(chosen))}
	}
	for i, sub := range chosen {
		m := Mapping{Subnet: sub.ID}
		if len(s.Allocations) > 0 {
			m.Allocation = s.Allocations[i]
		}
		if len(s.PrivateIPs) > 0 {
			m.PrivateIP = s.PrivateIPs[i]
			if a, err := netip.ParseAddr(m.PrivateIP); err != nil || sub.CIDR.IsValid() && !sub.CIDR.Contains(a) {
				return &hook.Error{
					Class: hook.ClassInvalidConfig, Field: balancerPrefix + "private-ipv4-addresses",
					Message: fmt.Sprintf("%s is not in the subnet %s (%s)", m.PrivateIP, sub.ID, sub.CIDR),
				}
			}
		}
		b.Subnets = append(b.Subnets, m)
	}
	slices.SortFunc(b.Subnets, func(x, y Mapping) int { return strings.Compare(x.Subnet, y.Subnet) })
	if have != nil && len(b.Subnets) == 1 && len(have.Subnets) == 1 && readdressed(b.Subnets[0], have.Subnets) {
		// The only subnet cannot leave the load balancer to come back.
		d.problems = append(d.problems, hook.Problem{
			Reason: "RecreateRequired", Progressing: true, Field: balancerPrefix + "eip-allocations",
			Message: fmt.Sprintf("the address of %s, the only subnet of the load balancer %s, cannot be changed; name a second subnet, or delete the Service", b.Subnets[0].Subnet, have.Name),
		})
		b.Subnets = have.Subnets
	}
	return nil
}

// readdressed reports whether a subnet that exists is to have other addresses.
func readdressed(want Mapping, have []Mapping) bool {
	i := slices.IndexFunc(have, func(h Mapping) bool { return h.Subnet == want.Subnet })
	return i >= 0 && (have[i].Allocation != want.Allocation || want.PrivateIP != "" && have[i].PrivateIP != want.PrivateIP)
}

// tls reports whether the load balancer ends TLS on a port.
func (d *desire) tls(p hook.Port) bool {
	s := d.Settings
	if len(s.Certificates) == 0 || p.Protocol != "TCP" {
		return false
	}
	return len(s.TLSPorts) == 0 || slices.ContainsFunc(s.TLSPorts, func(name string) bool { return name == "*" || isPort(p, name) })
}

func (d *desire) listeners() {
	if d.out.Balancer.Kind == hook.KindApplication {
		d.applicationListeners()
		return
	}
	for _, p := range d.Spec.Ports {
		l := Listener{Port: p.Port, Protocol: p.Protocol, Group: d.groupOf(p.Port), Tags: d.listenerTags(p.Port), Attributes: map[string]string{}}
		if d.tls(p) {
			l.Protocol, l.Policy, l.Certificates = "TLS", d.Settings.Policy, d.Settings.Certificates
			if l.Policy == "" {
				l.Policy = DefaultPolicy
			}
			if a := d.Settings.ALPN; a != "None" {
				l.ALPN = a
			}
		}
		if l.Protocol == "TCP" {
			if n := d.Settings.IdleTimeout; n >= 60 {
				l.Attributes["tcp.idle_timeout.seconds"] = strconv.Itoa(int(n))
			}
			maps.Copy(l.Attributes, d.Settings.ListenerAttributes[fmt.Sprintf("TCP-%d", p.Port)])
		}
		keepKeys(l.Tags, l.Attributes)
		d.out.Listeners = append(d.out.Listeners, l)
	}
}

func (d *desire) groupOf(port int32) string {
	for _, g := range d.out.Groups {
		if g.ServicePort == port {
			return g.Name
		}
	}
	return ""
}

func (d *desire) portTags(port int32) map[string]string {
	name := d.Spec.Ref.String() + ":" + strconv.Itoa(int(port))
	return Tags(d.Spec.Ref, name, d.tags(name))
}

// listenerTags are those of the listener of a port, which the AWS Load Balancer
// Controller calls by its number alone.
func (d *desire) listenerTags(port int32) map[string]string {
	return Tags(d.Spec.Ref, d.Spec.Ref.String()+":"+strconv.Itoa(int(port)), d.tags(strconv.Itoa(int(port))))
}

// attributes are those of the load balancer itself.
func (d *desire) attributes() {
	b := &d.out.Balancer
	b.Attributes = maps.Clone(d.Settings.BalancerAttributes)
	if b.Attributes == nil {
		b.Attributes = map[string]string{}
	}
	if b.Kind == hook.KindApplication {
		d.out.ACL = d.Settings.ACL
		// Routing is by the Host header, which must arrive as it was sent.
		setDefault(b.Attributes, "routing.http.preserve_host_header.enabled", "true")
		if n := d.Settings.IdleTimeout; n > 0 {
			setDefault(b.Attributes, "idle_timeout.timeout_seconds", strconv.Itoa(int(n)))
		}
	}
	keepKeys(b.Tags, b.Attributes)
}

func setDefault(m map[string]string, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}
