package stack

import (
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Settings are what the annotations of a Service say. A zero field was not
// named.
type Settings struct {
	Kind        hook.Kind
	Scheme      hook.Scheme
	TargetType  string // "instance" or "ip"
	TargetNodes bool   // with "ip": nodes instead of pods
	Name        string
	AddressType string
	Subnets     []string
	Allocations []string
	PrivateIPs  []string

	SourceRanges   []string
	SecurityGroups []string
	ExtraGroups    []string
	PrefixLists    []string
	NodeRules      *bool
	NoICMP         bool

	Certificates []string
	TLSPorts     []string
	Policy       string
	BackendTLS   bool
	ALPN         string
	ACL          string

	Check               HealthCheck // zero fields are not named
	GroupAttributes     map[string]string
	PortGroupAttributes map[string]map[string]string // by port
	Proxy               bool
	NodeLabels          map[string]string

	BalancerAttributes map[string]string
	ListenerAttributes map[string]map[string]string // by "TCP-443"
	IdleTimeout        int32
	DrainTimeout       int32
	Tags               map[string]string
}

func (s *Settings) balancerAttribute(key, value string) {
	if s.BalancerAttributes == nil {
		s.BalancerAttributes = map[string]string{}
	}
	s.BalancerAttributes[key] = value
}

// Defaults are what holds where a Service says nothing.
type Defaults struct {
	Scheme     hook.Scheme
	TargetType string
	Tags       map[string]string
	// NodeRules says whether the nodes' security groups are ours to open.
	NodeRules bool
	// Ownership says what tags there are besides ours: none ("native", or
	// empty), or those of the AWS Load Balancer Controller ("lbc").
	Ownership string
}
