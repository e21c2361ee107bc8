package controller

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// objects are what a Spec is made of.
type objects struct {
	service *corev1.Service
	nodes   []corev1.Node
	slices  []discoveryv1.EndpointSlice
	now     time.Time
}

// specOf returns what a Service asks for, and after what time its targets
// change by themselves because a grace period ends (0: never).
func specOf(cluster string, o objects) (*hook.Spec, time.Duration) {
	s := o.service
	spec := &hook.Spec{
		Ref: hook.Ref{
			Cluster: cluster, Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), Handle: s.Annotations[api.AnnotationLoadBalancerHandle],
		},
		LocalTraffic:        s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		HealthCheckNodePort: s.Spec.HealthCheckNodePort,
		SourceRanges:        s.Spec.LoadBalancerSourceRanges,
		ClientIPAffinity:    s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		LoadBalancerIP:      s.Spec.LoadBalancerIP,
		Annotations:         s.Annotations,
		Recreate:            s.Annotations[api.AnnotationRecreateLoadBalancer] == "true",
	}
	for _, f := range s.Spec.IPFamilies {
		spec.IPFamilies = append(spec.IPFamilies, string(f))
	}
	spec.Targets.Pods = podsOf(s, o.slices)
	for _, p := range s.Spec.Ports {
		spec.Ports = append(spec.Ports, hook.Port{
			Name: p.Name, Protocol: string(p.Protocol), Port: p.Port, NodePort: p.NodePort,
			// A name may mean another number in every pod; then it is 0.
			TargetPort: p.TargetPort.IntVal,
		})
	}
	var again time.Duration
	spec.Targets.Nodes, again = nodesOf(o.nodes, spec.Targets.Pods, o.now)
	return spec, again
}

// SpecOf returns what a Service asks for with some nodes, for callers that know
// no endpoints. Annotations and finalizers are not looked at.
func SpecOf(cluster string, service *corev1.Service, nodes []corev1.Node, now time.Time) *hook.Spec {
	spec, _ := specOf(cluster, objects{service: service, nodes: nodes, now: now})
	return spec
}

// podsOf returns the endpoints of a Service that are ready, or that end and
// still serve.
func podsOf(s *corev1.Service, list []discoveryv1.EndpointSlice) []hook.Pod {
	numbers := map[string]int32{}
	for _, p := range s.Spec.Ports {
		numbers[p.Name] = p.Port
	}
	byAddress := map[string]hook.Pod{}
	for _, slice := range list {
		ports := map[int32]int32{}
		for _, p := range slice.Ports {
			if number, ok := numbers[deref(p.Name)]; ok && p.Port != nil {
				ports[number] = *p.Port
			}
		}
		for _, e := range slice.Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			serving := ready || deref(e.Conditions.Serving) && deref(e.Conditions.Terminating)
			if !serving {
				continue
			}
			for _, a := range e.Addresses {
				byAddress[a] = hook.Pod{Address: a, Node: deref(e.NodeName), Zone: deref(e.Zone), Ports: ports, Draining: !ready}
			}
		}
	}
	pods := make([]hook.Pod, 0, len(byAddress))
	for _, p := range byAddress {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b hook.Pod) int { return cmp.Compare(a.Address, b.Address) })
	return pods
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// Labels and taints of nodes that are no targets.
const (
	labelExclude       = corev1.LabelNodeExcludeBalancers
	labelExcludeLegacy = "alpha.service-controller.kubernetes.io/exclude-balancer"
	labelCompute       = "eks.amazonaws.com/compute-type"
	taintAutoscaler    = "ToBeDeletedByClusterAutoscaler"
	taintKarpenter     = "karpenter.sh/disrupted"
)

// notReadyGrace is how long a node that is not ready stays a target: its
// health check finds it sooner, and most come back.
const notReadyGrace = time.Minute

// nodesOf returns the nodes that may be targets. If readiness alone would
// leave none, all stay: then it is more likely that we cannot see them than
// that all are dead.
func nodesOf(nodes []corev1.Node, pods []hook.Pod, now time.Time) ([]hook.Node, time.Duration) {
	hosts := map[string]bool{}
	for _, p := range pods {
		if !p.Draining {
			hosts[p.Node] = true
		}
	}
	var ready, all []hook.Node
	var again time.Duration
	for i := range nodes {
		n := &nodes[i]
		if excluded(n) {
			continue
		}
		v := hook.Node{
			Name: n.Name, ProviderID: n.Spec.ProviderID, Zone: n.Labels[corev1.LabelTopologyZone], Labels: n.Labels, HasEndpoint: hosts[n.Name],
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				v.Addresses = append(v.Addresses, a.Address)
			}
		}
		all = append(all, v)
		down, since := notReady(n)
		left := notReadyGrace - now.Sub(since)
		switch {
		case !down:
			ready = append(ready, v)
		case left > 0:
			ready = append(ready, v)
			if again == 0 || left < again {
				again = left
			}
		}
	}
	if len(ready) == 0 {
		ready = all
	}
	slices.SortFunc(ready, func(a, b hook.Node) int { return cmp.Compare(a.Name, b.Name) })
	return ready, again
}

func notReady(n *corev1.Node) (down bool, since time.Time) {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// excluded reports whether a node is no target by its labels, its taints, or
// because it ends.
func excluded(n *corev1.Node) bool {
	if n.DeletionTimestamp != nil || n.Labels[labelCompute] == "fargate" {
		return true
	}
	for _, label := range []string{labelExclude, labelExcludeLegacy} {
		if v, ok := n.Labels[label]; ok {
			if exclude, err := strconv.ParseBool(v); err != nil || exclude {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == taintAutoscaler || t.Key == taintKarpenter && t.Effect == corev1.TaintEffectNoSchedule
	})
}
