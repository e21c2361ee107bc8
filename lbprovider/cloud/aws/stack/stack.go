// Package stack decides what is to exist in AWS for a Service, and which calls
// lead there from what exists. All of it is functions of values:
//
//	annotations ─▶ Read ─▶ Settings ─┐
//	hook.Spec, Environment ──────────┴▶ Desire ─▶ Stack ─┐        what is wanted
//	Inventory ─▶ Find ─▶ Observed ───────────────────────┴▶ Plan ─▶ []Action
//	               ▲ With(Reading)   what exists              the calls between
//	               └ After(Outcome) ◀─ package aws carries out ◀──┘
//
// The same types say what is wanted and what exists. Among themselves they
// refer to target groups by name and to listeners by port, which are known
// before they exist; ARNs are filled in if something exists.
package stack

import (
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Stack is everything that one Service has in AWS.
type Stack struct {
	Ref hook.Ref
	// Balancer is the load balancer.
	Balancer Balancer
	// Frontend is the security group that we keep for it; nil where the user
	// names security groups instead.
	Frontend *SecurityGroup
	// Groups are the target groups, one for each port.
	Groups []TargetGroup
	// Listeners are those of the load balancer, by port.
	Listeners []Listener
	// NodeRules are the rules that the nodes' security groups must have, by
	// the group's id. Their source is the load balancer's security group,
	// which is empty here where that does not exist yet.
	NodeRules map[string][]Rule
	// NodeGroups are the nodes' security groups, also where NodeRules is nil
	// because they are not ours to open.
	NodeGroups []string
	// ACL is the ARN of the web ACL of an application load balancer; "none"
	// for none, and empty where it is not ours to decide.
	ACL string
}

// Balancer is a load balancer.
type Balancer struct {
	Name        string
	Kind        hook.Kind
	Scheme      hook.Scheme
	AddressType string // "ipv4" or "dualstack"
	VPC         string
	Subnets     []Mapping // by subnet
	// Found says that the wanted subnets were found and not named by the user,
	// so that it may be others.
	Found bool
	// SecurityGroups are ids. Wanted are those besides Frontend.
	SecurityGroups []string
	// Attributes are, if wanted, those that differ from AWS's defaults or are
	// named by the user; others are not ours.
	Attributes map[string]string
	Tags       map[string]string

	// What only AWS knows.
	ARN, DNSName, HostedZone string
	// State is "provisioning", "active", "active_impaired" or "failed".
	State, StateReason string
	Created            time.Time
}

// Mapping is a subnet of a load balancer, with the addresses in it.
type Mapping struct {
	Subnet     string
	Allocation string // of an Elastic IP address
	PrivateIP  string
}

// Rule lets connections in. It is comparable.
type Rule struct {
	Protocol string // "tcp", "udp", "icmp"
	From, To int32
	// One of these is the source: a CIDR of either family, a security group,
	// a prefix list.
	CIDR, Group, PrefixList string
	Description             string
}

// source returns the rule without its description, which is how EC2 compares.
func (r Rule) source() Rule {
	r.Description = ""
	return r
}

// SamePort reports whether two rules let the same ports in.
func (r Rule) SamePort(o Rule) bool {
	return r.Protocol == o.Protocol && r.From == o.From && r.To == o.To
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	ID, Name, VPC, Description string
	Rules                      []Rule
	Tags                       map[string]string
}

// HealthCheck is how AWS finds out whether a target works. It is comparable.
type HealthCheck struct {
	Protocol string // "TCP", "HTTP", "HTTPS"
	Port     string // a number or "traffic-port"
	Path     string // with HTTP and HTTPS
	Codes    string // with HTTP and HTTPS
	// Interval and Timeout are in seconds.
	Interval, Timeout, Healthy, Unhealthy int32
}

// TargetGroup is a set of targets for one port.
type TargetGroup struct {
	Name     string
	Protocol string // "TCP", "TLS", "UDP"; "HTTP", "HTTPS" with application load balancers
	Port     int32
	Type     string // "instance" or "ip"
	// AddressType is "ipv4" or "ipv6".
	AddressType string
	VPC         string
	// ServicePort is the port of the load balancer that it is for.
	ServicePort int32
	Check       HealthCheck
	Attributes  map[string]string
	Tags        map[string]string
	// Targets are the wanted or registered ones, not those that drain.
	Targets []Target

	// What only AWS knows.
	ARN string
	// UsedBy are the ARNs of the load balancers with a listener to it.
	UsedBy []string
	// Health are the states by target, also of those that drain.
	Health map[Target]Health
}

// Target is what a target group leads to. It is comparable.
type Target struct {
	// ID is an instance id or an address.
	ID   string
	Port int32
	// Zone is "all" for addresses outside of the VPC, else empty.
	Zone string
}

// Health is what AWS says of a target.
type Health struct{ State, Reason string }

// Listener is a port of a load balancer.
type Listener struct {
	Port     int32
	Protocol string // "TCP", "TLS", "UDP"; "HTTP", "HTTPS"
	Policy   string
	ALPN     string
	// Certificates are ARNs; the first is the default.
	Certificates []string
	// Group is the name of the target group; empty with RedirectTLS.
	Group string
	// RedirectTLS answers with a redirection to port 443.
	RedirectTLS bool
	Attributes  map[string]string
	Tags        map[string]string

	ARN string
}
