// Package fakeaws speaks AWS's wire protocols, so that the real SDK can be
// tested without an account: Elastic Load Balancing v2 and EC2 (Query and
// XML), Route 53 (REST and XML), ACM (JSON) and STS. It validates as AWS does,
// keeps quotas, is as late with its answers as AWS where told to, and can be
// scripted to throttle, fail, or lose the answer of a call that it carried out.
//
// It keeps a journal of all calls. One listener serves all services: a request
// says by its signature's scope which one it means.
//
//	cloud := fakeaws.New(fakeaws.Options{})
//	server := httptest.NewServer(cloud)
//	// AWS_ENDPOINT_URL=server.URL, or config.WithBaseEndpoint(server.URL)
//
// Signatures are not verified, but must be there.
package fakeaws

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure a Cloud. The zero value is a cloud without delays.
type Options struct {
	// Region is eu-central-1 if empty; Account is 123456789012.
	Region, Account string
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Delays are how long things take.
	Delays Delays
	// StaleReads is how many reads after a change still show what was before
	// it.
	StaleReads int
	// Limits are the quotas; zero fields are AWS's defaults.
	Limits Limits
	// PageSize is the most entries of one answer where a request names none;
	// 0 means AWS's 400.
	PageSize int
	// Changed is called after every change by a call, before its answer goes out.
	Changed func(c *Cloud)
}

// Delays are how long things take, all 0 unless set.
type Delays struct {
	// Activate is from the creation of a load balancer to state active.
	Activate time.Duration
	// Initial is from the registration of a target to its first health.
	Initial time.Duration
	// Drain is how long a deregistered target is draining. It is not the
	// attribute, so that tests need not wait.
	Drain time.Duration
	// Interfaces is how long the network interfaces of a deleted load
	// balancer hold its security groups.
	Interfaces time.Duration
	// Release is how long a target group is in use after its last listener
	// let go of it.
	Release time.Duration
	// Sync is how long a change of a zone is PENDING.
	Sync time.Duration
}

// Limits are the quotas of the account. A quota of -1 is none at all.
type Limits struct {
	LoadBalancers, TargetGroups, ListenersPerLoadBalancer, TargetsPerGroup, TargetsPerLoadBalancer                       int
	CertificatesPerLoadBalancer, RulesPerLoadBalancer, SecurityGroups, RulesPerSecurityGroup, SecurityGroupsPerInterface int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.LoadBalancers, 50},
		{&l.TargetGroups, 3000},
		{&l.ListenersPerLoadBalancer, 50},
		{&l.TargetsPerGroup, 1000},
		{&l.TargetsPerLoadBalancer, 3000},
		{&l.CertificatesPerLoadBalancer, 25},
		{&l.RulesPerLoadBalancer, 100},
		{&l.SecurityGroups, 2500},
		{&l.RulesPerSecurityGroup, 60},
		{&l.SecurityGroupsPerInterface, 5},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// Cloud is one account in one region. Its methods may be called concurrently.
type Cloud struct {
	options Options

	mu     sync.Mutex
	state  *state
	before *state // what stale reads show
	stale  int    // how many of them are left
	calls  []Call
	faults []*fault
	cut    *int // how many changes are left until nothing arrives any more
	// health has what SetHealth said; nil for a target means healthy.
	health map[string]bool
	// changed is closed and replaced with every change of state.
	changed chan struct{}
}

var _ http.Handler = (*Cloud)(nil)

// New returns a cloud with one VPC, vpc-1 (10.0.0.0/16), and no subnets.
func New(o Options) *Cloud {
	if o.Region == "" {
		o.Region = "eu-central-1"
	}
	if o.Account == "" {
		o.Account = "123456789012"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PageSize == 0 {
		o.PageSize = 400
	}
	o.Limits = o.Limits.withDefaults()
	c := &Cloud{options: o, state: newState(), health: map[string]bool{}, changed: make(chan struct{})}
	c.state.VPCs[DefaultVPC] = &vpc{ID: DefaultVPC, CIDR: "10.0.0.0/16", IPv6: "2001:db8::/48"}
	return c
}

// DefaultVPC is the VPC that a new Cloud has.
const DefaultVPC = "vpc-1"

// arn returns a name of the account and region.
func (c *Cloud) arn(service, resource string) string {
	name, _ := c.partition()
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", name, service, c.options.Region, c.options.Account, resource)
}

// partition returns the name of the partition of the region, and how the names
// of its machines end.
func (c *Cloud) partition() (name, domain string) {
	switch region := c.options.Region; {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov", "amazonaws.com"
	case strings.HasPrefix(region, "us-iso-"):
		return "aws-iso", "c2s.ic.gov"
	}
	return "aws", "amazonaws.com"
}

// change runs a function on the cloud between two calls, for what no API call
// does: an administrator at the console, a machine that dies.
func (c *Cloud) change(f func(s *state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.state)
	c.wake()
}

// wake tells Changed that something changed. The caller holds mu.
func (c *Cloud) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of anything.
func (c *Cloud) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}
