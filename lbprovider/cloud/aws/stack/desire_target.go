package stack

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Families of the addresses of targets, as AWS calls them.
const (
	addressesIPv4 = "ipv4"
	addressesIPv6 = "ipv6"
)

// addressType is the family of a target group's addresses. Machines are reached
// by IPv4, and so are pods unless their Service prefers IPv6 and clients may
// come that way.
func (d *desire) addressType(kind hook.TargetKind) string {
	first := slices.Index(d.Spec.IPFamilies, "IPv6") == 0
	if first && kind != hook.TargetInstance && d.Settings.AddressType == "dualstack" {
		return addressesIPv6
	}
	return addressesIPv4
}

// fits reports whether an address is of the family of the target groups.
func (d *desire) fits(kind hook.TargetKind, address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is4() == (d.addressType(kind) == addressesIPv4)
}

// addressOf is a node as a target by its first address: with the node port, or
// where the Service has none, with the port that a pod in the node's own
// network serves there, as routers of the strategy HostNetwork do.
func (d *desire) addressOf(n hook.Node, p hook.Port) (Target, bool) {
	i := slices.IndexFunc(n.Addresses, func(a string) bool { return d.fits(hook.TargetNodeIP, a) })
	if i < 0 {
		return Target{}, false
	}
	port := p.NodePort
	if port == 0 {
		port = d.hostPort(n, p)
	}
	if port == 0 {
		return Target{}, false
	}
	return d.nodeAddress(n.Addresses[i], port)
}

// hostPort returns the port of an endpoint in the node's own network, or 0.
func (d *desire) hostPort(n hook.Node, p hook.Port) int32 {
	i := slices.IndexFunc(d.Spec.Targets.Pods, func(pod hook.Pod) bool {
		return !pod.Draining && slices.Contains(n.Addresses, pod.Address)
	})
	if i < 0 {
		return 0
	}
	return d.Spec.Targets.Pods[i].Ports[p.Port]
}

// sharedRange is RFC 6598.
var sharedRange = netip.MustParsePrefix("100.64.0.0/10")

// nodeAddress returns the target of a node's address. AWS requires that
// one outside of the VPC is marked, and accepts only private ones then.
func (d *desire) nodeAddress(address string, port int32) (Target, bool) {
	if d.Environment.inside(address) {
		return Target{ID: address, Port: port}, true
	}
	if a, err := netip.ParseAddr(address); err != nil || !a.IsPrivate() && !sharedRange.Contains(a) {
		d.note("InvalidConfiguration", "fairlead.dev/aws-target-source",
			fmt.Sprintf("the node address %s is neither in VPC %s nor a private one (RFC 1918, RFC 6598), so it cannot be a target", address, d.Environment.VPC))
		return Target{}, false
	}
	return Target{ID: address, Port: port, Zone: "all"}, true
}

// pods are the ready endpoints as targets. One that has its node's address is
// reached as the node is, wherever that stands.
func (d *desire) pods(p hook.Port) []Target {
	var list []Target
	for _, pod := range d.Spec.Targets.Pods {
		port := pod.Ports[p.Port]
		host := slices.ContainsFunc(d.Spec.Targets.Nodes, func(n hook.Node) bool { return slices.Contains(n.Addresses, pod.Address) })
		switch {
		case pod.Draining || port == 0 || !d.fits(hook.TargetPodIP, pod.Address):
		case host:
			if t, ok := d.nodeAddress(pod.Address, port); ok {
				list = append(list, t)
			}
		case !d.Environment.inside(pod.Address):
			d.note("InvalidConfiguration", balancerPrefix+"nlb-target-type",
				fmt.Sprintf("the pod address %s is not in VPC %s, so the load balancer cannot reach it; pods of an overlay network need target type instance", pod.Address, d.Environment.VPC))
		default:
			list = append(list, Target{ID: pod.Address, Port: port})
		}
	}
	return list
}

// AWS's quotas for targets.
const (
	maxGroupTargets       = 1000
	maxBalancerTargets    = 500 // of a network load balancer in one zone; with cross-zone balancing in all
	maxApplicationTargets = 1000
)

// targetLimit is how many targets each port may have. How nodes spread over
// zones is not looked at: the limit is kept as if they did evenly.
func (d *desire) targetLimit() int {
	all := maxBalancerTargets * max(len(d.out.Balancer.Subnets), 1)
	switch {
	case d.out.Balancer.Kind == hook.KindApplication:
		all = maxApplicationTargets
	case d.Settings.BalancerAttributes["load_balancing.cross_zone.enabled"] == "true":
		all = maxBalancerTargets
	}
	return min(maxGroupTargets, all/max(len(d.out.Groups), 1))
}

// limitTargets leaves targets out where there are more than AWS allows, always
// the same ones.
func (d *desire) limitTargets() {
	limit := d.targetLimit()
	for i, g := range d.out.Groups {
		n := len(g.Targets)
		switch {
		case n > limit:
			d.out.Groups[i].Targets = g.Targets[:limit]
			p := hook.Problem{Reason: "TargetsTruncated", Progressing: true, Message: fmt.Sprintf(
				"%d targets for each of %d ports are more than AWS's quota allows; %d are used, those with an endpoint first", n, len(d.out.Groups), limit)}
			if !slices.Contains(d.problems, p) {
				d.problems = append(d.problems, p)
			}
		case n*10 >= limit*8:
			d.note("TargetQuotaNear", "", fmt.Sprintf("%d of at most %d targets for each port are used", n, limit))
		}
	}
}
