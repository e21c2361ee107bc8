package operator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	router "github.com/fairlead/fairlead/router/settings"
)

// Ports of the routers where spec.endpointPublishingStrategy.hostNetwork says
// nothing else.
const (
	defaultHTTPPort  = 80
	defaultHTTPSPort = 443
	defaultStatsPort = 1936
	// healthPort is for probes alone, where the pod has a network of its own.
	healthPort = 1937
)

// defaultDNSTTL is that of OpenShift.
const defaultDNSTTL = 30 * time.Second

// ports are those that the router listens on.
type ports struct{ http, https, stats int32 }

// settings are what an IngressController asks for, with every default applied.
type settings struct {
	name  string
	image string
	// haproxy is the version of HAProxy in the image; haproxies are all that
	// there are images of.
	haproxy   string
	haproxies []string
	domain    string
	strategy  operatorv1.EndpointPublishingStrategy
	// cloudClass is the load-balancer class of the cloud hook that serves the
	// Service; empty for none.
	cloudClass string
	// securityGroups are those of a network load balancer of AWS, which are not
	// in the Go type of the strategy.
	securityGroups []string
	ports          ports
	// sourceRanges are the CIDRs that the load balancer lets through; empty means all.
	sourceRanges []string
	replicas     int32
	nodeSelector map[string]string
	tolerations  []corev1.Toleration
	// notOurName says why the operator does not publish the name, whatever the
	// IngressController wants; empty if it may.
	notOurName string
	// nameByService asks external-dns for the name by annotations of the Service.
	nameByService bool
	// recordTTL is how long resolvers may keep the name, in seconds.
	recordTTL int64
	// logs is true if a container of its own prints the access log.
	logs bool
	// memory bounds the containers.
	memory router.Memory
}

// hostNetwork reports whether router pods use the network of their node.
// probePort is where the kubelet asks. On the network of a node it is that of
// metrics and statistics, because no field of the API has another one for it:
// there the kubelet asks by loopback, which has no limits.
func (s settings) probePort() int32 {
	if s.hostNetwork() {
		return s.ports.stats
	}
	return healthPort
}

func (s settings) hostNetwork() bool {
	return s.strategy.Type == operatorv1.HostNetworkStrategyType
}

// cluster is what the defaults depend on.
type cluster struct {
	nodes []corev1.Node
	// provider is true if something in the cluster that we know of assigns
	// load-balancer addresses: our own provider's API is installed.
	provider bool
	// dns is what dns.config.openshift.io/cluster says; nil if there is none.
	dns *configv1.DNSSpec
	// haproxy is the version of HAProxy that the whole cluster asks for; may be empty.
	haproxy string
}

// settingsOf applies the defaults to an IngressController.
func settingsOf(ic *operatorv1.IngressController, c cluster, o Options) settings {
	s := settings{
		name:         ic.Name,
		haproxies:    haproxies(o),
		domain:       domainOf(ic, o.Domain),
		strategy:     strategyOf(ic, c.provider),
		nodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
	}
	if p := ic.Spec.NodePlacement; p != nil {
		if p.NodeSelector != nil {
			s.nodeSelector = maps.Clone(p.NodeSelector.MatchLabels)
		}
		s.tolerations = slices.Clone(p.Tolerations)
	}
	s.haproxy, s.image = haproxyOf(ic, c.haproxy, o)
	s.cloudClass = cloudClass(s.strategy, o.CloudClass)
	s.ports = portsOf(s.strategy)
	if l := ic.Spec.Logging; l != nil && l.Access != nil {
		s.logs = l.Access.Destination.Type == operatorv1.ContainerLoggingDestinationType
	}
	s.memory = router.MemoryOf(&ic.Spec, cmp.Or(o.Routes, router.DefaultRoutes))
	s.sourceRanges = sourceRangesOf(ic)
	s.replicas = replicasOf(ic, eligibleNodes(c.nodes, s.nodeSelector, s.tolerations))
	s.notOurName = notOurName(s.domain, o, c.dns)
	s = withoutName(s)
	s.recordTTL = int64(cmp.Or(o.DNSTTL, defaultDNSTTL) / time.Second)
	s.nameByService = o.DNSByService && s.strategy.LoadBalancer != nil && s.strategy.LoadBalancer.DNSManagementPolicy == operatorv1.ManagedLoadBalancerDNS
	return s
}

// domainOf returns the domain: the one that is in use, else the wish, else the default.
func domainOf(ic *operatorv1.IngressController, fallback string) string {
	switch {
	case ic.Status.Domain != "":
		return ic.Status.Domain
	case ic.Spec.Domain != "":
		return ic.Spec.Domain
	}
	return fallback
}

// strategyOf returns how the routers are published. The type never changes
// once it is in use; the parameters follow the spec.
func strategyOf(ic *operatorv1.IngressController, provider bool) operatorv1.EndpointPublishingStrategy {
	var s operatorv1.EndpointPublishingStrategy
	if ic.Spec.EndpointPublishingStrategy != nil {
		s = *ic.Spec.EndpointPublishingStrategy.DeepCopy()
	}
	used := ic.Status.EndpointPublishingStrategy
	switch {
	case used != nil && used.Type != s.Type:
		s = *used.DeepCopy()
		if s.LoadBalancer != nil && ic.Spec.EndpointPublishingStrategy == nil {
			// It may be Unmanaged because the name was not ours, which may end.
			s.LoadBalancer.DNSManagementPolicy = ""
		}
	case s.Type == "" && provider:
		s.Type = operatorv1.LoadBalancerServiceStrategyType
	case s.Type == "":
		s.Type = operatorv1.HostNetworkStrategyType
	}
	return withStrategyDefaults(s)
}

func withStrategyDefaults(s operatorv1.EndpointPublishingStrategy) operatorv1.EndpointPublishingStrategy {
	protocol := func(p operatorv1.IngressControllerProtocol) operatorv1.IngressControllerProtocol {
		if p == operatorv1.DefaultProtocol {
			return operatorv1.TCPProtocol
		}
		return p
	}
	switch s.Type {
	case operatorv1.LoadBalancerServiceStrategyType:
		if s.LoadBalancer == nil {
			s.LoadBalancer = &operatorv1.LoadBalancerStrategy{Scope: operatorv1.ExternalLoadBalancer}
		}
		if s.LoadBalancer.DNSManagementPolicy == "" {
			s.LoadBalancer.DNSManagementPolicy = operatorv1.ManagedLoadBalancerDNS
		}
	case operatorv1.HostNetworkStrategyType:
		if s.HostNetwork == nil {
			s.HostNetwork = &operatorv1.HostNetworkStrategy{}
		}
		h := s.HostNetwork
		h.Protocol = protocol(h.Protocol)
		h.HTTPPort = orDefault(h.HTTPPort, defaultHTTPPort)
		h.HTTPSPort = orDefault(h.HTTPSPort, defaultHTTPSPort)
		h.StatsPort = orDefault(h.StatsPort, defaultStatsPort)
	case operatorv1.NodePortServiceStrategyType:
		if s.NodePort == nil {
			s.NodePort = &operatorv1.NodePortStrategy{}
		}
		s.NodePort.Protocol = protocol(s.NodePort.Protocol)
	case operatorv1.PrivateStrategyType:
		if s.Private == nil {
			s.Private = &operatorv1.PrivateStrategy{}
		}
		s.Private.Protocol = protocol(s.Private.Protocol)
	}
	return s
}

func orDefault(port, fallback int32) int32 {
	if port == 0 {
		return fallback
	}
	return port
}

func portsOf(s operatorv1.EndpointPublishingStrategy) ports {
	if s.Type == operatorv1.HostNetworkStrategyType && s.HostNetwork != nil {
		return ports{http: s.HostNetwork.HTTPPort, https: s.HostNetwork.HTTPSPort, stats: s.HostNetwork.StatsPort}
	}
	return ports{http: defaultHTTPPort, https: defaultHTTPSPort, stats: defaultStatsPort}
}

func sourceRangesOf(ic *operatorv1.IngressController) []string {
	e := ic.Spec.EndpointPublishingStrategy
	if e == nil || e.LoadBalancer == nil {
		return nil
	}
	var ranges []string
	for _, r := range e.LoadBalancer.AllowedSourceRanges {
		ranges = append(ranges, string(r))
	}
	return ranges
}

// replicasOf returns the wish, else 1 where only one node can run routers, else 2.
func replicasOf(ic *operatorv1.IngressController, nodes int) int32 {
	if ic.Spec.Replicas != nil {
		return *ic.Spec.Replicas
	}
	if nodes == 1 {
		return 1
	}
	return 2
}

// eligibleNodes counts the nodes that routers may run on. States that pass,
// such as a cordon or a missing heartbeat, do not count against a node:
// otherwise a drain of one of two nodes would remove a replica for good.
func eligibleNodes(nodes []corev1.Node, selector map[string]string, tolerations []corev1.Toleration) int {
	count := 0
	for _, n := range nodes {
		if matchesLabels(n.Labels, selector) && toleratesAll(n.Spec.Taints, tolerations) {
			count++
		}
	}
	return count
}

func matchesLabels(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func toleratesAll(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	for _, t := range taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule || passing(t.Key) {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(x corev1.Toleration) bool { return tolerates(x, t) }) {
			return false
		}
	}
	return true
}

// tolerates is the scheduler's rule: an empty key with Exists matches every
// taint, an empty effect every effect.
func tolerates(x corev1.Toleration, t corev1.Taint) bool {
	if x.Effect != "" && x.Effect != t.Effect {
		return false
	}
	if x.Operator == corev1.TolerationOpExists {
		return x.Key == "" || x.Key == t.Key
	}
	return x.Key == t.Key && x.Value == t.Value
}

// passing reports whether Kubernetes itself sets and removes the taint as the
// state of the node changes.
func passing(key string) bool {
	switch key {
	case corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
		corev1.TaintNodeNetworkUnavailable:
		return true
	}
	return false
}
