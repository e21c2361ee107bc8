package fakeaws

import (
	"encoding/json"
	"fmt"
	"time"
)

// state is everything in the cloud. It is plain data, so that it can be copied.
type state struct {
	// Number makes ids: every resource gets the next one.
	Number       int
	VPCs         map[string]*vpc
	Subnets      map[string]*subnet
	RouteTables  map[string]*routeTable
	Groups       map[string]*securityGroup
	Instances    map[string]*instance
	Addresses    map[string]*address
	Balancers    map[string]*loadBalancer
	TargetGroups map[string]*targetGroup
	Listeners    map[string]*listener
	Rules        map[string]*listenerRule
	Certificates map[string]*certificate
	Zones        map[string]*zone
	Changes      map[string]time.Time
	// Interfaces hold security groups of deleted load balancers until a time.
	Interfaces map[string]time.Time
	// Releases hold target groups until a time.
	Releases map[string]time.Time
	// ACLs are the WAF lists by the ARN of the load balancer.
	ACLs map[string]string
	// Refused are zones without load balancers: what the refusal says.
	Refused map[string]string
}

func newState() *state {
	return &state{
		VPCs: map[string]*vpc{}, Subnets: map[string]*subnet{}, RouteTables: map[string]*routeTable{},
		Groups: map[string]*securityGroup{}, Instances: map[string]*instance{}, Addresses: map[string]*address{},
		Balancers: map[string]*loadBalancer{}, TargetGroups: map[string]*targetGroup{}, Listeners: map[string]*listener{}, Rules: map[string]*listenerRule{},
		Certificates: map[string]*certificate{}, Zones: map[string]*zone{}, Changes: map[string]time.Time{},
		Interfaces: map[string]time.Time{}, Releases: map[string]time.Time{}, ACLs: map[string]string{},
		Refused: map[string]string{},
	}
}

func (s *state) copy() *state {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("copy the state: %v", err))
	}
	c := newState()
	if err := json.Unmarshal(text, c); err != nil {
		panic(fmt.Sprintf("copy the state: %v", err))
	}
	return c
}

// id returns a new id of 17 hexadecimal digits behind a prefix.
func (s *state) id(prefix string) string {
	s.Number++
	return fmt.Sprintf("%s%017x", prefix, s.Number)
}

// hex16 returns the 16 digits at the end of the ARNs of load balancers.
func (s *state) hex16() string {
	s.Number++
	return fmt.Sprintf("%016x", 0x50dc6c495c0c9188+s.Number)
}

type tags map[string]string

type vpc struct {
	ID, CIDR, IPv6 string
	Tags           tags
}

type subnet struct {
	ID, VPC, CIDR, IPv6, Zone string
	Free                      int
	Tags                      tags
}

type routeTable struct {
	ID, VPC string
	Main    bool
	Subnets []string
	Gateway string // an igw-… or nat-…
}

type rule struct {
	Protocol    string
	From, To    int
	CIDR        string
	IPv6        string
	Group       string
	PrefixList  string
	Description string
}

type securityGroup struct {
	ID, Name, VPC, Description string
	Rules                      []rule
	Tags                       tags
}

type instance struct {
	ID, VPC, Subnet, Zone, IP string
	State                     string
	Groups                    []string
	Tags                      tags
}

type address struct {
	ID, IP, Association string
}

type mapping struct {
	Subnet, Zone, Allocation, PrivateIP, IPv6 string
}

type loadBalancer struct {
	ARN, Name, DNSName, Type, Scheme, VPC, AddressType string
	Created                                            time.Time
	Failed                                             string // a reason, if it failed
	Impaired                                           string // a reason, if it works but not well
	Mappings                                           []mapping
	Groups                                             []string
	BornWithGroups                                     bool
	Attributes                                         map[string]string
	Tags                                               tags
}

type healthCheck struct {
	Protocol, Port, Path, Matcher         string
	Interval, Timeout, Healthy, Unhealthy int
}

type target struct {
	ID         string
	Port       int
	Zone       string
	Registered time.Time
	Draining   time.Time // zero unless deregistered
}

type targetGroup struct {
	ARN, Name, Protocol, Version, VPC, Type, AddressType string
	Port                                                 int
	Check                                                healthCheck
	Attributes                                           map[string]string
	Targets                                              []target
	Tags                                                 tags
}

type action struct {
	Type         string
	TargetGroup  string
	RedirectTo   map[string]string
	Fixed        map[string]string
	TargetGroups []string
	Weights      []int // as TargetGroups
}

// listenerRule is a rule of an application load balancer's listener. The
// default rule is the listener's own action, and not among them.
type listenerRule struct {
	ARN, Listener string
	Priority      int
	Conditions    []condition
	Action        action
	Tags          tags
}

// condition is one condition of a rule: its field, its values, and the header
// that http-header means. Values of query-string are "key=value".
type condition struct {
	Field, Header string
	Values        []string
}

type listener struct {
	ARN, Balancer, Protocol, Policy, ALPN string
	Port                                  int
	Certificates                          []string // the first is the default
	Action                                action
	Attributes                            map[string]string
	Tags                                  tags
}

type certificate struct {
	ARN, Domain, Status string
	Names               []string
}
