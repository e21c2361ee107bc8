package fakeaws

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

func createTargetGroup(r *request) (any, error) {
	f, s := r.form, r.state
	g := &targetGroup{
		Name: f.get("Name"), Protocol: f.get("Protocol"), Version: f.get("ProtocolVersion"), VPC: f.get("VpcId"),
		Type: orElse(f.get("TargetType"), "instance"), AddressType: orElse(f.get("IpAddressType"), "ipv4"), Port: f.number("Port"),
		Attributes: map[string]string{}, Tags: f.pairs("Tags"),
	}
	switch {
	case !validName.MatchString(g.Name):
		return nil, refuse("ValidationError", "The target group name '%s' is not valid", g.Name)
	case !slices.Contains([]string{"TCP", "TLS", "UDP", "TCP_UDP", "HTTP", "HTTPS"}, g.Protocol):
		return nil, refuse("ValidationError", "Protocol '%s'", g.Protocol)
	case s.VPCs[g.VPC] == nil:
		return nil, refuse("ValidationError", "The VPC ID '%s' is not found", g.VPC)
	case g.Port < 1 || g.Port > 65535:
		return nil, refuse("ValidationError", "Port '%d' is not valid", g.Port)
	case g.AddressType == "ipv6" && g.Type != "ip":
		return nil, refuse("ValidationError", "IP address type '%s' with target type '%s'", g.AddressType, g.Type)
	case g.Type != "instance" && g.Type != "ip":
		return nil, refuse("ValidationError", "Target type '%s'", g.Type)
	}
	if err := checkTags(g.Tags); err != nil {
		return nil, err
	}
	g.Check = defaultCheck(g)
	if err := readCheck(f, g); err != nil {
		return nil, err
	}
	for _, old := range s.TargetGroups {
		if old.Name != g.Name {
			continue
		}
		if old.Protocol != g.Protocol || old.Port != g.Port || old.VPC != g.VPC || old.Type != g.Type || old.AddressType != g.AddressType || old.Check != g.Check {
			return nil, refuse("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", g.Name)
		}
		return targetGroups(r, []*targetGroup{old}, ""), nil
	}
	if n := r.cloud.options.Limits.TargetGroups; len(s.TargetGroups) >= n {
		return nil, refuse("TooManyTargetGroups", "The maximum number of target groups, %d, has been reached", max(n, 0))
	}
	g.ARN = r.cloud.arn("elasticloadbalancing", fmt.Sprintf("targetgroup/%s/%s", g.Name, s.hex16()))
	s.TargetGroups[g.ARN] = g
	return targetGroups(r, []*targetGroup{g}, ""), nil
}

func defaultCheck(g *targetGroup) healthCheck {
	if g.Protocol == "HTTP" || g.Protocol == "HTTPS" {
		return healthCheck{Protocol: "HTTP", Port: "traffic-port", Path: "/", Matcher: "200", Interval: 30, Timeout: 5, Healthy: 5, Unhealthy: 2}
	}
	return healthCheck{Protocol: "TCP", Port: "traffic-port", Interval: 30, Timeout: 10, Healthy: 3, Unhealthy: 3}
}

// readCheck reads what a request says of the health check.
func readCheck(f form, g *targetGroup) error {
	c := &g.Check
	for _, t := range []struct {
		key  string
		into *string
	}{{"HealthCheckProtocol", &c.Protocol}, {"HealthCheckPort", &c.Port}, {"HealthCheckPath", &c.Path}, {"Matcher.HttpCode", &c.Matcher}} {
		if f.has(t.key) {
			*t.into = f.get(t.key)
		}
	}
	for _, n := range []struct {
		key    string
		into   *int
		lo, hi int
	}{
		{"HealthCheckIntervalSeconds", &c.Interval, 5, 300},
		{"HealthCheckTimeoutSeconds", &c.Timeout, 2, 120},
		{"HealthyThresholdCount", &c.Healthy, 2, 10},
		{"UnhealthyThresholdCount", &c.Unhealthy, 2, 10},
	} {
		if !f.has(n.key) {
			continue
		}
		*n.into = f.number(n.key)
		if *n.into < n.lo || *n.into > n.hi {
			return refuse("ValidationError", "%s must be %d-%d, not %s", n.key, n.lo, n.hi, f.get(n.key))
		}
	}
	switch {
	case c.Protocol != "TCP" && c.Protocol != "HTTP" && c.Protocol != "HTTPS":
		return refuse("ValidationError", "Health check protocol '%s'", c.Protocol)
	case c.Protocol == "TCP" && (g.Protocol == "HTTP" || g.Protocol == "HTTPS"):
		return refuse("InvalidConfigurationRequest", "TCP health checks are not allowed with %s", g.Protocol)
	case c.Timeout > c.Interval:
		return refuse("ValidationError", "Health check timeout '%d' must be smaller than or equal to the interval '%d'", c.Timeout, c.Interval)
	case c.Protocol == "TCP":
		c.Path, c.Matcher = "", ""
	case c.Path == "":
		c.Path = "/"
	}
	if c.Protocol != "TCP" && c.Matcher == "" {
		c.Matcher = "200-399"
	}
	if _, err := strconv.Atoi(c.Port); c.Port != "traffic-port" && err != nil {
		return refuse("ValidationError", "Health check port '%s'", c.Port)
	}
	return nil
}

type groupXML struct {
	TargetGroupArn, TargetGroupName, Protocol string
	ProtocolVersion                           string `xml:",omitempty"`
	Port                                      int
	VpcId, TargetType, IpAddressType          string
	HealthCheckEnabled                        bool
	HealthCheckProtocol, HealthCheckPort      string
	HealthCheckPath                           string `xml:",omitempty"`
	HealthCheckIntervalSeconds                int
	HealthCheckTimeoutSeconds                 int
	HealthyThresholdCount                     int
	UnhealthyThresholdCount                   int
	Matcher                                   *matcherXML
	LoadBalancerArns                          []string `xml:"LoadBalancerArns>member"`
}

type matcherXML struct{ HttpCode string }

type groupList struct {
	TargetGroups []groupXML `xml:"TargetGroups>member"`
	NextMarker   string     `xml:",omitempty"`
}

func targetGroups(r *request, list []*targetGroup, next string) groupList {
	out := groupList{NextMarker: next}
	for _, g := range list {
		x := groupXML{
			TargetGroupArn: g.ARN, TargetGroupName: g.Name, Protocol: g.Protocol, ProtocolVersion: g.Version, Port: g.Port, VpcId: g.VPC,
			TargetType: g.Type, IpAddressType: g.AddressType, HealthCheckEnabled: true, HealthCheckProtocol: g.Check.Protocol,
			HealthCheckPort: g.Check.Port, HealthCheckPath: g.Check.Path, HealthCheckIntervalSeconds: g.Check.Interval,
			HealthCheckTimeoutSeconds: g.Check.Timeout, HealthyThresholdCount: g.Check.Healthy, UnhealthyThresholdCount: g.Check.Unhealthy,
			LoadBalancerArns: r.state.usersOf(g.ARN),
		}
		if g.Check.Matcher != "" {
			x.Matcher = &matcherXML{g.Check.Matcher}
		}
		out.TargetGroups = append(out.TargetGroups, x)
	}
	return out
}

func describeTargetGroups(r *request) (any, error) {
	arns, names, balancer := r.form.list("TargetGroupArns"), r.form.list("Names"), r.form.get("LoadBalancerArn")
	all := sortedValues(r.state.TargetGroups)
	switch {
	case balancer != "":
		if r.state.Balancers[balancer] == nil {
			return nil, refuse("LoadBalancerNotFound", "Load balancer '%s' not found", balancer)
		}
		found := slices.DeleteFunc(all, func(g *targetGroup) bool { return !slices.Contains(r.state.usersOf(g.ARN), balancer) })
		return targetGroups(r, found, ""), nil
	case len(arns)+len(names) > 0:
		found := slices.DeleteFunc(all, func(g *targetGroup) bool {
			return !slices.Contains(arns, g.ARN) && !slices.Contains(names, g.Name)
		})
		if len(found) < len(arns)+len(names) {
			return nil, refuse("TargetGroupNotFound", "One or more target groups not found")
		}
		return targetGroups(r, found, ""), nil
	}
	part, next := page(r, all)
	return targetGroups(r, part, next), nil
}

func (r *request) group() (*targetGroup, error) {
	g := r.state.TargetGroups[r.form.get("TargetGroupArn")]
	if g == nil {
		return nil, refuse("TargetGroupNotFound", "Target group '%s' not found", r.form.get("TargetGroupArn"))
	}
	return g, nil
}

func modifyTargetGroup(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	changed := *g
	if err := readCheck(r.form, &changed); err != nil {
		return nil, err
	}
	g.Check = changed.Check
	return targetGroups(r, []*targetGroup{g}, ""), nil
}

func deleteTargetGroup(r *request) (any, error) {
	arn := r.form.get("TargetGroupArn")
	if len(r.state.usersOf(arn)) > 0 || r.now.Before(r.state.Releases[arn]) {
		return nil, refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	delete(r.state.TargetGroups, arn)
	return nil, nil
}

func registerTargets(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	fresh := slices.Clone(g.Targets)
	for _, e := range r.form.elements("Targets") {
		t := target{ID: e.get("Id"), Port: e.number("Port"), Zone: e.get("AvailabilityZone"), Registered: r.now}
		if t.Port == 0 {
			t.Port = g.Port
		}
		if err := checkTarget(r, g, t); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(fresh, func(o target) bool { return o.ID == t.ID && o.Port == t.Port })
		switch {
		case i < 0:
			fresh = append(fresh, t)
		case !fresh[i].Draining.IsZero():
			fresh[i] = t
		}
	}
	if len(fresh) > r.cloud.options.Limits.TargetsPerGroup {
		return nil, refuse("TooManyTargets", "at most %d targets per target group", r.cloud.options.Limits.TargetsPerGroup)
	}
	g.Targets = fresh
	return nil, nil
}

func checkTarget(r *request, g *targetGroup, t target) error {
	if g.Type == "instance" {
		i := r.state.Instances[t.ID]
		switch {
		case i == nil || i.VPC != g.VPC:
			return refuse("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", g.VPC, t.ID)
		case i.State != "running":
			return refuse("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", t.ID)
		}
		return nil
	}
	ip, err := netip.ParseAddr(t.ID)
	if err != nil {
		return refuse("ValidationError", "'%s' is not an IP address", t.ID)
	}
	if ip.Is4() != (g.AddressType == "ipv4") {
		return refuse("InvalidTarget", "The following targets are not of the IP address type of the target group: '%s'", t.ID)
	}
	inside := false
	for _, cidr := range []string{r.state.VPCs[g.VPC].CIDR, r.state.VPCs[g.VPC].IPv6} {
		if p, err := netip.ParsePrefix(cidr); err == nil && p.Contains(ip) {
			inside = true
		}
	}
	switch {
	case inside:
		return nil
	case !ip.IsPrivate() && !netip.MustParsePrefix("100.64.0.0/10").Contains(ip):
		return refuse("InvalidTarget", "'%s' is neither in the VPC nor a private address", t.ID)
	case !strings.EqualFold(t.Zone, "all"):
		return refuse("InvalidTarget", "'%s' is outside of the VPC: the Availability Zone must be 'all'", t.ID)
	}
	return nil
}

func deregisterTargets(r *request) (any, error) {
	g, err := r.group()
	if err != nil {
		return nil, err
	}
	for _, e := range r.form.elements("Targets") {
		id, port := e.get("Id"), e.number("Port")
		for i, t := range g.Targets {
			if t.ID == id && (port == 0 || t.Port == port) && t.Draining.IsZero() {
				g.Targets[i].Draining = r.now
			}
		}
	}
	g.settle(r.now, r.cloud.options.Delays.Drain)
	return nil, nil
}

// settle forgets the targets that have drained.
func (g *targetGroup) settle(now time.Time, drain time.Duration) {
	g.Targets = slices.DeleteFunc(g.Targets, func(t target) bool { return !t.Draining.IsZero() && !now.Before(t.Draining.Add(drain)) })
}
