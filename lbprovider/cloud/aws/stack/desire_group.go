package stack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// trafficPort is the health check port of targets that are checked where they serve.
const trafficPort = "traffic-port"

// HealthCheckOf returns how the targets of a port are checked. With
// externalTrafficPolicy Local, kube-proxy says at the health check node port
// whether a node has an endpoint; pods and other nodes are just dialed.
func HealthCheckOf(spec *hook.Spec, s Settings, p hook.Port) HealthCheck {
	c := HealthCheck{Protocol: "TCP", Port: trafficPort, Interval: 10, Timeout: 10, Healthy: 3, Unhealthy: 3}
	if spec.LocalTraffic && spec.HealthCheckNodePort != 0 && !podTargets(spec, s) {
		c = HealthCheck{Protocol: "HTTP", Port: strconv.Itoa(int(spec.HealthCheckNodePort)), Path: "/healthz", Interval: 10, Timeout: 6, Healthy: 2, Unhealthy: 2}
	}
	own := s.Check
	if own.Protocol != "" && own.Protocol != c.Protocol {
		c.Protocol, c.Path = own.Protocol, "/"
	}
	if own.Port != "" {
		c.Port = own.Port
		if i := slices.IndexFunc(spec.Ports, func(sp hook.Port) bool { return sp.Name == own.Port }); i >= 0 {
			named := spec.Ports[i].NodePort
			if podTargets(spec, s) {
				named = spec.Ports[i].TargetPort
			}
			c.Port = strconv.Itoa(int(named))
		}
	}
	if c.Protocol != "TCP" {
		if c.Path == "" {
			c.Path = "/"
		}
		if own.Path != "" {
			c.Path = own.Path
		}
		c.Codes = cmp.Or(own.Codes, "200-399")
	} else {
		c.Path = ""
	}
	c.Interval = cmp.Or(own.Interval, c.Interval)
	c.Timeout = cmp.Or(own.Timeout, min(c.Timeout, c.Interval))
	c.Healthy = cmp.Or(own.Healthy, c.Healthy)
	c.Unhealthy = cmp.Or(own.Unhealthy, c.Unhealthy)
	if p.Protocol == "UDP" && c.Port == trafficPort {
		c.Protocol = "TCP" // a UDP port cannot be checked, so the same number is dialed
	}
	return c
}

// podTargets reports whether connections go to pods without a node between.
func podTargets(spec *hook.Spec, s Settings) bool {
	return kindOf(spec, s) == hook.TargetPodIP
}

func kindOf(spec *hook.Spec, s Settings) hook.TargetKind {
	switch s.TargetType {
	case "ip":
		if s.TargetNodes {
			return hook.TargetNodeIP
		}
		return hook.TargetPodIP
	case "instance":
		return hook.TargetInstance
	}
	if spec.TargetKind != "" {
		return spec.TargetKind
	}
	return hook.TargetInstance
}

// groups are the target groups, one for each port.
func (d *desire) groups() {
	kind := kindOf(d.Spec, d.Settings)
	for _, p := range d.Spec.Ports {
		g := TargetGroup{
			Protocol: p.Protocol, ServicePort: p.Port, VPC: d.Environment.VPC, Type: "ip", Port: max(p.TargetPort, 1),
			Check: HealthCheckOf(d.Spec, d.Settings, p),
		}
		if kind != hook.TargetPodIP && p.NodePort != 0 {
			g.Port = p.NodePort
		}
		if kind == hook.TargetInstance {
			g.Type = "instance"
		}
		g.AddressType = d.addressType(kind)
		if d.tls(p) && d.Settings.BackendTLS {
			g.Protocol = "TLS"
		}
		if d.out.Balancer.Kind == hook.KindApplication {
			d.applicationGroup(&g, p)
		}
		g.Name = groupName(d.Spec.Ref, d.out.Balancer.Name, g)
		g.Attributes = d.groupAttributes(g, kind)
		g.Tags = d.portTags(p.Port)
		keepKeys(g.Tags, g.Attributes)
		g.Targets = d.targets(kind, p)
		d.out.Groups = append(d.out.Groups, g)
	}
	d.limitTargets()
}

func (d *desire) groupAttributes(g TargetGroup, kind hook.TargetKind) map[string]string {
	s := d.Settings
	all := map[string]string{"deregistration_delay.timeout_seconds": strconv.Itoa(drainSeconds)}
	switch {
	case s.DrainTimeout == 0 && kind == hook.TargetPodIP:
		all["deregistration_delay.timeout_seconds"] = strconv.Itoa(podDrainSeconds)
	case s.DrainTimeout > 0:
		all["deregistration_delay.timeout_seconds"] = strconv.Itoa(int(s.DrainTimeout))
	case s.DrainTimeout < 0:
		all["deregistration_delay.timeout_seconds"] = "0"
	}
	if d.Spec.ClientIPAffinity {
		all["stickiness.enabled"], all["stickiness.type"] = "true", "source_ip"
		if d.out.Balancer.Kind == hook.KindApplication {
			all["stickiness.type"] = "lb_cookie"
		}
	}
	maps.Copy(all, s.GroupAttributes)
	maps.Copy(all, s.PortGroupAttributes[strconv.Itoa(int(g.ServicePort))])
	if s.Proxy {
		all["proxy_protocol_v2.enabled"] = "true"
	}
	if d.out.Balancer.Kind == hook.KindApplication {
		delete(all, "proxy_protocol_v2.enabled")
		delete(all, "preserve_client_ip.enabled")
	}
	return all
}

// targets returns what a port's target group leads to, most wanted first.
func (d *desire) targets(kind hook.TargetKind, p hook.Port) []Target {
	if kind == hook.TargetPodIP {
		return d.pods(p)
	}
	nodes := slices.DeleteFunc(slices.Clone(d.Spec.Targets.Nodes), func(n hook.Node) bool { return !hasLabels(n.Labels, d.Settings.NodeLabels) })
	if len(nodes) == 0 && len(d.Spec.Targets.Nodes) > 0 {
		d.note("NoTargets", balancerPrefix+"target-node-labels", "no node has these labels, so nothing serves")
	}
	slices.SortFunc(nodes, func(a, b hook.Node) int {
		if a.HasEndpoint != b.HasEndpoint {
			if a.HasEndpoint {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var list []Target
	for _, n := range nodes {
		t, ok := d.addressOf(n, p)
		if kind == hook.TargetInstance {
			t, ok = d.instanceOf(n, p.NodePort)
		}
		if ok {
			list = append(list, t)
		}
	}
	return list
}

// instanceOf is a node as a target by its machine.
func (d *desire) instanceOf(n hook.Node, port int32) (Target, bool) {
	id, ok := InstanceID(n.ProviderID)
	if !ok {
		d.note("NodeWithoutInstance", "", fmt.Sprintf("node %s has the providerID %q, which names no instance of EC2; it is no target", n.Name, n.ProviderID))
		return Target{}, false
	}
	m, known := d.Environment.Machines[id]
	return Target{ID: id, Port: port}, !known || m.Running // RegisterTargets refuses others
}

func hasLabels(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		have, ok := labels[k]
		if !ok || v != "" && have != v {
			return false
		}
	}
	return true
}

// note adds a problem, once for each text.
func (d *desire) note(reason, field, message string) {
	p := hook.Problem{Reason: reason, Field: field, Message: message}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// manageNodes reports whether the nodes' security groups are ours to open.
func (d *desire) manageNodes() bool {
	if v := d.Settings.NodeRules; v != nil {
		return *v && d.Defaults.NodeRules
	}
	return d.Defaults.NodeRules && len(d.Settings.SecurityGroups) == 0
}

// nodeRules let the load balancer into the nodes.
func (d *desire) nodeRules() {
	if !d.Defaults.NodeRules {
		return
	}
	var machines []string
	for _, n := range d.Spec.Targets.Nodes {
		if id, ok := InstanceID(n.ProviderID); ok && hasLabels(n.Labels, d.Settings.NodeLabels) {
			machines = append(machines, id)
		}
	}
	groups, problems := nodeGroups(d.Environment, d.Spec.Ref.Cluster, machines)
	d.out.NodeGroups = groups
	if !d.manageNodes() {
		return
	}
	d.problems = append(d.problems, problems...)
	rules := d.rulesForNodes()
	d.out.NodeRules = map[string][]Rule{}
	for _, id := range groups {
		d.out.NodeRules[id] = rules
	}
}

// rulesForNodes let the load balancer's security groups reach targets and
// health checks. An empty source is the frontend.
func (d *desire) rulesForNodes() []Rule {
	sources := []string{""}
	if d.out.Frontend == nil {
		sources = d.Settings.SecurityGroups
	}
	rules := []Rule{}
	add := func(protocol string, port int32) {
		for _, source := range sources {
			ru := Rule{Protocol: protocol, From: port, To: port, Group: source, Description: nodeRuleDescription(d.Spec.Ref, source == "")}
			if port > 0 && !slices.Contains(rules, ru) {
				rules = append(rules, ru)
			}
		}
	}
	for i, g := range d.out.Groups {
		protocol := strings.ToLower(d.Spec.Ports[i].Protocol)
		if g.Type == "instance" || len(g.Targets) == 0 {
			add(protocol, g.Port)
		}
		if n, err := strconv.ParseUint(g.Check.Port, 10, 16); err == nil {
			add("tcp", int32(n))
		}
		for _, t := range g.Targets {
			add(protocol, t.Port)
		}
	}
	return rules
}
