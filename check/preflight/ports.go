package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
)

// port is one of a node.
type port struct {
	number   int32
	protocol corev1.Protocol
}

func (p port) String() string { return fmt.Sprintf("%d/%s", p.number, p.protocol) }

// speakerHolds are the ports of the speakers, on each node.
var speakerHolds = []port{{7472, corev1.ProtocolTCP}, {7946, corev1.ProtocolTCP}, {7946, corev1.ProtocolUDP}, {17472, corev1.ProtocolTCP}}

// agentHolds are the ports of policy agents among themselves.
var agentHolds = []port{{api.AgentPort, corev1.ProtocolTCP}, {api.AgentPort + 1, corev1.ProtocolTCP}}

// taken are the ports of nodes that other programs have, with the names of their pods.
func (f *Facts) taken() map[port][]string {
	all := map[port][]string{}
	for i := range f.Pods {
		p := &f.Pods[i]
		if ofFairlead(p) || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, at := range onNode(p) {
			if name := workload(p); !slices.Contains(all[at], name) {
				all[at] = append(all[at], name)
			}
		}
	}
	return all
}

// onNode are the ports of its node that a pod declares.
func onNode(p *corev1.Pod) []port {
	var all []port
	for _, c := range p.Spec.Containers {
		for _, held := range c.Ports {
			number := held.HostPort
			if p.Spec.HostNetwork {
				number = held.ContainerPort
			}
			if number != 0 {
				all = append(all, port{number, cmp.Or(held.Protocol, corev1.ProtocolTCP)})
			}
		}
	}
	return all
}

// workload names what a pod belongs to, so that those of all nodes are one.
func workload(p *corev1.Pod) string {
	for _, o := range p.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return strings.ToLower(o.Kind) + "/" + p.Namespace + "/" + o.Name
		}
	}
	return "pod/" + p.Namespace + "/" + p.Name
}

// metalLB reports whether a pod is one of MetalLB's, which Fairlead takes over from.
func metalLB(f *Facts, name string) bool {
	_, rest, _ := strings.Cut(name, "/")
	namespace, base, _ := strings.Cut(rest, "/")
	return slices.ContainsFunc(f.OtherMetalLB, func(w string) bool {
		return strings.HasSuffix(w, " "+base+" in namespace "+namespace)
	})
}

func speakerPorts(f *Facts) (string, []finding) {
	taken := f.taken()
	held := map[string][]port{}
	var found []finding
	for _, p := range speakerHolds {
		for _, name := range taken[p] {
			held[name] = append(held[name], p)
		}
		for i := range f.Services {
			for _, s := range f.Services[i].Spec.Ports {
				if s.NodePort == p.number && (s.Protocol == p.protocol || s.Protocol == "" && p.protocol == corev1.ProtocolTCP) {
					found = append(found, finding{
						check.Fail, fmt.Sprintf("port %s of nodes, which speakers need, is a node port of service/%s/%s", p, f.Services[i].Namespace, f.Services[i].Name),
						"give the Service another node port", pagePorts,
					})
				}
			}
		}
	}
	for _, name := range sorted(held) {
		n := finding{
			check.Fail, fmt.Sprintf("ports of nodes that speakers need belong to %s: %s", name, joined(held[name])),
			"move that program to other ports, or leave the speakers out (chart: speaker.enabled=false)", pagePorts,
		}
		if metalLB(f, name) {
			n.state, n.remedy, n.page = check.Warn, "delete MetalLB's speakers in the moment when Fairlead's are installed", pageMetalLB
		}
		found = append(found, n)
	}
	return "ports " + joined(speakerHolds) + " are free on all nodes, as far as pods declare theirs", found
}

func joined(ports []port) string {
	var all []string
	for _, p := range ports {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}

// routerPorts judges the ports of routers on the network of nodes.
func routerPorts(f *Facts) (string, []finding) {
	taken := f.taken()
	var found []finding
	hostNetwork := false
	for i := range f.Controllers {
		ic := &f.Controllers[i]
		ports := hostPorts(ic)
		hostNetwork = hostNetwork || len(ports) > 0
		for _, p := range ports {
			for _, name := range taken[p] {
				found = append(found, finding{
					check.Fail, fmt.Sprintf("port %s, which IngressController %s wants by HostNetwork, belongs to %s", p, ic.Name, name),
					"set spec.endpointPublishingStrategy.hostNetwork to other ports, or keep its pods from these nodes", pagePublishing,
				})
			}
		}
	}
	if hostNetwork {
		return "no other pod has the ports of IngressControllers with HostNetwork", found
	}
	var others []string
	for _, p := range []port{{80, corev1.ProtocolTCP}, {443, corev1.ProtocolTCP}, {1936, corev1.ProtocolTCP}} {
		if names := taken[p]; len(names) > 0 {
			others = append(others, fmt.Sprintf("%s of %s", p, most(names)))
		}
	}
	if len(others) > 0 {
		return "no IngressController needs ports of nodes; for HostNetwork these are taken: " + strings.Join(others, "; "), found
	}
	return "no IngressController needs ports of nodes, and for HostNetwork 80, 443 and 1936 are free", found
}

// hostPorts are those that an IngressController wants on nodes.
func hostPorts(ic *operatorv1.IngressController) []port {
	s := ic.Spec.EndpointPublishingStrategy
	if ic.Status.EndpointPublishingStrategy != nil {
		s = ic.Status.EndpointPublishingStrategy
	}
	if s == nil || s.Type != operatorv1.HostNetworkStrategyType {
		return nil
	}
	ports := [3]int32{80, 443, 1936}
	if h := s.HostNetwork; h != nil {
		for i, set := range []int32{h.HTTPPort, h.HTTPSPort, h.StatsPort} {
			if set != 0 {
				ports[i] = set
			}
		}
	}
	all := slices.Clone(agentHolds)
	for _, number := range ports {
		all = append(all, port{number, corev1.ProtocolTCP})
	}
	return all
}

const (
	// The range of node ports, unless the API server has another.
	firstNodePort, nodePortRange = 30000, 2768
	// nodePortsNeeded are for the Services of a few routers and Gateways.
	nodePortsNeeded = 20
)

// nodePorts counts what is left for Services of type LoadBalancer and NodePort.
func nodePorts(f *Facts) (string, []finding) {
	used := map[int32]bool{}
	for i := range f.Services {
		s := &f.Services[i].Spec
		for _, p := range s.Ports {
			used[p.NodePort] = p.NodePort != 0
		}
		used[s.HealthCheckNodePort] = s.HealthCheckNodePort != 0
	}
	n := 0
	for number, is := range used {
		if is && number >= firstNodePort && number < firstNodePort+nodePortRange {
			n++
		}
	}
	if nodePortRange-n < nodePortsNeeded {
		return "", []finding{{
			check.Warn, fmt.Sprintf("only %d node ports of the usual range are free, and each Service of a router needs some", nodePortRange-n),
			"set allocateLoadBalancerNodePorts: false on Services that need none, or widen --service-node-port-range of the API server", pagePorts,
		}}
	}
	return fmt.Sprintf("%d of %d node ports of the usual range are free", nodePortRange-n, nodePortRange), nil
}

// hostNetworked are the IngressControllers whose pods need a namespace that lets them.
func (f *Facts) hostNetworked() []string {
	var all []string
	for i := range f.Controllers {
		if len(hostPorts(&f.Controllers[i])) > 0 && f.Controllers[i].Namespace == api.OperatorNamespace {
			all = append(all, f.Controllers[i].Name)
		}
	}
	return all
}
